// `benchd iterate` and `benchd official`: one run of one engine, from its inputs to its seal.
#include <unistd.h>

#include <cstdio>

#include "base/text.h"
#include "benchd/commands/commands.h"
#include "benchd/document.h"
#include "benchd/refusals.h"
#include "benchd/report.h"
#include "benchd/run.h"
#include "benchd/seal_files.h"
#include "benchd/stop.h"
#include "runner/refusals.h"

namespace assay::benchd {

namespace {

struct Outcome {
  scoring::ScoreDocument document;
  SealedRun sealed;
  std::optional<Refusal> refusal;  // what ended the measurement early
};

// The weights that were measured are the weights that were digested.
Status check_weights_unchanged(const Run& run, FileDigests& digests) {
  TRY(entries, list_weights(run.candidate.command.weights));
  TRY(weights, digest_weights(entries, digests, digest_threads(entries.size())));
  if (weights == run.weights) return {};
  return Refusal(kWeightsChanged, cat("`", run.options.weights.string(), "`"));
}

Status measure(runner::World& world, const Run& run, FileDigests& digests, Console& console,
               RunRecord& record) {
  TRY_DO(run.path == Path::paired ? measure_pairs(world, run, console, record)
                                  : measure_single(world, run, console, record));
  return check_weights_unchanged(run, digests);
}

// A run, top to bottom. docs/run.md numbers these steps.
Result<Outcome> run_and_seal(runner::World& world, const IterateOptions& options,
                             Console& console) {
  EnvironmentReader environment(world.environment());
  FileDigests digests(digest_store(), check_stop);

  TRY(run, settle_run(world, environment, digests, options, console));
  RunRecord record;
  const Status measured = measure(world, run, digests, console, record);
  Outcome outcome;
  if (!measured) outcome.refusal = measured.refusal();
  outcome.document = make_document(run, record, outcome.refusal);
  outcome.sealed = seal_run(run, outcome.document);
  // Stopped before anything was measured: there is nothing to keep.
  if (outcome.refusal && outcome.refusal->code == runner::kRunInterrupted.code &&
      record.pairs.empty() && !record.single) {
    return *std::move(outcome.refusal);
  }
  TRY_DO(write_seal(outcome.sealed));
  return outcome;
}

void print_summary(const Outcome& outcome, Console& console) {
  const bool colour = ::isatty(STDERR_FILENO) == 1;
  // Only a complete paired run has gains over its control legs.
  if (outcome.document.metrics.paired_legs && outcome.document.metrics.decode_speedup > 0) {
    for (const std::string& line : paired_table(outcome.document, colour)) console.line(line);
  }
  if (!outcome.document.metrics.error.empty()) console.line(outcome.document.metrics.error);
  for (const std::string& line : file_lines(outcome.sealed)) console.line(line);
  console.line(cat("wrote ", (outcome.sealed.folder / outcome.sealed.files.score.name).string(),
                   " (passed=", outcome.sealed.passed, ", score=",
                   outcome.sealed.score ? format_double(*outcome.sealed.score) : "null", ")"));
}

int run_iterate(const cli::Invocation& invocation) {
  const auto options = read_iterate_options(invocation);
  if (!options) return invocation.refuse(options.refusal(), exit_of(options.refusal(), 1));
  const runner::InterruptGuard guard;
  const auto world = runner::make_real_world();
  Console console(invocation);
  const auto outcome = run_and_seal(*world, *options, console);
  console.clear_live();
  if (!outcome) return invocation.refuse(outcome.refusal(), exit_of(outcome.refusal(), 1));
  print_summary(*outcome, console);
  if (outcome->refusal && outcome->refusal->code == runner::kRunInterrupted.code) {
    return invocation.refuse(*outcome->refusal, exit_of(*outcome->refusal, 1));
  }
  const std::string& bytes = outcome->sealed.files.score.bytes;
  std::fwrite(bytes.data(), 1, bytes.size(), stdout);
  return outcome->sealed.passed ? cli::kOk : cli::kJudgedNo;
}

constexpr std::string_view kNotes =
    "The score's JSON goes to stdout, byte for byte as sealed. Beside it are sealed: FILE.sha256,\n"
    "benchmark-integrity.json (local-iterate: benchmark-integrity.local-iterate.json) and its "
    ".sha256.\n"
    "--score-path is score.json, for local-iterate score.local-iterate.json.\n"
    "\n"
    "With --baseline-workspace and --baseline-calibration a local run measures pairs: a control "
    "leg\n"
    "of the reference and a candidate leg, as often as the contract says.\n"
    "\n"
    "Environment: MLXFAST_QWEN_MTP_TRACK_ID, MLXFAST_BASELINE_WORKSPACE,\n"
    "MLXFAST_BASELINE_CALIBRATION, RUNNER_NAME, MLXFAST_MAX_DRAFT_DEPTH, MLXFAST_LOCAL_COOL_GATE,\n"
    "MLXFAST_COMMIT_SHA. Names that start with ASSAY_ reach the engine of a local run.\n"
    "\n"
    "Exit: 0 passed, 1 not passed or refused, 2 wrong command line, 130 stopped.";

}  // namespace

cli::Command iterate_command() {
  return {.name = "iterate",
          .summary = "Run one engine end to end and seal its score.",
          .example =
              "benchd iterate --engine build/release/bin/assay-engine --weights models/tiny "
              "--contract tracks/smollm2/contract.json "
              "--golden tracks/smollm2/goldens/lighthouse.golden.json",
          .flags = iterate_flags(true),
          .run = run_iterate,
          .notes = std::string(kNotes)};
}

cli::Command official_command() {
  return {.name = "official",
          .summary = "The same as `iterate --mode official`: a ranked run.",
          .example =
              "benchd official --engine engine --weights weights --contract contract.json "
              "--golden g.golden.json --baseline-workspace ../reference "
              "--baseline-calibration calibration.json --box box-1",
          .flags = iterate_flags(false),
          .run = run_iterate,
          .notes = std::string(kNotes)};
}

}  // namespace assay::benchd
