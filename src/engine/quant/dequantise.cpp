#include "engine/quant/dequantise.h"

#include <cstring>

#include "engine/quant/blocks.h"
#include "engine/quant/half.h"

namespace assay::engine::quant {
namespace {

template <class Block>
const Block* blocks(const std::byte* row) {
  return reinterpret_cast<const Block*>(row);
}

int nibble(const uint8_t* bytes, int j) {
  return j < 16 ? bytes[j] & 15 : bytes[j - 16] >> 4;
}

int fifth_bit(const uint8_t* high, int j) {
  return ((high[j / 8] >> (j % 8)) & 1) << 4;
}

// Calls value(block, j) for each of the 32 elements of each block.
template <class Block, class Value>
void each32(const std::byte* row, int64_t n, float* y, Value value) {
  const Block* block = blocks<Block>(row);
  for (int64_t i = 0; i < n; i += 32, ++block) {
    for (int j = 0; j < 32; ++j) y[i + j] = value(*block, j);
  }
}

template <class Block, class Code>
void k_groups(const std::byte* row, int64_t n, float* y, Code code) {
  const Block* block = blocks<Block>(row);
  for (int64_t i = 0; i < n; i += 256, ++block) {
    const float d = half_to_float(block->d);
    const float dmin = half_to_float(block->dmin);
    for (int g = 0; g < 8; ++g) {
      const ScaleMin sm = unpack_scale_min(block->scales, g);
      const float scale = d * static_cast<float>(sm.scale);  // exact: 11 bits times 6
      const float min = dmin * static_cast<float>(sm.min);
      for (int l = 0; l < 32; ++l) {
        y[i + 32 * g + l] = scale * static_cast<float>(code(*block, g, l)) - min;
      }
    }
  }
}

int k_nibble(const uint8_t* nibbles, int g, int l) {
  const uint8_t byte = nibbles[g / 2 * 32 + l];
  return g % 2 == 0 ? byte & 15 : byte >> 4;
}

}  // namespace

void dequantise_row(Type type, const std::byte* row, int64_t n, float* y) noexcept {
  switch (type) {
    case Type::f32: std::memcpy(y, row, static_cast<size_t>(n) * sizeof(float)); return;
    case Type::f16:
      for (int64_t i = 0; i < n; ++i) y[i] = half_to_float(blocks<uint16_t>(row)[i]);
      return;
    case Type::bf16:
      for (int64_t i = 0; i < n; ++i) y[i] = bfloat_to_float(blocks<uint16_t>(row)[i]);
      return;
    case Type::q8_0:
      return each32<Q8_0Block>(row, n, y, [](const Q8_0Block& b, int j) {
        return half_to_float(b.d) * static_cast<float>(b.q[j]);
      });
    case Type::q4_0:
      return each32<Q4_0Block>(row, n, y, [](const Q4_0Block& b, int j) {
        return half_to_float(b.d) * static_cast<float>(nibble(b.nibbles, j) - 8);
      });
    case Type::q4_1:
      return each32<Q4_1Block>(row, n, y, [](const Q4_1Block& b, int j) {
        return half_to_float(b.d) * static_cast<float>(nibble(b.nibbles, j)) + half_to_float(b.m);
      });
    case Type::q5_0:
      return each32<Q5_0Block>(row, n, y, [](const Q5_0Block& b, int j) {
        const int q = nibble(b.nibbles, j) | fifth_bit(b.high, j);
        return half_to_float(b.d) * static_cast<float>(q - 16);
      });
    case Type::q5_1:
      return each32<Q5_1Block>(row, n, y, [](const Q5_1Block& b, int j) {
        const int q = nibble(b.nibbles, j) | fifth_bit(b.high, j);
        return half_to_float(b.d) * static_cast<float>(q) + half_to_float(b.m);
      });
    case Type::iq4_nl:
      return each32<Iq4NlBlock>(row, n, y, [](const Iq4NlBlock& b, int j) {
        return half_to_float(b.d) * static_cast<float>(kIq4NlValues[nibble(b.nibbles, j)]);
      });
    case Type::q4_k:
      return k_groups<Q4KBlock>(
          row, n, y, [](const Q4KBlock& b, int g, int l) { return k_nibble(b.nibbles, g, l); });
    case Type::q5_k:
      return k_groups<Q5KBlock>(row, n, y, [](const Q5KBlock& b, int g, int l) {
        return k_nibble(b.nibbles, g, l) | (((b.high[l] >> g) & 1) << 4);
      });
    case Type::q6_k: {
      const Q6KBlock* block = blocks<Q6KBlock>(row);
      for (int64_t i = 0; i < n; i += 256, ++block) {
        const float d = half_to_float(block->d);
        for (int e = 0; e < 256; ++e) {
          const float scale = d * static_cast<float>(block->scales[e / 16]);
          y[i + e] = scale * static_cast<float>(q6_k_code(*block, e / 128, e % 128) - 32);
        }
      }
      return;
    }
  }
}

}  // namespace assay::engine::quant
