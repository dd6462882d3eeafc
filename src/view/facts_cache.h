// Facts of shards kept between runs of the program: derived, and safe to delete at any time.
//
// File      one a store, ${XDG_CACHE_HOME:-~/.cache}/assay/view/<digest of the store's URL>; it
//           ends in a digest of itself. A file that is cut short, altered, or of another version is
//           as good as none.
// Key       path, size and modification time of a shard: shards are immutable, so equal keys mean
//           equal facts.
// Threads   not safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/result.h"
#include "view/facts.h"

namespace assay::view {

struct CachedFacts {
  uint64_t size_bytes = 0;
  int64_t modified_ns = 0;  // 0 where the store has no such time
  ShardFacts facts{};
};
using FactsByPath = std::unordered_map<std::string, CachedFacts>;

/// ${XDG_CACHE_HOME:-~/.cache}/assay/view, or an empty path when neither is set.
[[nodiscard]] std::filesystem::path default_cache_folder();

[[nodiscard]] std::filesystem::path cache_file(const std::filesystem::path& folder,
                                               std::string_view store_url);

/// The facts in the file; none when it is missing or not whole.
[[nodiscard]] FactsByPath load_facts(const std::filesystem::path& file, std::string_view store_url);

/// Replaces the file. Refuses FILE-NOT-WRITTEN.
[[nodiscard]] Status save_facts(const std::filesystem::path& file, std::string_view store_url,
                                const FactsByPath& facts);

}  // namespace assay::view
