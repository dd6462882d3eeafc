// Elementwise operations on AVX2, and the table itself.
#include "engine/kernels/avx2/table.h"

#include <immintrin.h>

#include <cfloat>
#include <cstdint>

#include "engine/kernels/avx2/exp.h"
#include "engine/kernels/avx2/simd.h"
#include "engine/kernels/isa_region.h"
#include "engine/kernels/math.h"

ISA_REGION_BEGIN("avx2,fma,f16c")
namespace assay::engine::kernels {
namespace {

// quant::quantise_row. Values are clamped as floats, so that the conversion's own rounding (to
// nearest even) never meets one out of range; NaN becomes 0.
void quantise_row(const float* x, int64_t n, const quant::ActivationRow& out) noexcept {
  const __m256 magnitude = _mm256_castsi256_ps(_mm256_set1_epi32(0x7FFFFFFF));
  const __m256 high = _mm256_set1_ps(127.0f);
  const __m256 low = _mm256_set1_ps(-127.0f);
  for (int64_t g = 0; g < n / 32; ++g) {
    __m256 v[4];
    for (int i = 0; i < 4; ++i) v[i] = _mm256_loadu_ps(x + 32 * g + 8 * i);
    __m256 max = _mm256_and_ps(v[0], magnitude);
    __m256 unordered = _mm256_cmp_ps(v[0], v[0], _CMP_UNORD_Q);
    for (int i = 1; i < 4; ++i) {
      max = _mm256_max_ps(max, _mm256_and_ps(v[i], magnitude));
      unordered = _mm256_or_ps(unordered, _mm256_cmp_ps(v[i], v[i], _CMP_UNORD_Q));
    }
    __m128 max4 = _mm_max_ps(_mm256_castps256_ps128(max), _mm256_extractf128_ps(max, 1));
    max4 = _mm_max_ps(max4, _mm_movehl_ps(max4, max4));
    max4 = _mm_max_ss(max4, _mm_shuffle_ps(max4, max4, 1));
    float d = _mm_cvtss_f32(max4) / 127.0f;
    if (d < FLT_MIN) d = 0.0f;
    if (_mm256_movemask_ps(unordered) != 0) d = __builtin_nanf("");
    const __m256 divisor = _mm256_set1_ps(d == 0.0f ? 1.0f : d);
    const __m256 keep = _mm256_castsi256_ps(_mm256_set1_epi32(d == 0.0f ? 0 : -1));
    __m256i q[4];
    for (int i = 0; i < 4; ++i) {
      __m256 scaled = _mm256_and_ps(_mm256_div_ps(v[i], divisor), keep);
      scaled = _mm256_and_ps(scaled, _mm256_cmp_ps(scaled, scaled, _CMP_ORD_Q));
      scaled = _mm256_min_ps(_mm256_max_ps(scaled, low), high);
      q[i] = _mm256_cvtps_epi32(scaled);
    }
    const __m256i first = _mm256_packs_epi32(q[0], q[1]);   // 16-bit: 0-3 8-11 | 4-7 12-15
    const __m256i second = _mm256_packs_epi32(q[2], q[3]);  // the same of elements 16..31
    const __m256i bytes = _mm256_packs_epi16(first, second);
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    store256(out.q + 32 * g, _mm256_permutevar8x32_epi32(bytes, order));
    // Sums of the halves: |sum| <= 16 * 127 fits 16 bits.
    const __m256i ones = _mm256_set1_epi16(1);
    const __m256i sums =
        _mm256_hadd_epi32(_mm256_madd_epi16(first, ones), _mm256_madd_epi16(second, ones));
    const __m128i four =
        _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
    const __m128i two = _mm_hadd_epi32(four, four);  // half 0, half 1
    const int32_t half0 = _mm_cvtsi128_si32(two);
    const int32_t half1 = _mm_extract_epi32(two, 1);
    out.d[g] = d;
    out.sum[g] = static_cast<float>(half0 + half1);
    out.sum16[2 * g] = static_cast<int16_t>(half0);
    out.sum16[2 * g + 1] = static_cast<int16_t>(half1);
  }
}

void rms_norm(const float* x, const float* w, float eps, int64_t n, float* y) noexcept {
  __m256 low = _mm256_setzero_ps();
  __m256 high = _mm256_setzero_ps();
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) {
    const __m256 a = _mm256_loadu_ps(x + i);
    const __m256 b = _mm256_loadu_ps(x + i + 8);
    low = _mm256_fmadd_ps(a, a, low);
    high = _mm256_fmadd_ps(b, b, high);
  }
  if (i < n) {
    const __m256 a = _mm256_maskload_ps(x + i, first_lanes(n - i));
    const __m256 b = _mm256_maskload_ps(x + i + 8, first_lanes(n - i - 8));
    low = _mm256_fmadd_ps(a, a, low);
    high = _mm256_fmadd_ps(b, b, high);
  }
  const float scale = 1.0f / __builtin_sqrtf(sum16(low, high) / static_cast<float>(n) + eps);
  const __m256 s = _mm256_set1_ps(scale);
  for (i = 0; i + 8 <= n; i += 8) {
    _mm256_storeu_ps(
        y + i, _mm256_mul_ps(_mm256_mul_ps(_mm256_loadu_ps(x + i), s), _mm256_loadu_ps(w + i)));
  }
  for (; i < n; ++i) y[i] = (x[i] * scale) * w[i];
}

ASSAY_INLINE __m256 silu(__m256 g) {
  const __m256 minus = _mm256_xor_ps(g, _mm256_set1_ps(-0.0f));
  return _mm256_div_ps(g, _mm256_add_ps(_mm256_set1_ps(1.0f), exp_ps(minus)));
}

void silu_mul(const float* g, const float* u, int64_t n, float* y) noexcept {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    _mm256_storeu_ps(y + i, _mm256_mul_ps(silu(_mm256_loadu_ps(g + i)), _mm256_loadu_ps(u + i)));
  }
  if (i < n) {
    const __m256i lanes = first_lanes(n - i);
    const __m256 value =
        _mm256_mul_ps(silu(_mm256_maskload_ps(g + i, lanes)), _mm256_maskload_ps(u + i, lanes));
    _mm256_maskstore_ps(y + i, lanes, value);
  }
}

