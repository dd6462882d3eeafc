// What `convert` and `publish` share: the flags of a run's context, and files to checked envelopes.
#pragma once

#include <ctime>
#include <string>
#include <vector>

#include "cli/program.h"
#include "publish/convert.h"
#include "publish/validate.h"

namespace assay::publish {

[[nodiscard]] std::vector<cli::Flag> conversion_flags();

/// Envelopes of all files, validated. On a problem it is printed and `exit` is its code.
struct Converted {
  std::vector<Envelope> envelopes{};
  int exit = cli::kOk;
};
[[nodiscard]] Converted convert_files(const cli::Invocation& invocation);

/// Prints "  - message (at path)" for each problem on stderr; true when one is no warning.
bool print_problems(const std::vector<Problem>& problems);

}  // namespace assay::publish
