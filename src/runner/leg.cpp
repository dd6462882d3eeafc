#include "runner/leg.h"

#include <algorithm>
#include <utility>

#include "base/sha256.h"
#include "base/text.h"
#include "protocol/verb.h"
#include "runner/refusals.h"
#include "scoring/statistics.h"

namespace assay::runner {
namespace {

/// One unmeasured round of both phases on other prompts. A fault in it ends the leg.
Status warm_up(World& world, Session& session, const LegPlan& plan) {
  // Cold caches are what a warm-up is for: it gets the patience of an uncalibrated run at least.
  const auto patient = [](RunBudget budget) {
    budget.seconds_per_token_max =
        std::max(budget.seconds_per_token_max, scoring::kRunTimeoutCeilingDefault);
    return budget;
  };
  PrefillPlan prefill = plan.prefill;
  prefill.prompt = warm_up_prompt(plan.prefill.prompt, plan.vocab_size);
  prefill.warmup_runs = 0;
  prefill.timed_runs = 1;
  prefill.verify = VerifyMode::time_only;
  prefill.budget = patient(plan.prefill.budget);
  TRY_DO(measure_prefill(world, session, prefill));

  DecodePlan decode = plan.decode;
  decode.seed = warm_up_prompt(plan.decode.seed, plan.vocab_size);
  decode.verify = VerifyMode::time_only;
  decode.budget = patient(plan.decode.budget);
  TRY_DO(measure_free_run(world, session, decode));
  return {};
}

Result<scoring::GateRecord> gate(World& world, const LegPlan& plan, std::string_view phase) {
  TRY(record, pass_gates(world, plan.readers, plan.gates));
  record.pair = plan.pair;
  record.pass = plan.pass;
  if (!plan.pass) record.leg = plan.leg;
  record.phase = phase;
  return std::move(record);
}

/// A stream of numbers that SHA-256 draws from a text: the same on every machine.
class DigestStream {
 public:
  explicit DigestStream(std::string seed) : seed_(std::move(seed)) {}
  /// A number in [0, bound). The bias of the modulus is below 2^-32 for any prompt.
  size_t below(size_t bound) {
    if (used_ == block_.size()) {
      block_ = sha256(cat(seed_, ":", counter_++));
      used_ = 0;
    }
    uint64_t value = 0;
    for (int i = 0; i < 8; ++i) value = value << 8 | block_[used_++];
    return static_cast<size_t>(value % bound);
  }

