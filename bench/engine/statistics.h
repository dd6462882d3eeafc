// The few statistics that a repeated, interleaved measurement needs.
#pragma once

#include <vector>

namespace assay::bench {

/// A median with a distribution-free interval of at least 95 % coverage; with fewer than six values
/// no such interval exists and the extremes are given.
struct Spread {
  double median = 0;
  double low = 0;
  double high = 0;
};

/// Needs at least one value.
[[nodiscard]] Spread spread(std::vector<double> values);

}  // namespace assay::bench
