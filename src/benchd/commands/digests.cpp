// `benchd weights-digest` and `benchd harness-hash`: one line that names many files.
#include <cstdio>
#include <system_error>

#include "base/text.h"
#include "benchd/commands/commands.h"
#include "benchd/harness.h"
#include "benchd/refusals.h"
#include "benchd/stop.h"
#include "benchd/weights.h"
#include "runner/world.h"

namespace assay::benchd {

namespace {

Result<scoring::WeightsDigest> digest_of(const std::filesystem::path& weights) {
  TRY(entries, list_weights(weights));
  FileDigests digests(digest_store(), check_stop);
  return digest_weights(entries, digests, digest_threads(entries.size()));
}

int run_weights_digest(const cli::Invocation& invocation) {
  const runner::InterruptGuard guard;
  const auto digest = digest_of(*invocation.text("--weights"));
  if (!digest) {
    return invocation.refuse(digest.refusal(), exit_of(digest.refusal(), cli::kInputOutput));
  }
  if (invocation.json()) {
    const json::Value result = json::Value::object({{"ok", true},
                                                    {"sha256", digest->sha256},
                                                    {"bytes", digest->byte_count},
                                                    {"files", digest->file_count}});
    std::printf("%s\n", json::write(result).c_str());
  } else {
    std::printf("%s\n", scoring::to_text(*digest).c_str());
  }
  return cli::kOk;
}

int run_harness_hash(const cli::Invocation& invocation) {
  std::error_code error;
  const std::filesystem::path root = std::filesystem::current_path(error);
  if (error) {
    return invocation.refuse(Refusal(kHarnessUnreadable, cat("working folder: ", error.message())),
                             cli::kJudgedNo);
  }
  const auto hash = harness_hash(root, [&invocation](std::string_view absent) {
    invocation.progress(cat("harnessHash root absent, skipped: ", absent));
  });
  if (!hash) return invocation.refuse(hash.refusal(), cli::kJudgedNo);
  if (invocation.json()) {
    std::printf("%s\n",
                json::write(json::Value::object({{"ok", true}, {"harness_hash", *hash}})).c_str());
  } else {
    std::printf("%s\n", hash->c_str());
  }
  return cli::kOk;
}

}  // namespace

cli::Command weights_digest_command() {
  return {
      .name = "weights-digest",
      .summary = "Print the digest of a folder of weights, or of one GGUF file with its shards.",
      .example = "benchd weights-digest --weights models/tiny",
      .flags = {{{"--weights"}, cli::Arity::value, "DIR", "Folder, or GGUF file.", true}},
      .run = run_weights_digest,
      .notes = "Prints <64 hex>:<bytes>:<files>. Exit: 0, 2 wrong command line, 3 not readable."};
}

cli::Command harness_hash_command() {
  return {.name = "harness-hash",
          .summary = "Print the digest of the harness files in the working folder.",
          .example = "benchd harness-hash",
          .run = run_harness_hash,
          .notes = "Exit: 0, 1 something cannot be read, 2 wrong command line."};
}

}  // namespace assay::benchd
