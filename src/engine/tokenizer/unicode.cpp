#include "engine/tokenizer/unicode.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace assay::engine::tokenizer {
namespace {

struct Boundary {
  uint32_t first;  // this class holds from here to the next boundary
  CharClass char_class;
};

constexpr CharClass O = CharClass::other;
constexpr CharClass L = CharClass::letter;
constexpr CharClass M = CharClass::mark;
constexpr CharClass N = CharClass::number;
constexpr CharClass S = CharClass::white_space;
constexpr Boundary kBoundaries[] = {
#include "engine/tokenizer/unicode_categories.inc"
};

constexpr std::array<CharClass, 128> kAscii = [] {
  std::array<CharClass, 128> classes{};
  size_t at = 0;
  for (uint32_t c = 0; c < classes.size(); ++c) {
    while (kBoundaries[at + 1].first <= c) ++at;
    classes[c] = kBoundaries[at].char_class;
  }
  return classes;
}();

// What may follow a lead byte: how many bytes, and the range of the first of them (Unicode 15,
// table 3-7). Every further byte is 80..BF.
struct Lead {
  uint8_t size = 0;  // of the whole sequence; 0 = not a lead byte
  uint8_t second_min = 0x80;
  uint8_t second_max = 0xBF;
};

constexpr Lead lead_of(uint8_t byte) {
  if (byte < 0x80) return {1};
  if (byte < 0xC2) return {};
  if (byte < 0xE0) return {2};
  if (byte == 0xE0) return {3, 0xA0, 0xBF};
  if (byte == 0xED) return {3, 0x80, 0x9F};
  if (byte < 0xF0) return {3};
  if (byte == 0xF0) return {4, 0x90, 0xBF};
  if (byte < 0xF4) return {4};
  if (byte == 0xF4) return {4, 0x80, 0x8F};
  return {};
}

// Bytes from `at` on that belong to one well-formed sequence, complete or not.
size_t good_prefix(std::string_view text, size_t at, const Lead& lead) {
  size_t good = 1;
  while (good < lead.size && at + good < text.size()) {
    const auto byte = static_cast<uint8_t>(text[at + good]);
    const bool fits = good == 1 ? byte >= lead.second_min && byte <= lead.second_max
                                : byte >= 0x80 && byte <= 0xBF;
    if (!fits) break;
    ++good;
  }
  return good;
}

}  // namespace

CharClass class_of(uint32_t code_point) noexcept {
  if (code_point < kAscii.size()) return kAscii[code_point];
  const auto after =
      std::upper_bound(std::begin(kBoundaries), std::end(kBoundaries), code_point,
                       [](uint32_t c, const Boundary& boundary) { return c < boundary.first; });
  return std::prev(after)->char_class;
}

DecodedChar decode_utf8(std::string_view text, size_t at) noexcept {
  const auto first = static_cast<uint8_t>(text[at]);
  if (first < 0x80) return {first, 1};
  const Lead lead = lead_of(first);
  if (lead.size == 0 || good_prefix(text, at, lead) != lead.size) return {0, 0};
  uint32_t code_point = first & (0x7Fu >> lead.size);
  for (size_t i = 1; i < lead.size; ++i) {
    code_point = code_point << 6 | (static_cast<uint8_t>(text[at + i]) & 0x3Fu);
  }
  return {code_point, lead.size};
}

size_t broken_utf8(std::string_view text, size_t at) noexcept {
  return good_prefix(text, at, lead_of(static_cast<uint8_t>(text[at])));
}

size_t incomplete_utf8(std::string_view text, size_t at) noexcept {
  const Lead lead = lead_of(static_cast<uint8_t>(text[at]));
  if (lead.size < 2) return 0;
  const size_t good = good_prefix(text, at, lead);
  return good < lead.size && at + good == text.size() ? good : 0;
}

std::string replace_broken_bytes(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const uint32_t size = decode_utf8(text, at).size_bytes;
    if (size == 0) {
      out += "\xEF\xBF\xBD";
      ++at;
    } else {
      out += text.substr(at, size);
      at += size;
    }
  }
  return out;
}

void append_utf8_short(std::string& out, uint32_t code_point) {
  if (code_point < 0x80) {
    out += static_cast<char>(code_point);
  } else {
    out += static_cast<char>(0xC0 | code_point >> 6);
    out += static_cast<char>(0x80 | (code_point & 0x3F));
  }
}

}  // namespace assay::engine::tokenizer
