#include "engine/app/program.h"

#include <string_view>

#include "engine/app/data_verbs/data_verbs.h"
#include "engine/app/runtime_worker.h"
#include "engine/app/verbs.h"

namespace assay::engine::app {

const cli::Program& program() {
  static const cli::Program program{
      .name = "assay-engine",
      .summary = "Runs language models from GGUF files; the engine that Assay judges.",
      .commands = {generate_command(), bench_command(), perplexity_command(),
                   runtime_worker_command(), inspect_command(), tokenize_command(),
                   synth_command()},
      .versions = {{"engine protocol", "1 (v1, v1.1)"}, {"gguf", "2, 3"}}};
  return program;
}

int run(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "runtime-worker") {
    bool help = false;
    for (int i = 2; i < argc; ++i) {
      const std::string_view argument = argv[i];
      help = help || argument == "--help" || argument == "-h";
    }
    if (!help) return run_runtime_worker(argc, argv);
  }
  return cli::run_program(program(), argc, argv);
}

}  // namespace assay::engine::app
