// convert: result files to envelopes, nothing else.
#include <iostream>

#include "base/text.h"
#include "publish/commands/commands.h"
#include "publish/commands/conversion.h"

namespace assay::publish {

namespace {

int run(const cli::Invocation& invocation) {
  const Log log(invocation);
  const Converted converted = convert_files(invocation, log);
  if (converted.exit != cli::kOk) return converted.exit;
  for (const FinishedEnvelope& finished : converted.envelopes) {
    const Envelope& envelope = finished.stored();
    if (invocation.has("--print-envelope") || invocation.json()) {
      std::cout << json::write(to_json(envelope)) << "\n";
    }
    const std::string status = envelope.text("cell_status");
    log.info(cat(envelope.text("suite"), " ", envelope.text("model"), " ",
                 envelope.text("timestamp"), ": ", envelope.results.size(), " results",
                 status.empty() ? "" : cat(", ", status)));
  }
  return cli::kOk;
}

}  // namespace

cli::Command convert_command() {
  auto flags = conversion_flags();
  flags.push_back({.names = {"--print-envelope"},
                   .arity = cli::Arity::toggle,
                   .help = "Each envelope as one line of JSON on stdout."});
  flags.push_back({.names = {"--dry-run"},
                   .arity = cli::Arity::toggle,
                   .help = "Says that nothing is stored; convert never stores."});
  return {.name = "convert",
          .summary = "Converts result files of other tools to envelopes and checks them.",
          .example = "assay-publish convert results.json --suite throughput --print-envelope",
          .flags = std::move(flags),
          .positionals = {{.name = "FILE", .help = "Result file.", .repeatable = true}},
          .run = run,
          .notes = "Exit: 0 ok, 2 usage or unreadable file, 3 invalid, 4 no rows."};
}

}  // namespace assay::publish
