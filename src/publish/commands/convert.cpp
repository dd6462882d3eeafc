// convert: result files to envelopes, nothing else.
#include <iostream>

#include "base/text.h"
#include "publish/commands/commands.h"
#include "publish/commands/conversion.h"
#include "publish/strict_upstream.h"

namespace assay::publish {

namespace {

int run(const cli::Invocation& invocation) {
  const Log log(invocation);
  Converted converted = convert_files(invocation, log);
  if (converted.exit != cli::kOk) return converted.exit;
  std::string control;  // digest of the envelope before, when it is this one's control
  for (Envelope& full : converted.envelopes) {
    if (!control.empty()) name_control(full, control);
    const std::optional<Envelope> strict =
        invocation.has("--strict-upstream") ? std::optional(strict_upstream(full)) : std::nullopt;
    const Envelope& envelope = strict ? *strict : full;
    control = full.control_of_next ? envelope_sha256(envelope) : "";
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