void add(const float* x, int64_t n, float* y) noexcept {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    _mm256_storeu_ps(y + i, _mm256_add_ps(_mm256_loadu_ps(y + i), _mm256_loadu_ps(x + i)));
  }
  for (; i < n; ++i) y[i] = y[i] + x[i];
}

void rope(const float* cos, const float* sin, int64_t n_pairs, bool half_split, float* x) noexcept {
  int64_t i = 0;
  for (; i + 8 <= n_pairs; i += 8) {
    const __m256 c = _mm256_loadu_ps(cos + i);
    const __m256 s = _mm256_loadu_ps(sin + i);
    __m256 a, b;
    if (half_split) {
      a = _mm256_loadu_ps(x + i);
      b = _mm256_loadu_ps(x + i + n_pairs);
    } else {
      const __m256 p = _mm256_loadu_ps(x + 2 * i);
      const __m256 q = _mm256_loadu_ps(x + 2 * i + 8);
      const __m256 low = _mm256_permute2f128_ps(p, q, 0x20);
      const __m256 high = _mm256_permute2f128_ps(p, q, 0x31);
      a = _mm256_shuffle_ps(low, high, 0x88);
      b = _mm256_shuffle_ps(low, high, 0xDD);
    }
    const __m256 minus_bs = _mm256_xor_ps(_mm256_mul_ps(b, s), _mm256_set1_ps(-0.0f));
    const __m256 first = _mm256_fmadd_ps(a, c, minus_bs);
    const __m256 second = _mm256_fmadd_ps(a, s, _mm256_mul_ps(b, c));
    if (half_split) {
      _mm256_storeu_ps(x + i, first);
      _mm256_storeu_ps(x + i + n_pairs, second);
    } else {
      const __m256 low = _mm256_unpacklo_ps(first, second);
      const __m256 high = _mm256_unpackhi_ps(first, second);
      _mm256_storeu_ps(x + 2 * i, _mm256_permute2f128_ps(low, high, 0x20));
      _mm256_storeu_ps(x + 2 * i + 8, _mm256_permute2f128_ps(low, high, 0x31));
    }
  }
  for (; i < n_pairs; ++i) {
    float& first = half_split ? x[i] : x[2 * i];
    float& second = half_split ? x[i + n_pairs] : x[2 * i + 1];
    const float a = first;
    const float b = second;
    first = __builtin_fmaf(a, cos[i], -(b * sin[i]));
    second = __builtin_fmaf(a, sin[i], b * cos[i]);
  }
}

int64_t argmax(const float* x, int64_t n) noexcept {
  // The largest value first (NaN as -infinity), then its first place.
  const __m256 floor = _mm256_set1_ps(-__builtin_inff());
  __m256 best = floor;
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) best = _mm256_max_ps(_mm256_loadu_ps(x + i), best);
  alignas(32) float lanes[8];
  _mm256_store_ps(lanes, best);
  float max = -__builtin_inff();
  for (const float lane : lanes) max = lane > max ? lane : max;
  for (; i < n; ++i) max = x[i] > max ? x[i] : max;
  const __m256 wanted = _mm256_set1_ps(max);
  for (i = 0; i + 8 <= n; i += 8) {
    const int mask = _mm256_movemask_ps(_mm256_cmp_ps(_mm256_loadu_ps(x + i), wanted, _CMP_EQ_OQ));
    if (mask != 0) return i + __builtin_ctz(static_cast<unsigned>(mask));
  }
  for (; i < n; ++i) {
    if (x[i] == max) return i;
  }
  return 0;  // all NaN
}

void exp_all(const float* x, int64_t n, float* y) noexcept {
  for (int64_t i = 0; i < n; i += 8) {
    const __m256i lanes = first_lanes(n - i);
    _mm256_maskstore_ps(y + i, lanes, exp_ps(_mm256_maskload_ps(x + i, lanes)));
  }
}

}  // namespace
}  // namespace assay::engine::kernels
ISA_REGION_END

namespace assay::engine::kernels {
namespace {

void matmul(quant::Type type, const InputRows& in, const Product& product) noexcept {
  if (quant::is_float(type)) return avx2::matmul_float(type, in, product);
  avx2::matmul_quantised(type, in, product);
}

bool runs_on(const CpuFeatures& cpu) noexcept {
  return cpu.avx2;
}

}  // namespace

constinit const KernelTable kAvx2Table = {
    .name = "avx2",
    .needs = "AVX2, FMA and F16C",
    .runs_on = runs_on,
    .quantise_row = quantise_row,
    .matmul = matmul,
    .rms_norm = rms_norm,
    .silu_mul = silu_mul,
    .add = add,
    .rope = rope,
    .attention = avx2::attention,
    .argmax = argmax,
    .exp = exp_all,
};

}  // namespace assay::engine::kernels
