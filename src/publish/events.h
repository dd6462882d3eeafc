// The event feed: one JSON line for each published row, for tools that follow along. Derived from
// the shards, so it can be rebuilt; a fault of the feed never undoes a publication.
#pragma once

#include <filesystem>
#include <string_view>

#include "base/result.h"
#include "publish/store.h"

namespace assay::publish {

/// ${XDG_STATE_HOME:-~/.local/state}/assay/bench-events.jsonl
[[nodiscard]] std::filesystem::path default_events_path();

/// Appends {"run_id": shard name, …row} for every row of the shard. Refuses EVENTS-NOT-WRITTEN.
[[nodiscard]] Status append_events(const std::filesystem::path& feed, std::string_view shard_path,
                                   std::string_view shard_bytes);

/// Writes the feed anew from all shards of the store, in order of their paths; the old feed stays
/// until the new one is whole. Returns the number of lines. Refuses STORE-DAMAGED for a shard whose
/// bytes are not those that its name promises.
[[nodiscard]] Result<size_t> replay_events(const std::filesystem::path& feed, Store& store);

}  // namespace assay::publish