 private:
  std::string seed_;
  uint64_t counter_ = 0;
  Sha256Digest block_{};
  size_t used_ = sizeof(Sha256Digest);
};

}  // namespace

void set_oracle(LegPlan& plan, const scoring::TimedOracle& oracle) {
  plan.prefill.prompt = oracle.prefill_prompt_tokens;
  plan.prefill.expected_token = oracle.expected_prefill_token;
  plan.decode.seed = oracle.decode_seed_tokens;
  plan.decode.expected_seed_token = oracle.expected_decode_seed_token;
  plan.decode.expected_tokens = oracle.expected_decode_tokens;
  plan.decode.steps = static_cast<uint32_t>(oracle.expected_decode_tokens.size());
}

std::vector<int64_t> warm_up_prompt(const std::vector<int64_t>& prompt, int64_t vocab_size) {
  std::string text;
  for (const int64_t token : prompt) text += cat(token, ",");
  DigestStream stream(text);
  std::vector<int64_t> shuffled = prompt;
  for (size_t i = shuffled.size(); i > 2; --i) {  // Fisher-Yates over all but the first
    std::swap(shuffled[i - 1], shuffled[1 + stream.below(i - 1)]);
  }
  if (shuffled == prompt) {
    for (int64_t& token : shuffled) token = vocab_size > 1 ? (token + 1) % vocab_size : token;
  }
  return shuffled;
}

Status check_seed_prefill(double prefill_seconds, double seed_seconds, double decode_seconds,
                          double excess_max) {
  const double excess = seed_seconds - prefill_seconds;
  if (excess <= excess_max * prefill_seconds || excess <= kSeedPrefillSlackSeconds) return {};
  const bool could_hold_decode = decode_seconds < excess;
  return Refusal(
      could_hold_decode ? kFrontLoadedDecode : kDeferredPrefill,
      cat("the seed prefill took ", format_fixed(seed_seconds, 4),
          " s, the timed prefill of as many tokens ", format_fixed(prefill_seconds, 4),
          " s (at most ", format_fixed(100 * excess_max, 0),
          " % more is accepted), the decode run ", format_fixed(decode_seconds, 4), " s"));
}

Status check_seed_prefill_medians(std::span<const scoring::MeasuredPair> pairs,
                                  size_t prompt_tokens, size_t decode_tokens) {
  if (pairs.size() < kSeedPrefillPairsMin) return {};
  std::vector<double> control_ratio, prefill, seed, decode;
  for (const scoring::MeasuredPair& pair : pairs) {
    if (!pair.candidate.seed_prefill_window || !pair.control.seed_prefill_window) return {};
    control_ratio.push_back(pair.control.seed_prefill_window->value / pair.control.prefill.value);
    prefill.push_back(pair.candidate.prefill.value);
    seed.push_back(pair.candidate.seed_prefill_window->value);
    decode.push_back(pair.candidate.decode.value);
  }
  const auto median = [](const std::vector<double>& values) {
    return values[*scoring::lower_median_index(values)];
  };
  const auto tokens = static_cast<double>(prompt_tokens);
  auto agree = check_seed_prefill(
      std::max(1.0, median(control_ratio)) * median(prefill) * tokens, median(seed) * tokens,
      median(decode) * static_cast<double>(decode_tokens), kSeedPrefillMedianExcessMax);
  if (agree) return {};
  Refusal refusal = std::move(agree).refusal();
  refusal.detail = cat("medians of ", pairs.size(), " pairs: ", refusal.detail);
  return refusal;
}

Result<MeasuredLeg> measure_leg(World& world, Session& session, const LegPlan& plan) {
  // What the engine says it cannot do is refused before any gate waits and any clock runs.
  TRY_DO(session.require_capability(protocol::kFreeRunDecode));
  if (plan.decode.spec) TRY_DO(session.require_spec(*plan.decode.spec));

  if (plan.warm_up) {
    if (auto warm = warm_up(world, session, plan); !warm) {
      Refusal refusal = std::move(warm).refusal();
      refusal.detail = cat(plan.warmup_label, " warmup leg failed: ", refusal.detail);
      return refusal;
    }
  }

  MeasuredLeg leg;
  leg.hello = session.hello();
  TRY(prefill_gate, gate(world, plan, "prefill"));
  leg.gates.push_back(std::move(prefill_gate));
  TRY(prefill, measure_prefill(world, session, plan.prefill));
  leg.prefill = std::move(prefill);

  TRY(decode_gate, gate(world, plan, "decode"));
  leg.gates.push_back(std::move(decode_gate));
  TRY(decode, measure_free_run(world, session, plan.decode));
  leg.decode = std::move(decode);

  const double seed_seconds = to_seconds(leg.decode.seed_prefill);
  const auto prompt_length = static_cast<double>(plan.prefill.prompt.size());
  const auto seed_length = static_cast<double>(plan.decode.seed.size());
  leg.seed_to_prefill_ratio = seed_seconds / seed_length / (leg.prefill.seconds / prompt_length);
  // Attention makes the cost per token grow with length: only equal lengths are comparable.
  if (plan.check_seed_prefill && plan.decode.seed.size() == plan.prefill.prompt.size()) {
    auto agree =
        check_seed_prefill(leg.prefill.seconds, seed_seconds, to_seconds(leg.decode.decode));
    if (!agree) return session.discard(std::move(agree).refusal());
  }
  return leg;
}

Result<OpenWorker> open_worker(World& world, const WorkerCommand& command,
                               const SessionOptions& options) {
  TRY(started, start_worker(world, command));
  TRY(session, Session::open(world, std::move(started.transport), options));
  return OpenWorker{std::move(session), std::move(started.environment_overrides)};
}

Result<MeasuredLeg> measure_leg(World& world, const WorkerCommand& command, const LegPlan& plan,
                                const SessionOptions& options) {
  TRY(worker, open_worker(world, command, options));
  return measure_leg(world, worker.session, plan);
}

}  // namespace assay::runner
