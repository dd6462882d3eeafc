#include "benchd/legs.h"

namespace assay::benchd {

Result<LiveLeg> open_leg(runner::World& world, scoring::Platform platform, const Side& side) {
  TRY(server, LegServer::boot(world, platform, side.workspace, side.spec));
  runner::WorkerCommand command = side.command;
  command.working_directory = side.workspace;
  if (server) {
    for (auto& entry : server->worker_overrides()) command.overrides.push_back(std::move(entry));
  }
  TRY(worker, runner::open_worker(world, command));
  return LiveLeg{std::move(server), std::move(worker)};
}

runner::LegPlan plan_leg(const LegTerms& terms, const GoldenFile& golden) {
  runner::LegPlan plan;
  runner::set_oracle(plan, golden.oracle);
  plan.prefill.warmup_runs = static_cast<int>(terms.track.window.official_prefill_warmup_runs);
  plan.prefill.timed_runs = static_cast<int>(terms.track.window.official_prefill_timed_runs);
  plan.vocab_size = terms.track.model.vocab_size;
  plan.gates = terms.gates;
  plan.readers = terms.readers;
  return plan;
}

runner::RunBudget calibrated_budget(const scoring::CalibrationPrompt& entry,
                                    const scoring::HealthBand& band,
                                    const scoring::TimedOracle& oracle) {
  const double seed_tokens = static_cast<double>(oracle.decode_seed_tokens.size());
  const double steps = static_cast<double>(oracle.expected_decode_tokens.size());
  const double seed_seconds =
      seed_tokens * entry.prefill_seconds_per_token_mean * band.prefill_high;
  runner::RunBudget budget;
  budget.seconds_per_token_max = scoring::decode_ceiling(entry, band) + seed_seconds / steps;
  return budget;
}

Result<scoring::LegFigures> figures_of(const runner::MeasuredLeg& leg) {
  const runner::DecodeWindow& decode = leg.decode;
  TRY(prefill, scoring::prefill_seconds_per_token(leg.prefill.timed,
                                                  static_cast<int64_t>(leg.prefill.prompt_length)));
  TRY(per_token, scoring::decode_window_seconds_per_token(decode.decode, decode.steps));
  scoring::LegFigures figures{prefill, per_token, std::nullopt};
  // The seed prefill ran the same prompt length; its tokens are the timed prompt's.
  if (leg.prefill.prompt_length > 0) {
    figures.seed_prefill_window = scoring::SecondsPerToken{
        runner::to_seconds(decode.seed_prefill) / static_cast<double>(leg.prefill.prompt_length)};
  }
  return figures;
}

}  // namespace assay::benchd
