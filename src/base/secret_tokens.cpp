#include "base/secret_tokens.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "base/ascii.h"

namespace assay {

bool is_irregular(std::string_view piece, size_t size_min) {
  if (piece.size() < size_min) return false;
  const bool digit = std::any_of(piece.begin(), piece.end(), is_digit);
  const bool small = std::any_of(piece.begin(), piece.end(), is_lower);
  const bool capital = std::any_of(piece.begin() + 1, piece.end(), is_upper);
  return (digit && (small || capital)) || (small && capital) || (digit && piece.size() >= 16);
}

namespace {

constexpr size_t kAhead = 512;  // looked at before it is known whether something is a token

template <class Is>
size_t run_end(std::string_view text, size_t at, Is&& is,
               size_t size_max = std::string_view::npos) {
  const size_t limit = at + std::min(text.size() - at, size_max);
  while (at < limit && is(text[at])) ++at;
  return at;
}

bool has_irregular_piece(std::string_view body) {
  size_t begin = 0;
  for (size_t i = 0; i <= body.size(); ++i) {
    if (i < body.size() && is_alnum(body[i])) continue;
    if (is_irregular(body.substr(begin, i - begin), 8)) return true;
    begin = i + 1;
  }
  return false;
}

bool begins_word(std::string_view text, size_t begin, size_t from) {
  return begin == from || !is_alnum(text[begin - 1]);
}

// AKIA…, ASIA…: twenty capitals and digits.
std::optional<TextSpan> amazon_key(std::string_view text, size_t at, size_t from) {
  if (at < from + 2) return std::nullopt;
  const size_t begin = at - 2;
  const std::string_view four = text.substr(begin, 4);
  if ((four != "AKIA" && four != "ASIA") || !begins_word(text, begin, from)) return std::nullopt;
  const size_t end = run_end(text, begin, [](char c) { return is_upper(c) || is_digit(c); });
  return end - begin >= 16 && (end == text.size() || !is_lower(text[end]))
             ? std::optional<TextSpan>(TextSpan{begin, end})
             : std::nullopt;
}

// eyJ….….…: JSON in base64 between dots.
std::optional<TextSpan> web_token(std::string_view text, size_t at, size_t from) {
  if (at < from + 2 || text.substr(at - 2, 3) != "eyJ" || !begins_word(text, at - 2, from))
    return std::nullopt;
  const size_t begin = at - 2;
  const auto belongs = [](char c) {
    return is_alnum(c) || c == '-' || c == '_' || c == '.' || c == '=';
  };
  const size_t looked_at = run_end(text, begin, belongs, kAhead);
  const std::string_view body = text.substr(begin, looked_at - begin);
  if (body.size() < 24 || body.find('.') == std::string_view::npos) return std::nullopt;
  return TextSpan{begin, run_end(text, looked_at, belongs)};
}

/// A kind of token: `what` is its beginning, whose last characters stand at the trigger.
struct Kind {
  std::string_view what;
  size_t rest_min;         // characters after it
  std::string_view extra;  // beside letters and digits
  bool irregular;          // a long piece without separators must mix digits or cases
};
constexpr std::array<Kind, 23> kKinds = {
    {{"hf_", 16, "", true},        {"sk-", 16, "-_", true},        {"sk_live_", 12, "", false},
     {"sk_test_", 12, "", false},  {"rk_live_", 12, "", false},    {"ghp_", 16, "", true},
     {"gho_", 16, "", true},       {"ghu_", 16, "", true},         {"ghs_", 16, "", true},
     {"ghr_", 16, "", true},       {"github_pat_", 16, "_", true}, {"glpat-", 16, "-_", true},
     {"xoxb-", 10, "-", true},     {"xoxp-", 10, "-", true},       {"xoxa-", 10, "-", true},
     {"xoxs-", 10, "-", true},     {"xapp-", 10, "-", true},       {"nvapi-", 20, "-_", true},
     {"gsk_", 20, "", true},       {"npm_", 20, "", true},         {"pypi-", 20, "-_", true},
     {"wandb_v1_", 20, "_", true}, {"AIza", 30, "-_", true}}};

/// Where the character stands that gives a kind away: its last separator, or the I of AIza.
constexpr size_t sign_of(const Kind& kind) {
  return kind.what[0] == 'A' ? 1 : kind.what.size() - 1;
}
/// The kinds, as bits, in which a character stands before that sign.
constexpr std::array<uint32_t, 256> kKindsAfter = [] {
  std::array<uint32_t, 256> out{};
  for (size_t i = 0; i < kKinds.size(); ++i) {
    const char before = kKinds[i].what[sign_of(kKinds[i]) - 1];
    out[static_cast<unsigned char>(before)] |= uint32_t{1} << i;
  }
  return out;
}();

}  // namespace

std::optional<TextSpan> known_token(std::string_view text, size_t at, size_t from) {
  if (text[at] == 'J') return web_token(text, at, from);
  if (text[at] == 'I') {
    if (const auto key = amazon_key(text, at, from)) return key;
  }
  if (at == from) return std::nullopt;
  for (uint32_t left = kKindsAfter[static_cast<unsigned char>(text[at - 1])]; left != 0;
       left &= left - 1) {
    const Kind& kind = kKinds[static_cast<size_t>(std::countr_zero(left))];
    const size_t back = sign_of(kind);
    if (kind.what[back] != text[at] || at < from + back) continue;
    const size_t begin = at - back;
    if (text.substr(begin, kind.what.size()) != kind.what || !begins_word(text, begin, from))
      continue;
    const size_t rest = begin + kind.what.size();
    const auto belongs = [&](char c) {
      return is_alnum(c) || kind.extra.find(c) != std::string_view::npos;
    };
    const size_t looked_at = run_end(text, rest, belongs, kAhead);
    const std::string_view body = text.substr(rest, looked_at - rest);
    if (body.size() < kind.rest_min || (kind.irregular && !has_irregular_piece(body))) continue;
    const size_t end = run_end(text, looked_at, belongs);
    return TextSpan{begin, end};
  }
  return std::nullopt;
}

}  // namespace assay
