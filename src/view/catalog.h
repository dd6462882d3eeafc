// The catalog of a store: every shard with its evidence, joined from the shards and the run index.
//
// Evidence  an entry's status; without one `experimental`, or `scored` (and historical) when the
// run
//           began before the index's cutoff. Without a readable run index everything is
//           experimental.
// Weights   `verified` needs the shard's own proof, and no entry that says otherwise.
// Problems  what is unreadable, foreign, altered or listed in vain is named in the index and never
//           stops it.
// Twins     data/run-canonical-X is a rewritten copy of data/X: the run is counted once, by data/X.
// Cost      only shards that the cache does not know are read, on all CPUs; see bench/README.md.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "publish/store.h"
#include "view/facts_cache.h"
#include "view/index.h"

namespace assay::view {

struct CatalogCounts {
  size_t listed = 0;     // shards in the store
  size_t read_anew = 0;  // of these, not known from the cache
};

/// One store, listed again and again. Not safe for several threads at once.
class Catalog {
 public:
  /// `cache_folder` may be empty: then nothing is kept between runs of the program. Refuses what
  /// open_store refuses.
  [[nodiscard]] static Result<Catalog> open(std::string url, std::filesystem::path cache_folder);

  /// Lists the store and reads what is new. `built_at` of the result is empty. Refuses STORE-READ
  /// when the store cannot be listed.
  [[nodiscard]] Result<Index> list();

  [[nodiscard]] const std::string& url() const { return url_; }
  [[nodiscard]] const CatalogCounts& counts() const { return counts_; }
  /// What went wrong with the cache, "" when nothing did: it costs time, nothing else.
  [[nodiscard]] const std::string& cache_remark() const { return cache_remark_; }

 private:
  explicit Catalog(std::string url) : url_(std::move(url)) {}

  Status read_new(const std::vector<publish::StoredFile>& files);

  std::string url_;
  std::filesystem::path cache_file_{};
  std::unique_ptr<publish::Store> store_{};
  FactsByPath facts_{};
  CatalogCounts counts_{};
  std::string cache_remark_{};
};

/// The `count` newest runs (by time, then path), and how many were left out.
void keep_newest(Index& index, size_t count);

/// The newest run's time, so that the same store gives the same text; 1970 without any.
[[nodiscard]] std::string newest_timestamp(const Index& index);

}  // namespace assay::view
