// Dot products of one weight row with one input row: the order of arithmetic that every kernel
// follows to the last bit.
//
// Quantised weights, per group of 32 in ascending order, one F32 accumulator starting at +0:
//   formats without offset    t = D * float(dot)
//   formats with an offset    t = fma(D, float(dot), M * float(sum))
//   then                      acc = fma(d_x, t, acc)
// with dot the exact integer product sum of weight codes and activation codes, and
//   Q8_0, IQ4_NL  D = d, signed codes            Q4_1, Q5_1  D = d, M = m
//   Q4_0, Q5_0    D = d, M = -8 d, -16 d         Q4_K, Q5_K  D = d * scale, M = -(dmin * min)
//   Q6_K          D = d, dot = sum over the two halves of scale * sum((q - 32) * q_x)
// All D and M are exact in F32.
//
// Float weights: sixteen partial sums, p[i % 16] = fma(w[i], x[i], p[i % 16]) from +0 in ascending
// order, the row padded with zeros to a multiple of 16; then the fixed tree of sum16().
// Source: docs/kernels.md, "The numeric contract".
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/quant/activations.h"
#include "engine/quant/types.h"

namespace assay::engine::quant {

/// Row of n quantised weights times a quantised row. Needs !is_float(type).
[[nodiscard]] float dot_quantised(Type type, const std::byte* row, const ActivationRow& x,
                                  int64_t n) noexcept;

/// Row of n F32, F16 or BF16 weights times x [n].
[[nodiscard]] float dot_float(Type type, const std::byte* row, const float* x, int64_t n) noexcept;

/// The fixed tree: p[i] + p[i + 8] for eight lanes, then + 4, + 2, + 1 apart.
[[nodiscard]] inline float sum16(const float (&p)[16]) noexcept {
  float eight[8], four[4];
  for (int i = 0; i < 8; ++i) eight[i] = p[i] + p[i + 8];
  for (int i = 0; i < 4; ++i) four[i] = eight[i] + eight[i + 4];
  return (four[0] + four[2]) + (four[1] + four[3]);
}

}  // namespace assay::engine::quant
