// assay-engine: the inference engine's program. Verbs and flags: src/engine/app/program.cpp.
#include "engine/app/program.h"

int main(int argc, char** argv) {
  return assay::engine::app::run(argc, argv);
}
