// assay-view: a store of results as a page.
#include "cli/program.h"
#include "view/commands/commands.h"

int main(int argc, char** argv) {
  return assay::cli::run_program(assay::view::view_program(), argc, argv);
}
