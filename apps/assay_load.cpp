// assay-load: measures an endpoint from outside.
#include "load/commands/commands.h"

int main(int argc, char** argv) {
  return assay::cli::run_program(assay::load::load_program(), argc, argv);
}
