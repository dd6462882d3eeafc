// What this CPU can run and its operating system saves on a task switch.
#pragma once

namespace assay::engine::kernels {

struct CpuFeatures {
  bool avx2 = false;     // with FMA and F16C, and YMM state enabled
  bool avx512 = false;   // F, BW, VL, DQ, and ZMM and mask state enabled
  bool vnni512 = false;  // AVX512_VNNI on top of it
};

/// Asks CPUID and XGETBV. All false on other architectures.
[[nodiscard]] CpuFeatures detect_cpu() noexcept;

}  // namespace assay::engine::kernels
