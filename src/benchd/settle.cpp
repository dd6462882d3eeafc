// Settling a run: every input is read once, judged, and joined, before the first engine starts. The
// numbers at the calls are the steps of docs/run.md.
#include <unistd.h>

#include <algorithm>
#include <system_error>

#include "base/text.h"
#include "benchd/harness.h"
#include "benchd/reference.h"
#include "benchd/refusals.h"
#include "benchd/run.h"
#include "runner/refusals.h"
#include "scoring/refusals.h"

namespace assay::benchd {

namespace {

namespace fs = std::filesystem;

// --- what is known, but not done by this version

Status refuse_not_offered(const IterateOptions& options, const Track& track,
                          EnvironmentReader& environment) {
  if (options.capture) {
    if (track.contract.scores_against_live_control_leg.value_or(false)) {
      return Refusal(kCaptureRetiredForLiveControlLeg,
                     cat("track `", track.id, "` declares scores_against_live_control_leg"));
    }
    return Refusal(kCaptureNotOffered, cat("on track `", track.id, "`"));
  }
  if (options.mode != Mode::official) return {};
  TRY_DO(scoring::arm_gate(true, track.contract));
  if (environment.read("MLXFAST_BENCHMARK_SKIP_TIMED") == "1") {
    return Refusal(kGatesOnlyNotOffered, cat("on track `", track.id, "`"));
  }
  if (!options.unsandboxed) {
    return Refusal(kOfficialSandboxMissing,
                   cat("track `", track.id, "`: the candidate would run with this user's rights"));
  }
  return {};
}

// --- which path

bool any_stored_override(const IterateOptions& options, EnvironmentReader& environment) {
  return options.stored_pair_given ||
         environment.read("MLXFAST_PAIRED_BASELINE_PREFILL_SECONDS_PER_TOKEN") ||
         environment.read("MLXFAST_PAIRED_BASELINE_DECODE_SECONDS_PER_TOKEN");
}

Status check_paired_inputs(const IterateOptions& options, const std::vector<GoldenFile>& goldens,
                           EnvironmentReader& environment) {
  if (any_stored_override(options, environment)) {
    return Refusal(kStoredBaselineOverrideRefused,
                   "this run measures its own control leg, so no stored figure may be given");
  }
  for (const GoldenFile& golden : goldens) TRY_DO(scoring::refuse_stored_baseline(golden.golden));
  return {};
}

Result<Path> choose_path(const IterateOptions& options, const Track& track,
                         const std::vector<GoldenFile>& goldens, EnvironmentReader& environment,
                         Console& console) {
  const bool inputs =
      environment.flag_or(options.baseline_workspace, "MLXFAST_BASELINE_WORKSPACE") &&
      environment.flag_or(options.baseline_calibration, "MLXFAST_BASELINE_CALIBRATION");
  const bool official = options.mode == Mode::official;
  const bool live_control = track.contract.scores_against_live_control_leg.value_or(false);
  if (official || inputs) TRY_DO(scoring::resolve_live_control_leg(track.contract));
  if (live_control && (official || inputs)) {
    TRY_DO(check_paired_inputs(options, goldens, environment));
    return Path::paired;
  }
  if (official) {
    return Refusal(kOfficialStoredPairNotOffered, cat("track `", track.id, "`"));
  }
  if (!options.control_goldens.empty()) {
    return Refusal(kControlGoldenWithoutPairedPath, "--control-golden has no leg to be used on");
  }
  if (goldens.size() > 1) {
    return Refusal(kMultipleGoldensWithoutPairedPath,
                   cat("--golden was given ", goldens.size(), " times"));
  }
  if (live_control) {
    TRY_DO(scoring::refuse_stored_baseline(goldens.front().golden));
    return Path::unscored;
  }
  if (options.stored_pair_given) console.line("note: a stored pair is for official runs; not used");
  const auto& benchmark = goldens.front().golden.benchmark;
  return benchmark && benchmark->baseline ? Path::decided : Path::unscored;
}

// --- speculation

Status check_spec_permitted(const IterateOptions& options, const Track& track,
                            EnvironmentReader& environment) {
  if (!options.spec) return {};
  const auto& modes = track.contract.allowed_modes;
  if (std::find(modes.begin(), modes.end(), options.spec->mode) == modes.end()) {
    return Refusal(kDraftDepthNotPermitted,
                   cat("track `", track.id, "` does not allow mode `", options.spec->mode, "`"));
  }
  if (!options.spec->mtp || !options.spec->mtp->depth) return {};
  const uint32_t depth = *options.spec->mtp->depth;
  TRY(permitted, scoring::resolve_permitted_draft_depths(track.contract));
  if (permitted && std::find(permitted->begin(), permitted->end(), depth) == permitted->end()) {
    std::string list;
    for (const uint32_t value : *permitted) list += cat(list.empty() ? "" : ", ", value);
    return Refusal(kDraftDepthNotPermitted,
                   cat("depth ", depth, " is not among the contract's: ", list));
  }
  if (options.mode == Mode::official) return {};
  const auto cap_text = environment.read("MLXFAST_MAX_DRAFT_DEPTH");
  if (!cap_text) return {};
  const auto cap = parse_uint64(*cap_text);
  if (!cap || depth > *cap) {
    return Refusal(kDraftDepthNotPermitted,
                   cat("depth ", depth, " is above MLXFAST_MAX_DRAFT_DEPTH `", *cap_text, "`"));
  }
  return {};
}

// --- sides

Side candidate_side(const IterateOptions& options, const fs::path& root, Console& console) {
  Side side;
  side.workspace = root;
  side.spec = options.spec;
  side.command.executable = root / options.engine;
  side.command.weights = root / options.weights;
  for (const std::string& resource : options.resources) {
    side.command.extra.insert(side.command.extra.end(), {"--resource", resource});
  }
  side.command.run_class =
      options.mode == Mode::official ? runner::RunClass::official : runner::RunClass::local;
  side.command.on_stderr_line = [&console](std::string_view line) { console.line(line); };
  return side;
}

Status require_executable(const fs::path& engine) {
  std::error_code error;
  if (fs::is_regular_file(engine, error) && ::access(engine.c_str(), X_OK) == 0) return {};
  return Refusal(runner::kEngineNotExecutable,
                 cat("--engine `", engine.string(), "` is not an executable file"));
}

Result<std::vector<scoring::CalibrationPrompt>> calibration_entries(
    const scoring::Calibration& calibration, const Track& track, std::string_view box,
    const std::vector<GoldenFile>& goldens) {
  std::vector<scoring::CalibrationPrompt> entries;
  for (const GoldenFile& golden : goldens) {
    TRY(entry, scoring::select_prompt(calibration, track.id, box, golden.prompt));
    entries.push_back(std::move(entry));
  }
  return entries;
}

// The order is the table of entry refusals: workspace, calibration file, box, its identity.
Result<Reference> settle_reference(runner::World& world, EnvironmentReader& environment,
                                   FileDigests& digests, const Run& run, const fs::path& root) {
  const IterateOptions& options = run.options;
  TRY(workspace, resolve_workspace(options.baseline_workspace, environment));
  const auto calibration_path =
      environment.flag_or(options.baseline_calibration, "MLXFAST_BASELINE_CALIBRATION");
  if (!calibration_path) {
    return Refusal(kBaselineCalibrationMissing,
                   "neither --baseline-calibration nor MLXFAST_BASELINE_CALIBRATION is given");
  }
  const auto bytes = world.read_file(*calibration_path);
  if (!bytes) return Refusal(kBaselineCalibrationMissing, bytes.refusal().detail);
  TRY(calibration, scoring::parse_calibration(*bytes, run.track.contract.calibration_cv_max));
  TRY(box, resolve_box(options.box, environment));
  TRY(entries, calibration_entries(calibration, run.track, box, run.goldens));
  TRY(pairs, scoring::resolve_official_pairs(run.track.contract));
  TRY_DO(scoring::check_pair_count(pairs, run.goldens.size()));
  TRY_DO(refuse_inherited_socket(environment.all()));

  Reference reference;
  TRY(engine, reference_engine(options.engine, root, workspace));
  TRY(weights, reference_weights(options.weights, root, workspace));
  reference.side = run.candidate;
  reference.side.workspace = workspace;
  reference.side.spec = std::nullopt;
  reference.side.command.executable = engine;
  reference.side.command.weights = weights.is_absolute() ? weights : root / weights;
  TRY(identity, identify_program(engine, digests));
  reference.engine = std::move(identity);
  reference.box = std::move(box);
  reference.calibration = std::move(calibration);
  reference.entries = std::move(entries);
  reference.band = scoring::health_band(run.track.contract.acceptance_bands);
  return reference;
}

Result<scoring::PairedTerms> settle_terms(const scoring::Contract& contract) {
  TRY(floors, scoring::resolve_speedup_floors(contract));
  TRY(weights, scoring::resolve_scoring_weights(contract));
  TRY(bands, scoring::resolve_acceptance_bands(contract));
  return scoring::PairedTerms{{weights, floors, bands}, contract.official_pair_combine};
}

uint32_t decode_steps_of(Mode mode, const scoring::WindowShape& window) {
  return mode == Mode::local_submit ? window.local_submit_benchmark_decode_steps
                                    : window.benchmark_decode_steps;
}

// Local modes walk the case as far as they time it; an official one only as far as correctness
// goes.
uint32_t required_steps_of(Mode mode, const scoring::WindowShape& window) {
  return mode == Mode::official
             ? window.correctness_steps
             : std::max(window.correctness_steps, decode_steps_of(mode, window) + 1);
}

}  // namespace

Result<Run> settle_run(runner::World& world, EnvironmentReader& environment, FileDigests& digests,
                       const IterateOptions& options, Console& console) {
  const runner::Instant start = world.now();
  std::error_code error;
  const fs::path root = fs::current_path(error);
  Run run;
  run.options = options;
  TRY(harness, harness_hash(root, {}));  // 1
  run.harness_hash = std::move(harness);
  TRY(track, load_track(world, environment, options.contract, std::nullopt));  // 2
  run.track = std::move(track);
  TRY_DO(refuse_not_offered(options, run.track, environment));  // 3
  TRY_DO(scoring::refuse_unsupported(run.track.contract));
  TRY_DO(check_spec_permitted(options, run.track, environment));
  run.decode_steps = decode_steps_of(options.mode, run.track.window);
  const GoldenArity arity{required_steps_of(options.mode, run.track.window), run.decode_steps};
  TRY(pins, pair_pins(options.golden_pins, options.goldens.size(), "--golden"));  // 4
  TRY(goldens, load_goldens(world, run.track, options.goldens, pins, arity));
  run.goldens = std::move(goldens);
  TRY(path, choose_path(options, run.track, run.goldens, environment, console));  // 5
  run.path = path;
  if (path == Path::paired) {
    TRY(control_pins,
        pair_pins(options.control_golden_pins, options.control_goldens.size(), "--control-golden"));
    TRY(control, load_goldens(world, run.track, options.control_goldens, control_pins, arity));
    TRY_DO(check_control_goldens(run.goldens, control));
    run.control_goldens = std::move(control);
  }
  if (path != Path::unscored) {
    TRY(terms, settle_terms(run.track.contract));
    run.terms = terms;
  }
  TRY(platform, scoring::platform_of_track(run.track.id));
  run.platform = platform;
  const bool gates_off = !options.cool_gate || environment.read("MLXFAST_LOCAL_COOL_GATE") == "0";
  run.gates = gate_plan(run.track, platform, options.mode == Mode::official, gates_off);
  run.candidate = candidate_side(options, root, console);  // 6
  TRY_DO(runner::worker_argv(run.candidate.command));
  run.sandbox = "none (linux)";
  if (path == Path::paired) {
    TRY(reference, settle_reference(world, environment, digests, run, root));
    run.reference = std::move(reference);
  }
  TRY_DO(require_executable(run.candidate.command.executable));
  TRY(program, identify_program(run.candidate.command.executable, digests));  // 7
  run.candidate_program = std::move(program);
  TRY(self, identify_self(digests));
  run.benchd_program = std::move(self);
  const runner::Instant weights_start = world.now();
  TRY(entries, list_weights(run.candidate.command.weights));
  const unsigned threads = digest_threads(entries.size());
  TRY(weights, digest_weights(entries, digests, threads));
  run.weights = weights;
  run.weights_entries = std::move(entries);
  console.line(cat("weights digest: ", weights.byte_count, " bytes in ",
                   format_fixed(runner::to_seconds(world.now() - weights_start), 2), " s, ",
                   threads, threads == 1 ? " thread" : " threads"));
  TRY(source, transform_source(run.candidate.command.weights));
  run.transform_source = std::move(source);
  run.commit = run_commit(world, environment);
  run.environment_read = environment.names_read();
  run.environment = environment.all();
  run.preflight_seconds = runner::to_seconds(world.now() - start);
  return run;
}

}  // namespace assay::benchd
