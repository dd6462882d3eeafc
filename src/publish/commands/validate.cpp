// validate: one envelope against its schema and rules.
#include <ctime>
#include <iostream>

#include "base/files.h"
#include "base/text.h"
#include "publish/commands/commands.h"
#include "publish/commands/log.h"
#include "publish/refusals.h"

namespace assay::publish {

namespace {

int run(const cli::Invocation& invocation) {
  const Log log(invocation);
  int exit = cli::kOk;
  std::vector<json::Value> reports;
  for (const std::string& path : invocation.arguments("ENVELOPE")) {
    const auto bytes = read_file(path);
    if (!bytes) return log.refuse(bytes.refusal(), kExitInput);
    const auto document = json::parse(*bytes, {.skip_byte_order_mark = true});
    if (!document) return log.refuse(at(path, document.refusal()), kExitInput);
    const auto problems = validate(*document, {.legacy_regime = invocation.has("--legacy-regime"),
                                               .now_seconds = std::time(nullptr)});
    bool failed = false;
    if (invocation.json()) {
      std::vector<json::Value> list;
      for (const Problem& problem : problems) {
        failed = failed || !problem.is_warning();
        list.push_back(json::Value::object(
            {{"code", problem.code}, {"path", problem.path}, {"message", problem.message}}));
      }
      std::cout << json::write(
                       json::Value::object({{"ok", !failed},
                                            {"file", path},
                                            {"problems", json::Value::array(std::move(list))}}))
                << "\n";
    } else {
      failed = log.problems(path, problems);
      std::cout << (failed ? "INVALID " : "VALID ") << path << "\n";
    }
    if (failed) exit = kExitInvalid;
  }
  return exit;
}

}  // namespace

cli::Command validate_command() {
  std::vector<cli::Flag> flags = {{.names = {"--legacy-regime"},
                                   .arity = cli::Arity::toggle,
                                   .help = "A missing regime is a warning."}};
  for (cli::Flag& flag : log_flags()) flags.push_back(std::move(flag));
  return {.name = "validate",
          .summary =
              "Checks an envelope against schema and semantic rules; prints every problem with its "
              "path.",
          .example = "assay-publish validate envelope.json",
          .flags = std::move(flags),
          .positionals = {{.name = "ENVELOPE", .help = "Envelope as JSON.", .repeatable = true}},
          .run = run,
          .notes = "Exit: 0 valid, 2 usage or unreadable file, 3 invalid."};
}

}  // namespace assay::publish
