// publish: result files to shards in a store, with their entry in the run index and their lines in
// the event feed.
#include <cstdlib>
#include <iostream>

#include "base/files.h"
#include "base/text.h"
#include "publish/commands/commands.h"
#include "publish/commands/conversion.h"
#include "publish/events.h"
#include "publish/refusals.h"
#include "publish/run_index.h"
#include "publish/shard.h"
#include "publish/store.h"
#include "publish/strict_upstream.h"

namespace assay::publish {

namespace {

// key=value pairs of --index-entry over what the envelope says.
Result<IndexEntry> index_entry(const cli::Invocation& invocation, const Envelope& envelope,
                               std::string path, std::string sha256) {
  IndexEntry entry;
  entry.path = std::move(path);
  entry.status = invocation.text_or("--index-status", "experimental");
  entry.cell_status = envelope.text("cell_status");
  entry.envelope_sha256 = std::move(sha256);
  const json::Value* provenance = envelope.find("provenance");
  const json::Value* verified = provenance != nullptr ? dig(*provenance, {"verified"}) : nullptr;
  entry.weights =
      verified != nullptr && verified->kind() == json::Kind::boolean && verified->boolean()
          ? "verified"
          : "unverified";
  entry.evidence = "current";
  if (const json::Value* campaign = envelope.find("campaign")) {
    entry.campaign_id = text_of(dig(*campaign, {"id"})).value_or("");
    entry.cell_id = text_of(dig(*campaign, {"cell_id"})).value_or("");
    entry.profile = text_of(dig(*campaign, {"profile"})).value_or("");
  }
  if (const json::Value* regime = envelope.find("regime")) {
    entry.max_output_tokens = integer_of(dig(*regime, {"max_tokens"})).value_or(0);
  }
  const std::pair<const char*, std::string IndexEntry::*> fields[] = {
      {"variant", &IndexEntry::variant},
      {"comparison_group", &IndexEntry::comparison_group},
      {"context_band", &IndexEntry::context_band},
      {"completion_state", &IndexEntry::completion_state},
      {"caveat", &IndexEntry::caveat},
      {"superseded_by", &IndexEntry::superseded_by},
      {"evidence", &IndexEntry::evidence}};
  for (const std::string& pair : invocation.all("--index-entry")) {
    const size_t equals = pair.find('=');
    bool known = false;
    for (const auto& [key, member] : fields) {
      if (equals == std::string::npos || pair.substr(0, equals) != key) continue;
      entry.*member = pair.substr(equals + 1);
      known = true;
    }
    if (!known)
      return Refusal(kIndexInvalid, cat("--index-entry \"", pair, "\" names no field of an entry"));
  }
  return entry;
}

int run(const cli::Invocation& invocation) {
  const Converted converted = convert_files(invocation);
  if (converted.exit != cli::kOk) return converted.exit;
  std::unique_ptr<Store> store;
  const bool dry_run = invocation.has("--dry-run");
  if (!dry_run) {
    const auto url = invocation.text("--store");
    if (!url) return invocation.refuse_usage("missing required --store (or --dry-run)");
    auto opened = open_store(*url);
    if (!opened) return invocation.refuse(opened.refusal(), kExitPublish);
    store = *std::move(opened);
  }
  for (const Envelope& full : converted.envelopes) {
    const std::optional<Envelope> strict =
        invocation.has("--strict-upstream") ? std::optional(strict_upstream(full)) : std::nullopt;
    const Envelope& envelope = strict ? *strict : full;
    const auto bytes = write_shard(envelope, invocation.has("--publish-hostname"));
    if (!bytes) return invocation.refuse(bytes.refusal(), kExitPublish);
    const std::string path = shard_path(envelope, *bytes, invocation.has("--long-hash") ? 16 : 8);
    if (const auto folder = invocation.text("--out")) {
      const std::filesystem::path base =
          std::filesystem::path(*folder) / std::filesystem::path(path).filename();
      auto written = write_file_atomic(base, *bytes);
      if (written)
        written = write_file_atomic(std::filesystem::path(base).replace_extension(".json"),
                                    json::write(to_json(envelope), {.indent = 2}) + "\n");
      if (!written) return invocation.refuse(written.refusal(), kExitPublish);
    }
    if (dry_run) {
      invocation.progress(cat("dry run: ", path, ", ", bytes->size(), " bytes, ",
                              std::max<size_t>(envelope.results.size(), 1),
                              " rows; nothing was stored"));
      std::cout << path << "\n";
      continue;
    }
    const auto entry = index_entry(invocation, full, path, envelope_sha256(envelope));
    if (!entry) return invocation.refuse(entry.refusal(), kExitPublish);
    const auto outcome = store->put_once(path, *bytes);
    if (!outcome) return invocation.refuse(outcome.refusal(), kExitPublish);
    if (*outcome == PutOutcome::already_there) {
      invocation.progress(cat("already published: ", path));
    } else {
      invocation.progress(
          cat("published ", path, " (", bytes->size(), " bytes) to ", store->url()));
    }
    // The entry goes after the shard: an index never names what is not there. Publishing the same
    // file again mends an index whose append was cut off.
    const auto current = read_run_index(*store);
    if (!current) return invocation.refuse(current.refusal(), kExitPublish);
    if (current->find(path) == nullptr) {
      const auto appended = append_run_index(*store, *entry);
      if (!appended) return invocation.refuse(appended.refusal(), kExitPublish);
    }
    if (*outcome == PutOutcome::created) {
      // The feed is derived: what is wrong with it is said, and the shard stays published.
      const auto fed = append_events(default_events_path(), path, *bytes);
      if (!fed)
        invocation.progress(cat("warning: the event feed was not written: ", fed.refusal().text()));
    }
    std::cout << path << "\n";
  }
  return cli::kOk;
}

}  // namespace

cli::Command publish_command() {
  using cli::Arity;
  auto flags = conversion_flags();
  for (cli::Flag& flag : std::vector<cli::Flag>{
           {.names = {"--store"}, .value_name = "URL", .help = "Where to publish: file://DIR."},
           {.names = {"--dry-run"},
           .arity = Arity::toggle,
           .help = "Converts, checks and serialises; stores nothing, opens no connection."},
           {.names = {"--out"},
           .value_name = "DIR",
           .help = "Also writes each envelope and shard here."},
           {.names = {"--index-status"},
           .value_name = "S",
           .help = "Status of the entry in the run index.",
           .choices = {"scored", "experimental", "invalid", "recovered"}},
           {.names = {"--index-entry"},
           .arity = Arity::repeatable,
           .value_name = "KEY=VALUE",
           .help = "Field of the entry: variant, comparison_group, context_band, completion_state, "
                   "caveat, evidence."},
           {.names = {"--publish-hostname"},
           .arity = Arity::toggle,
           .help = "Keep the host name in the shard."},
           {.names = {"--long-hash"},
           .arity = Arity::toggle,
           .help = "16 digits of the digest in the name instead of 8."}}) {
    flags.push_back(std::move(flag));
  }
  return {
      .name = "publish",
      .summary = "Converts, checks, and writes each envelope as an immutable shard into a store.",
      .example =
          "assay-publish publish out/score.json --suite throughput --max-tokens 128 --store "
          "file://out/results",
      .flags = std::move(flags),
      .positionals = {{.name = "FILE", .help = "Result file.", .repeatable = true}},
      .run = run,
      .notes =
          "stdout: one shard path a line. Exit: 0 ok (also when already published), 2 usage or "
          "unreadable file,\n"
          "3 invalid, 4 publishing failed or no rows."};
}

}  // namespace assay::publish
