#include "load/secrets.h"

#include <string_view>

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
    add(trim(text));
  }
}

void Secrets::add(const Secrets& others) {
  spellings_.insert(spellings_.end(), others.spellings_.begin(), others.spellings_.end());
}

void Secrets::add(std::string_view value) {
  if (value.size() < kSizeMin) return;
  const std::string secret(value);
  spellings_.push_back(secret);
  if (!is_utf8(secret)) return;
  std::string escaped = json::write(secret);  // in quotes
  escaped = escaped.substr(1, escaped.size() - 2);
  if (escaped != secret) spellings_.push_back(escaped);
  // Some writers escape a slash too.
  if (const std::string slashed = with_all(escaped, "/", "\\/"); slashed != escaped) {
    spellings_.push_back(slashed);
  }
}

std::string Secrets::hidden(std::string text) const {
  for (const std::string& spelling : spellings_) text = with_all(std::move(text), spelling, "***");
  return text;
}

void Secrets::hide(json::Value& value) const {
  if (empty()) return;
  if (value.is_string()) {
    std::string text = hidden(value.string());
    if (text != value.string()) value = json::Value(std::move(text));
  } else if (value.is_array()) {
    for (json::Value& item : value.items()) hide(item);
  } else if (value.is_object()) {
    for (auto& [key, member] : value.members()) hide(member);
  }
}

}  // namespace assay::load
