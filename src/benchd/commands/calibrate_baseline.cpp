// `benchd calibrate-baseline`: what does the reference cost on this box, and how steadily? The
// answer is the health band that later control legs are held against; it is never part of a score.
#include <cstdio>
#include <system_error>

#include "base/build_info.h"
#include "base/files.h"
#include "base/text.h"
#include "benchd/commands/commands.h"
#include "benchd/console.h"
#include "benchd/legs.h"
#include "benchd/provenance.h"
#include "benchd/reference.h"
#include "benchd/refusals.h"
#include "benchd/stop.h"
#include "scoring/calibration.h"
#include "scoring/refusals.h"

namespace assay::benchd {

namespace {

namespace fs = std::filesystem;

struct CalibrationRun {
  Track track;
  scoring::Platform platform = scoring::Platform::cpu;
  std::vector<GoldenFile> goldens;
  Side reference;
  scoring::CalibrationHeader header;
  runner::GatePlan gates;
  uint32_t passes = 0;
};

// A commit in full: the flag, else what version control says, else what this program was built
// from.
Result<std::string> resolve_commit(const std::optional<std::string>& given,
                                   const std::string& fallback, std::string_view flag) {
  std::string commit = given.value_or(fallback);
  if (commit.empty()) commit = std::string(build_commit());
  if (is_lower_hex(commit, 40)) return commit;
  return Refusal(kCalibrationCommitUnresolved, cat(flag, " `", commit, "`"));
}

Result<CalibrationRun> settle(runner::World& world, const cli::Invocation& invocation,
                              Console& console) {
  EnvironmentReader environment(world.environment());
  std::error_code error;
  const fs::path root = fs::current_path(error);
  CalibrationRun run;
  TRY(track,
      load_track(world, environment, *invocation.text("--contract"), invocation.text("--track")));
  run.track = std::move(track);
  TRY_DO(scoring::refuse_unsupported(run.track.contract));
  TRY(platform, scoring::platform_of_track(run.track.id));
  run.platform = platform;

  const uint32_t steps = run.track.window.benchmark_decode_steps;
  std::vector<fs::path> paths(invocation.all("--golden").begin(), invocation.all("--golden").end());
  TRY(goldens,
      load_goldens(world, run.track, paths, {},
                   {.required_steps = run.track.window.correctness_steps, .decode_steps = steps}));
  run.goldens = std::move(goldens);
  if (const auto prompt = invocation.text("--prompt")) {
    if (run.goldens.size() != 1) {
      return Refusal(
          scoring::kGoldenCountMismatch,
          cat("--prompt names one prompt, --golden was given ", run.goldens.size(), " times"));
    }
    run.goldens.front().prompt = *prompt;
  }

  TRY(workspace, resolve_workspace(invocation.text("--baseline-workspace"), environment));
  TRY(engine, reference_engine(*invocation.text("--engine"), root, workspace));
  TRY_DO(refuse_inherited_socket(environment.all()));
  const auto weights = invocation.text("--weights");
  run.reference.workspace = workspace;
  run.reference.command.executable = engine;
  run.reference.command.weights = weights ? root / *weights : workspace / "weights";
  if (!fs::exists(run.reference.command.weights, error)) {
    return Refusal(kBaselineWorkspaceNoWeights,
                   cat("`", run.reference.command.weights.string(), "` does not exist"));
  }
  for (const std::string& resource : invocation.all("--engine-resource")) {
    run.reference.command.extra.insert(run.reference.command.extra.end(), {"--resource", resource});
  }
  run.reference.command.on_stderr_line = [&console](std::string_view line) { console.line(line); };

  TRY(box, resolve_box(invocation.text("--box"), environment));
  TRY(reference_commit, resolve_commit(invocation.text("--reference-commit"),
                                       head_commit(world, workspace), "--reference-commit"));
  TRY(source_commit, resolve_commit(environment.flag_or(invocation.text("--benchd-source-commit"),
                                                        "MLXFAST_BENCHD_SOURCE_COMMIT"),
                                    "", "--benchd-source-commit"));
  run.header = {run.track.id, std::move(box), std::move(reference_commit), utc_now(),
                std::move(source_commit)};
  const bool gates_off =
      invocation.has("--no-cool-gate") || environment.read("MLXFAST_LOCAL_COOL_GATE") == "0";
  run.gates = gate_plan(run.track, platform, false, gates_off);
  run.passes = invocation.u32("--passes").value_or(scoring::kCalibrationPassesDefault);
  return run;
}

Result<runner::MeasuredLeg> control_window(runner::World& world, const CalibrationRun& run,
                                           const LegTerms& terms, const GoldenFile& golden,
                                           uint32_t pass) {
  TRY(leg, open_leg(world, run.platform, run.reference));
  runner::LegPlan plan = plan_leg(terms, golden);
  plan.leg = "control";
  plan.warmup_label = "reference";
  plan.pass = pass;
  return runner::measure_leg(world, leg.worker.session, plan);
}

Result<scoring::AuthoredCalibration> measure(runner::World& world, const CalibrationRun& run,
                                             Console& console) {
  const LegTerms terms{run.track, run.gates, runner::machine_readers(world, run.platform)};
  std::vector<scoring::CalibrationLegs> legs;
  for (const GoldenFile& golden : run.goldens) legs.push_back({golden.prompt, {}, {}});
  std::vector<scoring::GateRecord> gates;
  for (uint32_t pass = 1; pass <= run.passes; ++pass) {
    for (size_t i = 0; i < run.goldens.size(); ++i) {
      const std::string place =
          cat("pass ", pass, " of ", run.passes, ", prompt ", run.goldens[i].prompt);
      console.live(place);
      auto measured = control_window(world, run, terms, run.goldens[i], pass);
      if (!measured) return at(place, std::move(measured).refusal());
      TRY(figures, figures_of(*measured));
      legs[i].prefill_seconds_per_token.push_back(figures.prefill.value);
      legs[i].decode_seconds_per_token.push_back(figures.decode.value);
      gates.insert(gates.end(), measured->gates.begin(), measured->gates.end());
      console.line(cat(place, ": prefill ", format_fixed(1.0 / figures.prefill.value, 1),
                       " tok/s, decode ", format_fixed(1.0 / figures.decode.value, 2), " tok/s"));
    }
  }
  return scoring::author_calibration(run.header, legs, gates,
                                     scoring::health_band(run.track.contract.acceptance_bands),
                                     run.track.contract.calibration_cv_max);
}

Result<scoring::AuthoredCalibration> calibrate(runner::World& world,
                                               const cli::Invocation& invocation,
                                               Console& console) {
  TRY(run, settle(world, invocation, console));
  TRY(authored, measure(world, run, console));
  TRY_DO(world.write_file(*invocation.text("--out"), authored.bytes));
  return authored;
}

void say_result(const cli::Invocation& invocation, const scoring::AuthoredCalibration& authored,
                Console& console) {
  const scoring::Calibration& calibration = authored.calibration;
  for (const scoring::CalibrationPrompt& entry : calibration.prompts) {
    console.line(cat("prompt ", entry.prompt, ": ", entry.passes, " passes, prefill mean ",
                     format_fixed(1.0 / entry.prefill_seconds_per_token_mean, 1), " tok/s (CV ",
                     format_fixed(100 * entry.prefill_cv, 2), " %), decode mean ",
                     format_fixed(1.0 / entry.decode_seconds_per_token_mean, 2), " tok/s (CV ",
                     format_fixed(100 * entry.decode_cv, 2), " %)"));
  }
  console.line(cat("wrote ", *invocation.text("--out"), " (sha256 ", calibration.sha256, ") - box ",
                   calibration.box, ", track ", calibration.track_id, "; no score was written"));
  if (!invocation.json()) return;
  const json::Value result = json::Value::object({{"ok", true},
                                                  {"out", *invocation.text("--out")},
                                                  {"sha256", calibration.sha256},
                                                  {"box", calibration.box},
                                                  {"track_id", calibration.track_id}});
  std::printf("%s\n", json::write(result).c_str());
}

int run_calibrate_baseline(const cli::Invocation& invocation) {
  if (invocation.u32("--passes").value_or(scoring::kCalibrationPassesDefault) < 2) {
    return invocation.refuse_usage("--passes needs at least 2: one pass has no spread");
  }
  const runner::InterruptGuard guard;
  const auto world = runner::make_real_world();
  Console console(invocation);
  const auto authored = calibrate(*world, invocation, console);
  console.clear_live();
  if (!authored) {
    return invocation.refuse(authored.refusal(), exit_of(authored.refusal(), cli::kJudgedNo));
  }
  say_result(invocation, *authored, console);
  return cli::kOk;
}

}  // namespace

cli::Command calibrate_baseline_command() {
  using cli::Arity;
  return {
      .name = "calibrate-baseline",
      .summary = "Measure the reference on this box, and write its health band.",
      .example =
          "benchd calibrate-baseline --baseline-workspace out/reference "
          "--engine build/release/bin/assay-engine --weights models/tiny "
          "--golden g.golden.json --contract contract.json --box local --out cal.json",
      .flags =
          {{{"--baseline-workspace"}, Arity::value, "DIR", "The organizer's reference tree."},
           {{"--engine"}, Arity::value, "PATH", "The engine, relative to the workspace.", true},
           {{"--golden"}, Arity::repeatable, "FILE", "Serial golden of each prompt.", true},
           {{"--contract"}, Arity::value, "FILE", "The track's contract.", true},
           {{"--out"}, Arity::value, "FILE", "Where to write the calibration.", true},
           {{"--weights"},
            Arity::value,
            "DIR",
            "Folder of weights, or one GGUF file (the workspace's weights/)."},
           {{"--passes"},
            Arity::value,
            "N",
            "Legs of each prompt (4; at least 2).",
            false,
            cli::Type::u32},
           {{"--box"}, Arity::value, "NAME", "Name of this box; RUNNER_NAME wins."},
           {{"--track"}, Arity::value, "ID", "Track id, when it must be this one."},
           {{"--prompt"}, Arity::value, "NAME", "Prompt name, instead of the golden's file name."},
           {{"--reference-commit"},
            Arity::value,
            "HEX",
            "Commit of the reference (the workspace's HEAD)."},
           {{"--benchd-source-commit"},
            Arity::value,
            "HEX",
            "Commit of this program (the one it was built from)."},
           {{"--engine-resource"},
            Arity::repeatable,
            "NAME=PATH",
            "Passed to the engine as --resource."},
           {{"--no-cool-gate"}, Arity::toggle, "", "Do not wait for a quiet, cool machine."}},
      .run = run_calibrate_baseline,
      .notes =
          "Environment: MLXFAST_BASELINE_WORKSPACE, RUNNER_NAME, MLXFAST_QWEN_MTP_TRACK_ID,\n"
          "MLXFAST_BENCHD_SOURCE_COMMIT, MLXFAST_LOCAL_COOL_GATE. Exit: 0 written, 1 refused, 2 "
          "wrong command line, 130 stopped."};
}

}  // namespace assay::benchd
