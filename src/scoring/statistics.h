// Statistics: the few estimators that scores and calibrations are made of.
//
// All are binary64, left to right, without a locale or a random source. "Total order" sorts -NaN
// below every number and NaN above every number, so that a sort never depends on the order of its
// input. Source    docs/formats/score.md, "Statistics". Cost      O(n log n) at most; allocates a
// copy of the input where it sorts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/result.h"

namespace assay::scoring {

/// Left-to-right sum over n; NaN for no values.
[[nodiscard]] double mean(std::span<const double> values);

/// Middle value, or half the sum of the two middle values; NaN for no values.
[[nodiscard]] double even_n_median(std::span<const double> values);

/// Index of element (n-1)/2 of a stable ascending sort: ties keep the order of the input. Empty for
/// no values.
[[nodiscard]] std::optional<size_t> lower_median_index(std::span<const double> values);

/// 100 * sample standard deviation (n-1) / mean. Empty below two values or when the mean is not
/// finite and positive.
[[nodiscard]] std::optional<double> sample_cv_percent(std::span<const double> values);

/// Student's t quantile: t with P(T <= t) = probability, `degrees` of freedom.
/// Needs 0 < probability < 1 and degrees >= 1. Accurate to about 1e-10 relative (bisection on the
/// regularised incomplete beta function).
[[nodiscard]] double student_t_quantile(double probability, double degrees);

inline constexpr double kRunTimeoutMargin = 4.0;
/// Slowest decode a run without a calibration is allowed before its deadline, seconds per token.
inline constexpr double kRunTimeoutCeilingDefault = 0.1336139485703125;

/// Deadline of one free decode run: tokens * ceiling * margin, in seconds. Liveness only, never
/// scored. Refuses  RUN_TIMEOUT_BUDGET_INVALID (no tokens; ceiling, margin or product not finite
/// and positive).
[[nodiscard]] Result<double> run_timeout_seconds(
    uint64_t tokens, double ceiling_seconds_per_token = kRunTimeoutCeilingDefault,
    double margin = kRunTimeoutMargin);

}  // namespace assay::scoring
