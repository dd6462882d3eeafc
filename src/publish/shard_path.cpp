// Names of shards.
#include <algorithm>

#include "base/sha256.h"
#include "base/text.h"
#include "publish/shard.h"

namespace assay::publish {

std::string model_slug(std::string_view model) {
  std::string slug;
  for (const char c : model) {
    const bool digit = c >= '0' && c <= '9';
    const bool lower = c >= 'a' && c <= 'z';
    const bool upper = c >= 'A' && c <= 'Z';
    slug.push_back(digit || lower || c == '-' ? c : upper ? static_cast<char>(c - 'A' + 'a') : '-');
  }
  const size_t begin = slug.find_first_not_of('-');
  if (begin == std::string::npos) return "";
  slug = slug.substr(begin, slug.find_last_not_of('-') - begin + 1);
  return slug.substr(0, 50);
}

std::string shard_path(const Envelope& envelope, std::string_view shard_bytes, size_t hash_digits) {
  std::string time = envelope.text("timestamp");
  std::replace(time.begin(), time.end(), ':', '-');
  if (time.ends_with('Z')) time.pop_back();
  return cat("data/run-", time, "-", envelope.text("git_sha"), "-", envelope.text("suite"), "-",
             model_slug(envelope.text("model")), "-",
             sha256_hex(shard_bytes).substr(0, hash_digits), ".parquet");
}

std::string_view digest_in_name(std::string_view name) {
  constexpr std::string_view kEnd = ".parquet";
  if (!name.ends_with(kEnd)) return {};
  name.remove_suffix(kEnd.size());
  const size_t dash = name.rfind('-');
  if (dash == std::string_view::npos) return {};
  const std::string_view digits = name.substr(dash + 1);
  return is_lower_hex(digits, 8) || is_lower_hex(digits, 16) ? digits : std::string_view();
}

const Cell& Shard::at(size_t column, size_t row) const {
  static const Cell null;
  const std::vector<Cell>& found = cells[column];
  return found.empty() ? null : found.size() == 1 ? found[0] : found[row];
}

const Cell& Shard::at(std::string_view column, size_t row) const {
  static const Cell null;
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == column) return at(i, row);
  }
  return null;
}

}  // namespace assay::publish
