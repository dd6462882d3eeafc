// assay-publish: from any tool's result file to an immutable record.
#include <algorithm>
#include <csignal>
#include <filesystem>

#include "cli/program.h"
#include "publish/commands/commands.h"

namespace {

// mlx-bench-publish is a second name of the program, and has no verbs where it comes from: without
// one it publishes, or with --print-envelope converts.
void add_verb(const assay::cli::Program& program, std::vector<std::string>& arguments) {
  if (arguments.empty()) return;
  const std::string& first = arguments.front();
  for (const char* word : {"completion", "man", "--help", "-h", "--version"}) {
    if (first == word) return;
  }
  for (const auto& command : program.commands) {
    if (first == command.name.substr(0, command.name.find(' '))) return;
  }
  const bool only_print =
      std::find(arguments.begin(), arguments.end(), "--print-envelope") != arguments.end();
  arguments.insert(arguments.begin(), only_print ? "convert" : "publish");
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file-size limit is then a refusal, as a full disk is
  // Help and messages use the name that it was called by.
  const std::string name =
      argc > 0 ? std::filesystem::path(argv[0]).filename().string() : "assay-publish";
  const auto program = assay::publish::publish_program(name);
  std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
  if (name == "mlx-bench-publish") add_verb(program, arguments);
  return assay::cli::run_program(program, arguments);
}
