// The verbs of assay-view. Exit codes: 0 ok · 2 usage · 3 the store, a file or an address cannot be
// used.
#pragma once

#include "cli/program.h"

namespace assay::view {

[[nodiscard]] cli::Command serve_command();
[[nodiscard]] cli::Command export_command();

/// The whole program.
[[nodiscard]] cli::Program view_program();

}  // namespace assay::view
