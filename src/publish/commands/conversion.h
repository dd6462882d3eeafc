// What `convert` and `publish` share: the flags of a run's context and of the log, and files to
// checked envelopes.
#pragma once

#include <ctime>
#include <string>
#include <vector>

#include "cli/program.h"
#include "publish/commands/log.h"
#include "publish/convert.h"

namespace assay::publish {

[[nodiscard]] std::vector<cli::Flag> conversion_flags();

/// Envelopes of all files, validated; a control's stands right before the one that names it. On a
/// problem it is logged and `exit` is its code.
struct Converted {
  std::vector<Envelope> envelopes{};
  int exit = cli::kOk;
};
[[nodiscard]] Converted convert_files(const cli::Invocation& invocation, const Log& log);

}  // namespace assay::publish
