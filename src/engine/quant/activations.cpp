#include "engine/quant/activations.h"

#include <cfloat>
#include <cmath>
#include <limits>

namespace assay::engine::quant {
namespace {

// To nearest, ties to even, for |value| < 2^22, whatever the rounding mode's library says: adding
// 1.5 * 2^23 leaves no fraction bits. Comparisons first, so that NaN gives 0.
int to_nearest_even(float value) {
  if (!(value >= -127.0f)) return value < -127.0f ? -127 : 0;
  if (value > 127.0f) return 127;
  const float magic = 12582912.0f;
  return static_cast<int>((value + magic) - magic);
}

}  // namespace

void quantise_row(const float* x, int64_t n, const ActivationRow& out) noexcept {
  for (int64_t g = 0; g < n / 32; ++g) {
    const float* group = x + 32 * g;
    float max = 0.0f;
    bool has_nan = false;
    for (int i = 0; i < 32; ++i) {
      max = std::fabs(group[i]) > max ? std::fabs(group[i]) : max;
      has_nan |= group[i] != group[i];
    }
    float d = max / 127.0f;
    if (d < FLT_MIN) d = 0.0f;
    if (has_nan) d = std::numeric_limits<float>::quiet_NaN();
    int halves[2] = {0, 0};
    for (int i = 0; i < 32; ++i) {
      const int q = d == 0.0f ? 0 : to_nearest_even(group[i] / d);
      out.q[32 * g + i] = static_cast<int8_t>(q);
      halves[i / 16] += q;
    }
    out.d[g] = d;
    out.sum[g] = static_cast<float>(halves[0] + halves[1]);
    out.sum16[2 * g] = static_cast<int16_t>(halves[0]);
    out.sum16[2 * g + 1] = static_cast<int16_t>(halves[1]);
  }
}

}  // namespace assay::engine::quant
