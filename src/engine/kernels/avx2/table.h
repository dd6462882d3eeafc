// The AVX2 table: CPUs with AVX2, FMA and F16C (2013 and later).
#pragma once

#include "engine/kernels/kernel_table.h"

namespace assay::engine::kernels {

extern const KernelTable kAvx2Table;

namespace avx2 {
// Parts of the table, one file each. Contracts in kernel_table.h.
void matmul_quantised(quant::Type type, const InputRows& in, const Product& product) noexcept;
void matmul_float(quant::Type type, const InputRows& in, const Product& product) noexcept;
void attention(const Attention& a) noexcept;
}  // namespace avx2

}  // namespace assay::engine::kernels
