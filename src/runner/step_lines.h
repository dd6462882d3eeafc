// The two lines of a decode step, without the codec's table.
//
// A decode step is the judge's most frequent and shortest exchange; the general codec costs it more
// than a microsecond inside the timed window. These write and recognise the canonical lines
// only, byte for byte as the codec does (a test holds them to it); any other line goes to the
// codec.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace assay::runner {

/// Appends `{"id":<id>,"kind":"decode_step","token":<token>}`.
void append_decode_step(std::string& out, int64_t id, int64_t token);

/// What stands between id and token in a good answer of a session:
/// `,"nonce":"…","ok":true,"token":`. Empty (recognise nothing) when the nonce would need an
/// escape.
[[nodiscard]] std::string token_answer_middle(std::string_view nonce);

/// The token of a canonical, good answer to request `id` that carries nothing else; nothing for
/// every other line.
[[nodiscard]] std::optional<int64_t> match_token_answer(std::string_view line, int64_t id,
                                                        std::string_view middle);

}  // namespace assay::runner
