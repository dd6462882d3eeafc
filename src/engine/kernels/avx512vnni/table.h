// The AVX-512 VNNI table: CPUs whose byte dot product (vpdpbusd) adds four products into 32 bits
// without saturation. Elementwise work and attention are the AVX2 table's: same bits, same order.
#pragma once

#include "engine/kernels/kernel_table.h"

namespace assay::engine::kernels {

extern const KernelTable kAvx512VnniTable;

}  // namespace assay::engine::kernels
