// The run index: what each published shard may be used for. Entries are appended, never changed. A
// shard found wrong later gets one more entry, a correction: status invalid, with a caveat. The
// last entry of a path counts.
//
// File       metadata/run-index-v1.json in the store. A shard without an entry is experimental when
// its run began at
//            or after `historical_scored_before`, scored before that; without a readable index
//            everything is experimental.
// Errors     INDEX-INVALID; what the store refuses.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "publish/store.h"

namespace assay::publish {

inline constexpr std::string_view kRunIndexPath = "metadata/run-index-v1.json";

struct IndexEntry {
  // Required.
  std::string path{};                   // "data/run-….parquet", unique
  std::string status = "experimental";  // scored | experimental | invalid | recovered
  std::string variant{};                // free text: "baseline", "MTP depth 3"
  std::string comparison_group{};
  std::string context_band{};
  int64_t max_output_tokens = 0;
  std::string completion_state{};  // capped | sampled | partial | timeout | complete
  std::string caveat{};
  // Ours, written when known.
  std::string campaign_id{}, cell_id{}, profile{}, cell_status{};
  std::string evidence{};  // current | historical
  std::string weights{};   // verified | unverified
  std::string envelope_sha256{};
  std::string superseded_by{};
};

struct RunIndex {
  std::string historical_scored_before = "1970-01-01T00:00:00Z";
  std::string policy = "A shard without an entry is experimental.";
  std::vector<IndexEntry> runs{};

  /// The last entry of the path.
  [[nodiscard]] const IndexEntry* find(std::string_view path) const;
  /// Status of a shard: its entry's, else by the cutoff and the run's timestamp.
  [[nodiscard]] std::string status_of(std::string_view path, std::string_view timestamp) const;
};

/// Whether `entry` may follow `before`, an entry of the same path.
[[nodiscard]] bool is_correction(const IndexEntry& entry, const IndexEntry& before);

[[nodiscard]] Result<RunIndex> parse_run_index(std::string_view bytes);
[[nodiscard]] std::string write_run_index(const RunIndex& index);

/// INDEX-INVALID unless `after` is `before` with entries appended, and nothing else changed.
[[nodiscard]] Status check_append(const RunIndex& before, const RunIndex& after);

/// The store's index; an empty one when there is none.
[[nodiscard]] Result<RunIndex> read_run_index(Store& store);

/// Appends one entry. An entry for the same path with the same content is success without a write.
/// When another writer was faster the index is read again, at most five times.
[[nodiscard]] Status append_run_index(Store& store, const IndexEntry& entry);

/// Puts a shard together with its entry, in one step where the store can. An entry that the index
/// has for this path stays as it is. When another writer was faster the index is read again, at
/// most five times.
[[nodiscard]] Result<Stored> publish_with_entry(Store& store, const NewFile& shard,
                                                const IndexEntry& entry,
                                                std::string_view description);

/// Shards of the store whose bytes are not those that their names promise. Reads every shard.
[[nodiscard]] Result<std::vector<std::string>> find_damaged(Store& store);

/// Paths of the index that the store does not have.
[[nodiscard]] Result<std::vector<std::string>> check_paths_exist(Store& store,
                                                                 const RunIndex& index);

}  // namespace assay::publish
