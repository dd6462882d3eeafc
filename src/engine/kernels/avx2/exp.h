// exp_f32 of math.h, eight lanes at a time: the same operations in the same order.
#pragma once

#include <immintrin.h>

#include "engine/kernels/avx2/simd.h"
#include "engine/kernels/isa_region.h"
#include "engine/kernels/math.h"

ISA_REGION_BEGIN("avx2,fma,f16c")
namespace assay::engine::kernels {
namespace {

ASSAY_INLINE __m256 exp_ps(__m256 x) {
  // max_ps and min_ps give their second operand when one is NaN: NaN stays.
  x = _mm256_max_ps(_mm256_set1_ps(kExpLow), x);
  x = _mm256_min_ps(_mm256_set1_ps(kExpHigh), x);
  const __m256 magic = _mm256_set1_ps(kRoundMagic);
  const __m256 shifted = _mm256_fmadd_ps(x, _mm256_set1_ps(kLog2E), magic);
  const __m256 n = _mm256_sub_ps(shifted, magic);
  __m256 r = _mm256_fmadd_ps(n, _mm256_set1_ps(-kLn2High), x);
  r = _mm256_fmadd_ps(n, _mm256_set1_ps(-kLn2Low), r);
  __m256 p = _mm256_set1_ps(kExpTerms[0]);
  for (int i = 1; i < 6; ++i) p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(kExpTerms[i]));
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0f));
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0f));
  const __m256i k = _mm256_sub_epi32(_mm256_castps_si256(shifted), _mm256_castps_si256(magic));
  const __m256i k1 = _mm256_srai_epi32(k, 1);
  const __m256i k2 = _mm256_sub_epi32(k, k1);
  const __m256i bias = _mm256_set1_epi32(127);
  const __m256 f1 = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(k1, bias), 23));
  const __m256 f2 = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(k2, bias), 23));
  return _mm256_mul_ps(_mm256_mul_ps(p, f1), f2);
}

}  // namespace
}  // namespace assay::engine::kernels
ISA_REGION_END
