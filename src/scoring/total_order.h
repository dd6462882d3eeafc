// Total order: binary64 as IEEE 754 orders all of it, so that a sort never depends on its input's
// order.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

namespace assay::scoring {

/// -NaN < -inf < … < -0 < +0 < … < +inf < +NaN, as an order of integers.
[[nodiscard]] constexpr int64_t total_order_key(double value) {
  const auto bits = std::bit_cast<int64_t>(value);
  // A negative value's magnitude grows downwards: flip all bits but the sign.
  return bits < 0 ? bits ^ std::numeric_limits<int64_t>::max() : bits;
}

}  // namespace assay::scoring
