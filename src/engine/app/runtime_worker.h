// The verb runtime-worker: the Engine Protocol on standard input and output.
#pragma once

namespace assay::engine::app {

/// Takes the descriptors 0 and 1 for the protocol, loads the model, says hello, serves until its
/// input ends. Says on stderr what stopped it. Exit codes: the table of cli/program.h.
int run_runtime_worker(int argc, char** argv);

}  // namespace assay::engine::app
