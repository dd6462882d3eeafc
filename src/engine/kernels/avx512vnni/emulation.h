// AVX-512 instructions in software, for the test of this table on machines that lack them: SIMDe's,
// and the two that its version 0.7.4 has not, half by half. Included before everything else.
#pragma once

#include <simde/x86/avx512.h>

namespace assay::engine::kernels {

template <class Half>
inline __m512i by_halves(__m512i a, Half half) {
  alignas(64) __m256i parts[2];
  static_assert(sizeof(parts) == sizeof(a));
  __builtin_memcpy(parts, &a, sizeof(a));
  for (__m256i& part : parts) part = half(part);
  __builtin_memcpy(&a, parts, sizeof(a));
  return a;
}

inline __m512i emulated_srai_epi32(__m512i a, int count) {
  return by_halves(a, [count](__m256i part) { return _mm256_srai_epi32(part, count); });
}

inline __m512 emulated_cvtepi32_ps(__m512i a) {
  const __m512i bits =
      by_halves(a, [](__m256i part) { return _mm256_castps_si256(_mm256_cvtepi32_ps(part)); });
  __m512 floats;
  __builtin_memcpy(&floats, &bits, sizeof(floats));
  return floats;
}

}  // namespace assay::engine::kernels

#define _mm512_srai_epi32 emulated_srai_epi32
#define _mm512_cvtepi32_ps emulated_cvtepi32_ps
