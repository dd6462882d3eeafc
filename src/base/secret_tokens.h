// Tokens of access that are known by how they begin.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace assay {

struct TextSpan {
  size_t begin = 0, end = 0;
};

/// The token around the character at `at`, a '_', '-', 'I' or 'J', of which some kind of token has
/// one in its beginning. `from`: nothing before it is looked at.
[[nodiscard]] std::optional<TextSpan> known_token(std::string_view text, size_t at, size_t from);

/// Letters and digits as nobody writes words: digits beside letters, or capitals inside; at least
/// `size_min` of them.
[[nodiscard]] bool is_irregular(std::string_view piece, size_t size_min);

}  // namespace assay
