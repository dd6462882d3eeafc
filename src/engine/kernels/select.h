// Which kernel table runs: the best one that the host can, or the one that is asked for.
//
// In:      what the CPU can do, and a wish by name (ASSAY_FORCE_ISA); empty means none
// Out:     one table, for the life of the backend
// Errors   KERNEL-ISA-UNKNOWN, KERNEL-ISA-NOT-BUILT, KERNEL-ISA-NOT-SUPPORTED. A wish is never
//          replaced by something else.
#pragma once

#include <span>
#include <string_view>

#include "base/result.h"
#include "engine/kernels/kernel_table.h"

namespace assay::engine::kernels {

/// The tables of this build, best first; `scalar` is always the last.
[[nodiscard]] std::span<const KernelTable* const> built_tables() noexcept;

[[nodiscard]] Result<const KernelTable*> select_table(const CpuFeatures& cpu,
                                                      std::string_view wish);

}  // namespace assay::engine::kernels
