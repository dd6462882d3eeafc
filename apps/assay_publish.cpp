// assay-publish: from any tool's result file to an immutable record.
#include <csignal>
#include <filesystem>

#include "cli/program.h"
#include "publish/commands/commands.h"

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file-size limit is then a refusal, as a full disk is
  // mlx-bench-publish is a second name of the program; help and messages use the name it was called
  // by.
  const std::string name =
      argc > 0 ? std::filesystem::path(argv[0]).filename().string() : "assay-publish";
  return assay::cli::run_program(assay::publish::publish_program(name), argc, argv);
}
