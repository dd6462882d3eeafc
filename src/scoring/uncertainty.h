// Uncertainty: how sure is this score? Report only; it never changes pass or fail.
//
// In      measured pairs, weights, the order of legs
// Out     95 % intervals of the composite and of each gain, the smallest change this run could have
//         detected, the order effect
// Method  natural logarithms of each pair's ratio, Student's t with n-1 degrees of freedom; below
// two
//         pairs nothing is estimated. Few pairs give honest, wide intervals.
// Source  docs/formats/score.md, "Uncertainty"
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "scoring/score.h"

namespace assay::scoring {

inline constexpr double kConfidence = 0.95;
inline constexpr double kDetectionPower = 0.80;
inline constexpr std::string_view kUncertaintyMethod = "student-t on log ratios of pairs";
inline constexpr std::string_view kUncertaintyNone = "none: fewer than two usable pairs";

struct Interval {
  double low = 0.0;
  double center = 0.0;  // geometric mean over pairs
  double high = 0.0;
};
struct Uncertainty {
  std::string method = std::string(kUncertaintyNone);
  double confidence = kConfidence;
  uint64_t pairs = 0;
  std::optional<Interval> composite;
  std::optional<Interval> decode_speedup;
  std::optional<Interval> prefill_speedup;
  /// Smallest relative change of the composite found with 80 % power at a 5 % two-sided false alarm
  /// rate.
  std::optional<double> detectable_change;
  /// Composite of control-first pairs over that of candidate-first pairs, minus 1; needs both
  /// orders.
  std::optional<double> order_effect;
  /// Composite of an A/A run on the same box, when one was measured; the caller's to fill.
  std::optional<double> aa_composite;
};
[[nodiscard]] Uncertainty estimate_uncertainty(std::span<const MeasuredPair> pairs,
                                               const ScoringWeights& weights, PairOrder order);

}  // namespace assay::scoring
