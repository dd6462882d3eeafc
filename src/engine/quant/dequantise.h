// Weights as F32: the meaning of every format, and the truth that everything faster is held to.
//
// Users:  embedding rows, tests, the quantiser. Vectors: tests/conformance/quant.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/quant/types.h"

namespace assay::engine::quant {

/// Row of n weights (a multiple of block_elements(type)) at `row`, to y [n].
/// Arithmetic: d * q is exact or rounded once, in F32; "+ m" and "- dmin * min" round once more.
void dequantise_row(Type type, const std::byte* row, int64_t n, float* y) noexcept;

}  // namespace assay::engine::quant
