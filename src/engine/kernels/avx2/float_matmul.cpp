// Products with F32, F16 and BF16 weights on AVX2: sixteen partial sums along the input dimension,
// in two vectors, as quant::dot_float.
#include <immintrin.h>

#include <cstdint>

#include "engine/kernels/avx2/simd.h"
#include "engine/kernels/avx2/table.h"
#include "engine/kernels/isa_region.h"

ISA_REGION_BEGIN("avx2,fma,f16c")
namespace assay::engine::kernels {
namespace {

struct F32Weights {
  using Element = float;
  static ASSAY_INLINE __m256 load(const float* p) { return _mm256_loadu_ps(p); }
};
struct F16Weights {
  using Element = uint16_t;
  static ASSAY_INLINE __m256 load(const uint16_t* p) { return _mm256_cvtph_ps(load128(p)); }
};
struct Bf16Weights {
  using Element = uint16_t;
  static ASSAY_INLINE __m256 load(const uint16_t* p) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(load128(p)), 16));
  }
};

// O weight rows against R input rows: O * R * 2 accumulators.
template <class Weights, int O, int R>
void tile(const InputRows& in, const Product& p, int64_t o, int64_t r) {
  using Element = typename Weights::Element;
  const Element* w[O];
  const float* x[R];
  __m256 acc[O][R][2];
  for (int i = 0; i < O; ++i) {
    w[i] = reinterpret_cast<const Element*>(p.w + (o + i) * p.row_bytes);
  }
  for (int j = 0; j < R; ++j) x[j] = in.x + (r + j) * in.x_stride;
  for (int i = 0; i < O; ++i) {
    for (int j = 0; j < R; ++j) acc[i][j][0] = acc[i][j][1] = _mm256_setzero_ps();
  }
  int64_t n = 0;
  for (; n + 16 <= in.n_in; n += 16) {
    for (int half = 0; half < 2; ++half) {
      __m256 xs[R];
      for (int j = 0; j < R; ++j) xs[j] = _mm256_loadu_ps(x[j] + n + 8 * half);
      for (int i = 0; i < O; ++i) {
        const __m256 ws = Weights::load(w[i] + n + 8 * half);
        for (int j = 0; j < R; ++j) acc[i][j][half] = _mm256_fmadd_ps(ws, xs[j], acc[i][j][half]);
      }
    }
  }
  if (n < in.n_in) {  // the row's end, padded with zeros
    const int64_t rest = in.n_in - n;
    alignas(32) Element w_end[O][16] = {};
    alignas(32) float x_end[R][16] = {};
    for (int i = 0; i < O; ++i) {
      for (int64_t k = 0; k < rest; ++k) w_end[i][k] = w[i][n + k];
    }
    for (int j = 0; j < R; ++j) {
      for (int64_t k = 0; k < rest; ++k) x_end[j][k] = x[j][n + k];
    }
    for (int half = 0; half < 2; ++half) {
      for (int i = 0; i < O; ++i) {
        const __m256 ws = Weights::load(w_end[i] + 8 * half);
        for (int j = 0; j < R; ++j) {
          acc[i][j][half] =
              _mm256_fmadd_ps(ws, _mm256_load_ps(x_end[j] + 8 * half), acc[i][j][half]);
        }
      }
    }
  }
  for (int j = 0; j < R; ++j) {
    for (int i = 0; i < O; ++i) {
      float value = sum16(acc[i][j][0], acc[i][j][1]);
      if (p.bias != nullptr) value += p.bias[o + i];
      float& y = p.y[(r + j) * p.y_stride + o + i];
      y = p.add ? y + value : value;
    }
  }
}

template <class Weights, int O>
void rows(const InputRows& in, const Product& p, int64_t o) {
  int64_t r = 0;
  for (; r + 2 <= in.n_rows; r += 2) tile<Weights, O, 2>(in, p, o, r);
  if (r < in.n_rows) tile<Weights, O, 1>(in, p, o, r);
}

template <class Weights>
void run(const InputRows& in, const Product& p) {
  int64_t o = 0;
  for (; o + 3 <= p.n_out; o += 3) rows<Weights, 3>(in, p, o);
  for (; o < p.n_out; ++o) rows<Weights, 1>(in, p, o);
}

}  // namespace
}  // namespace assay::engine::kernels
ISA_REGION_END

namespace assay::engine::kernels::avx2 {

void matmul_float(quant::Type type, const InputRows& in, const Product& product) noexcept {
  if (type == quant::Type::f32) return run<F32Weights>(in, product);
  if (type == quant::Type::f16) return run<F16Weights>(in, product);
  run<Bf16Weights>(in, product);
}

}  // namespace assay::engine::kernels::avx2
