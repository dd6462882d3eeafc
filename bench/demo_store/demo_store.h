// A store of synthetic runs for tests and measurements of the viewer.
//
// Every envelope passes the schema and the semantic rules (a test checks it); shards and index go
// through publish. The same arguments give the same bytes.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "publish/envelope.h"
#include "publish/run_index.h"
#include "publish/store.h"

namespace assay::demo {

struct DemoRun {
  publish::Envelope envelope{};
  publish::IndexEntry entry{};  // `path` is filled in when the shard is written
  bool indexed = true;
};

/// The run with this number, 0 … : a fixed cycle of kinds (probe, campaign cell, pair, evaluation,
/// sealed score, without conditions, hostile texts …) over models, machines and dates.
[[nodiscard]] DemoRun demo_run(size_t number);

struct DemoOptions {
  size_t shards = 400;
  bool oddities = true;  // a half-written shard, a file that is no Parquet, an index entry without
                         // its shard
};

/// Fills the store, which must be empty. Returns the paths of the readable shards.
[[nodiscard]] Result<std::vector<std::string>> write_demo_store(publish::Store& store,
                                                                const DemoOptions& options);

}  // namespace assay::demo
