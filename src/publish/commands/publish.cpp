// publish: result files to shards in a store, with their entry in the run index and their lines in
// the event feed.
#include <cstdlib>
#include <iostream>

#include "base/files.h"
#include "base/text.h"
#include "publish/commands/commands.h"
#include "publish/commands/conversion.h"
#include "publish/commands/index_entry.h"
#include "publish/commands/log.h"
#include "publish/events.h"
#include "publish/refusals.h"
#include "publish/run_index.h"
#include "publish/shard.h"
#include "publish/store.h"

namespace assay::publish {

namespace {

// --store, else the dataset of --repo-id or MLX_BENCH_REPO_ID; nothing when none is given.
std::optional<std::string> store_url(const cli::Invocation& invocation) {
  if (const auto url = invocation.text("--store")) return url;
  if (const auto dataset = invocation.text("--repo-id")) return cat("hf://datasets/", *dataset);
  const char* dataset = std::getenv("MLX_BENCH_REPO_ID");
  if (dataset != nullptr && *dataset != '\0') return cat("hf://datasets/", dataset);
  return std::nullopt;
}

// The store to publish to. Opens no connection.
Result<std::unique_ptr<Store>> open_for_publishing(const cli::Invocation& invocation,
                                                   const std::string& url, const Log& log) {
  StoreOptions options{.for_writing = true, .create_pr = invocation.has("--create-pr")};
  options.say = [&log](std::string_view text) { log.warning(text); };
  if (const auto path = invocation.text("--token-file")) {
    TRY(bytes, read_file(*path, 4096));
    options.token = std::string(trim(bytes));
  }
  return open_store(url, options);
}

int run(const cli::Invocation& invocation) {
  const Log log(invocation);
  IndexFlags index;
  if (const auto problem = index.read(invocation)) return invocation.refuse_usage(*problem);
  const Converted converted = convert_files(invocation, log);
  if (converted.exit != cli::kOk) return converted.exit;
  std::unique_ptr<Store> store;
  const bool dry_run = invocation.has("--dry-run");
  if (!dry_run) {
    const auto url = store_url(invocation);
    if (!url) {
      return invocation.refuse_usage(
          "missing required --store (or --repo-id, or MLX_BENCH_REPO_ID, or --dry-run)");
    }
    if (invocation.has("--create-pr") && !url->starts_with("hf://"))
      return invocation.refuse_usage(cat("--create-pr: `", *url, "` has no pull requests"));
    auto opened = open_for_publishing(invocation, *url, log);
    if (!opened) {
      // A store that cannot be is a wrong command line; one that lacks its key is a failure.
      const std::string_view code = opened.refusal().code;
      const bool usage = code == kStoreUrl.code || code.starts_with("FILE-");
      return log.refuse(opened.refusal(), usage ? kExitInput : kExitPublish);
    }
    store = *std::move(opened);
  }
  for (const FinishedEnvelope& finished : converted.envelopes) {
    const Envelope& envelope = finished.stored();
    const auto shard = make_shard(envelope);
    if (!shard) return log.refuse(shard.refusal(), kExitPublish);
    const std::string& bytes = shard->bytes;
    const std::string path = shard_path(envelope, bytes, invocation.has("--long-hash") ? 16 : 8);
    if (const auto folder = invocation.text("--out")) {
      const std::filesystem::path base =
          std::filesystem::path(*folder) / std::filesystem::path(path).filename();
      auto written = write_file_atomic(base, bytes);
      if (written)
        written = write_file_atomic(std::filesystem::path(base).replace_extension(".json"),
                                    json::write(to_json(envelope), {.indent = 2}) + "\n");
      if (!written) return log.refuse(written.refusal(), kExitPublish);
    }
    if (dry_run) {
      log.info(cat("dry run: ", path, ", ", bytes.size(), " bytes, ",
                   std::max<size_t>(envelope.results.size(), 1), " rows; nothing was stored"));
      std::cout << path << "\n";
      continue;
    }
    const IndexEntry entry = index.entry(finished, path, shard->envelope_sha256);
    // The entry goes with the shard, or after it: an index never names what is not there.
    // Publishing the same file again mends an index whose append was cut off.
    const auto stored = publish_with_entry(
        *store, {path, bytes}, entry,
        cat("feat: add ", envelope.text("suite"), " run for ", envelope.text("model")));
    if (!stored) return log.refuse(stored.refusal(), kExitPublish);
    if (stored->outcome == PutOutcome::already_there) {
      log.info(cat("already published: ", path));
    } else {
      log.info(cat("published ", path, " (", bytes.size(), " bytes) to ", store->url()));
      // The feed is derived: what is wrong with it is said, and the shard stays published.
      const auto fed = append_events(default_events_path(), path, bytes);
      if (!fed) log.warning(cat("the event feed was not written: ", fed.refusal().text()));
    }
    if (!stored->remark.empty()) log.info(cat("pull request: ", stored->remark));
    std::cout << path << "\n";
  }
  return cli::kOk;
}

}  // namespace

cli::Command publish_command() {
  using cli::Arity;
  auto flags = conversion_flags();
  for (cli::Flag& flag : std::vector<cli::Flag>{
           {.names = {"--store"},
            .value_name = "URL",
            .help = "Where to publish: file://DIR, s3://BUCKET/PREFIX or "
                    "hf://datasets/OWNER/NAME[@REVISION].",
            .conflicts_with = {"--repo-id"}},
           {.names = {"--repo-id"},
           .value_name = "OWNER/NAME",
           .help = "Short for --store hf://datasets/OWNER/NAME (default: MLX_BENCH_REPO_ID)."},
           {.names = {"--create-pr"},
           .arity = Arity::toggle,
           .help = "hf:// only: open a pull request instead of committing."},
           {.names = {"--token-file"},
           .value_name = "FILE",
           .help = "hf:// only: the token, instead of the environment's."},
           {.names = {"--dry-run"},
           .arity = Arity::toggle,
           .help = "Converts, checks and serialises; stores nothing, opens no connection."},
           {.names = {"--out"},
           .value_name = "DIR",
           .help = "Also writes each envelope and shard here."},
           {.names = {"--long-hash"},
           .arity = Arity::toggle,
           .help = "16 digits of the digest in the name instead of 8."}}) {
    flags.push_back(std::move(flag));
  }
  for (cli::Flag& flag : index_flags()) flags.push_back(std::move(flag));
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
          "3 invalid, 4 publishing failed (no token, HTTP error) or no rows.\n"
          "Environment: s3:// reads R2_BUCKET_ENDPOINT, R2_ACCESS_KEY_ID, R2_SECRET_ACCESS_KEY, or "
          "AWS_ACCESS_KEY_ID,\n"
          "AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION, AWS_ENDPOINT_URL_S3; hf:// reads "
          "HF_TOKEN,\n"
          "HUGGING_FACE_HUB_TOKEN, HF_TOKEN_PATH, HF_HOME, HF_ENDPOINT."};
}

}  // namespace assay::publish
