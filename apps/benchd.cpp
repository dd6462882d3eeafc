// benchd: the judge's program.
#include <csignal>

#include "benchd/commands/commands.h"

int main(int argc, char** argv) {
  // A file size limit is a full disk to us: the write is refused by name, the program lives on.
  std::signal(SIGXFSZ, SIG_IGN);
  return assay::cli::run_program(assay::benchd::benchd_program(),
                                 assay::benchd::benchd_arguments(argc, argv));
}
