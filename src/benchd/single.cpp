// One leg without a reference: a participant's own run. One worker serves the whole window:
// correctness first, then the timed phases. A wrong engine is still timed, because its author wants
// to know both.
#include "base/text.h"
#include "benchd/run.h"
#include "runner/conformance.h"
#include "runner/leg.h"

namespace assay::benchd {

namespace {

double seconds_since(runner::World& world, runner::Instant start) {
  return runner::to_seconds(world.now() - start);
}

}  // namespace

Status measure_single(runner::World& world, const Run& run, Console& console, RunRecord& record) {
  const GoldenFile& golden = run.goldens.front();
  console.live("loading the engine");
  TRY(leg, open_leg(world, run.platform, run.candidate));
  record.engine_environment = leg.worker.environment_overrides;

  console.live("correctness");
  const runner::Instant start = world.now();
  TRY(report, runner::run_conformance(
                  leg.worker.session, golden.golden,
                  {.scope = run.options.strict ? runner::ConformanceScope::full
                                               : runner::ConformanceScope::base_cases_only,
                   .steps = run.track.window.correctness_steps,
                   .vocab_size = run.track.model.vocab_size}));
  record.correctness_seconds = seconds_since(world, start);
  record.correctness = report;
  console.line(report.passed ? cat("correctness passed (", report.checked_steps, " steps)")
                             : cat("correctness FAILED: ", report.error));

  console.live("prefill and decode");
  const LegTerms terms{run.track, run.gates, runner::machine_readers(world, run.platform)};
  runner::LegPlan plan = plan_leg(terms, golden);
  plan.decode.spec = run.candidate.spec;
  const auto verify = report.passed ? runner::VerifyMode::verify : runner::VerifyMode::time_only;
  plan.prefill.verify = verify;
  plan.decode.verify = verify;
  TRY(measured, runner::measure_leg(world, leg.worker.session, plan));
  record.gates = measured.gates;
  TRY(figures, figures_of(measured));
  record.single = figures;
  record.candidates.push_back(facts_of(measured));
  console.line(cat("prefill ", format_fixed(1.0 / figures.prefill.value, 2),
                   " tok/s, decode window ", format_fixed(1.0 / figures.decode.value, 2),
                   " tok/s"));
  return {};
}

}  // namespace assay::benchd
