// Secrets inside texts: looked for around the few characters that can tell one.
#include <array>
#include <cstdint>

#include "base/ascii.h"
#include "base/secret_tokens.h"
#include "base/secrets.h"

namespace assay {

namespace {

constexpr std::string_view kMask = "***";
constexpr size_t kKeySizeMax = 128;

bool is_quote(char c) {
  return c == '"' || c == '\'' || c == '`';
}

template <size_t N>
bool contains(const std::array<std::string_view, N>& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}
using Found = std::optional<TextSpan>;

bool is_key_char(char c) {
  return is_alnum(c) || c == '_' || c == '-' || c == '.';
}
bool is_token_char(char c) {  // of base64, in both alphabets, and of what stands in headers
  return is_alnum(c) || c == '_' || c == '-' || c == '.' || c == '+' || c == '/' || c == '=' ||
         c == '~';
}

/// A text and the ways to find what is to be masked around a character of it. Looks ahead and back
/// are bounded, so that no text costs more than a multiple of its size.
class Finder {
 public:
  explicit Finder(std::string_view text) : text_(text) {}

  /// What to mask, where the character at `at` may tell it. `from`: nothing before it is touched.
  [[nodiscard]] Found at(size_t at, size_t from) const {
    switch (text_[at]) {
      case ':': {
        if (text_.substr(at, 3) == "://") return user_info(at + 3);
        if (text_.substr(at, 5) == ":\\/\\/") return user_info(at + 5);  // in JSON in a text
        return value_of_key(at, from);
      }
      case '=': return value_of_key(at, from);
      case ' ':
      case '\t':
      case '\n': return after_space(at, from);
      case '_':
      case '-': {
        if (text_.substr(at, 10) == "-----BEGIN") return private_key(at);
        return known_token(text_, at, from);
      }
      case 'I':
      case 'J': return known_token(text_, at, from);
      default: return std::nullopt;
    }
  }

 private:
  static constexpr size_t kAhead = 512;

  [[nodiscard]] char char_at(size_t i) const { return i < text_.size() ? text_[i] : '\0'; }

  template <class Is>
  [[nodiscard]] size_t run_end(size_t at, Is&& is, size_t size_max = std::string_view::npos) const {
    const size_t limit = at + std::min(text_.size() - at, size_max);
    while (at < limit && is(text_[at])) ++at;
    return at;
  }

  // user:password@ of a URL whose authority begins at `begin`. A slash in a password (which should
  // be escaped there) does not hide it: `user:pa/ss@host`, but not `host:80/a@b`.
  [[nodiscard]] Found user_info(size_t begin) const {
    const size_t limit = std::min(text_.size(), begin + kAhead);
    size_t colon = 0, sign = 0;  // 0: none
    bool in_path = false;
    for (size_t i = begin; i < limit && !is_space(text_[i]) && !is_quote(text_[i]); ++i) {
      const char c = text_[i];
      if (c == ':' && colon == 0) colon = i;
      if (c == '@' && text_.substr(i, 8) != "@sha256:") sign = i;  // of an image, a digest follows
      if (c != '/' && c != '?' && c != '#') continue;
      if (sign != 0) break;
      if (in_path) continue;
      const size_t after = colon + 1;
      if (colon == 0 || text_[begin] == '[' || all_digits(text_.substr(after, i - after)))
        return std::nullopt;
      in_path = true;
    }
    return nonempty(begin, sign);
  }

  // The value at `begin`, quoted or not. `list`: the characters at which another pair may begin.
  [[nodiscard]] Found value_at(size_t begin, std::string_view list) const {
    size_t open = begin;
    while (char_at(open) == '\\') ++open;
    if (is_quote(char_at(open))) {
      const size_t slashes = open - begin;
      const char quote = text_[open];
      const size_t inside = open + 1;
      for (size_t i = inside; i < text_.size(); ++i) {
        if (text_[i] != quote) continue;
        size_t before = i;
        while (before > inside && text_[before - 1] == '\\') --before;
        if (i - before == slashes || before == inside) return nonempty(inside, before);
      }
      return nonempty(inside, text_.size());
    }
    if (char_at(begin) == '{' || char_at(begin) == '[') return bracketed(begin);
    size_t end = begin;
    for (; end < text_.size() && !is_space(text_[end]); ++end) {
      const char c = text_[end];
      if (is_quote(c) && !is_alnum(char_at(end + 1))) break;
      if (list.find(c) != std::string_view::npos && ends_pair(end)) break;
      if ((c == '}' || c == ']' || c == ')') && ends_word(end + 1)) break;
    }
    while (end > begin && text_[end - 1] == '\\') --end;
    return nonempty(begin, end);
  }

