#include "scoring/uncertainty.h"

#include <cmath>
#include <vector>

#include "scoring/statistics.h"

namespace assay::scoring {

namespace {

constexpr double kUpperTail = 1.0 - (1.0 - kConfidence) / 2.0;

struct Spread {
  double mean = 0.0;
  double standard_error = 0.0;
  double degrees = 0.0;
};
Spread spread_of(std::span<const double> logs) {
  const double average = mean(logs);
  double squares = 0.0;
  for (const double value : logs) squares += (value - average) * (value - average);
  const auto n = static_cast<double>(logs.size());
  return {average, std::sqrt(squares / (n - 1.0) / n), n - 1.0};
}
Interval interval_of(const Spread& spread) {
  const double half = student_t_quantile(kUpperTail, spread.degrees) * spread.standard_error;
  return {std::exp(spread.mean - half), std::exp(spread.mean), std::exp(spread.mean + half)};
}

}  // namespace

Uncertainty estimate_uncertainty(std::span<const MeasuredPair> pairs, const ScoringWeights& weights,
                                 PairOrder order) {
  Uncertainty out;
  out.pairs = pairs.size();
  std::vector<double> composites, decodes, prefills;
  std::vector<double> control_first, candidate_first;
  for (const MeasuredPair& pair : pairs) {
    const double decode = speedup(pair.control.decode, pair.candidate.decode);
    const double prefill = speedup(pair.control.prefill, pair.candidate.prefill);
    const double score = std::log(composite(prefill, decode, weights));
    // A ratio of 0 or NaN has no logarithm: then nothing is said rather than something wrong.
    if (!std::isfinite(std::log(decode)) || !std::isfinite(std::log(prefill)) ||
        !std::isfinite(score)) {
      return out;
    }
    decodes.push_back(std::log(decode));
    prefills.push_back(std::log(prefill));
    composites.push_back(score);
    (control_runs_first(order, pair.pair) ? control_first : candidate_first).push_back(score);
  }
  if (composites.size() < 2) return out;

  out.method = kUncertaintyMethod;
  const Spread spread = spread_of(composites);
  out.composite = interval_of(spread);
  out.decode_speedup = interval_of(spread_of(decodes));
  out.prefill_speedup = interval_of(spread_of(prefills));
  const double quantiles = student_t_quantile(kUpperTail, spread.degrees) +
                           student_t_quantile(kDetectionPower, spread.degrees);
  out.detectable_change = std::expm1(quantiles * spread.standard_error);
  if (!control_first.empty() && !candidate_first.empty()) {
    out.order_effect = std::expm1(mean(control_first) - mean(candidate_first));
  }
  return out;
}

}  // namespace assay::scoring
