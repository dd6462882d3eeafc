// Activations as int8: how an input row of a product with quantised weights is stored.
//
// Per group of 32 values: d = max|x| / 127 in F32, q = x / d to nearest even, and the sums that
// weight formats with an offset need. A group whose d would be subnormal is all zeros, which keeps
// q within [-127, 127] (kernels rely on it: -128 cannot be negated in a byte).
// Source: docs/kernels.md, "Activations".
#pragma once

#include <cstdint>

namespace assay::engine::quant {

/// One quantised row of n values.
struct ActivationRow {
  int8_t* q;       // [n]
  float* d;        // [n / 32]
  float* sum;      // [n / 32]  sum of the group's q: an integer, |sum| <= 4064
  int16_t* sum16;  // [n / 16]  sums of its two halves
};

/// Quantises x [n], n a multiple of 32. Reference; kernels give the same bits.
/// Needs finite values; a NaN or infinity spoils its own group only (its d is NaN or infinite).
void quantise_row(const float* x, int64_t n, const ActivationRow& out) noexcept;

}  // namespace assay::engine::quant