  // An object or a list, as JSON or Python writes it; without its end, all that follows.
  [[nodiscard]] Found bracketed(size_t begin) const {
    size_t depth = 0;
    for (size_t i = begin; i < text_.size(); ++i) {
      if (text_[i] == '{' || text_[i] == '[') ++depth;
      if ((text_[i] == '}' || text_[i] == ']') && --depth == 0) return nonempty(begin, i + 1);
    }
    return nonempty(begin, text_.size());
  }

  [[nodiscard]] bool ends_word(size_t at) const {
    return at >= text_.size() || is_space(text_[at]) ||
           std::string_view("\"'`,;.:)]}").find(text_[at]) != std::string_view::npos;
  }

  // Whether the separator at `at` ends a value: what follows is another `key=`, or nothing of it.
  [[nodiscard]] bool ends_pair(size_t at) const {
    size_t next = at + 1;
    while (char_at(next) == ' ') ++next;
    if (next >= text_.size() || next > at + 1) return true;
    const size_t limit = std::min(text_.size(), next + 64);
    size_t end = next;
    while (end < limit && is_key_char(text_[end])) ++end;
    return end > next ? char_at(end) == '=' || char_at(end) == ':'
                      : is_quote(char_at(end)) || is_space(char_at(end)) || char_at(end) == '{';
  }

  [[nodiscard]] Found nonempty(size_t begin, size_t end) const {
    if (begin >= end || text_.substr(begin, end - begin) == kMask) return std::nullopt;
    return TextSpan{begin, end};
  }

  [[nodiscard]] std::string_view key_before(size_t end, size_t from) const {
    size_t begin = end;
    const size_t limit = end - std::min(end - from, kKeySizeMax);
    while (begin > limit && is_key_char(text_[begin - 1])) --begin;
    return text_.substr(begin, end - begin);
  }

  // key=value, key: value, "key": "value", also with its quotes escaped.
  [[nodiscard]] Found value_of_key(size_t sign, size_t from) const {
    size_t key_end = sign;
    while (key_end > from &&
           (text_[key_end - 1] == ' ' || is_quote(text_[key_end - 1]) ||
            text_[key_end - 1] == '\\' || text_[key_end - 1] == ']') &&
           sign - key_end < 8) {
      --key_end;
    }
    std::string_view key = key_before(key_end, from);
    const std::string name = to_lower(key);
    if (name == "key" || name == "keys") {  // "API key: abc"
      const size_t begin = key_end - key.size();
      if (begin > from && text_[begin - 1] == ' ')
        key = text_.substr(begin - 1 - key_before(begin - 1, from).size());
      key = key.substr(0, key_end - static_cast<size_t>(key.data() - text_.data()));
    }
    if (key.size() < 3 || !is_secret_key(key)) return std::nullopt;
    size_t begin = sign + 1;
    while (char_at(begin) == ' ' || char_at(begin) == '\t') ++begin;
    if (const auto credentials = after_scheme(begin)) return value_at(*credentials, ";");
    // A header's value goes to the end of its line.
    const bool header =
        name.ends_with("cookie") || name.ends_with("cookies") || name.ends_with("authorization");
    if (header && text_[sign] == ':' && !is_quote(char_at(begin)) && char_at(begin) != '\\') {
      return nonempty(begin, std::min(text_.size(), text_.find_first_of("\r\n\"'", begin)));
    }
    // In a sentence: "unexpected token: }".
    if (text_[sign] == ':' && name == "token" && !is_quote(char_at(begin))) {
      const size_t end = run_end(begin, is_token_char);
      if (!is_irregular(text_.substr(begin, end - begin), 8)) return std::nullopt;
    }
    return value_at(begin, ",&;");
  }

  // Where something stands behind a scheme's name at `begin`: "Bearer abc", "Token abc".
  [[nodiscard]] std::optional<size_t> after_scheme(size_t begin) const {
    constexpr std::array<std::string_view, 5> kSchemes = {"bearer", "basic", "token", "apikey",
                                                          "negotiate"};
    const size_t limit = std::min(text_.size(), begin + 20);
    size_t end = begin;
    while (end < limit && (is_alnum(text_[end]) || text_[end] == '-')) ++end;
    if (char_at(end) != ' ' || !contains(kSchemes, to_lower(text_.substr(begin, end - begin))))
      return std::nullopt;
    return run_end(end, is_space);
  }

