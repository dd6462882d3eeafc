#include "publish/tags.h"

#include <algorithm>
#include <limits>

#include "base/ensure.h"

namespace assay::publish {

void Tags::put(std::string_view key, std::string_view text) {
  text_ += key;
  const size_t key_end = text_.size();
  text_ += text;
  ENSURE(text_.size() <= std::numeric_limits<uint32_t>::max());
  ends_.push_back(static_cast<uint32_t>(key_end));
  ends_.push_back(static_cast<uint32_t>(text_.size()));
}

void Tags::reserve(size_t tags, size_t bytes) {
  text_.reserve(bytes);
  ends_.reserve(2 * tags);
}

void Tags::clear() {
  text_.clear();
  ends_.clear();
}

std::optional<std::string_view> Tags::find(std::string_view key) const {
  for (const auto& [other, text] : *this) {
    if (other == key) return text;
  }
  return std::nullopt;
}

std::vector<Tags::Tag> sorted(const Tags& tags) {
  std::vector<Tags::Tag> out(tags.begin(), tags.end());
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace assay::publish
