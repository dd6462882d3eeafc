// What the flags of `publish` say of the entries in the run index.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/program.h"
#include "publish/commands/conversion.h"
#include "publish/run_index.h"

namespace assay::publish {

/// --index-status and --index-entry.
[[nodiscard]] std::vector<cli::Flag> index_flags();

class IndexFlags {
 public:
  /// What is wrong with them, as a sentence; nothing when they make sense.
  [[nodiscard]] std::optional<std::string> read(const cli::Invocation& invocation);

  /// The entry of a shard: what its envelope says, and the flags over it.
  [[nodiscard]] IndexEntry entry(const FinishedEnvelope& envelope, std::string path,
                                 std::string sha256) const;

 private:
  std::string status_ = "experimental";
  std::vector<std::pair<std::string IndexEntry::*, std::string>> fields_{};
};

}  // namespace assay::publish