  // A flag before the space, or the name of a scheme.
  [[nodiscard]] Found after_space(size_t at, size_t from) const {
    if (at == from || is_space(text_[at - 1])) return std::nullopt;
    const std::string_view word = key_before(at, from);
    if (word.size() < 2) return std::nullopt;
    const size_t value = run_end(at, is_space);
    if (word == "-u" || word == "--user" || word == "--proxy-user") return user_argument(value);
    if (word[0] == '-') {
      const char first = char_at(value);
      if (first == '-' || first == '=' || first == ':' || !is_secret_key(word)) return std::nullopt;
      return value_at(value, "");
    }
    if (word.size() > 6) return std::nullopt;
    const std::string scheme = to_lower(word);
    if (scheme == "bearer") return bearer(value);
    if (scheme == "basic") return basic(value);
    return std::nullopt;
  }

  // user:password, but not the numbers of a user and a group.
  [[nodiscard]] Found user_argument(size_t begin) const {
    const size_t end = run_end(begin, [](char c) { return !is_space(c) && !is_quote(c); });
    const std::string_view value = text_.substr(begin, end - begin);
    const size_t colon = value.find(':');
    if (colon == std::string_view::npos || colon == 0 || colon + 1 == value.size() ||
        value.find_first_not_of("0123456789:") == std::string_view::npos) {
      return std::nullopt;
    }
    return nonempty(begin, end);
  }

  [[nodiscard]] Found bearer(size_t begin) const {
    constexpr std::array<std::string_view, 18> kWords = {
        "token",         "tokens",     "auth",   "authentication",
        "authorization", "scheme",     "header", "key",
        "keys",          "is",         "was",    "or",
        "and",           "of",         "not",    "missing",
        "required",      "credentials"};
    const size_t end = run_end(begin, is_token_char);
    std::string_view value = text_.substr(begin, end - begin);
    while (!value.empty() && value.back() == '.') value.remove_suffix(1);
    if (contains(kWords, value)) return std::nullopt;
    return nonempty(begin, begin + value.size());
  }

  // Base64 of "user:password"; anything else is a word behind "basic".
  [[nodiscard]] Found basic(size_t begin) const {
    const size_t end = run_end(begin, is_token_char);
    uint32_t bits = 0;
    int have = 0;
    bool colon = false;
    for (size_t i = begin; i < end && text_[i] != '='; ++i) {
      const char c = text_[i];
      const int digit = is_upper(c)            ? c - 'A'
                        : is_lower(c)          ? c - 'a' + 26
                        : is_digit(c)          ? c - '0' + 52
                        : c == '+' || c == '-' ? 62
                        : c == '/' || c == '_' ? 63
                                               : -1;
      if (digit < 0) return std::nullopt;
      bits = bits << 6 | static_cast<uint32_t>(digit);
      have += 6;
      if (have < 8) continue;
      have -= 8;
      const uint32_t byte = bits >> have & 0xFF;
      if (byte < 0x20) return std::nullopt;
      colon = colon || byte == ':';
    }
    return colon ? nonempty(begin, end) : std::nullopt;
  }

  [[nodiscard]] Found private_key(size_t at) const {
    constexpr std::string_view kHeadEnd = "PRIVATE KEY-----";
    const size_t head = text_.substr(at, 64).find(kHeadEnd);
    if (head == std::string_view::npos) return std::nullopt;
    const size_t begin = at + head + kHeadEnd.size();
    return nonempty(begin, std::min(text_.size(), text_.find("-----END", begin)));
  }

  std::string_view text_;
};

constexpr std::array<bool, 256> kTriggers = [] {
  std::array<bool, 256> out{};
  for (const char c : std::string_view(":= \t\n_-IJ")) out[static_cast<unsigned char>(c)] = true;
  return out;
}();

bool is_trigger(char c) {
  return kTriggers[static_cast<unsigned char>(c)];
}

}  // namespace

std::optional<std::string> mask_text(std::string_view text) {
  const Finder finder(text);
  std::optional<std::string> out;
  size_t copied = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (!is_trigger(text[i])) continue;
    const Found found = finder.at(i, copied);
    if (!found) continue;
    if (!out) out.emplace();
    out->append(text, copied, found->begin - copied).append(kMask);
    copied = found->end;
    i = copied - 1;
  }
  if (out) out->append(text, copied);
  return out;
}

}  // namespace assay
