// exp, sine and cosine of our own: the same bits on every machine and with every C library.
//
// exp_f32 is written in operations that vector units have (fma, compare, bit shifts); every table
// repeats them lane by lane. Angles are computed once per row in double, scalar on every machine.
// Source: docs/kernels.md, "Elementary functions".
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace assay::engine::kernels {

// exp(x) = 2^n exp(r), n = nearest(x log2 e), r = x - n ln 2 in two pieces.
inline constexpr float kExpLow = -105.0f;  // exp rounds to 0 below -103.98
inline constexpr float kExpHigh = 89.0f;   // and to infinity above 88.73
inline constexpr float kLog2E = 0x1.715476p+0f;
inline constexpr float kLn2High = 0x1.62e400p-1f;  // 15 bits: n * kLn2High is exact
inline constexpr float kLn2Low = 0x1.7f7d1cp-20f;
inline constexpr float kRoundMagic = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
// 1/7!, 1/6!, …, 1/2!: with |r| <= 0.347 the next term is below 2^-27.
inline constexpr float kExpTerms[6] = {1.0f / 5040.0f, 1.0f / 720.0f, 1.0f / 120.0f,
                                       1.0f / 24.0f,   1.0f / 6.0f,   0.5f};

/// e^x within 1.01 ulp (measured); 0 below -104, infinity above 88.73, NaN for NaN.
[[nodiscard]] inline float exp_f32(float x) noexcept {
  x = kExpLow > x ? kExpLow : x;
  x = kExpHigh < x ? kExpHigh : x;
  const float shifted = std::fma(x, kLog2E, kRoundMagic);
  const float n = shifted - kRoundMagic;
  float r = std::fma(n, -kLn2High, x);
  r = std::fma(n, -kLn2Low, r);
  float p = kExpTerms[0];
  for (int i = 1; i < 6; ++i) p = std::fma(p, r, kExpTerms[i]);
  p = std::fma(p, r, 1.0f);
  p = std::fma(p, r, 1.0f);
  // 2^n in two factors, so that subnormal results are rounded once and 2^128 is never formed.
  const int32_t k = std::bit_cast<int32_t>(shifted) - std::bit_cast<int32_t>(kRoundMagic);
  const int32_t k1 = k >> 1;
  const int32_t k2 = k - k1;
  return (p * std::bit_cast<float>((k1 + 127) << 23)) * std::bit_cast<float>((k2 + 127) << 23);
}

/// x / (1 + e^-x).
[[nodiscard]] inline float silu_f32(float x) noexcept {
  return x / (1.0f + exp_f32(-x));
}

struct CosSin {
  double cos;
  double sin;
};

/// Cosine and sine of theta, |theta| <= 2^30; absolute error below 2^-51.
[[nodiscard]] CosSin cos_sin(double theta) noexcept;

/// base^exponent for finite base > 0 and a result in normal range; relative error below
/// (4 + |exponent * ln base|) * 2^-52.
[[nodiscard]] double power(double base, double exponent) noexcept;

}  // namespace assay::engine::kernels
