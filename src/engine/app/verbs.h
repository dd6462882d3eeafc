// The verbs of assay-engine, one function each; program.cpp lists them.
#pragma once

#include "cli/program.h"

namespace assay::engine::app {

[[nodiscard]] cli::Command generate_command();
[[nodiscard]] cli::Command bench_command();
[[nodiscard]] cli::Command perplexity_command();
[[nodiscard]] cli::Command runtime_worker_command();

}  // namespace assay::engine::app
