#include "base/text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <ctime>

#include "base/ensure.h"

namespace assay {

namespace text_detail {
void append(std::string& out, std::string_view text) {
  out.append(text);
}
void append(std::string& out, char c) {
  out.push_back(c);
}
void append(std::string& out, double value) {
  out += std::isfinite(value) ? format_double(value)
         : std::isnan(value)  ? std::string("nan")
                              : std::string(value > 0 ? "inf" : "-inf");
}
}  // namespace text_detail

std::string format_double(double value) {
  ENSURE(std::isfinite(value));
  if (value == 0) return std::signbit(value) ? "-0.0" : "0.0";
  // to_chars in scientific form gives the shortest digits d1.d2…dn and the exponent; only the
  // layout is ours. With value = 0.d1…dn * 10^point, `point` is where the decimal point falls.
  char buffer[40];
  const auto end =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific);
  std::string_view shortest(buffer, static_cast<size_t>(end.ptr - buffer));
  // The longest: sign, "0.0000", 17 digits.
  char text[48];
  char* out = text;
  if (shortest.front() == '-') {
    *out++ = '-';
    shortest.remove_prefix(1);
  }
  const size_t e = shortest.find('e');
  char digits[24];
  digits[0] = shortest[0];
  int n = 1;
  for (size_t i = 2; i < e; ++i) digits[n++] = shortest[i];
  int exponent = 0;
  std::string_view exponent_text = shortest.substr(e + 1);
  if (exponent_text.front() == '+') exponent_text.remove_prefix(1);
  std::from_chars(exponent_text.data(), exponent_text.data() + exponent_text.size(), exponent);
  const int point = exponent + 1;
  const auto put = [&out](const char* from, int count) { out = std::copy_n(from, count, out); };
  const auto zeros = [&out](int count) { out = std::fill_n(out, count, '0'); };
  if (point >= n && point <= 16) {
    put(digits, n);
    zeros(point - n);
    put(".0", 2);
  } else if (point > 0 && point <= 16) {
    put(digits, point);
    *out++ = '.';
    put(digits + point, n - point);
  } else if (point > -5 && point <= 0) {
    put("0.", 2);
    zeros(-point);
    put(digits, n);
  } else {
    *out++ = digits[0];
    if (n > 1) {
      *out++ = '.';
      put(digits + 1, n - 1);
    }
    *out++ = 'e';
    out = std::to_chars(out, text + sizeof text, point - 1).ptr;
  }
  return std::string(text, out);
}

std::string format_fixed(double value, int decimals) {
  char buffer[400];
  const auto end =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed, decimals);
  return end.ec == std::errc() ? std::string(buffer, end.ptr) : cat(value);
}

namespace {
template <class T>
std::optional<T> parse_whole(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Decodes one code point at `i`; returns its length, or 0 when the bytes are not UTF-8.
size_t decode(std::string_view text, size_t i, char32_t& out) {
  const auto byte = [&](size_t j) { return static_cast<unsigned char>(text[j]); };
  const unsigned char b0 = byte(i);
  if (b0 < 0x80) {
    out = b0;
    return 1;
  }
  size_t length = 0;
  char32_t least = 0;
  if ((b0 & 0xE0) == 0xC0) {
    length = 2, least = 0x80, out = b0 & 0x1Fu;
  } else if ((b0 & 0xF0) == 0xE0) {
    length = 3, least = 0x800, out = b0 & 0x0Fu;
  } else if ((b0 & 0xF8) == 0xF0) {
    length = 4, least = 0x10000, out = b0 & 0x07u;
  } else {
    return 0;
  }
  if (length > text.size() - i) return 0;
  for (size_t j = 1; j < length; ++j) {
    if ((byte(i + j) & 0xC0) != 0x80) return 0;
    out = (out << 6) | (byte(i + j) & 0x3Fu);
  }
  if (out < least || out > 0x10FFFF || (out >= 0xD800 && out <= 0xDFFF)) return 0;
  return length;
}

bool is_white_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}
}  // namespace

std::optional<int64_t> parse_int64(std::string_view text) {
  return parse_whole<int64_t>(text);
}
std::optional<uint64_t> parse_uint64(std::string_view text) {
  return parse_whole<uint64_t>(text);
}
std::optional<double> parse_double(std::string_view text) {
  return parse_whole<double>(text);
}

std::string_view trim(std::string_view text) {
  size_t begin = 0;
  size_t end = 0;  // one past the last code point that is not white space
  bool seen = false;
  for (size_t i = 0; i < text.size();) {
    char32_t c = 0;
    const size_t length = decode(text, i, c);
    const size_t step = length == 0 ? 1 : length;
    if (length == 0 || !is_white_space(c)) {
      if (!seen) begin = i;
      seen = true;
      end = i + step;
    }
    i += step;
  }
  return seen ? text.substr(begin, end - begin) : std::string_view();
}

bool is_utf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    uint64_t eight = 0;
    if (text.size() - i >= sizeof eight) {
      std::memcpy(&eight, text.data() + i, sizeof eight);
      if ((eight & 0x8080808080808080) == 0) {  // ASCII
        i += sizeof eight;
        continue;
      }
    }
    char32_t c = 0;
    const size_t length = decode(text, i, c);
    if (length == 0) return false;
    i += length;
  }
  return true;
}

bool has_control_character(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    char32_t c = 0;
    const size_t length = decode(text, i, c);
    if (length == 0) {
      ++i;
      continue;
    }
    if (c < 0x20 || (c >= 0x7F && c <= 0x9F)) return true;
    i += length;
  }
  return false;
}

std::string to_hex(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    const auto b = static_cast<unsigned char>(c);
    out.push_back(kDigits[b >> 4]);
    out.push_back(kDigits[b & 15]);
  }
  return out;
}

bool is_lower_hex(std::string_view text, size_t digits) {
  if (text.size() != digits) return false;
  for (const char c : text) {
    if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) return false;
  }
  return true;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0;;) {
    const size_t end = text.find(separator, begin);
    parts.push_back(text.substr(begin, end == std::string_view::npos ? end : end - begin));
    if (end == std::string_view::npos) return parts;
    begin = end + 1;
  }
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string out;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i != 0) out.append(separator);
    out.append(parts[i]);
  }
  return out;
}

std::string format_utc(int64_t seconds_since_epoch) {
  const std::time_t time = seconds_since_epoch;
  std::tm parts{};
  gmtime_r(&time, &parts);
  char buffer[32];
  const size_t length = std::strftime(buffer, sizeof buffer, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return std::string(buffer, length);
}

}  // namespace assay
