// The verbs of assay-engine that work on model files alone.
#pragma once

#include "cli/program.h"

namespace assay::engine::app {

[[nodiscard]] cli::Command inspect_command();
[[nodiscard]] cli::Command tokenize_command();
[[nodiscard]] cli::Command synth_command();

}  // namespace assay::engine::app
