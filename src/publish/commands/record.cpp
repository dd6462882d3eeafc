// index, events and detect-system: looking after a store, and what this machine is.
#include <iostream>

#include "base/text.h"
#include "machine/detect.h"
#include "publish/commands/commands.h"
#include "publish/events.h"
#include "publish/refusals.h"
#include "publish/run_index.h"

namespace assay::publish {

namespace {

int run_index(const cli::Invocation& invocation) {
  auto store = open_store(invocation.text_or("--store", ""));
  if (!store) return invocation.refuse(store.refusal(), kExitPublish);
  const auto index = read_run_index(**store);
  if (!index) {
    const bool broken = index.refusal().code == kIndexInvalid.code;
    return invocation.refuse(index.refusal(), broken ? kExitInvalid : kExitPublish);
  }
  const auto missing = check_paths_exist(**store, *index);
  if (!missing) return invocation.refuse(missing.refusal(), kExitPublish);
  if (!missing->empty()) {
    return invocation.refuse(Refusal(kIndexInvalid, cat("the store lacks ", join(*missing, ", "))),
                             kExitInvalid);
  }
  std::cout << write_run_index(*index);
  invocation.progress(cat(index->runs.size(), " entries, all in the store"));
  return cli::kOk;
}

int replay(const cli::Invocation& invocation) {
  auto store = open_store(invocation.text_or("--store", ""));
  if (!store) return invocation.refuse(store.refusal(), kExitPublish);
  const std::filesystem::path feed = invocation.text_or("--feed", default_events_path().string());
  const auto count = replay_events(feed, **store);
  if (!count) return invocation.refuse(count.refusal(), kExitPublish);
  invocation.progress(cat(*count, " events written to ", feed.string()));
  return cli::kOk;
}

int detect(const cli::Invocation& invocation) {
  const auto detected = machine::detect_system(machine::this_host());
  for (const std::string& warning : detected.warnings)
    invocation.progress(cat("warning: ", warning));
  std::cout << json::write(detected.system, {.indent = invocation.json() ? 0 : 2}) << "\n";
  return cli::kOk;
}

const cli::Flag kStoreFlag = {
    .names = {"--store"}, .value_name = "URL", .help = "The store.", .required = true};

}  // namespace

cli::Command index_command() {
  return {.name = "index",
          .summary = "Checks the run index of a store and prints it.",
          .example = "assay-publish index --store file://out/results",
          .flags = {kStoreFlag},
          .run = run_index,
          .notes =
              "Exit: 0 ok, 3 the index breaks its rules or names shards that are not there, 4 the "
              "store failed."};
}

cli::Command events_command() {
  return {.name = "events replay",
          .summary = "Rebuilds the event feed from all shards of a store.",
          .example = "assay-publish events replay --store file://out/results",
          .flags = {kStoreFlag,
                    {.names = {"--feed"}, .value_name = "FILE", .help = "Where the feed is kept."}},
          .run = replay};
}

cli::Command detect_system_command() {
  return {.name = "detect-system",
          .summary = "Prints what machine this is, as the `system` object of an envelope.",
          .example = "assay-publish detect-system",
          .run = detect};
}

cli::Program publish_program(std::string name) {
  return {
      .name = std::move(name),
      .summary = "from any tool's result file to an immutable, comparable record",
      .commands = {publish_command(), convert_command(), validate_command(), index_command(),
                   events_command(), detect_system_command()},
      .versions = {{"envelope schema", "1"}, {"row schema", "1"}, {"run index", "run-index-v1"}}};
}

}  // namespace assay::publish
