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

// Appends the correction that --invalidate asks for; nothing is removed or changed.
Status invalidate(Store& store, const cli::Invocation& invocation, const std::string& path) {
  TRY(index, read_run_index(store));
  TRY(stored, store.get(path));
  if (!stored) return Refusal(kIndexInvalid, cat("the store lacks `", path, "`"));
  const IndexEntry* old = index.find(path);
  IndexEntry entry = old != nullptr ? *old : IndexEntry();
  entry.path = path;
  entry.status = "invalid";
  entry.caveat = invocation.text_or("--caveat", "");
  entry.superseded_by = invocation.text_or("--superseded-by", "");
  if (!entry.superseded_by.empty()) {
    TRY(successor, store.get(entry.superseded_by));
    if (!successor)
      return Refusal(kIndexInvalid, cat("the store lacks `", entry.superseded_by, "`"));
  }
  return append_run_index(store, entry);
}

int run_index(const cli::Invocation& invocation) {
  const auto wrong = invocation.text("--invalidate");
  if (wrong && trim(invocation.text_or("--caveat", "")).empty())
    return invocation.refuse_usage("--invalidate needs --caveat: why the shard may not be used");
  if (!wrong && (invocation.text("--caveat") || invocation.text("--superseded-by")))
    return invocation.refuse_usage("--caveat and --superseded-by belong to --invalidate");
  auto store = open_store(invocation.text_or("--store", ""), {.for_writing = wrong.has_value()});
  if (!store) return invocation.refuse(store.refusal(), kExitPublish);
  if (wrong) {
    const auto done = invalidate(**store, invocation, *wrong);
    if (!done) {
      const bool rule = done.refusal().code == kIndexInvalid.code;
      return invocation.refuse(done.refusal(), rule ? kExitInvalid : kExitPublish);
    }
    invocation.progress(cat("invalid from now on: ", *wrong));
  }
  auto index = read_run_index(**store);
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
  // Another machine's store would send every shard.
  const bool look = invocation.has("--check-bytes") || (*store)->url().starts_with("file://");
  std::vector<std::string> damaged;
  if (look) {
    const auto found = find_damaged(**store);
    if (!found) return invocation.refuse(found.refusal(), kExitPublish);
    damaged = *found;
  }
  int exit = cli::kOk;
  for (const std::string& path : damaged) {
    exit = invocation.refuse(
        Refusal(kStoreDamaged, cat("`", path, "`: not the bytes that its name promises; left out")),
        kExitInvalid);
    std::erase_if(index->runs, [&](const IndexEntry& entry) { return entry.path == path; });
  }
  std::cout << write_run_index(*index);
  invocation.progress(cat(index->runs.size(), " entries, all in the store"));
  return exit;
}

int replay(const cli::Invocation& invocation) {
  auto store = open_store(invocation.text_or("--store", ""));
  if (!store) return invocation.refuse(store.refusal(), kExitPublish);
  const std::filesystem::path feed = invocation.text_or("--feed", default_events_path().string());
  const auto replay = replay_events(feed, **store);
  if (!replay) return invocation.refuse(replay.refusal(), kExitPublish);
  int exit = cli::kOk;
  for (const Refusal& refusal : replay->left_out) exit = invocation.refuse(refusal, kExitInvalid);
  const bool written = replay->lines > 0 || replay->left_out.empty();
  invocation.progress(written ? cat(replay->lines, " events written to ", feed.string(),
                                    replay->left_out.empty()
                                        ? ""
                                        : cat("; ", replay->left_out.size(), " shards left out"))
                              : cat("no whole shard: ", feed.string(), " stays as it was"));
  return exit;
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
  return {
      .name = "index",
      .summary = "Checks the run index of a store and prints it; marks a shard invalid.",
      .example = "assay-publish index --store file://out/results",
      .flags = {kStoreFlag,
                {.names = {"--invalidate"},
                 .value_name = "SHARD",
                 .help = "Appends a correction first: this shard may not be used."},
                {.names = {"--caveat"}, .value_name = "TEXT", .help = "Why, for everyone."},
                {.names = {"--superseded-by"},
                 .value_name = "SHARD",
                 .help = "The shard that holds the corrected result."},
                {.names = {"--check-bytes"},
                 .arity = cli::Arity::toggle,
                 .help = "Also reads every shard of a store behind a server (of a folder always): "
                         "are its bytes those that its name promises?"}},
      .run = run_index,
      .notes =
          "Exit: 0 ok, 3 the index breaks its rules, names shards that are not there, or leaves "
          "out shards that are\n"
          "not what their names promise; 4 the store failed."};
}

cli::Command events_command() {
  return {.name = "events replay",
          .summary = "Rebuilds the event feed from all shards of a store.",
          .example = "assay-publish events replay --store file://out/results",
          .flags = {kStoreFlag,
                    {.names = {"--feed"}, .value_name = "FILE", .help = "Where the feed is kept."}},
          .run = replay,
          .notes =
              "Exit: 0 ok, 3 shards that cannot be read or are not what their names promise were "
              "left out (each is\n"
              "named), 4 the store or the feed failed."};
}

cli::Command detect_system_command() {
  return {.name = "detect-system",
          .summary = "Prints what machine this is, as the `system` object of an envelope.",
          .example = "assay-publish detect-system",
          .run = detect};
}

cli::Program publish_program(std::string name) {
  std::vector<cli::Command> commands = {publish_command(),  convert_command(),
                                        validate_command(), index_command(),
                                        events_command(),   detect_system_command()};
#ifdef ASSAY_HAVE_CURL
  commands.push_back(site_command());
#endif
  return {
      .name = std::move(name),
      .summary = "from any tool's result file to an immutable, comparable record",
      .commands = std::move(commands),
      .versions = {{"envelope schema", "1"}, {"row schema", "1"}, {"run index", "run-index-v1"}}};
}

}  // namespace assay::publish
