// The event feed: one JSON line for each published row, for tools that follow along. Derived from
// the shards, so it can be rebuilt; a fault of the feed never undoes a publication.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "publish/store.h"

namespace assay::publish {

/// ${XDG_STATE_HOME:-~/.local/state}/assay/bench-events.jsonl
[[nodiscard]] std::filesystem::path default_events_path();

/// Appends {"run_id": shard name, …row} for every row of the shard. Refuses EVENTS-NOT-WRITTEN.
[[nodiscard]] Status append_events(const std::filesystem::path& feed, std::string_view shard_path,
                                   std::string_view shard_bytes);

struct Replay {
  size_t lines = 0;
  /// A refusal for each shard that has no lines in the feed: SHARD-UNREADABLE, STORE-READ, or
  /// STORE-DAMAGED where its bytes are not those that its name promises.
  std::vector<Refusal> left_out{};
};
/// Writes the feed anew from all whole shards of the store, in order of their paths; the old feed
/// stays until the new one is whole, and where none of the shards is. Refuses EVENTS-NOT-WRITTEN
/// and what the store refuses.
[[nodiscard]] Result<Replay> replay_events(const std::filesystem::path& feed, Store& store);

}  // namespace assay::publish
