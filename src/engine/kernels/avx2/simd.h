// Small vector helpers of the AVX2 kernels. Inside an ISA region, in an anonymous namespace.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>

#include "engine/kernels/isa_region.h"

ISA_REGION_BEGIN("avx2,fma,f16c")
namespace assay::engine::kernels {
namespace {

ASSAY_INLINE __m128i load128(const void* p) {
  return _mm_loadu_si128(static_cast<const __m128i*>(p));
}
ASSAY_INLINE __m256i load256(const void* p) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(p));
}
ASSAY_INLINE void store256(void* p, __m256i v) {
  _mm256_storeu_si256(static_cast<__m256i*>(p), v);
}
ASSAY_INLINE int32_t load_i32(const void* p) {
  int32_t value;
  std::memcpy(&value, p, sizeof value);
  return value;
}
ASSAY_INLINE __m256i broadcast_i32(const void* p) {
  return _mm256_set1_epi32(load_i32(p));
}

/// Keeps the compiler from regrouping a sum of integers: GCC turns the chains of a tile into trees,
/// which need more registers than there are.
ASSAY_INLINE void keep_order(__m256i& sum) {
  __asm__("" : "+x"(sum));
}

/// quant::sum16 of lanes low (0..7) and high (8..15).
ASSAY_INLINE float sum16(__m256 low, __m256 high) {
  const __m256 eight = _mm256_add_ps(low, high);
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
}

/// A mask with the first n (0..8) lanes set.
ASSAY_INLINE __m256i first_lanes(int64_t n) {
  const __m256i index = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int32_t>(n)), index);
}

/// 16 bytes at `offset` of eight rows, as four vectors: out[k] holds dword k of rows 0..7.
ASSAY_INLINE void transpose_16_bytes(const uint8_t* row0, int64_t stride, __m256i out[4]) {
  const uint8_t* row3 = row0 + 3 * stride;
  const __m256i r04 =
      _mm256_inserti128_si256(_mm256_castsi128_si256(load128(row0)), load128(row3 + stride), 1);
  const __m256i r15 = _mm256_inserti128_si256(_mm256_castsi128_si256(load128(row0 + stride)),
                                              load128(row3 + 2 * stride), 1);
  const __m256i r26 = _mm256_inserti128_si256(_mm256_castsi128_si256(load128(row0 + 2 * stride)),
                                              load128(row3 + 3 * stride), 1);
  const __m256i r37 =
      _mm256_inserti128_si256(_mm256_castsi128_si256(load128(row3)), load128(row3 + 4 * stride), 1);
  const __m256i a = _mm256_unpacklo_epi32(r04, r15);
  const __m256i b = _mm256_unpacklo_epi32(r26, r37);
  const __m256i c = _mm256_unpackhi_epi32(r04, r15);
  const __m256i d = _mm256_unpackhi_epi32(r26, r37);
  out[0] = _mm256_unpacklo_epi64(a, b);
  out[1] = _mm256_unpackhi_epi64(a, b);
  out[2] = _mm256_unpacklo_epi64(c, d);
  out[3] = _mm256_unpackhi_epi64(c, d);
}

/// The dword at `row0` of eight rows.
ASSAY_INLINE __m256i gather_dwords(const uint8_t* row0, int64_t stride) {
  const uint8_t* row4 = row0 + 4 * stride;
  return _mm256_setr_epi32(load_i32(row0), load_i32(row0 + stride), load_i32(row0 + 2 * stride),
                           load_i32(row0 + 3 * stride), load_i32(row4), load_i32(row4 + stride),
                           load_i32(row4 + 2 * stride), load_i32(row4 + 3 * stride));
}

/// The low 16 bits of each dword as a half, to F32.
ASSAY_INLINE __m256 low_halves(__m256i dwords) {
  const __m256i low = _mm256_and_si256(dwords, _mm256_set1_epi32(0xFFFF));
  const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(low, low), 0x08);
  return _mm256_cvtph_ps(_mm256_castsi256_si128(packed));
}
ASSAY_INLINE __m256 high_halves(__m256i dwords) {
  return low_halves(_mm256_srli_epi32(dwords, 16));
}

/// Eight rows of eight dwords to eight columns.
ASSAY_INLINE void transpose_8x8(__m256i r[8]) {
  __m256i t[8];
  for (int i = 0; i < 4; ++i) {
    t[2 * i] = _mm256_unpacklo_epi32(r[2 * i], r[2 * i + 1]);
    t[2 * i + 1] = _mm256_unpackhi_epi32(r[2 * i], r[2 * i + 1]);
  }
  __m256i u[8];
  for (int i = 0; i < 2; ++i) {
    u[4 * i] = _mm256_unpacklo_epi64(t[4 * i], t[4 * i + 2]);
    u[4 * i + 1] = _mm256_unpackhi_epi64(t[4 * i], t[4 * i + 2]);
    u[4 * i + 2] = _mm256_unpacklo_epi64(t[4 * i + 1], t[4 * i + 3]);
    u[4 * i + 3] = _mm256_unpackhi_epi64(t[4 * i + 1], t[4 * i + 3]);
  }
  for (int i = 0; i < 4; ++i) {
    r[i] = _mm256_permute2x128_si256(u[i], u[i + 4], 0x20);
    r[i + 4] = _mm256_permute2x128_si256(u[i], u[i + 4], 0x31);
  }
}

}  // namespace
}  // namespace assay::engine::kernels
ISA_REGION_END
