#include "runner/windows.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "protocol/verb.h"
#include "runner/refusals.h"
#include "scoring/refusals.h"

namespace assay::runner {
namespace {

Refusal invalid(std::string_view what) {
  return Refusal(kWindowInputInvalid, std::string(what));
}

/// A wrong token: label and step only. Token values are hidden material.
Refusal mismatch(std::string_view label) {
  return Refusal(kTokenMismatch, cat(label, " mismatch"));
}
Refusal mismatch(std::string_view label, uint64_t step) {
  return Refusal(kTokenMismatch, cat(label, " mismatch at step ", step));
}

Status check_decode_plan(const DecodePlan& plan) {
  if (plan.seed.empty()) return invalid("the decode seed is empty");
  if (plan.steps == 0) return invalid("no decode steps were asked for");
  if (plan.expected_tokens.size() < plan.steps) {
    return invalid(cat("the oracle has ", plan.expected_tokens.size(), " decode tokens, ",
                       plan.steps, " are needed"));
  }
  return {};
}

/// Counts the window's mismatches; the first one ends the session in verify mode.
Status compare_tokens(const DecodePlan& plan, std::string_view label, Session& session,
                      DecodeWindow& window) {
  for (uint32_t i = 0; i < plan.steps; ++i) {
    if (window.tokens[i] == plan.expected_tokens[i]) continue;
    ++window.token_mismatches;
    if (!window.first_mismatch) window.first_mismatch = i;
    if (plan.verify == VerifyMode::verify) return session.discard(mismatch(label, i));
  }
  return {};
}

Status compare_seed(const DecodePlan& plan, std::string_view label, Session& session,
                    DecodeWindow& window) {
  window.seed_token_matches = window.seed_token == plan.expected_seed_token;
  if (window.seed_token_matches || plan.verify != VerifyMode::verify) return {};
  return session.discard(mismatch(label));
}

double median_seconds(const std::vector<Duration>& durations) {
  std::vector<double> seconds;
  for (const auto duration : durations) seconds.push_back(to_seconds(duration));
  return scoring::even_n_median(seconds);
}

}  // namespace

Result<Duration> run_budget(uint64_t tokens, const RunBudget& budget) {
  TRY(seconds, scoring::run_timeout_seconds(tokens, budget.seconds_per_token_max, budget.margin));
  // Beyond a century the count of nanoseconds would overflow; no run is that patient.
  constexpr double kSecondsMax = 3.0e9;
  return Duration(std::llround(std::min(seconds, kSecondsMax) * 1e9));
}

Result<PrefillWindow> measure_prefill(World& world, Session& session, const PrefillPlan& plan) {
  if (plan.prompt.empty()) return invalid("the prefill prompt is empty");
  if (plan.timed_runs < 1 || plan.warmup_runs < 0) return invalid("no timed prefill was asked for");
  TRY(budget, run_budget(plan.prompt.size(), plan.budget));

  PrefillWindow window;
  window.prompt_length = static_cast<int64_t>(plan.prompt.size());
  session.begin_phase();
  for (int run = 0; run < plan.warmup_runs + plan.timed_runs; ++run) {
    const Instant t0 = world.now();
    session.arm(t0 + budget, budget);
    auto token = session.prefill(plan.prompt);
    const Instant t1 = world.now();
    session.disarm();
    if (!token) return std::move(token).refusal();
    if (*token != plan.expected_token) {
      ++window.token_mismatches;
      if (plan.verify != VerifyMode::time_only) {
        return session.discard(mismatch("benchmark prefill token"));
      }
    }
    if (run >= plan.warmup_runs) window.timed.push_back(t1 - t0);
  }
  TRY(close, session.close_phase());
  window.close = std::move(close);
  window.seconds = median_seconds(window.timed);
  return window;
}

Result<DecodeWindow> measure_free_run(World& world, Session& session, const DecodePlan& plan) {
  TRY_DO(check_decode_plan(plan));
  TRY(budget, run_budget(plan.steps, plan.budget));
  TRY_DO(session.require_capability(protocol::kFreeRunDecode));

  DecodeWindow window;
  window.steps = plan.steps;
  window.spec = plan.spec;
  session.begin_phase();
  const Instant t0 = world.now();
  session.arm(t0 + budget, budget);
  TRY(seed_token, session.free_decode_begin(plan.seed, plan.spec));
  window.seed_token = seed_token;
  TRY_DO(compare_seed(plan, "benchmark free-run decode seed token", session, window));
  const Instant t1 = world.now();  // closes the seed prefill and opens the decode run
  auto response = session.free_decode_run(plan.steps);
  const Instant t2 = world.now();
  session.disarm();
  if (!response) return std::move(response).refusal();
  window.seed_prefill = t1 - t0;
  window.decode = t2 - t1;

  if (response->tokens->size() != plan.steps) {
    return session.discard(Refusal(scoring::kFreeRunConsistency,
                                   cat("token count: ", response->tokens->size(), " tokens came, ",
                                       plan.steps, " were asked for")));
  }
  window.tokens = *response->tokens;
  TRY_DO(compare_tokens(plan, "benchmark free-run decode token", session, window));
  TRY(account, session.account_of(*std::move(response)));
  TRY(close, session.close_free_run(account, plan.steps));
  window.metrics = scoring::free_run_metrics(counters_of(account, close), plan.steps);
  window.account = std::move(account);
  window.close = std::move(close);
  return window;
}

Result<DecodeWindow> measure_teacher_forced(World& world, Session& session,
                                            const DecodePlan& plan) {
  TRY_DO(check_decode_plan(plan));
  TRY(budget, run_budget(plan.steps, plan.budget));

  DecodeWindow window;
  window.steps = plan.steps;
  window.spec = plan.spec;
  window.tokens.reserve(plan.steps);
  session.begin_phase();
  const Instant t0 = world.now();
  session.arm(t0 + budget, budget);
  TRY(seed_token, session.decode_begin(plan.seed, plan.spec));
  window.seed_token = seed_token;
  TRY_DO(compare_seed(plan, "benchmark decode seed token", session, window));
  int64_t input = plan.expected_seed_token;
  for (uint32_t i = 0; i < plan.steps; ++i) {
    TRY(token, session.decode_step(input));
    window.tokens.push_back(token);
    if (token != plan.expected_tokens[i]) {
      ++window.token_mismatches;
      if (!window.first_mismatch) window.first_mismatch = i;
      if (plan.verify == VerifyMode::verify) {
        return session.discard(mismatch("benchmark decode token", i));
      }
    }
    input = plan.expected_tokens[i];  // the oracle's token, never the engine's
  }
  const Instant t1 = world.now();
  session.disarm();
  window.decode = t1 - t0;
  TRY(close, session.close_phase());
  window.close = std::move(close);
  return window;
}

}  // namespace assay::runner
