// Products with quantised weights on AVX-512 VNNI: sixteen output rows in the lanes of a vector.
//
// Codes are unpacked as for AVX2 (avx2/formats.h), eight rows at a time, and two such halves
// joined. vpdpbusd multiplies unsigned codes with signed activations into exact 32-bit sums. Signed
// codes w become w + 128, and 128 times the sum of activations is taken off. Every output has one
// F32 accumulator over ascending groups: the arithmetic of quant/dot.h, lane by lane.
#include "engine/kernels/avx512vnni/table.h"

#include <immintrin.h>

#include <cstdint>

#include "engine/kernels/avx2/formats.h"
#include "engine/kernels/avx2/table.h"
#include "engine/kernels/isa_region.h"
#include "engine/quant/types.h"

// A test replaces the instructions by software, and then this list (kernels_emulated_test).
#if !defined(ASSAY_AVX512_FEATURES)
#define ASSAY_AVX512_FEATURES "avx2,fma,f16c,avx512f,avx512bw,avx512vl,avx512dq,avx512vnni"
#endif
ISA_REGION_BEGIN(ASSAY_AVX512_FEATURES)
namespace assay::engine::kernels {
namespace {

constexpr int64_t kLanes = 16;
constexpr int kTileRows = 8;  // 8 integer and 8 float accumulators of 32 registers
constexpr int64_t kPrefetchAhead = 16384;

// A group of sixteen rows: vector k holds, for each row, the codes of elements 4k..4k+3.
struct alignas(64) Group16 {
  __m512i code[8];
  __m512 d;
  __m512 m;
  __m512i scale[2];  // six: of each half, 32 bits a lane
};

ASSAY_INLINE __m512i join(__m256i low, __m256i high) {
  return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}
ASSAY_INLINE __m512 join(__m256 low, __m256 high) {
  return _mm512_castsi512_ps(join(_mm256_castps_si256(low), _mm256_castps_si256(high)));
}

template <class Format>
ASSAY_INLINE void load16(const uint8_t* row0, int64_t stride, int64_t g,
                         typename Format::State state[2], Group16& out) {
  Group half[2];
  Format::load(row0, stride, g, state[0], half[0]);
  Format::load(row0 + 8 * stride, stride, g, state[1], half[1]);
  for (int k = 0; k < 8; ++k) {
    out.code[k] = join(half[0].code[k], half[1].code[k]);
    if constexpr (Format::kCodes == Codes::eight) {
      out.code[k] = _mm512_xor_si512(out.code[k], _mm512_set1_epi8(-128));
    }
  }
  out.d = join(half[0].d, half[1].d);
  if constexpr (Format::kOffset) out.m = join(half[0].m, half[1].m);
  if constexpr (Format::kCodes == Codes::six) {
    for (int h = 0; h < 2; ++h) {  // both 16-bit parts of a lane hold the scale: extend one
      const __m512i both = join(half[0].scale16[h], half[1].scale16[h]);
      out.scale[h] = _mm512_srai_epi32(both, 16);
    }
  }
}

ASSAY_INLINE __m512i dot_of(const Group16& w, int first, int count, const int8_t* q) {
  __m512i dot = _mm512_setzero_si512();
  for (int k = first; k < first + count; ++k) {
    dot = _mm512_dpbusd_epi32(dot, w.code[k], _mm512_set1_epi32(load_i32(q + 4 * k)));
  }
  return dot;
}

// Exact dot of a group with 32 activations, per lane.
template <Codes kCodes>
ASSAY_INLINE __m512i group_dot(const Group16& w, const int8_t* q, const int16_t* sum16) {
  if constexpr (kCodes == Codes::eight) {
    return _mm512_sub_epi32(dot_of(w, 0, 8, q), _mm512_set1_epi32(128 * (sum16[0] + sum16[1])));
  } else if constexpr (kCodes == Codes::six) {
    __m512i dot = _mm512_setzero_si512();
    for (int h = 0; h < 2; ++h) {
      const __m512i part =
          _mm512_sub_epi32(dot_of(w, 4 * h, 4, q), _mm512_set1_epi32(32 * sum16[h]));
      dot = _mm512_add_epi32(dot, _mm512_mullo_epi32(part, w.scale[h]));
    }
    return dot;
  } else {
    return dot_of(w, 0, 8, q);
  }
}

// Group g of rows r .. r + R: the closing steps of quant/dot.h.
template <class Format, int R>
ASSAY_INLINE void add_group(const Group16& w, const InputRows& in, int64_t r, int64_t g,
                            __m512 acc[R]) {
  for (int i = 0; i < R; ++i) {
    const int8_t* q = in.q + (r + i) * in.q_stride + 32 * g;
    const int64_t at = (r + i) * in.group_stride + g;
    const __m512 dot = _mm512_cvtepi32_ps(group_dot<Format::kCodes>(w, q, in.sum16 + 2 * at));
    __m512 t;
    if constexpr (Format::kOffset) {
      t = _mm512_fmadd_ps(w.d, dot, _mm512_mul_ps(w.m, _mm512_set1_ps(in.sum[at])));
    } else {
      t = _mm512_mul_ps(w.d, dot);
    }
    acc[i] = _mm512_fmadd_ps(_mm512_set1_ps(in.d[at]), t, acc[i]);
  }
}

template <int R>
ASSAY_INLINE void finish(const Product& p, int64_t r, int64_t o, const __m512 acc[R]) {
  for (int i = 0; i < R; ++i) {
    __m512 value = acc[i];
    if (p.bias != nullptr) value = _mm512_add_ps(value, _mm512_loadu_ps(p.bias + o));
    float* y = p.y + (r + i) * p.y_stride + o;
    if (p.add) value = _mm512_add_ps(_mm512_loadu_ps(y), value);
    _mm512_storeu_ps(y, value);
  }
}

// Outputs o .. o + 16 against rows r .. r + R, straight from the mapping.
template <class Format, int R>
void few_rows(const InputRows& in, const Product& p, int64_t o, int64_t r) {
  const uint8_t* w = reinterpret_cast<const uint8_t*>(p.w) + o * p.row_bytes;
  constexpr int64_t kGroupBytes = kLanes * quant::row_bytes(Format::kType, 256) / 8;
  typename Format::State state[2];
  __m512 acc[R];
  for (int i = 0; i < R; ++i) acc[i] = _mm512_setzero_ps();
  for (int64_t g = 0; g < in.n_in / 32; ++g) {
    for (int64_t b = 0; b < kGroupBytes; b += 64) {
      _mm_prefetch(reinterpret_cast<const char*>(w + g * kGroupBytes + kPrefetchAhead + b),
                   _MM_HINT_T0);
    }
    Group16 group;
    load16<Format>(w, p.row_bytes, g, state, group);
    add_group<Format, R>(group, in, r, g, acc);
  }
  finish<R>(p, r, o, acc);
}

// The same from a panel that was unpacked before.
template <class Format, int R>
void panel_rows(const Group16* panel, const InputRows& in, const Product& p, int64_t o, int64_t r) {
  __m512 acc[R];
  for (int i = 0; i < R; ++i) acc[i] = _mm512_setzero_ps();
  for (int64_t g = 0; g < in.n_in / 32; ++g) add_group<Format, R>(panel[g], in, r, g, acc);
  finish<R>(p, r, o, acc);
}

template <class Format>
void run(const InputRows& in, const Product& p, int64_t n_full) {
  if (in.n_rows <= 4) {
    for (int64_t o = 0; o < n_full; o += kLanes) {
      switch (in.n_rows) {
        case 1: few_rows<Format, 1>(in, p, o, 0); break;
        case 2: few_rows<Format, 2>(in, p, o, 0); break;
        case 3: few_rows<Format, 3>(in, p, o, 0); break;
        default: few_rows<Format, 4>(in, p, o, 0); break;
      }
    }
    return;
  }
  const int64_t n_groups = in.n_in / 32;
  Group16* const panels = reinterpret_cast<Group16*>(p.scratch);
  typename Format::State state[2];
  for (int64_t o = 0; o < n_full; o += kLanes) {
    const uint8_t* w = reinterpret_cast<const uint8_t*>(p.w) + o * p.row_bytes;
    for (int64_t g = 0; g < n_groups; ++g) {
      load16<Format>(w, p.row_bytes, g, state, panels[o / kLanes * n_groups + g]);
    }
  }
  int64_t r = 0;
  for (; r + kTileRows <= in.n_rows; r += kTileRows) {
    for (int64_t o = 0; o < n_full; o += kLanes) {
      panel_rows<Format, kTileRows>(panels + o / kLanes * n_groups, in, p, o, r);
    }
  }
  for (; r < in.n_rows; ++r) {
    for (int64_t o = 0; o < n_full; o += kLanes) {
      panel_rows<Format, 1>(panels + o / kLanes * n_groups, in, p, o, r);
    }
  }
}

}  // namespace
}  // namespace assay::engine::kernels
ISA_REGION_END

