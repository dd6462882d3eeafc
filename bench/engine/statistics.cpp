#include "bench/engine/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "base/ensure.h"

namespace assay::bench {
namespace {

// P(X <= k) for X ~ Binomial(n, 1/2).
double binomial_half_cdf(size_t k, size_t n) {
  double term = std::pow(0.5, static_cast<double>(n));
  double sum = term;
  for (size_t i = 1; i <= k; ++i) {
    term *= static_cast<double>(n - i + 1) / static_cast<double>(i);
    sum += term;
  }
  return sum;
}

}  // namespace

Spread spread(std::vector<double> values) {
  ENSURE(!values.empty());
  std::sort(values.begin(), values.end());
  const size_t n = values.size();
  // [x(k), x(n-1-k)], counted from 0, misses the true median with probability 2 P(X <= k).
  size_t k = 0;
  while (k + 1 < n / 2 && 2 * binomial_half_cdf(k + 1, n) <= 0.05) ++k;
  Spread result;
  result.median = n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
  result.low = values[k];
  result.high = values[n - 1 - k];
  return result;
}

}  // namespace assay::bench
