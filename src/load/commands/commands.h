// The verbs of assay-load. Exit codes: 0 success or not applicable · 1 the measurement failed or
// was stopped · 2 usage · 3 the file could not be written · 4 the endpoint is not ready (no
// connection, or no answer to the first request) · 130 interrupted.
#pragma once

#include "cli/program.h"

namespace assay::load {

[[nodiscard]] cli::Command probe_command();
[[nodiscard]] cli::Command campaign_command();
[[nodiscard]] cli::Command verdict_command();

/// The whole program.
[[nodiscard]] cli::Program load_program();

}  // namespace assay::load
