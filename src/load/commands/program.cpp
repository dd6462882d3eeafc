#include "load/commands/commands.h"

namespace assay::load {

cli::Program load_program() {
  return {.name = "assay-load",
          .summary = "measures an OpenAI-compatible endpoint from outside",
          .commands = {probe_command(), campaign_command(), verdict_command()},
          .versions = {{"probe file", "throughput-probe/1"}, {"envelope schema", "1"}}};
}

}  // namespace assay::load
