#include "scoring/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "base/ensure.h"
#include "base/text.h"
#include "scoring/refusals.h"
#include "scoring/total_order.h"

namespace assay::scoring {

namespace {

// Regularised incomplete beta function by its continued fraction, evaluated with the modified Lentz
// method (Abramowitz and Stegun 26.5.8). Needs 0 < x < 1.
double incomplete_beta(double a, double b, double x) {
  if (x > (a + 1.0) / (a + b + 2.0)) return 1.0 - incomplete_beta(b, a, 1.0 - x);
  const double front = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) +
                                a * std::log(x) + b * std::log1p(-x)) /
                       a;
  constexpr double kTiny = 1e-300;
  double c = 1.0;
  double d = 1.0 - (a + b) * x / (a + 1.0);
  d = 1.0 / (std::abs(d) < kTiny ? kTiny : d);
  double fraction = d;
  for (int m = 1; m <= 10000; ++m) {
    const double k = m;
    for (const double term : {k * (b - k) * x / ((a + 2 * k - 1) * (a + 2 * k)),
                              -(a + k) * (a + b + k) * x / ((a + 2 * k) * (a + 2 * k + 1))}) {
      d = 1.0 + term * d;
      d = 1.0 / (std::abs(d) < kTiny ? kTiny : d);
      c = 1.0 + term / c;
      if (std::abs(c) < kTiny) c = kTiny;
      fraction *= c * d;
    }
    if (std::abs(c * d - 1.0) < 1e-15) break;
  }
  return front * fraction;
}

// P(T <= t) for t >= 0.
double student_t_cdf_upper_half(double t, double degrees) {
  if (t == 0.0) return 0.5;
  return 1.0 - 0.5 * incomplete_beta(degrees / 2.0, 0.5, degrees / (degrees + t * t));
}

}  // namespace

double mean(std::span<const double> values) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  double sum = 0.0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

double even_n_median(std::span<const double> values) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end(),
            [](double a, double b) { return total_order_key(a) < total_order_key(b); });
  const size_t middle = sorted.size() / 2;
  if (sorted.size() % 2 == 1) return sorted[middle];
  return (sorted[middle - 1] + sorted[middle]) / 2.0;
}

std::optional<size_t> lower_median_index(std::span<const double> values) {
  if (values.empty()) return std::nullopt;
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return total_order_key(values[a]) < total_order_key(values[b]);
  });
  return order[(values.size() - 1) / 2];
}

std::optional<double> sample_cv_percent(std::span<const double> values) {
  if (values.size() < 2) return std::nullopt;
  const double average = mean(values);
  if (!std::isfinite(average) || average <= 0.0) return std::nullopt;
  double squares = 0.0;
  for (const double value : values) squares += (value - average) * (value - average);
  return std::sqrt(squares / static_cast<double>(values.size() - 1)) / average * 100.0;
}

double student_t_quantile(double probability, double degrees) {
  ENSURE(probability > 0.0 && probability < 1.0 && degrees >= 1.0);
  if (probability == 0.5) return 0.0;
  if (probability < 0.5) return -student_t_quantile(1.0 - probability, degrees);
  double low = 0.0;
  double high = 1.0;
  while (student_t_cdf_upper_half(high, degrees) < probability && high < 1e16) high *= 2.0;
  for (int i = 0; i < 200 && low < high; ++i) {
    const double middle = low + (high - low) / 2.0;
    if (middle == low || middle == high) break;
    (student_t_cdf_upper_half(middle, degrees) < probability ? low : high) = middle;
  }
  return high;
}

Result<double> run_timeout_seconds(uint64_t tokens, double ceiling_seconds_per_token,
                                   double margin) {
  const auto usable = [](double value) { return std::isfinite(value) && value > 0.0; };
  const double seconds = static_cast<double>(tokens) * ceiling_seconds_per_token * margin;
  if (tokens == 0 || !usable(ceiling_seconds_per_token) || !usable(margin) || !usable(seconds)) {
    const auto shown = [](double v) {
      return std::isfinite(v) ? format_double(v) : std::string("not finite");
    };
    return Refusal(kRunTimeoutBudgetInvalid,
                   cat(tokens, " tokens * ", shown(ceiling_seconds_per_token), " s/token * margin ",
                       shown(margin), " must be a finite, positive number of seconds"));
  }
  return seconds;
}

}  // namespace assay::scoring
