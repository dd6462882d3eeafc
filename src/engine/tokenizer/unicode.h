// Unicode, as far as token splitters need it: code points of UTF-8 text and their class.
//
// Source   Unicode 16 general categories and White_Space, table made by tools/unicode.
// Cost     ASCII is one load; everything else a binary search of about 3000 boundaries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace assay::engine::tokenizer {

enum class CharClass : uint8_t {
  other,
  letter,       // L*
  mark,         // M*
  number,       // N*
  white_space,  // White_Space
  end,          // no character: the end of the text
};

[[nodiscard]] CharClass class_of(uint32_t code_point) noexcept;

struct DecodedChar {
  uint32_t code_point = 0;
  uint32_t size_bytes = 0;  // 0 when no well-formed sequence starts here
};
/// The code point at `at` < text.size(). Overlong forms, surrogates and values above U+10FFFF are
/// not well formed.
[[nodiscard]] DecodedChar decode_utf8(std::string_view text, size_t at) noexcept;

/// Where no well-formed sequence starts: the bytes that one U+FFFD stands for, which are the
/// longest start of a sequence, or one byte (Unicode 15, section 3.9).
[[nodiscard]] size_t broken_utf8(std::string_view text, size_t at) noexcept;

/// The same number when those bytes reach the end of the text, so that more bytes could complete
/// them; else 0.
[[nodiscard]] size_t incomplete_utf8(std::string_view text, size_t at) noexcept;

/// The text with U+FFFD for each byte that is not part of a well-formed sequence.
[[nodiscard]] std::string replace_broken_bytes(std::string_view text);

/// Appends a code point below 0x800 as UTF-8.
void append_utf8_short(std::string& out, uint32_t code_point);

}  // namespace assay::engine::tokenizer
