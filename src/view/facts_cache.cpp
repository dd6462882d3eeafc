#include "view/facts_cache.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/files.h"
#include "base/sha256.h"
#include "base/text.h"

namespace assay::view {

namespace {

constexpr uint64_t kFileMax = uint64_t{4} << 30;
constexpr size_t kDigestDigits = 64;

// What a file must begin with: another version of the program, other cells or another store make
// another file.
std::string head_of(std::string_view store_url) {
  std::string shape = cat("rows up to ", kListedRowsMax);
  for (const std::string& name : run_cells()) shape += cat(" ", name);
  for (const std::string& name : row_cells()) shape += cat(" ", name);
  return cat("assay-view facts 1 ", sha256_hex(shape), " ", store_url, "\n");
}

void put_number(std::string& out, uint64_t value) {
  std::array<char, sizeof value> bytes{};
  std::memcpy(bytes.data(), &value, sizeof value);
  out.append(bytes.data(), bytes.size());
}
void put_text(std::string& out, std::string_view text) {
  put_number(out, text.size());
  out.append(text);
}

class Reader {
 public:
  explicit Reader(std::string_view rest) : rest_(rest) {}
  uint64_t number() {
    uint64_t value = 0;
    if (rest_.size() < sizeof value) {
      ok_ = false;
      return 0;
    }
    std::memcpy(&value, rest_.data(), sizeof value);
    rest_.remove_prefix(sizeof value);
    return value;
  }
  std::string text() {
    const uint64_t length = number();
    if (length > rest_.size()) {
      ok_ = false;
      return "";
    }
    std::string out(rest_.substr(0, length));
    rest_.remove_prefix(length);
    return out;
  }
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace

std::filesystem::path default_cache_folder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache == '/') return std::filesystem::path(cache) / "assay" / "view";
  const char* home = std::getenv("HOME");
  if (home != nullptr && *home == '/')
    return std::filesystem::path(home) / ".cache" / "assay" / "view";
  return {};
}

std::filesystem::path cache_file(const std::filesystem::path& folder, std::string_view store_url) {
  return folder / cat("facts-", sha256_hex(store_url).substr(0, 16));
}

FactsByPath load_facts(const std::filesystem::path& file, std::string_view store_url) {
  FactsByPath facts;
  const auto bytes = read_file(file, kFileMax);
  if (!bytes || bytes->size() < kDigestDigits) return facts;
  const std::string_view body(bytes->data(), bytes->size() - kDigestDigits);
  const std::string head = head_of(store_url);
  if (!body.starts_with(head) || sha256_hex(body) != bytes->substr(body.size())) return facts;
  Reader reader(body.substr(head.size()));
  const uint64_t count = reader.number();
  facts.reserve(std::min<uint64_t>(count, 1'000'000));
  for (uint64_t i = 0; i < count && reader.ok(); ++i) {
    std::string path = reader.text();
    CachedFacts cached;
    cached.size_bytes = reader.number();
    cached.modified_ns = static_cast<int64_t>(reader.number());
    const uint64_t flags = reader.number();
    cached.facts.shown = (flags & 1U) != 0;
    cached.facts.foreign = (flags & 2U) != 0;
    cached.facts.rows = reader.number();
    cached.facts.rows_listed = reader.number();
    cached.facts.sha256 = reader.text();
    cached.facts.problem = reader.text();
    cached.facts.cells = reader.text();
    facts.insert_or_assign(std::move(path), std::move(cached));
  }
  // The digest was right, so this is a file of ours: a shape that does not fit is a bug of an older
  // version, and not worth more than reading the shards again.
  if (!reader.ok() || !reader.at_end()) facts.clear();
  return facts;
}

Status save_facts(const std::filesystem::path& file, std::string_view store_url,
                  const FactsByPath& facts) {
  static_assert(std::endian::native == std::endian::little, "the file is for this machine alone");
  std::vector<const FactsByPath::value_type*> order;
  order.reserve(facts.size());
  size_t size = 4096;
  for (const auto& item : facts) {
    order.push_back(&item);
    size += item.first.size() + item.second.facts.cells.size() + item.second.facts.problem.size() +
            kDigestDigits + 128;
  }
  std::sort(order.begin(), order.end(),
            [](const auto* a, const auto* b) { return a->first < b->first; });
  std::string out = head_of(store_url);
  out.reserve(size);
  put_number(out, order.size());
  for (const auto* item : order) {
    const CachedFacts& cached = item->second;
    put_text(out, item->first);
    put_number(out, cached.size_bytes);
    put_number(out, static_cast<uint64_t>(cached.modified_ns));
    put_number(out, (cached.facts.shown ? 1U : 0U) | (cached.facts.foreign ? 2U : 0U));
    put_number(out, cached.facts.rows);
    put_number(out, cached.facts.rows_listed);
    put_text(out, cached.facts.sha256);
    put_text(out, cached.facts.problem);
    put_text(out, cached.facts.cells);
  }
  out += sha256_hex(out);
  return write_file_atomic(file, out);
}

}  // namespace assay::view
