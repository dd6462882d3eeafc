// assay-engine: the program's flag table.
#pragma once

#include "cli/program.h"

namespace assay::engine::app {

[[nodiscard]] const cli::Program& program();

/// The whole of main(). `runtime-worker` accepts arguments that it does not know, as the Engine
/// Protocol wants it; every other verb refuses them.
int run(int argc, char** argv);

}  // namespace assay::engine::app
