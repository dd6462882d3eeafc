// Products with quantised weights on AVX2: eight output rows in the eight lanes of a vector.
//
// Few input rows (decode, verify): codes go from the mapping straight into registers and meet up
// to kFewRows rows. Many (prefill): a panel of 16 outputs is unpacked once into scratch and meets
// all rows in tiles of kTileRows. Integer dots are exact, and each output has one F32 accumulator
// over ascending groups in both, so the paths agree to the last bit.
//
// The 8-bit multiply-add (vpmaddubsw) adds pairs of products into 16 bits. How many such pairs fit
// decides the inner loop: codes up to 15 stay in 16 bits for a whole group (8 * 2 * 15 * 127 =
// 30480), up to 31 for half a group, up to 63 for two. Signed 8-bit codes w are split as
// w + 128 = 16 hi + lo in panels, or lose their sign to the activation in registers.
#include <immintrin.h>

#include <cstdint>
#include <cstring>

#include "engine/kernels/avx2/formats.h"
#include "engine/kernels/avx2/simd.h"
#include "engine/kernels/avx2/table.h"
#include "engine/kernels/isa_region.h"
#include "engine/quant/dot.h"

ISA_REGION_BEGIN("avx2,fma,f16c")
namespace assay::engine::kernels {
namespace {

constexpr int kFewRows = 4;               // codes of a group stay in registers for that many rows
constexpr int64_t kPrefetchAhead = 8192;  // bytes, about 300 ns at 25 GB/s
constexpr int64_t kStretch = 24;          // groups of a panel at a time: 15 KiB
constexpr int64_t kRowBlockBytes = 96 * 1024;  // activations of a block of rows
constexpr int64_t kRowBlockMax = 64;           // its accumulators: 4 KiB
constexpr int kTileRows = 4;  // 2 vectors of outputs x 4 rows: eight 16-bit accumulators

// One quantised input row.
struct X {
  const int8_t* q;
  const float* d;
  const float* sum;
  const int16_t* sum16;
};

ASSAY_INLINE X row_of(const InputRows& in, int64_t r) {
  return {in.q + r * in.q_stride, in.d + r * in.group_stride, in.sum + r * in.group_stride,
          in.sum16 + r * 2 * in.group_stride};
}

ASSAY_INLINE __m256i pairs_to_i32(__m256i pairs) {
  return _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
}

// Exact dot of a group with 32 activations, per lane.
template <Codes kCodes>
ASSAY_INLINE __m256i group_dot(const Group& w, const int8_t* q, const int16_t* sum16) {
  if constexpr (kCodes == Codes::four) {
    __m256i pairs = _mm256_maddubs_epi16(w.code[0], broadcast_i32(q));
    for (int k = 1; k < 8; ++k) {
      pairs = _mm256_add_epi16(pairs, _mm256_maddubs_epi16(w.code[k], broadcast_i32(q + 4 * k)));
    }
    return pairs_to_i32(pairs);
  } else if constexpr (kCodes == Codes::five) {
    __m256i pairs[2];
    for (int h = 0; h < 2; ++h) {
      pairs[h] = _mm256_maddubs_epi16(w.code[4 * h], broadcast_i32(q + 16 * h));
      for (int k = 4 * h + 1; k < 4 * h + 4; ++k) {
        pairs[h] =
            _mm256_add_epi16(pairs[h], _mm256_maddubs_epi16(w.code[k], broadcast_i32(q + 4 * k)));
      }
    }
    return _mm256_add_epi32(pairs_to_i32(pairs[0]), pairs_to_i32(pairs[1]));
  } else if constexpr (kCodes == Codes::six) {
    __m256i dot = _mm256_setzero_si256();
    for (int k = 0; k < 8; k += 2) {
      const __m256i pairs =
          _mm256_add_epi16(_mm256_maddubs_epi16(w.code[k], broadcast_i32(q + 4 * k)),
                           _mm256_maddubs_epi16(w.code[k + 1], broadcast_i32(q + 4 * k + 4)));
      dot = _mm256_add_epi32(dot, _mm256_madd_epi16(pairs, w.scale16[k / 4]));
    }
    // The codes' offset: minus 32 times scale times the sum of activations, per half.
    const __m256i scales = _mm256_blend_epi16(w.scale16[0], w.scale16[1], 0xAA);
    const __m256i offset = _mm256_madd_epi16(scales, broadcast_i32(sum16));
    return _mm256_sub_epi32(dot, _mm256_slli_epi32(offset, 5));
  } else {
    __m256i dot = _mm256_setzero_si256();
    for (int k = 0; k < 8; ++k) {
      // |w| * (x with the sign of w); x is never -128, |w| may be 128 (unsigned).
      const __m256i signed_x = _mm256_sign_epi8(broadcast_i32(q + 4 * k), w.code[k]);
      dot = _mm256_add_epi32(
          dot, pairs_to_i32(_mm256_maddubs_epi16(_mm256_abs_epi8(w.code[k]), signed_x)));
    }
    return dot;
  }
}

// The closing steps of a group: quant/dot.h.
template <bool kOffset>
ASSAY_INLINE __m256 step(__m256 acc, __m256i dot, __m256 d, __m256 m, float dx, float sum) {
  const __m256 value = _mm256_cvtepi32_ps(dot);
  __m256 t;
  if constexpr (kOffset) {
    t = _mm256_fmadd_ps(d, value, _mm256_mul_ps(m, _mm256_set1_ps(sum)));
  } else {
    t = _mm256_mul_ps(d, value);
  }
  return _mm256_fmadd_ps(_mm256_set1_ps(dx), t, acc);
}

ASSAY_INLINE void finish(const Product& p, int64_t r, int64_t o, __m256 value) {
  if (p.bias != nullptr) value = _mm256_add_ps(value, _mm256_loadu_ps(p.bias + o));
  float* y = p.y + r * p.y_stride + o;
  if (p.add) value = _mm256_add_ps(_mm256_loadu_ps(y), value);
  _mm256_storeu_ps(y, value);
}

// Eight outputs from o, input rows r .. r + R.
template <class Format, int R>
void few_rows(const InputRows& in, const Product& p, int64_t o, int64_t r) {
  const uint8_t* w = reinterpret_cast<const uint8_t*>(p.w) + o * p.row_bytes;
  const int64_t n_groups = in.n_in / 32;
  X x[R];
  for (int i = 0; i < R; ++i) x[i] = row_of(in, r + i);
  __m256 acc[R];
  for (int i = 0; i < R; ++i) acc[i] = _mm256_setzero_ps();
  typename Format::State state;
  constexpr int64_t kGroupBytes = 8 * quant::row_bytes(Format::kType, 256) / 8;
  for (int64_t g = 0; g < n_groups; ++g) {
    // Eight rows are read in turns of one block each: too scattered for the hardware's prefetcher,
    // so the bytes are fetched ahead in the order they lie.
    for (int64_t b = 0; b < kGroupBytes; b += 64) {
      _mm_prefetch(reinterpret_cast<const char*>(w + g * kGroupBytes + kPrefetchAhead + b),
                   _MM_HINT_T0);
    }
    Group group;
    Format::load(w, p.row_bytes, g, state, group);
    for (int i = 0; i < R; ++i) {
      const __m256i dot = group_dot<Format::kCodes>(group, x[i].q + 32 * g, x[i].sum16 + 2 * g);
      acc[i] = step<Format::kOffset>(acc[i], dot, group.d, group.m, x[i].d[g], x[i].sum[g]);
    }
  }
  for (int i = 0; i < R; ++i) finish(p, r + i, o, acc[i]);
}

// A group in a panel. Of sixteen outputs for `four` and `five`, of eight for the others.
struct PanelGroup {
  alignas(32) uint8_t code[8][2][32];  // [k][outputs 0..7, 8..15], or [k][hi, lo] for `eight`
  alignas(32) float d[2][8];
  alignas(32) float m[2][8];  // `six`: the two scales
};
static_assert(sizeof(PanelGroup) == 640);

template <Codes kCodes>
constexpr int kPanelOutputs = kCodes == Codes::four || kCodes == Codes::five ? 16 : 8;

// Outputs o .. o + kPanelOutputs (the first eight twice when only eight are left).
template <class Format>
void unpack(const Product& p, int64_t o, int64_t n_groups, PanelGroup* panel) {
  constexpr int kVectors = kPanelOutputs<Format::kCodes> / 8;
  for (int v = 0; v < kVectors; ++v) {
    const int64_t first = o + 8 * v < p.n_out ? o + 8 * v : o;
    const uint8_t* w = reinterpret_cast<const uint8_t*>(p.w) + first * p.row_bytes;
    typename Format::State state;
    for (int64_t g = 0; g < n_groups; ++g) {
      Group group;
      Format::load(w, p.row_bytes, g, state, group);
      PanelGroup& out = panel[g];
      for (int k = 0; k < 8; ++k) {
        if constexpr (Format::kCodes == Codes::eight) {
          const __m256i shifted = _mm256_xor_si256(group.code[k], _mm256_set1_epi8(-128));
          const __m256i mask = _mm256_set1_epi8(15);
          store256(out.code[k][0], _mm256_and_si256(_mm256_srli_epi16(shifted, 4), mask));
          store256(out.code[k][1], _mm256_and_si256(shifted, mask));
        } else {
          store256(out.code[k][v], group.code[k]);
        }
      }
      _mm256_store_ps(out.d[v], group.d);
      if constexpr (Format::kOffset) _mm256_store_ps(out.m[v], group.m);
      if constexpr (Format::kCodes == Codes::six) {
        store256(out.m[0], group.scale16[0]);
        store256(out.m[1], group.scale16[1]);
      }
    }
  }
}

// 16-bit pair sums of four rows: a with the first vector (or plane) of codes, b with the second.
// Named members, not arrays: they must stay in registers.
struct PairSums {
  __m256i a0, a1, a2, a3;
  __m256i b0, b1, b2, b3;
};

struct Rows4 {
  const int8_t *q0, *q1, *q2, *q3;
};

// Step k of a group; the first step of a sum sets it.
template <bool kFirst>
ASSAY_INLINE void multiply_add(const PanelGroup& w, int k, const Rows4& x, PairSums& s) {
  const __m256i wa = _mm256_load_si256(reinterpret_cast<const __m256i*>(w.code[k][0]));
  const __m256i wb = _mm256_load_si256(reinterpret_cast<const __m256i*>(w.code[k][1]));
  const __m256i x0 = broadcast_i32(x.q0 + 4 * k);
  const __m256i x1 = broadcast_i32(x.q1 + 4 * k);
  const __m256i x2 = broadcast_i32(x.q2 + 4 * k);
  const __m256i x3 = broadcast_i32(x.q3 + 4 * k);
  if constexpr (kFirst) {
    s.a0 = _mm256_maddubs_epi16(wa, x0);
    s.b0 = _mm256_maddubs_epi16(wb, x0);
    s.a1 = _mm256_maddubs_epi16(wa, x1);
    s.b1 = _mm256_maddubs_epi16(wb, x1);
    s.a2 = _mm256_maddubs_epi16(wa, x2);
    s.b2 = _mm256_maddubs_epi16(wb, x2);
    s.a3 = _mm256_maddubs_epi16(wa, x3);
    s.b3 = _mm256_maddubs_epi16(wb, x3);
  } else {
    s.a0 = _mm256_add_epi16(s.a0, _mm256_maddubs_epi16(wa, x0));
    s.b0 = _mm256_add_epi16(s.b0, _mm256_maddubs_epi16(wb, x0));
    s.a1 = _mm256_add_epi16(s.a1, _mm256_maddubs_epi16(wa, x1));
    s.b1 = _mm256_add_epi16(s.b1, _mm256_maddubs_epi16(wb, x1));
    s.a2 = _mm256_add_epi16(s.a2, _mm256_maddubs_epi16(wa, x2));
    s.b2 = _mm256_add_epi16(s.b2, _mm256_maddubs_epi16(wb, x2));
    s.a3 = _mm256_add_epi16(s.a3, _mm256_maddubs_epi16(wa, x3));
    s.b3 = _mm256_add_epi16(s.b3, _mm256_maddubs_epi16(wb, x3));
  }
  keep_order(s.a0);
  keep_order(s.a1);
  keep_order(s.a2);
  keep_order(s.a3);
  keep_order(s.b0);
  keep_order(s.b1);
  keep_order(s.b2);
  keep_order(s.b3);
}

template <int kBegin, int kEnd>
ASSAY_INLINE void pair_sums(const PanelGroup& w, const Rows4& x, PairSums& s) {
  multiply_add<true>(w, kBegin, x, s);
#pragma GCC unroll 8
  for (int k = kBegin + 1; k < kEnd; ++k) multiply_add<false>(w, k, x, s);
}

// The closing steps of one vector of outputs and one row, its accumulator in memory.
template <bool kOffset>
ASSAY_INLINE void close(float* acc, __m256i dot, const float* d, const float* m, float dx,
                        float sum) {
  const __m256 scale = _mm256_load_ps(d);
  const __m256 offset = kOffset ? _mm256_load_ps(m) : scale;
  _mm256_store_ps(acc, step<kOffset>(_mm256_load_ps(acc), dot, scale, offset, dx, sum));
}

// Both vectors of a `four` or `five` group, four rows: acc [row][vector][8].
template <bool kOffset>
ASSAY_INLINE void close_sixteen(const PanelGroup& w, const PairSums& dot, const X x[4], int64_t g,
                                float* acc) {
  close<kOffset>(acc, dot.a0, w.d[0], w.m[0], x[0].d[g], x[0].sum[g]);
  close<kOffset>(acc + 8, dot.b0, w.d[1], w.m[1], x[0].d[g], x[0].sum[g]);
  close<kOffset>(acc + 16, dot.a1, w.d[0], w.m[0], x[1].d[g], x[1].sum[g]);
  close<kOffset>(acc + 24, dot.b1, w.d[1], w.m[1], x[1].d[g], x[1].sum[g]);
  close<kOffset>(acc + 32, dot.a2, w.d[0], w.m[0], x[2].d[g], x[2].sum[g]);
  close<kOffset>(acc + 40, dot.b2, w.d[1], w.m[1], x[2].d[g], x[2].sum[g]);
  close<kOffset>(acc + 48, dot.a3, w.d[0], w.m[0], x[3].d[g], x[3].sum[g]);
  close<kOffset>(acc + 56, dot.b3, w.d[1], w.m[1], x[3].d[g], x[3].sum[g]);
}

ASSAY_INLINE PairSums all_to_i32(const PairSums& s) {
  return {pairs_to_i32(s.a0), pairs_to_i32(s.a1), pairs_to_i32(s.a2), pairs_to_i32(s.a3),
          pairs_to_i32(s.b0), pairs_to_i32(s.b1), pairs_to_i32(s.b2), pairs_to_i32(s.b3)};
}

// 16 hi + lo - 128 * sum of activations.
ASSAY_INLINE __m256i join_planes(__m256i high, __m256i low, const int16_t* sum16) {
  const __m256i both =
      _mm256_add_epi32(_mm256_madd_epi16(high, _mm256_set1_epi16(16)), pairs_to_i32(low));
  return _mm256_sub_epi32(both, _mm256_madd_epi16(broadcast_i32(sum16), _mm256_set1_epi16(128)));
}

// Groups [first, end) of a panel against four rows; acc [row][vector][8] goes on.
template <Codes kCodes, bool kOffset>
void tile(const PanelGroup* panel, const X x[4], int64_t first, int64_t end, float* acc) {
  for (int64_t g = first; g < end; ++g) {
    const PanelGroup& w = panel[g];
    const Rows4 rows{x[0].q + 32 * g, x[1].q + 32 * g, x[2].q + 32 * g, x[3].q + 32 * g};
    if constexpr (kCodes == Codes::four) {
      PairSums sums;
      pair_sums<0, 8>(w, rows, sums);
      close_sixteen<kOffset>(w, all_to_i32(sums), x, g, acc);
    } else if constexpr (kCodes == Codes::five) {
      PairSums sums;
      pair_sums<0, 4>(w, rows, sums);
      PairSums dots = all_to_i32(sums);
      pair_sums<4, 8>(w, rows, sums);
      const PairSums more = all_to_i32(sums);
      dots = {_mm256_add_epi32(dots.a0, more.a0), _mm256_add_epi32(dots.a1, more.a1),
              _mm256_add_epi32(dots.a2, more.a2), _mm256_add_epi32(dots.a3, more.a3),
              _mm256_add_epi32(dots.b0, more.b0), _mm256_add_epi32(dots.b1, more.b1),
              _mm256_add_epi32(dots.b2, more.b2), _mm256_add_epi32(dots.b3, more.b3)};
      close_sixteen<kOffset>(w, dots, x, g, acc);
    } else if constexpr (kCodes == Codes::eight) {
      PairSums s;
      pair_sums<0, 8>(w, rows, s);
      close<false>(acc, join_planes(s.a0, s.b0, x[0].sum16 + 2 * g), w.d[0], w.d[0], x[0].d[g], 0);
      close<false>(acc + 8, join_planes(s.a1, s.b1, x[1].sum16 + 2 * g), w.d[0], w.d[0], x[1].d[g],
                   0);
      close<false>(acc + 16, join_planes(s.a2, s.b2, x[2].sum16 + 2 * g), w.d[0], w.d[0], x[2].d[g],
                   0);
      close<false>(acc + 24, join_planes(s.a3, s.b3, x[3].sum16 + 2 * g), w.d[0], w.d[0], x[3].d[g],
                   0);
    } else {
      Group group;
      for (int k = 0; k < 8; ++k) group.code[k] = load256(w.code[k][0]);
      group.scale16[0] = load256(w.m[0]);
      group.scale16[1] = load256(w.m[1]);
      for (int i = 0; i < 4; ++i) {
        const __m256i dot = group_dot<Codes::six>(group, x[i].q + 32 * g, x[i].sum16 + 2 * g);
        close<false>(acc + 8 * i, dot, w.d[0], w.d[0], x[i].d[g], 0);
      }
    }
  }
}

template <class Format>
void many_rows(const InputRows& in, const Product& p, int64_t n_full) {
  constexpr Codes kCodes = Format::kCodes;
  constexpr int kOutputs = kPanelOutputs<kCodes>;
  const int64_t n_groups = in.n_in / 32;
  Product full = p;
  full.n_out = n_full;
  PanelGroup* const panels = reinterpret_cast<PanelGroup*>(p.scratch);
  int64_t n_panels = 0;
  for (int64_t o = 0; o < n_full; o += kOutputs) {
    unpack<Format>(full, o, n_groups, panels + n_panels++ * n_groups);
  }
  // A stretch of a panel stays in the first-level cache while a block of rows, which stays in the
  // second, passes by.
  float* const acc = reinterpret_cast<float*>(panels + n_panels * n_groups);
  const int64_t fitting = kRowBlockBytes / in.n_in / kTileRows * kTileRows;
  const int64_t block = fitting < kTileRows      ? kTileRows
                        : fitting > kRowBlockMax ? kRowBlockMax
                                                 : fitting;
  for (int64_t begin = 0; begin < in.n_rows; begin += block) {
    const int64_t end = begin + block < in.n_rows ? begin + block : in.n_rows;
    for (int64_t i = 0; i < n_panels; ++i) {
      std::memset(acc, 0, static_cast<size_t>(kRowBlockMax * kOutputs) * sizeof(float));
      for (int64_t g = 0; g < n_groups; g += kStretch) {
        const int64_t g_end = g + kStretch < n_groups ? g + kStretch : n_groups;
        for (int64_t r = begin; r < end; r += kTileRows) {
          X x[kTileRows];  // the last row again where a tile is not full
          for (int t = 0; t < kTileRows; ++t) x[t] = row_of(in, r + t < end ? r + t : end - 1);
          tile<kCodes, Format::kOffset>(panels + i * n_groups, x, g, g_end,
                                        acc + (r - begin) * kOutputs);
        }
      }
      for (int64_t r = begin; r < end; ++r) {
        for (int64_t v = 0; v < kOutputs; v += 8) {
          if (i * kOutputs + v >= n_full) break;
          finish(p, r, i * kOutputs + v, _mm256_load_ps(acc + (r - begin) * kOutputs + v));
        }
      }
    }
  }
}

template <class Format>
void run(const InputRows& in, const Product& p) {
  const int64_t n_full = p.n_out / 8 * 8;
  if (in.n_rows > 2 * kFewRows) return many_rows<Format>(in, p, n_full);
  for (int64_t o = 0; o < n_full; o += 8) {
    int64_t r = 0;
    for (; r + 4 <= in.n_rows; r += 4) few_rows<Format, 4>(in, p, o, r);
    switch (in.n_rows - r) {
      case 3: few_rows<Format, 3>(in, p, o, r); break;
      case 2: few_rows<Format, 2>(in, p, o, r); break;
      case 1: few_rows<Format, 1>(in, p, o, r); break;
      default: break;
    }
  }
}

}  // namespace
}  // namespace assay::engine::kernels
ISA_REGION_END

