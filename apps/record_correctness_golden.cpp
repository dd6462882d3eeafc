// record-correctness-golden: writes the golden of a track from the answers of its reference engine.
#include <csignal>

#include "benchd/commands/commands.h"

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);
  return assay::cli::run_program(assay::benchd::record_correctness_golden_program(), argc, argv);
}
