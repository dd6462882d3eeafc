// The pair loop: for each pair a control leg of the reference and a candidate leg, one after the
// other on the same machine, never at the same time; then correctness on the candidate.
#include <optional>

#include "base/text.h"
#include "benchd/refusals.h"
#include "benchd/run.h"
#include "runner/conformance.h"
#include "runner/leg.h"
#include "runner/refusals.h"
#include "scoring/contract.h"

namespace assay::benchd {

namespace {

class PairLoop {
 public:
  PairLoop(runner::World& world, const Run& run, Console& console, RunRecord& record)
      : world_(world),
        run_(run),
        console_(console),
        record_(record),
        terms_{run.track, run.gates, runner::machine_readers(world, run.platform)} {}

  Status measure(uint32_t pairs) {
    pairs_ = pairs;
    for (pair_ = 1; pair_ <= pairs; ++pair_) {
      const bool control_first =
          scoring::control_runs_first(run_.track.contract.official_pair_order, pair_);
      record_.half_control.reset();
      record_.half_candidate.reset();
      if (control_first) {
        TRY_DO(control_leg());
        TRY_DO(candidate_leg(pair_ == pairs));
      } else {
        TRY_DO(candidate_leg(false));
        TRY_DO(control_leg());
      }
      record_pair();
    }
    return {};
  }

  /// Full correctness on the candidate, in the session of its last leg where that is still open, on
  /// the golden of the lower-median pair.
  Status check_correctness(size_t golden_index) {
    console_.live("correctness of the candidate");
    if (!candidate_) {
      TRY(leg, open_leg(world_, run_.platform, run_.candidate));
      candidate_ = std::move(leg);
    }
    const runner::Instant start = world_.now();
    TRY(report,
        runner::run_conformance(candidate_->worker.session, run_.goldens[golden_index].golden,
                                {.scope = runner::ConformanceScope::full,
                                 .steps = run_.track.window.correctness_steps,
                                 .vocab_size = run_.track.model.vocab_size}));
    record_.correctness_seconds = runner::to_seconds(world_.now() - start);
    record_.correctness = report;
    console_.line(report.passed ? cat("correctness passed (", report.case_count,
                                      report.case_count == 1 ? " case, " : " cases, ",
                                      report.checked_steps, " steps)")
                                : cat("correctness FAILED: ", report.error));
    return {};
  }

 private:
  [[nodiscard]] size_t golden_index() const {
    return scoring::golden_index_of_pair(pair_, run_.goldens.size());
  }
  [[nodiscard]] std::string place() const { return cat("pair ", pair_, " of ", pairs_); }

  Status control_leg() {
    const Reference& reference = *run_.reference;
    const GoldenFile& golden = run_.control_golden(golden_index());
    console_.live(cat(place(), ": control leg"));
    runner::LegPlan plan = plan_leg(terms_, golden);
    plan.leg = "control";
    plan.warmup_label = "reference";
    plan.pair = pair_;
    set_budget(plan, golden);
    auto measured = control_window(plan);
    if (!measured) {
      Refusal refusal = std::move(measured).refusal();
      if (refusal.code == runner::kRunInterrupted.code) return at(place(), std::move(refusal));
      return Refusal(kSerialControlLegFailed, cat(place(), ": ", refusal.text()));
    }
    add_gates(*measured);
    TRY(figures, figures_of(*measured));
    record_.half_control = figures;
    const Status band =
        scoring::check_control_leg(reference.entries[golden_index()], reference.band, figures);
    record_.band_passed = static_cast<bool>(band);
    if (!band) return at(place(), band.refusal());
    say("control", figures);
    return {};
  }

  // The reference's engine lives for exactly its leg.
  Result<runner::MeasuredLeg> control_window(const runner::LegPlan& plan) {
    TRY(leg, open_leg(world_, run_.platform, run_.reference->side));
    return runner::measure_leg(world_, leg.worker.session, plan);
  }

  Status candidate_leg(bool keep_open) {
    const GoldenFile& golden = run_.goldens[golden_index()];
    console_.live(cat(place(), ": candidate leg"));
    runner::LegPlan plan = plan_leg(terms_, golden);
    plan.leg = "candidate";
    plan.warmup_label = "official";
    plan.pair = pair_;
    plan.decode.spec = run_.candidate.spec;
    set_budget(plan, golden);
    auto leg = open_leg(world_, run_.platform, run_.candidate);
    if (!leg) return at(place(), std::move(leg).refusal());
    record_.engine_environment = leg->worker.environment_overrides;
    auto measured = runner::measure_leg(world_, leg->worker.session, plan);
    if (!measured) return at(place(), std::move(measured).refusal());
    add_gates(*measured);
    TRY(figures, figures_of(*measured));
    record_.half_candidate = figures;
    facts_ = facts_of(*measured);
    say("candidate", figures);
    if (keep_open) candidate_ = *std::move(leg);
    return {};
  }

  void set_budget(runner::LegPlan& plan, const GoldenFile& golden) const {
    const Reference& reference = *run_.reference;
    plan.decode.budget =
        calibrated_budget(reference.entries[golden_index()], reference.band, golden.oracle);
  }

  void add_gates(const runner::MeasuredLeg& measured) {
    record_.gates.insert(record_.gates.end(), measured.gates.begin(), measured.gates.end());
  }

  void say(std::string_view leg, const scoring::LegFigures& figures) {
    console_.line(cat(place(), ": ", leg, " prefill ", format_fixed(1.0 / figures.prefill.value, 1),
                      " tok/s, decode ", format_fixed(1.0 / figures.decode.value, 2), " tok/s"));
  }

  void record_pair() {
    record_.pairs.push_back({pair_, run_.goldens[golden_index()].sha256, *record_.half_control,
                             *record_.half_candidate});
    record_.candidates.push_back(*std::move(facts_));
    facts_.reset();
    record_.half_control.reset();
    record_.half_candidate.reset();
  }

  runner::World& world_;
  const Run& run_;
  Console& console_;
  RunRecord& record_;
  LegTerms terms_;
  uint32_t pair_ = 0;
  uint32_t pairs_ = 0;
  std::optional<CandidateFacts> facts_;
  std::optional<LiveLeg> candidate_;  // of the last pair, kept for correctness
};

}  // namespace

Status measure_pairs(runner::World& world, const Run& run, Console& console, RunRecord& record) {
  TRY(pairs, scoring::resolve_official_pairs(run.track.contract));
  PairLoop loop(world, run, console, record);
  TRY_DO(loop.measure(pairs));
  const scoring::TimedOracle& oracle = run.goldens.front().oracle;
  if (oracle.decode_seed_tokens.size() == oracle.prefill_prompt_tokens.size()) {
    TRY_DO(runner::check_seed_prefill_medians(record.pairs, oracle.decode_seed_tokens.size(),
                                              oracle.expected_decode_tokens.size()));
  }
  TRY(score, scoring::combine_pairs(record.pairs, *run.terms));
  record.paired_score = score;
  // An official run that misses a gate says nothing more; a local one still tells its author
  // whether the engine is right.
  if (!score.verdict.passed() && run.options.mode == Mode::official) return {};
  return loop.check_correctness(scoring::golden_index_of_pair(
      record.pairs[score.lower_median_pair].pair, run.goldens.size()));
}

}  // namespace assay::benchd