namespace assay::engine::kernels {
namespace {

static_assert(sizeof(Group16) <= 1024 + 512, "a panel group fits matmul_scratch_bytes");

void matmul(quant::Type type, const InputRows& in, const Product& product) noexcept {
  if (quant::is_float(type)) return avx2::matmul_float(type, in, product);
  const int64_t n_full = product.n_out / kLanes * kLanes;
  switch (type) {
    case quant::Type::q8_0: run<Q8_0>(in, product, n_full); break;
    case quant::Type::q4_0: run<Q4_0>(in, product, n_full); break;
    case quant::Type::q4_1: run<Q4_1>(in, product, n_full); break;
    case quant::Type::q5_0: run<Q5_0>(in, product, n_full); break;
    case quant::Type::q5_1: run<Q5_1>(in, product, n_full); break;
    case quant::Type::q4_k: run<Q4K>(in, product, n_full); break;
    case quant::Type::q5_k: run<Q5K>(in, product, n_full); break;
    case quant::Type::q6_k: run<Q6K>(in, product, n_full); break;
    case quant::Type::iq4_nl: run<Iq4Nl>(in, product, n_full); break;
    case quant::Type::f32:
    case quant::Type::f16:
    case quant::Type::bf16: return;
  }
  if (n_full == product.n_out) return;
  Product rest = product;
  rest.w += n_full * product.row_bytes;
  rest.n_out -= n_full;
  rest.bias = product.bias == nullptr ? nullptr : product.bias + n_full;
  rest.y += n_full;
  avx2::matmul_quantised(type, in, rest);
}

bool runs_on(const CpuFeatures& cpu) noexcept {
  return cpu.vnni512;
}

// The AVX2 table is constant-initialised: it is complete before this runs.
KernelTable avx2_with_vnni_products() noexcept {
  KernelTable table = kAvx2Table;
  table.name = "avx512vnni";
  table.needs = "AVX-512 F, BW, VL, DQ and VNNI";
  table.runs_on = runs_on;
  table.matmul = matmul;
  return table;
}

}  // namespace

const KernelTable kAvx512VnniTable = avx2_with_vnni_products();

}  // namespace assay::engine::kernels
