#include "engine/kernels/cpu_features.h"

#if defined(__x86_64__)
#include <cpuid.h>

#include <cstdint>
#endif

namespace assay::engine::kernels {

#if defined(__x86_64__)
namespace {

uint64_t enabled_state() noexcept {
  uint32_t low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (static_cast<uint64_t>(high) << 32) | low;
}

}  // namespace

CpuFeatures detect_cpu() noexcept {
  CpuFeatures cpu;
  uint32_t a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0) return cpu;
  const bool fma = (c & bit_FMA) != 0;
  const bool f16c = (c & bit_F16C) != 0;
  if ((c & bit_OSXSAVE) == 0) return cpu;
  const uint64_t state = enabled_state();
  const bool ymm = (state & 0x06) == 0x06;
  const bool zmm = (state & 0xE6) == 0xE6;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return cpu;
  cpu.avx2 = ymm && fma && f16c && (b & bit_AVX2) != 0;
  const uint32_t wanted = bit_AVX512F | bit_AVX512BW | bit_AVX512VL | bit_AVX512DQ;
  cpu.avx512 = cpu.avx2 && zmm && (b & wanted) == wanted;
  cpu.vnni512 = cpu.avx512 && (c & bit_AVX512VNNI) != 0;
  return cpu;
}
#else
CpuFeatures detect_cpu() noexcept {
  return {};
}
#endif

}  // namespace assay::engine::kernels
