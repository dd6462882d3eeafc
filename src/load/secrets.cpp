#include "load/secrets.h"

#include <string_view>

#include "base/json.h"
#include "base/text.h"

namespace assay::load {

namespace {

constexpr size_t kSizeMin = 4;

std::string with_all(std::string text, std::string_view what, std::string_view instead) {
  for (size_t at = text.find(what); at != std::string::npos;
       at = text.find(what, at + instead.size())) {
    text.replace(at, what.size(), instead);
  }
  return text;
}

}  // namespace

Secrets::Secrets(const Endpoint& endpoint) {
  constexpr std::string_view kScheme = "Bearer ";
  for (const auto& [name, value] : endpoint.headers) {
    std::string_view text = value;
    if (text.starts_with(kScheme)) text.remove_prefix(kScheme.size());
    const std::string secret(trim(text));
    if (secret.size() < kSizeMin) continue;
    spellings_.push_back(secret);
    std::string escaped = json::write(secret);  // in quotes
    escaped = escaped.substr(1, escaped.size() - 2);
    if (escaped != secret) spellings_.push_back(escaped);
    // Some writers escape a slash too.
    if (const std::string slashed = with_all(escaped, "/", "\\/"); slashed != escaped) {
      spellings_.push_back(slashed);
    }
  }
}

std::string Secrets::hidden(std::string text) const {
  for (const std::string& spelling : spellings_) text = with_all(std::move(text), spelling, "***");
  return text;
}

}  // namespace assay::load
