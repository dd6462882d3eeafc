#include "scoring/score.h"

#include <functional>

#include "base/ensure.h"
#include "base/text.h"
#include "scoring/refusals.h"
#include "scoring/statistics.h"

namespace assay::scoring {

namespace {

using Pairs = std::span<const MeasuredPair>;

double total(Pairs pairs, const std::function<double(const MeasuredPair&)>& figure) {
  double sum = 0.0;
  for (const MeasuredPair& pair : pairs) sum += figure(pair);
  return sum;
}
double average(Pairs pairs, const std::function<double(const MeasuredPair&)>& figure) {
  return total(pairs, figure) / static_cast<double>(pairs.size());
}

// Means of each figure over the pairs of one side; the seed window only when every pair has one.
LegFigures mean_leg(Pairs pairs, const LegFigures MeasuredPair::*leg) {
  LegFigures out;
  out.prefill.value =
      average(pairs, [leg](const MeasuredPair& p) { return (p.*leg).prefill.value; });
  out.decode.value = average(pairs, [leg](const MeasuredPair& p) { return (p.*leg).decode.value; });
  for (const MeasuredPair& pair : pairs) {
    if (!(pair.*leg).seed_prefill_window) return out;
  }
  out.seed_prefill_window = SecondsPerToken{
      average(pairs, [leg](const MeasuredPair& p) { return (p.*leg).seed_prefill_window->value; })};
  return out;
}

void seal_pair(PairedScore& out, const MeasuredPair& pair, const TimedVerdict& verdict) {
  out.verdict = verdict;
  out.control = pair.control;
  out.candidate = pair.candidate;
}

// Every pair is gated in measurement order; the first failure is the run's, with that pair's
// figures.
void combine_mean(Pairs pairs, const std::vector<TimedVerdict>& verdicts, PairedScore& out) {
  for (size_t i = 0; i < pairs.size(); ++i) {
    if (verdicts[i].passed()) continue;
    seal_pair(out, pairs[i], verdicts[i]);
    out.verdict.failure = cat("pair ", i + 1, " of ", pairs.size(), ": ", verdicts[i].failure);
    return;
  }
  std::vector<double> decode_gains, prefill_gains;
  for (const TimedVerdict& verdict : verdicts) {
    decode_gains.push_back(verdict.decode_speedup);
    prefill_gains.push_back(verdict.prefill_speedup);
  }
  out.verdict = verdicts.front();  // every gate passed in every pair
  out.verdict.score = mean(out.composites);
  out.verdict.decode_speedup = mean(decode_gains);
  out.verdict.prefill_speedup = mean(prefill_gains);
  out.control = mean_leg(pairs, &MeasuredPair::control);
  out.candidate = mean_leg(pairs, &MeasuredPair::candidate);
}

// Gains of the sums; the gates see the aggregate only.
void combine_sums(Pairs pairs, const TimedTerms& terms, PairedScore& out) {
  const auto sum = [pairs](const LegFigures MeasuredPair::*leg, SecondsPerToken LegFigures::*axis) {
    return SecondsPerToken{
        total(pairs, [leg, axis](const MeasuredPair& p) { return (p.*leg.*axis).value; })};
  };
  using P = MeasuredPair;
  TimedVerdict verdict;
  verdict.decode_speedup =
      speedup(sum(&P::control, &LegFigures::decode), sum(&P::candidate, &LegFigures::decode));
  verdict.prefill_speedup =
      speedup(sum(&P::control, &LegFigures::prefill), sum(&P::candidate, &LegFigures::prefill));
  verdict.score = composite(verdict.prefill_speedup, verdict.decode_speedup, terms.weights);
  out.control = mean_leg(pairs, &P::control);
  out.candidate = mean_leg(pairs, &P::candidate);
  out.verdict = gate_timed_run(std::move(verdict), out.control, out.candidate, terms);
}

}  // namespace

Result<PairedScore> combine_pairs(Pairs pairs, const PairedTerms& terms) {
  if (pairs.empty()) return Refusal(kScoreNoPairs, "no pair was measured, expected at least one");
  PairedScore out;
  std::vector<TimedVerdict> verdicts;
  for (const MeasuredPair& pair : pairs) {
    verdicts.push_back(evaluate_timed_run(pair.control, pair.candidate, terms.timed));
    out.composites.push_back(verdicts.back().score);
  }
  out.lower_median_pair = *lower_median_index(out.composites);
  switch (terms.combine) {
    case PairCombine::lower_median:
      seal_pair(out, pairs[out.lower_median_pair], verdicts[out.lower_median_pair]);
      break;
    case PairCombine::mean: combine_mean(pairs, verdicts, out); break;
    case PairCombine::ratio_of_sums: combine_sums(pairs, terms.timed, out); break;
  }
  return out;
}

Status check_pair_count(uint32_t official_pairs, size_t goldens) {
  if (goldens == 0)
    return Refusal(kGoldenCountMismatch, "no --golden was given, expected at least one");
  if (official_pairs == 0 || official_pairs % goldens != 0) {
    return Refusal(kOfficialPairsNotAMultiple,
                   cat("`official_pairs` is ", official_pairs, ", which ", goldens,
                       " goldens cannot share evenly"));
  }
  return {};
}

}  // namespace assay::scoring
