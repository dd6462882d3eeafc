// `benchd correctness`: is the engine right? The conformance kit against one golden, on the strict
// v1 wire.
#include <cstdio>
#include <system_error>

#include "base/files.h"
#include "base/text.h"
#include "benchd/commands/commands.h"
#include "benchd/console.h"
#include "benchd/goldens.h"
#include "benchd/refusals.h"
#include "benchd/stop.h"
#include "benchd/track.h"
#include "protocol/runner_manifest.h"
#include "runner/conformance.h"
#include "runner/leg.h"
#include "runner/scrub.h"
#include "scoring/refusals.h"

namespace assay::benchd {

namespace {

constexpr uint64_t kManifestSizeMax = uint64_t{1} << 20;

Result<std::optional<protocol::RunnerManifest>> read_manifest(const cli::Invocation& invocation) {
  const auto path = invocation.text("--manifest");
  if (!path) return std::optional<protocol::RunnerManifest>{};
  TRY(bytes, read_file(*path, kManifestSizeMax));
  auto manifest = protocol::read_runner_manifest(bytes);
  if (!manifest) {
    Refusal refusal = std::move(manifest).refusal();
    refusal.detail = cat(*path, ": ", refusal.detail);
    return refusal;
  }
  return std::optional<protocol::RunnerManifest>(*std::move(manifest));
}

// A hello that departs from the manifest ends the run before any case: what was declared is not
// what would be judged.
std::optional<scoring::ConformanceReport> check_declared(const protocol::RunnerManifest& manifest,
                                                         const protocol::Hello& hello, bool trusted,
                                                         Console& console) {
  const auto divergences = protocol::check_manifest(manifest, hello, trusted);
  if (divergences.empty()) return std::nullopt;
  scoring::ConformanceReport report;
  report.error = "manifest check failed:";
  for (const auto& [check, reason] : divergences) {
    console.line(cat("manifest check FAILED ", check, ": ", runner::scrub(reason)));
    report.error += cat(report.error.ends_with(':') ? " " : ", ", check);
  }
  return report;
}

Result<scoring::ConformanceReport> check(runner::World& world, const cli::Invocation& invocation,
                                         const std::optional<protocol::RunnerManifest>& manifest,
                                         const Track& track, Console& console) {
  std::optional<scoring::IntegrityPin> pin;
  if (const auto sha256 = invocation.text("--golden-sha256")) {
    pin = scoring::IntegrityPin{*sha256, *invocation.u64("--golden-bytes")};
  }
  const uint32_t steps = track.window.correctness_steps;
  TRY(golden, load_conformance_golden(world, track, *invocation.text("--golden"), pin, steps));

  std::error_code error;
  const std::filesystem::path root = std::filesystem::current_path(error);
  runner::WorkerCommand command;
  command.executable = root / *invocation.text("--engine");
  command.weights = root / *invocation.text("--weights");
  command.working_directory = root;
  command.speculative_protocol = false;
  for (const std::string& resource : invocation.all("--engine-resource")) {
    command.extra.insert(command.extra.end(), {"--resource", resource});
  }
  command.on_stderr_line = [&console](std::string_view line) { console.line(line); };
  console.live("loading the engine");
  TRY(worker, runner::open_worker(world, command));
  if (manifest) {
    if (auto failed = check_declared(*manifest, worker.session.hello(), invocation.has("--trusted"),
                                     console)) {
      return *std::move(failed);
    }
  }
  console.live("running the cases");
  TRY(report, runner::run_conformance(worker.session, golden.golden,
                                      {.scope = runner::ConformanceScope::full,
                                       .steps = steps,
                                       .vocab_size = track.model.vocab_size}));
  return report;
}

json::Value to_json(const scoring::ConformanceReport& report) {
  json::Value first_case, first_step;
  if (report.first_failing_case) first_case = *report.first_failing_case;
  if (report.first_failing_step) first_step = *report.first_failing_step;
  return json::Value::object({{"passed", report.passed},
                              {"case_count", report.case_count},
                              {"first_failing_case", first_case},
                              {"first_failing_step", first_step},
                              {"error", report.error}});
}

int run_correctness(const cli::Invocation& invocation) {
  if (invocation.has("--trusted") && !invocation.has("--manifest")) {
    return invocation.refuse_usage("--trusted needs --manifest");
  }
  if (invocation.has("--golden-sha256") != invocation.has("--golden-bytes")) {
    return invocation.refuse_usage("--golden-sha256 and --golden-bytes go together");
  }
  const auto manifest = read_manifest(invocation);
  if (!manifest) return invocation.refuse(manifest.refusal(), cli::kUsage);
  const runner::InterruptGuard guard;
  const auto world = runner::make_real_world();
  EnvironmentReader environment(world->environment());
  const auto track =
      load_track(*world, environment, *invocation.text("--contract"), invocation.text("--track"));
  if (!track) {
    const std::string_view code = track.refusal().code;
    const bool no_track =
        code == scoring::kTrackIdUnresolved.code || code == scoring::kTrackIdMismatch.code;
    return invocation.refuse(track.refusal(), no_track ? cli::kUsage : cli::kJudgedNo);
  }
  Console console(invocation);
  const auto report = check(*world, invocation, *manifest, *track, console);
  console.clear_live();
  if (!report) {
    return invocation.refuse(report.refusal(), exit_of(report.refusal(), cli::kJudgedNo));
  }
  std::fputs(json::write(to_json(*report)).c_str(), stdout);
  console.line(report->passed ? cat("passed: ", report->case_count,
                                    report->case_count == 1 ? " case, " : " cases, ",
                                    report->checked_steps, " steps")
                              : cat("FAILED: ", report->error));
  return report->passed ? cli::kOk : cli::kJudgedNo;
}

}  // namespace

cli::Command correctness_command() {
  using cli::Arity;
  return {
      .name = "correctness",
      .summary = "Run the conformance kit: every case of a golden, judged token by token.",
      .example =
          "benchd correctness --engine build/release/bin/assay-engine --weights "
          "models/tiny --golden g.golden.json --contract contract.json",
      .flags =
          {{{"--engine"}, Arity::value, "PATH", "The engine's worker program.", true},
           {{"--weights"}, Arity::value, "DIR", "Folder of weights, or one GGUF file.", true},
           {{"--golden"}, Arity::value, "FILE", "The golden.", true},
           {{"--contract"}, Arity::value, "FILE", "The track's contract.", true},
           {{"--track"}, Arity::value, "ID", "Track id, when it must be this one."},
           {{"--golden-sha256"}, Arity::value, "HEX", "Digest the golden must have."},
           {{"--golden-bytes"},
            Arity::value,
            "N",
            "Size the golden must have.",
            false,
            cli::Type::u64},
           {{"--engine-resource"},
            Arity::repeatable,
            "NAME=PATH",
            "Passed to the engine as --resource."},
           {{"--manifest"}, Arity::value, "FILE", "Runner manifest to check the hello against."},
           {{"--trusted"}, Arity::toggle, "", "The manifest's trusted posture."}},
      .run = run_correctness,
      .notes =
          "Prints one JSON object, without a final newline. Exit: 0 passed, 1 failed, 2 wrong "
          "command line or no track."};
}

}  // namespace assay::benchd
