// Attention on AVX2: scores of sixteen keys side by side, values summed along the head dimension.
//
// Both products have one accumulator per result, in ascending order (dimensions for scores, keys
// for values), so lanes never mix: no horizontal sums except the one of the softmax.
#include <immintrin.h>

#include <cstdint>

#include "engine/kernels/avx2/exp.h"
#include "engine/kernels/avx2/simd.h"
#include "engine/kernels/avx2/table.h"
#include "engine/kernels/isa_region.h"

ISA_REGION_BEGIN("avx2,fma,f16c")
namespace assay::engine::kernels {
namespace {

struct F32Cache {
  using Element = float;
  static ASSAY_INLINE __m256 load(const float* p) { return _mm256_loadu_ps(p); }
};
struct F16Cache {
  using Element = uint16_t;
  static ASSAY_INLINE __m256 load(const uint16_t* p) { return _mm256_cvtph_ps(load128(p)); }
};

// Scores of Q queries with B blocks of keys from `block`: 2 Q B accumulators.
template <class Cache, int Q, int B>
void scores(const Attention& a, int64_t block, float* const p[4]) {
  using Element = typename Cache::Element;
  const int64_t block_size = a.head_dim * kKeyBlock;
  const Element* k = reinterpret_cast<const Element*>(a.k) + block * block_size;
  __m256 acc[Q][B][2];
  for (int i = 0; i < Q; ++i) {
    for (int b = 0; b < B; ++b) acc[i][b][0] = acc[i][b][1] = _mm256_setzero_ps();
  }
  for (int64_t d = 0; d < a.head_dim; ++d, k += kKeyBlock) {
    __m256 q[Q];
    for (int i = 0; i < Q; ++i) q[i] = _mm256_broadcast_ss(a.q[i] + d);
    for (int b = 0; b < B; ++b) {
      for (int half = 0; half < 2; ++half) {
        const __m256 keys = Cache::load(k + b * block_size + 8 * half);
        for (int i = 0; i < Q; ++i) acc[i][b][half] = _mm256_fmadd_ps(q[i], keys, acc[i][b][half]);
      }
    }
  }
  const __m256 scale = _mm256_set1_ps(a.scale);
  for (int i = 0; i < Q; ++i) {
    for (int b = 0; b < B; ++b) {
      float* const to = p[i] + (block + b) * kKeyBlock;
      _mm256_store_ps(to, _mm256_mul_ps(acc[i][b][0], scale));
      _mm256_store_ps(to + 8, _mm256_mul_ps(acc[i][b][1], scale));
    }
  }
}

// Scores to weights exp(s - max); returns 1 / their sum.
float softmax(float* p, int64_t n) {
  const int64_t full = n / 16 * 16;
  const __m256i low_lanes = first_lanes(n - full);
  const __m256i high_lanes = first_lanes(n - full - 8);
  const __m256 lowest = _mm256_set1_ps(-__builtin_inff());
  __m256 max = lowest;
  for (int64_t j = 0; j < full; j += 8) max = _mm256_max_ps(max, _mm256_load_ps(p + j));
  if (full < n) {
    max = _mm256_max_ps(
        max, _mm256_blendv_ps(lowest, _mm256_load_ps(p + full), _mm256_castsi256_ps(low_lanes)));
    max = _mm256_max_ps(max, _mm256_blendv_ps(lowest, _mm256_load_ps(p + full + 8),
                                              _mm256_castsi256_ps(high_lanes)));
  }
  __m128 max4 = _mm_max_ps(_mm256_castps256_ps128(max), _mm256_extractf128_ps(max, 1));
  max4 = _mm_max_ps(max4, _mm_movehl_ps(max4, max4));
  max4 = _mm_max_ss(max4, _mm_shuffle_ps(max4, max4, 1));
  max = _mm256_broadcastss_ps(max4);
  __m256 low = _mm256_setzero_ps();
  __m256 high = _mm256_setzero_ps();
  for (int64_t j = 0; j < full; j += 16) {
    const __m256 a = exp_ps(_mm256_sub_ps(_mm256_load_ps(p + j), max));
    const __m256 b = exp_ps(_mm256_sub_ps(_mm256_load_ps(p + j + 8), max));
    _mm256_store_ps(p + j, a);
    _mm256_store_ps(p + j + 8, b);
    low = _mm256_add_ps(low, a);
    high = _mm256_add_ps(high, b);
  }
  if (full < n) {
    const __m256 a = _mm256_and_ps(exp_ps(_mm256_sub_ps(_mm256_load_ps(p + full), max)),
                                   _mm256_castsi256_ps(low_lanes));
    const __m256 b = _mm256_and_ps(exp_ps(_mm256_sub_ps(_mm256_load_ps(p + full + 8), max)),
                                   _mm256_castsi256_ps(high_lanes));
    _mm256_store_ps(p + full, a);
    _mm256_store_ps(p + full + 8, b);
    low = _mm256_add_ps(low, a);
    high = _mm256_add_ps(high, b);
  }
  return 1.0f / sum16(low, high);
}

// Weighted sums of V vectors of values from dimension d on, for Q queries.
template <class Cache, int Q, int V>
void values(const Attention& a, int64_t d, const float* const p[4], const float inverse[4]) {
  using Element = typename Cache::Element;
  int64_t common = a.n_keys[0];
  int64_t most = a.n_keys[0];
  for (int i = 1; i < Q; ++i) {
    common = a.n_keys[i] < common ? a.n_keys[i] : common;
    most = a.n_keys[i] > most ? a.n_keys[i] : most;
  }
  alignas(32) float totals[Q][V][8] = {};
  for (int64_t begin = 0; begin < most; begin += kValueChunk) {
    const int64_t end = begin + kValueChunk < most ? begin + kValueChunk : most;
    const Element* v = reinterpret_cast<const Element*>(a.v) + begin * a.v_stride + d;
    __m256 acc[Q][V];
    for (int i = 0; i < Q; ++i) {
      for (int n = 0; n < V; ++n) acc[i][n] = _mm256_setzero_ps();
    }
    int64_t j = begin;
    for (; j < end && j < common; ++j, v += a.v_stride) {
      __m256 weight[Q];
      for (int i = 0; i < Q; ++i) weight[i] = _mm256_broadcast_ss(p[i] + j);
      for (int n = 0; n < V; ++n) {
        const __m256 value = Cache::load(v + 8 * n);
        for (int i = 0; i < Q; ++i) acc[i][n] = _mm256_fmadd_ps(weight[i], value, acc[i][n]);
      }
    }
    for (; j < end; ++j, v += a.v_stride) {  // keys that only the later queries see
      for (int i = 0; i < Q; ++i) {
        if (j >= a.n_keys[i]) continue;
        const __m256 weight = _mm256_broadcast_ss(p[i] + j);
        for (int n = 0; n < V; ++n) {
          acc[i][n] = _mm256_fmadd_ps(weight, Cache::load(v + 8 * n), acc[i][n]);
        }
      }
    }
    for (int i = 0; i < Q; ++i) {
      for (int n = 0; n < V; ++n) {
        float* const total = totals[i][n];
        _mm256_store_ps(total, _mm256_add_ps(_mm256_load_ps(total), acc[i][n]));
      }
    }
  }
  for (int i = 0; i < Q; ++i) {
    for (int n = 0; n < V; ++n) {
      const int64_t first = d + 8 * n;
      const __m256 out = _mm256_mul_ps(_mm256_load_ps(totals[i][n]), _mm256_set1_ps(inverse[i]));
      if (first + 8 <= a.head_dim) {
        _mm256_storeu_ps(a.out[i] + first, out);
      } else if (first < a.head_dim) {
        _mm256_maskstore_ps(a.out[i] + first, first_lanes(a.head_dim - first), out);
      }
    }
  }
}

template <class Cache, int Q>
void attend(const Attention& a) {
  // Accumulators: 8 to 12 hide the latency of fma and leave registers for operands.
  constexpr int kBlocks = Q == 1 ? 4 : Q < 4 ? 2 : 1;
  constexpr int kVectors = Q == 1 ? 8 : Q < 4 ? 4 : 2;
  int64_t most = 0;
  for (int i = 0; i < Q; ++i) most = a.n_keys[i] > most ? a.n_keys[i] : most;
  const int64_t n_blocks = (most + kKeyBlock - 1) / kKeyBlock;
  float* p[4] = {};
  for (int i = 0; i < Q; ++i) {
    p[i] = reinterpret_cast<float*>(a.scratch) + i * n_blocks * kKeyBlock;
  }
  int64_t block = 0;
  for (; block + kBlocks <= n_blocks; block += kBlocks) scores<Cache, Q, kBlocks>(a, block, p);
  for (; block < n_blocks; ++block) scores<Cache, Q, 1>(a, block, p);
  float inverse[4] = {};
  for (int i = 0; i < Q; ++i) inverse[i] = softmax(p[i], a.n_keys[i]);
  int64_t d = 0;
  for (; d + 8 * kVectors <= a.v_stride; d += 8 * kVectors) {
    values<Cache, Q, kVectors>(a, d, p, inverse);
  }
  for (; d < a.v_stride; d += 16) values<Cache, Q, 2>(a, d, p, inverse);
}

template <class Cache>
void run(const Attention& a) {
  switch (a.n_queries) {
    case 1: return attend<Cache, 1>(a);
    case 2: return attend<Cache, 2>(a);
    case 3: return attend<Cache, 3>(a);
    default: return attend<Cache, 4>(a);
  }
}

}  // namespace
}  // namespace assay::engine::kernels
ISA_REGION_END

namespace assay::engine::kernels::avx2 {

void attention(const Attention& a) noexcept {
  a.half ? run<F16Cache>(a) : run<F32Cache>(a);
}

}  // namespace assay::engine::kernels::avx2
