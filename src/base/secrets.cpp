// Keys that name a secret, and documents without the values of such keys.
#include "base/secrets.h"

#include <array>
#include <vector>

#include "base/ascii.h"

namespace assay {

namespace {

constexpr std::string_view kMask = "***";

template <size_t N>
bool contains(const std::array<std::string_view, N>& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}
/// How every secret key ends, written together in lower case.
constexpr std::array<std::string_view, 40> kSecretEnds = {
    "password",      "passwords",   "passwd",     "passphrase",      "passcode",
    "pwd",           "dbpass",      "userpass",   "secret",          "secrets",
    "credential",    "credentials", "creds",      "authorization",   "authentication",
    "auth",          "bearer",      "cookie",     "cookies",         "apikey",
    "apikeys",       "secretkey",   "privatekey", "accesskey",       "accesskeyid",
    "accountkey",    "masterkey",   "licensekey", "authkey",         "signingkey",
    "encryptionkey", "sessionkey",  "sshkey",     "subscriptionkey", "sessionid",
    "sessid",        "signature",   "apitokens",  "accesstokens",    "authtokens"};
/// Before "token" these make a measure, or a mark of a vocabulary.
constexpr std::array<std::string_view, 51> kTokenOf = {
    "per",      "first",      "second",    "nth",       "last",     "next",    "each",
    "every",    "any",        "one",       "single",    "new",      "output",  "input",
    "prompt",   "completion", "generated", "decoded",   "decode",   "prefill", "draft",
    "accepted", "sampled",    "cached",    "reasoning", "context",  "target",  "response",
    "answer",   "eos",        "bos",       "eot",       "eom",      "pad",     "padding",
    "unk",      "unknown",    "sep",       "cls",       "mask",     "stop",    "start",
    "end",      "begin",      "special",   "think",     "thinking", "image",   "sub",
    "extra",    "vocabulary"};
/// Words behind the one that counts.
constexpr std::array<std::string_view, 5> kTrailing = {"value", "header", "string", "text", "raw"};
/// Every secret key holds one of these; the others are told at once. Lower case.
constexpr std::array<std::string_view, 10> kRoots = {"tok", "pass", "pwd",  "secret", "cred",
                                                     "key", "auth", "sess", "cook",   "sig"};

constexpr size_t kKeySizeMax = 128;  // of a longer key the end is looked at

bool may_be_secret(std::string_view key) {
  for (size_t i = 0; i + 3 <= key.size(); ++i) {
    const char first = to_lower(key[i]);
    if (first != 't' && first != 'p' && first != 's' && first != 'c' && first != 'k' &&
        first != 'a' && first != 'b') {
      continue;
    }
    const auto is = [&](std::string_view root) {
      return key.size() - i >= root.size() &&
             std::equal(root.begin(), root.end(), key.begin() + static_cast<std::ptrdiff_t>(i),
                        [](char a, char b) { return a == to_lower(b); });
    };
    if (first == 'b' ? is("bearer") : std::any_of(kRoots.begin(), kRoots.end(), is)) return true;
  }
  return false;
}

/// The words of a key in lower case: at every character that is no letter or digit, and at capitals
/// ("hfToken", "APIKey") something new begins.
std::vector<std::string> words_of(std::string_view key) {
  std::vector<std::string> words;
  bool fresh = true;
  for (size_t i = 0; i < key.size(); ++i) {
    const char c = key[i];
    if (!is_alnum(c)) {
      fresh = true;
      continue;
    }
    const bool after_small = i > 0 && (is_lower(key[i - 1]) || is_digit(key[i - 1]));
    const bool before_small =
        i > 0 && is_upper(key[i - 1]) && i + 1 < key.size() && is_lower(key[i + 1]);
    if (fresh || (is_upper(c) && (after_small || before_small))) words.emplace_back();
    words.back().push_back(to_lower(c));
    fresh = false;
  }
  return words;
}

/// Whether the "token" behind these words opens a door.
bool is_access_token(const std::vector<std::string>& before) {
  if (before.empty()) return true;
  if (contains(kTokenOf, before.back())) return false;
  return std::none_of(before.begin(), before.end(), [](const std::string& word) {
    return word == "per" || word == "time" || word == "tokenizer";
  });
}

}  // namespace

bool is_secret_key(std::string_view key) {
  if (!may_be_secret(key)) return false;
  if (key.size() > kKeySizeMax) key.remove_prefix(key.size() - kKeySizeMax);
  std::vector<std::string> words = words_of(key);
  while (words.size() > 1 && (all_digits(words.back()) || contains(kTrailing, words.back())))
    words.pop_back();
  if (words.empty()) return false;
  std::string together;
  for (const std::string& word : words) together += word;
  while (!together.empty() && is_digit(together.back())) together.pop_back();
  const auto ends = [&together](std::string_view end) { return together.ends_with(end); };
  if (std::any_of(kSecretEnds.begin(), kSecretEnds.end(), ends) || words.back() == "sig")
    return true;
  // "hftoken" is "hf token".
  constexpr std::string_view kToken = "token";
  std::string last = words.back();
  while (!last.empty() && is_digit(last.back())) last.pop_back();
  if (!last.ends_with(kToken)) return false;
  words.pop_back();
  last.resize(last.size() - kToken.size());
  if (!last.empty()) words.push_back(std::move(last));
  return is_access_token(words);
}

namespace {

// "--api-key" and nothing behind it.
bool is_secret_flag(const json::Value& value) {
  if (!value.is_string()) return false;
  const std::string& text = value.string();
  return text.size() > 2 && text[0] == '-' && text.find_first_of(" =") == std::string::npos &&
         is_secret_key(text);
}

}  // namespace

void mask_secrets(json::Value& value) {
  if (value.is_string()) {
    if (auto masked = mask_text(value.string())) value = json::Value(std::move(*masked));
  } else if (value.is_array()) {
    bool behind_flag = false;
    for (json::Value& item : value.items()) {
      const bool flag = is_secret_flag(item);
      if (behind_flag && item.is_string() && !item.string().starts_with('-')) {
        item = json::Value(kMask);
      } else {
        mask_secrets(item);
      }
      behind_flag = flag;
    }
  } else if (value.is_object()) {
    for (auto& [key, member] : value.members()) {
      if (member.is_null()) continue;
      if (is_secret_key(key)) {
        member = json::Value(kMask);
      } else {
        mask_secrets(member);
      }
    }
  }
}

}  // namespace assay
