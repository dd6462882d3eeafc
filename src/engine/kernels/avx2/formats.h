// How each quantised format is unpacked for AVX2: eight output rows side by side.
//
// A group (32 weights) of eight rows becomes eight vectors; vector k holds, for each row, the codes
// of elements 4k..4k+3 in one dword, so that it meets the same four activations in every lane.
// Codes are unsigned, or signed for the kSigned formats. d and m are the D and M of quant/dot.h.
//
// Each format:  kType, kOffset
//               kCodes      which inner loop takes its codes
//               State       what is worked out once per super-block (K formats), else empty
//               load(row0, stride, g, state, out)   group g of rows row0, row0 + stride, …
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "engine/kernels/avx2/simd.h"
#include "engine/kernels/isa_region.h"
#include "engine/quant/blocks.h"

namespace assay::engine::kernels {
namespace {

enum class Codes {
  four,   // 0..15: eight products of pairs fit 16 bits
  five,   // 0..31: four do
  six,    // 0..63: two do; two scales a group
  eight,  // -128..127
};

}  // namespace
}  // namespace assay::engine::kernels

ISA_REGION_BEGIN("avx2,fma,f16c")
namespace assay::engine::kernels {
namespace {

struct Group {
  __m256i code[8];
  __m256 d;
  __m256 m;            // formats with an offset
  __m256i scale16[2];  // six: the scale of each half, in both 16-bit parts of a lane
};

struct NoState {};

ASSAY_INLINE void split_nibbles(const __m256i bytes[4], __m256i code[8]) {
  const __m256i mask = _mm256_set1_epi8(15);
  for (int k = 0; k < 4; ++k) {
    code[k] = _mm256_and_si256(bytes[k], mask);
    code[k + 4] = _mm256_and_si256(_mm256_srli_epi16(bytes[k], 4), mask);
  }
}

// Adds bit 4: bit j of each lane of `high` belongs to element j.
ASSAY_INLINE void add_fifth_bits(__m256i high, __m256i code[8]) {
  const __m256i sixteen = _mm256_set1_epi8(16);
  const __m256i even_bits = _mm256_set1_epi32(static_cast<int32_t>(0x08040201));
  const __m256i odd_bits = _mm256_set1_epi32(static_cast<int32_t>(0x80402010));
  for (int byte = 0; byte < 4; ++byte) {
    // Byte `byte` of each lane, four times.
    const int32_t pick = 0x01010101 * byte;
    const __m256i spread = _mm256_shuffle_epi8(
        high, _mm256_setr_epi32(pick, pick + 0x04040404, pick + 0x08080808, pick + 0x0C0C0C0C, pick,
                                pick + 0x04040404, pick + 0x08080808, pick + 0x0C0C0C0C));
    const __m256i even = _mm256_cmpeq_epi8(_mm256_and_si256(spread, even_bits), even_bits);
    const __m256i odd = _mm256_cmpeq_epi8(_mm256_and_si256(spread, odd_bits), odd_bits);
    code[2 * byte] = _mm256_or_si256(code[2 * byte], _mm256_and_si256(even, sixteen));
    code[2 * byte + 1] = _mm256_or_si256(code[2 * byte + 1], _mm256_and_si256(odd, sixteen));
  }
}

struct Q8_0 {
  static constexpr quant::Type kType = quant::Type::q8_0;
  static constexpr Codes kCodes = Codes::eight;
  static constexpr bool kOffset = false;
  using State = NoState;
  static ASSAY_INLINE void load(const uint8_t* row0, int64_t stride, int64_t g, State&,
                                Group& out) {
    const uint8_t* block = row0 + g * 34;
    transpose_16_bytes(block + 2, stride, out.code);
    transpose_16_bytes(block + 18, stride, out.code + 4);
    out.d = low_halves(gather_dwords(block, stride));
  }
};

struct Q4_0 {
  static constexpr quant::Type kType = quant::Type::q4_0;
  static constexpr Codes kCodes = Codes::four;
  static constexpr bool kOffset = true;
  using State = NoState;
  static ASSAY_INLINE void load(const uint8_t* row0, int64_t stride, int64_t g, State&,
                                Group& out) {
    const uint8_t* block = row0 + g * 18;
    __m256i bytes[4];
    transpose_16_bytes(block + 2, stride, bytes);
    split_nibbles(bytes, out.code);
    out.d = low_halves(gather_dwords(block, stride));
    out.m = _mm256_mul_ps(out.d, _mm256_set1_ps(-8.0f));
  }
};

struct Q4_1 {
  static constexpr quant::Type kType = quant::Type::q4_1;
  static constexpr Codes kCodes = Codes::four;
  static constexpr bool kOffset = true;
  using State = NoState;
  static ASSAY_INLINE void load(const uint8_t* row0, int64_t stride, int64_t g, State&,
                                Group& out) {
    const uint8_t* block = row0 + g * 20;
    __m256i bytes[4];
    transpose_16_bytes(block + 4, stride, bytes);
    split_nibbles(bytes, out.code);
    const __m256i dm = gather_dwords(block, stride);
    out.d = low_halves(dm);
    out.m = high_halves(dm);
  }
};

struct Q5_0 {
  static constexpr quant::Type kType = quant::Type::q5_0;
  static constexpr Codes kCodes = Codes::five;
  static constexpr bool kOffset = true;
  using State = NoState;
  static ASSAY_INLINE void load(const uint8_t* row0, int64_t stride, int64_t g, State&,
                                Group& out) {
    const uint8_t* block = row0 + g * 22;
    __m256i bytes[4];
    transpose_16_bytes(block + 6, stride, bytes);
    split_nibbles(bytes, out.code);
    add_fifth_bits(gather_dwords(block + 2, stride), out.code);
    out.d = low_halves(gather_dwords(block, stride));
    out.m = _mm256_mul_ps(out.d, _mm256_set1_ps(-16.0f));
  }
};

struct Q5_1 {
  static constexpr quant::Type kType = quant::Type::q5_1;
  static constexpr Codes kCodes = Codes::five;
  static constexpr bool kOffset = true;
  using State = NoState;
  static ASSAY_INLINE void load(const uint8_t* row0, int64_t stride, int64_t g, State&,
                                Group& out) {
    const uint8_t* block = row0 + g * 24;
    __m256i bytes[4];
    transpose_16_bytes(block + 8, stride, bytes);
    split_nibbles(bytes, out.code);
    add_fifth_bits(gather_dwords(block + 4, stride), out.code);
    const __m256i dm = gather_dwords(block, stride);
    out.d = low_halves(dm);
    out.m = high_halves(dm);
  }
};

struct Iq4Nl {
  static constexpr quant::Type kType = quant::Type::iq4_nl;
  static constexpr Codes kCodes = Codes::eight;
  static constexpr bool kOffset = false;
  using State = NoState;
  static ASSAY_INLINE void load(const uint8_t* row0, int64_t stride, int64_t g, State&,
                                Group& out) {
    const uint8_t* block = row0 + g * 18;
    __m256i bytes[4];
    transpose_16_bytes(block + 2, stride, bytes);
    split_nibbles(bytes, out.code);
    const __m256i values = _mm256_broadcastsi128_si256(load128(quant::kIq4NlValues));
    for (int k = 0; k < 8; ++k) out.code[k] = _mm256_shuffle_epi8(values, out.code[k]);
    out.d = low_halves(gather_dwords(block, stride));
  }
};

// D and M of the eight groups of a Q4_K or Q5_K super-block, for eight rows: [group][row].
struct KScales {
  alignas(32) float d[8][8];
  alignas(32) float m[8][8];