namespace assay::engine::kernels::avx2 {

void matmul_quantised(quant::Type type, const InputRows& in, const Product& product) noexcept {
  switch (type) {
    case quant::Type::q8_0: run<Q8_0>(in, product); break;
    case quant::Type::q4_0: run<Q4_0>(in, product); break;
    case quant::Type::q4_1: run<Q4_1>(in, product); break;
    case quant::Type::q5_0: run<Q5_0>(in, product); break;
    case quant::Type::q5_1: run<Q5_1>(in, product); break;
    case quant::Type::q4_k: run<Q4K>(in, product); break;
    case quant::Type::q5_k: run<Q5K>(in, product); break;
    case quant::Type::q6_k: run<Q6K>(in, product); break;
    case quant::Type::iq4_nl: run<Iq4Nl>(in, product); break;
    case quant::Type::f32:
    case quant::Type::f16:
    case quant::Type::bf16: return;
  }
  // The last one to seven outputs of a matrix whose height is no multiple of eight.
  const int64_t n_full = product.n_out / 8 * 8;
  if (n_full == product.n_out) return;
  Product rest = product;
  rest.w += n_full * product.row_bytes;
  rest.n_out -= n_full;
  rest.bias = product.bias == nullptr ? nullptr : product.bias + n_full;
  rest.y += n_full;
  kScalarTable.matmul(type, in, rest);
}

}  // namespace assay::engine::kernels::avx2
