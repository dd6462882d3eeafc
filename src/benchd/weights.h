// The weights of a run as a set of files with one digest: what was measured is what was digested.
//
// Set      a folder: every regular file below it, keyed by relative path. A file: itself, or all
// shards of
//          its set when its name is one of a set; keyed by base name.
// Source   docs/formats/integrity.md, "Weights set".
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "benchd/file_digests.h"
#include "scoring/digests.h"

namespace assay::benchd {

struct WeightsEntry {
  std::string key;
  std::filesystem::path path;
};

/// The set, in key order; ignored root entries are left out.
/// Refuses  WEIGHTS-MISSING, WEIGHTS-NOT-REGULAR, WEIGHTS-SHARD-NAME-INVALID, FILE-UNREADABLE.
[[nodiscard]] Result<std::vector<WeightsEntry>> list_weights(const std::filesystem::path& weights);

/// Digests the set with `threads` threads (at least 1). Refuses also RUN-INTERRUPTED.
[[nodiscard]] Result<scoring::WeightsDigest> digest_weights(
    const std::vector<WeightsEntry>& entries, FileDigests& digests, unsigned threads);

/// Trimmed content of `<weights>/.benchmark-source.sha256`; "" when there is none.
[[nodiscard]] Result<std::string> transform_source(const std::filesystem::path& weights);

/// Threads to hash with: one a file, at most 8 and at most the machine's.
[[nodiscard]] unsigned digest_threads(size_t files);

}  // namespace assay::benchd