  ASSAY_INLINE void load(const uint8_t* block, int64_t stride) {
    __m256i scales[8], mins[8];
    for (int row = 0; row < 8; ++row) {
      const uint8_t* p = block + row * stride;
      uint32_t a, b, c;
      std::memcpy(&a, p + 4, 4);
      std::memcpy(&b, p + 8, 4);
      std::memcpy(&c, p + 12, 4);
      // Bytes of a: scales 0..3 with the top bits of scales 4..7; b: mins; c: both low nibbles.
      const uint64_t scale =
          (a & 0x3F3F3F3Fu) |
          (static_cast<uint64_t>((c & 0x0F0F0F0Fu) | ((a >> 2) & 0x30303030u)) << 32);
      const uint64_t min =
          (b & 0x3F3F3F3Fu) |
          (static_cast<uint64_t>(((c >> 4) & 0x0F0F0F0Fu) | ((b >> 2) & 0x30303030u)) << 32);
      const __m128 halves = _mm_cvtph_ps(_mm_cvtsi32_si128(load_i32(p)));  // d, dmin
      const __m256 d_row = _mm256_broadcastss_ps(halves);
      const __m256 dmin_row = _mm256_broadcastss_ps(_mm_movehdup_ps(halves));
      const __m128i scale_bytes = _mm_cvtsi64_si128(static_cast<long long>(scale));
      const __m128i min_bytes = _mm_cvtsi64_si128(static_cast<long long>(min));
      const __m256 d_scale =
          _mm256_mul_ps(d_row, _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(scale_bytes)));
      const __m256 dmin_min =
          _mm256_mul_ps(dmin_row, _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(min_bytes)));
      scales[row] = _mm256_castps_si256(d_scale);
      mins[row] = _mm256_castps_si256(_mm256_xor_ps(dmin_min, _mm256_set1_ps(-0.0f)));
    }
    transpose_8x8(scales);
    transpose_8x8(mins);
    for (int g = 0; g < 8; ++g) {
      store256(d[g], scales[g]);
      store256(m[g], mins[g]);
    }
  }
};

