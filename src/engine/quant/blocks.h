// Block layouts of the quantised GGUF types, as they lie in a file: little endian, no padding.
//
// d, m and dmin are IEEE halves. Pointers into a mapping may be unaligned for these structures'
// fields only in theory: alignment is 2 at most, and GGUF aligns tensors to 8 or more.
// Source: docs/formats/gguf.md, "Element types"; formulas in docs/kernels.md, "Weight formats".
#pragma once

#include <cstdint>

#include "engine/quant/types.h"

namespace assay::engine::quant {

struct Q8_0Block {  // x = d * q
  uint16_t d;
  int8_t q[32];
};
struct Q4_0Block {  // x = d * (q - 8); element j < 16 is the low nibble of byte j, j + 16 the high
  uint16_t d;
  uint8_t nibbles[16];
};
struct Q4_1Block {  // x = d * q + m
  uint16_t d;
  uint16_t m;
  uint8_t nibbles[16];
};
struct Q5_0Block {  // x = d * (q - 16); bit j of `high` is bit 4 of element j
  uint16_t d;
  uint8_t high[4];
  uint8_t nibbles[16];
};
struct Q5_1Block {  // x = d * q + m
  uint16_t d;
  uint16_t m;
  uint8_t high[4];
  uint8_t nibbles[16];
};
struct Iq4NlBlock {  // x = d * kIq4NlValues[q]
  uint16_t d;
  uint8_t nibbles[16];
};
struct Q4KBlock {  // eight groups of 32: x = d * scale * q - dmin * min
  uint16_t d;
  uint16_t dmin;
  uint8_t scales[12];    // eight 6-bit scales and mins, see unpack_scale_min
  uint8_t nibbles[128];  // group g: bytes (g / 2) * 32 + l, low nibble when g is even
};
struct Q5KBlock {
  uint16_t d;
  uint16_t dmin;
  uint8_t scales[12];
  uint8_t high[32];  // bit g of byte l is bit 4 of element l of group g
  uint8_t nibbles[128];
};
struct Q6KBlock {  // sixteen halves of 16: x = d * scale * (q - 32)
  uint8_t low[128];
  uint8_t high[64];
  int8_t scales[16];
  uint16_t d;
};

static_assert(sizeof(Q8_0Block) == 34 && sizeof(Q8_0Block) == info(Type::q8_0).block_bytes);
static_assert(sizeof(Q4_0Block) == 18 && sizeof(Q4_0Block) == info(Type::q4_0).block_bytes);
static_assert(sizeof(Q4_1Block) == 20 && sizeof(Q4_1Block) == info(Type::q4_1).block_bytes);
static_assert(sizeof(Q5_0Block) == 22 && sizeof(Q5_0Block) == info(Type::q5_0).block_bytes);
static_assert(sizeof(Q5_1Block) == 24 && sizeof(Q5_1Block) == info(Type::q5_1).block_bytes);
static_assert(sizeof(Iq4NlBlock) == 18 && sizeof(Iq4NlBlock) == info(Type::iq4_nl).block_bytes);
static_assert(sizeof(Q4KBlock) == 144 && sizeof(Q4KBlock) == info(Type::q4_k).block_bytes);
static_assert(sizeof(Q5KBlock) == 176 && sizeof(Q5KBlock) == info(Type::q5_k).block_bytes);
static_assert(sizeof(Q6KBlock) == 210 && sizeof(Q6KBlock) == info(Type::q6_k).block_bytes);

inline constexpr int8_t kIq4NlValues[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                            1,    13,   25,  38,  53,  69,  89,  113};

struct ScaleMin {
  uint8_t scale;
  uint8_t min;
};

/// Scale and min of group g (0..7) of a Q4_K or Q5_K block, 6 bits each.
[[nodiscard]] constexpr ScaleMin unpack_scale_min(const uint8_t (&p)[12], int g) noexcept {
  if (g < 4) return {static_cast<uint8_t>(p[g] & 63), static_cast<uint8_t>(p[g + 4] & 63)};
  return {static_cast<uint8_t>((p[g + 4] & 15) | ((p[g - 4] >> 6) << 4)),
          static_cast<uint8_t>((p[g + 4] >> 4) | ((p[g] >> 6) << 4))};
}

/// Element l (0..127) of half n (0, 1) of a Q6_K block, without its offset of 32: 0..63.
[[nodiscard]] constexpr int q6_k_code(const Q6KBlock& block, int n, int e) noexcept {
  const int quarter = e / 32;
  const int l = e % 32;
  const uint8_t low = block.low[64 * n + l + 32 * (quarter & 1)];
  const int nibble = quarter < 2 ? low & 15 : low >> 4;
  return nibble | (((block.high[32 * n + l] >> (2 * quarter)) & 3) << 4);
}

}  // namespace assay::engine::quant
