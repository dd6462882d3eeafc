#include "load/campaign_secrets.h"

#include "base/files.h"
#include "base/secrets.h"
#include "base/text.h"

namespace assay::load {

namespace {

constexpr uint64_t kLogMax = uint64_t{1} << 30;
constexpr std::string_view kBetween = " \t\n'\"";

// "Bearer abc" is the key abc.
std::string_view without_scheme(std::string_view value) {
  for (const std::string_view scheme : {"Bearer ", "Basic "}) {
    if (value.starts_with(scheme)) value.remove_prefix(scheme.size());
  }
  return trim(value);
}

std::string_view without_dashes(std::string_view flag) {
  return flag.substr(std::min(flag.find_first_not_of('-'), flag.size()));
}

// user:password@ of a URL.
void add_password(std::string_view word, Secrets& secrets) {
  const size_t scheme = word.find("://");
  if (scheme == std::string_view::npos) return;
  const std::string_view authority =
      word.substr(scheme + 3, word.find('/', scheme + 3) - scheme - 3);
  const size_t at = authority.rfind('@'), colon = authority.find(':');
  if (at != std::string_view::npos && colon < at)
    secrets.add(authority.substr(colon + 1, at - colon - 1));
}

// One word of a command line; true when its value is the next one.
bool add_word(std::string_view word, Secrets& secrets) {
  add_password(word, secrets);
  const size_t mark = word.find_first_of("=:");
  if (!is_secret_key(without_dashes(word.substr(0, mark)))) return false;
  if (mark != std::string_view::npos) secrets.add(without_scheme(word.substr(mark + 1)));
  return mark == std::string_view::npos && word.starts_with('-');
}

// A whole command line in one word, as a shell takes it. "Authorization: Bearer abc" is one too.
void add_line(std::string_view line, Secrets& secrets) {
  bool value_follows = false;
  for (size_t begin = line.find_first_not_of(kBetween); begin != std::string_view::npos;) {
    const size_t end = line.find_first_of(kBetween, begin);
    const std::string_view word = line.substr(begin, end - begin);
    if (value_follows && word != "Bearer" && word != "Basic") {
      secrets.add(word);
      value_follows = false;
    } else if (!value_follows) {
      value_follows = add_word(word, secrets) ||
                      (word.ends_with(':') && is_secret_key(word.substr(0, word.size() - 1)));
    }
    begin = end == std::string_view::npos ? end : line.find_first_not_of(kBetween, end);
  }
}

}  // namespace

Secrets secrets_of(const ServerSpec& server) {
  Secrets secrets;
  bool value_follows = false;
  for (const std::string& word : server.argv) {
    if (value_follows) secrets.add(word);
    value_follows = !value_follows && add_word(word, secrets);
    add_line(word, secrets);
  }
  for (const auto& [name, value] : server.environment) {
    if (is_secret_key(name)) secrets.add(without_scheme(value));
    add_password(value, secrets);
  }
  return secrets;
}

Status hide_in_log(const std::filesystem::path& log, const Secrets& secrets) {
  std::error_code error;
  if (secrets.empty() || !std::filesystem::exists(log, error)) return {};
  TRY(bytes, read_file(log, kLogMax));
  std::string hidden = secrets.hidden(bytes);
  if (hidden == bytes) return {};
  return write_file_atomic(log, hidden);
}

}  // namespace assay::load