struct Q4K {
  static constexpr quant::Type kType = quant::Type::q4_k;
  static constexpr Codes kCodes = Codes::four;
  static constexpr bool kOffset = true;
  using State = KScales;
  static ASSAY_INLINE void load(const uint8_t* row0, int64_t stride, int64_t g, State& state,
                                Group& out) {
    const uint8_t* block = row0 + g / 8 * 144;
    const int64_t k = g % 8;
    if (k == 0) state.load(block, stride);
    transpose_16_bytes(block + 16 + k / 2 * 32, stride, out.code);
    transpose_16_bytes(block + 32 + k / 2 * 32, stride, out.code + 4);
    const __m256i mask = _mm256_set1_epi8(15);
    const __m128i shift = _mm_cvtsi32_si128(static_cast<int32_t>(k % 2 * 4));
    for (int i = 0; i < 8; ++i) {
      out.code[i] = _mm256_and_si256(_mm256_srl_epi16(out.code[i], shift), mask);
    }
    out.d = _mm256_load_ps(state.d[k]);
    out.m = _mm256_load_ps(state.m[k]);
  }
};

struct Q5K {
  static constexpr quant::Type kType = quant::Type::q5_k;
  static constexpr Codes kCodes = Codes::five;
  static constexpr bool kOffset = true;
  using State = KScales;
  static ASSAY_INLINE void load(const uint8_t* row0, int64_t stride, int64_t g, State& state,
                                Group& out) {
    const uint8_t* block = row0 + g / 8 * 176;
    const int64_t k = g % 8;
    if (k == 0) state.load(block, stride);
    __m256i high[8];
    transpose_16_bytes(block + 48 + k / 2 * 32, stride, out.code);
    transpose_16_bytes(block + 64 + k / 2 * 32, stride, out.code + 4);
    transpose_16_bytes(block + 16, stride, high);
    transpose_16_bytes(block + 32, stride, high + 4);
    const __m256i mask = _mm256_set1_epi8(15);
    const __m256i bit = _mm256_set1_epi8(static_cast<char>(1 << k));
    const __m128i shift = _mm_cvtsi32_si128(static_cast<int32_t>(k % 2 * 4));
    for (int i = 0; i < 8; ++i) {
      const __m256i set = _mm256_cmpeq_epi8(_mm256_and_si256(high[i], bit), bit);
      out.code[i] = _mm256_or_si256(_mm256_and_si256(_mm256_srl_epi16(out.code[i], shift), mask),
                                    _mm256_and_si256(set, _mm256_set1_epi8(16)));
    }
    out.d = _mm256_load_ps(state.d[k]);
    out.m = _mm256_load_ps(state.m[k]);
  }
};

struct Q6K {
  static constexpr quant::Type kType = quant::Type::q6_k;
  static constexpr Codes kCodes = Codes::six;
  static constexpr bool kOffset = false;
  using State = NoState;
  static ASSAY_INLINE void load(const uint8_t* row0, int64_t stride, int64_t g, State&,
                                Group& out) {
    const uint8_t* block = row0 + g / 8 * 210;
    const int64_t k = g % 8;
    const int64_t half = k / 4;
    const int64_t quarter = k % 4;
    const uint8_t* low = block + 64 * half + 32 * (quarter & 1);
    const uint8_t* high = block + 128 + 32 * half;
    __m256i top[8];
    transpose_16_bytes(low, stride, out.code);
    transpose_16_bytes(low + 16, stride, out.code + 4);
    transpose_16_bytes(high, stride, top);
    transpose_16_bytes(high + 16, stride, top + 4);
    const __m256i mask = _mm256_set1_epi8(15);
    const __m128i low_shift = _mm_cvtsi32_si128(quarter < 2 ? 0 : 4);
    const __m128i top_shift = _mm_cvtsi32_si128(static_cast<int32_t>(2 * quarter));
    for (int i = 0; i < 8; ++i) {
      const __m256i nibble = _mm256_and_si256(_mm256_srl_epi16(out.code[i], low_shift), mask);
      const __m256i two =
          _mm256_and_si256(_mm256_srl_epi16(top[i], top_shift), _mm256_set1_epi8(3));
      out.code[i] = _mm256_or_si256(nibble, _mm256_slli_epi16(two, 4));
    }
    const uint8_t* scales = block + 192 + 2 * k;
    alignas(32) int32_t part[2][8];
    alignas(16) uint16_t d[8];
    for (int row = 0; row < 8; ++row) {
      for (int h = 0; h < 2; ++h) {
        const auto scale = static_cast<uint16_t>(static_cast<int8_t>(scales[row * stride + h]));
        part[h][row] = static_cast<int32_t>(scale * 0x10001u);
      }
      std::memcpy(&d[row], block + 208 + row * stride, 2);
    }
    out.scale16[0] = load256(part[0]);
    out.scale16[1] = load256(part[1]);
    out.d = _mm256_cvtph_ps(load128(d));
  }
};

}  // namespace
}  // namespace assay::engine::kernels
ISA_REGION_END
