// Text: building strings, trimming, numbers to text and back, without a locale.
#pragma once

#include <charconv>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

namespace text_detail {
void append(std::string& out, std::string_view text);
void append(std::string& out, char c);
void append(std::string& out, double value);
template <std::integral I>
requires(!std::same_as<I, char>) void append(std::string& out, I value) {
  if constexpr (std::same_as<I, bool>) {
    append(out, std::string_view(value ? "true" : "false"));
  } else {
    char buffer[24];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, value);
    out.append(buffer, end.ptr);
  }
}
}  // namespace text_detail

/// Joins its arguments: text as it is, integers in decimal, doubles as format_double, bools as
/// words.
template <class... Args>
[[nodiscard]] std::string cat(const Args&... args) {
  std::string out;
  (text_detail::append(out, args), ...);
  return out;
}

/// Shortest decimal that reads back as `value`, always with a fraction or an exponent: "0.0",
/// "10.0", "1.5e-7", "1e16". Exponent form outside 1e-5 <= |value| < 1e16. The float layout of the
/// wire and of every sealed file. Needs a finite value.
[[nodiscard]] std::string format_double(double value);

/// printf "%.*f" in the C locale.
[[nodiscard]] std::string format_fixed(double value, int decimals);

/// Whole-string conversions: nothing before or after the number, no locale; empty on overflow.
[[nodiscard]] std::optional<int64_t> parse_int64(std::string_view text);
[[nodiscard]] std::optional<uint64_t> parse_uint64(std::string_view text);
[[nodiscard]] std::optional<double> parse_double(std::string_view text);

/// Strips Unicode White_Space at both ends. Bytes that are not UTF-8 are kept.
[[nodiscard]] std::string_view trim(std::string_view text);

/// True when `text` is well-formed UTF-8 (no overlong forms, no surrogates, at most U+10FFFF).
[[nodiscard]] bool is_utf8(std::string_view text);

/// True when `text` holds a code point of category Cc (U+0000..U+001F, U+007F..U+009F).
[[nodiscard]] bool has_control_character(std::string_view text);

/// Lower-case hex of bytes; and exactly `digits` lower-case hex digits.
[[nodiscard]] std::string to_hex(std::string_view bytes);
[[nodiscard]] bool is_lower_hex(std::string_view text, size_t digits);

[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator);
[[nodiscard]] std::string join(const std::vector<std::string>& parts, std::string_view separator);

/// Seconds since the epoch as UTC "YYYY-MM-DDThh:mm:ssZ".
[[nodiscard]] std::string format_utc(int64_t seconds_since_epoch);

}  // namespace assay
