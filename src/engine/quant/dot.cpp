#include "engine/quant/dot.h"

#include <cmath>

#include "engine/quant/blocks.h"
#include "engine/quant/half.h"

namespace assay::engine::quant {
namespace {

template <class Block>
const Block* blocks(const std::byte* row) {
  return reinterpret_cast<const Block*>(row);
}

// The two closing steps of every group.
float step(float acc, float dx, float scale, int32_t dot) {
  return std::fma(dx, scale * static_cast<float>(dot), acc);
}
float step(float acc, float dx, float scale, int32_t dot, float offset, float sum) {
  return std::fma(dx, std::fma(scale, static_cast<float>(dot), offset * sum), acc);
}

int32_t dot_nibbles(const uint8_t* nibbles, const int8_t* q) {
  int32_t dot = 0;
  for (int j = 0; j < 16; ++j) dot += (nibbles[j] & 15) * q[j] + (nibbles[j] >> 4) * q[j + 16];
  return dot;
}

int32_t dot_fifth_bits(const uint8_t* high, const int8_t* q) {
  int32_t dot = 0;
  for (int j = 0; j < 32; ++j) dot += ((high[j / 8] >> (j % 8)) & 1) * q[j];
  return 16 * dot;
}

template <class Block, class Group>
float groups(const std::byte* row, const ActivationRow& x, int64_t n, Group group) {
  float acc = 0.0f;
  for (int64_t g = 0; g < n / 32; ++g) {
    acc = group(blocks<Block>(row)[g], acc, x.q + 32 * g, x.d[g], x.sum[g]);
  }
  return acc;
}

// Q4_K and Q5_K; `high` (null for Q4_K) holds the fifth bits.
template <class Block, class High>
float k_groups(const std::byte* row, const ActivationRow& x, int64_t n, High high) {
  float acc = 0.0f;
  for (int64_t g = 0; g < n / 32; ++g) {
    const Block& block = blocks<Block>(row)[g / 8];
    const int k = static_cast<int>(g % 8);
    const int8_t* q = x.q + 32 * g;
    const uint8_t* bytes = block.nibbles + k / 2 * 32;
    int32_t dot = 0;
    for (int l = 0; l < 32; ++l) {
      const int nibble = k % 2 == 0 ? bytes[l] & 15 : bytes[l] >> 4;
      dot += (nibble | high(block, k, l)) * q[l];
    }
    const ScaleMin sm = unpack_scale_min(block.scales, k);
    const float scale = half_to_float(block.d) * static_cast<float>(sm.scale);
    const float offset = -(half_to_float(block.dmin) * static_cast<float>(sm.min));
    acc = step(acc, x.d[g], scale, dot, offset, x.sum[g]);
  }
  return acc;
}

float dot_q6_k(const std::byte* row, const ActivationRow& x, int64_t n) {
  float acc = 0.0f;
  for (int64_t g = 0; g < n / 32; ++g) {
    const Q6KBlock& block = blocks<Q6KBlock>(row)[g / 8];
    const int k = static_cast<int>(g % 8);
    int32_t dot = 0;
    for (int half = 0; half < 2; ++half) {
      int32_t part = 0;
      for (int l = 16 * half; l < 16 * half + 16; ++l) {
        part += (q6_k_code(block, k / 4, k % 4 * 32 + l) - 32) * x.q[32 * g + l];
      }
      dot += block.scales[2 * k + half] * part;
    }
    acc = step(acc, x.d[g], half_to_float(block.d), dot);
  }
  return acc;
}

template <class Weight>
float strided(const float* x, int64_t n, Weight weight) {
  float p[16] = {};
  for (int64_t i = 0; i < (n + 15) / 16 * 16; ++i) {
    p[i % 16] = i < n ? std::fma(weight(i), x[i], p[i % 16]) : std::fma(0.0f, 0.0f, p[i % 16]);
  }
  return sum16(p);
}

}  // namespace

float dot_quantised(Type type, const std::byte* row, const ActivationRow& x, int64_t n) noexcept {
  switch (type) {
    case Type::q8_0:
      return groups<Q8_0Block>(row, x, n,
                               [](const Q8_0Block& b, float acc, const int8_t* q, float dx, float) {
                                 int32_t dot = 0;
                                 for (int j = 0; j < 32; ++j) dot += b.q[j] * q[j];
                                 return step(acc, dx, half_to_float(b.d), dot);
                               });
    case Type::iq4_nl:
      return groups<Iq4NlBlock>(
          row, x, n, [](const Iq4NlBlock& b, float acc, const int8_t* q, float dx, float) {
            int32_t dot = 0;
            for (int j = 0; j < 16; ++j) {
              dot += kIq4NlValues[b.nibbles[j] & 15] * q[j];
              dot += kIq4NlValues[b.nibbles[j] >> 4] * q[j + 16];
            }
            return step(acc, dx, half_to_float(b.d), dot);
          });
    case Type::q4_0:
      return groups<Q4_0Block>(
          row, x, n, [](const Q4_0Block& b, float acc, const int8_t* q, float dx, float sum) {
            const float d = half_to_float(b.d);
            return step(acc, dx, d, dot_nibbles(b.nibbles, q), -8.0f * d, sum);
          });
    case Type::q4_1:
      return groups<Q4_1Block>(
          row, x, n, [](const Q4_1Block& b, float acc, const int8_t* q, float dx, float sum) {
            return step(acc, dx, half_to_float(b.d), dot_nibbles(b.nibbles, q), half_to_float(b.m),
                        sum);
          });
    case Type::q5_0:
      return groups<Q5_0Block>(
          row, x, n, [](const Q5_0Block& b, float acc, const int8_t* q, float dx, float sum) {
            const float d = half_to_float(b.d);
            const int32_t dot = dot_nibbles(b.nibbles, q) + dot_fifth_bits(b.high, q);
            return step(acc, dx, d, dot, -16.0f * d, sum);
          });
    case Type::q5_1:
      return groups<Q5_1Block>(
          row, x, n, [](const Q5_1Block& b, float acc, const int8_t* q, float dx, float sum) {
            const int32_t dot = dot_nibbles(b.nibbles, q) + dot_fifth_bits(b.high, q);
            return step(acc, dx, half_to_float(b.d), dot, half_to_float(b.m), sum);
          });
    case Type::q4_k:
      return k_groups<Q4KBlock>(row, x, n, [](const Q4KBlock&, int, int) { return 0; });
    case Type::q5_k:
      return k_groups<Q5KBlock>(
          row, x, n, [](const Q5KBlock& b, int k, int l) { return ((b.high[l] >> k) & 1) << 4; });
    case Type::q6_k: return dot_q6_k(row, x, n);
    case Type::f32:
    case Type::f16:
    case Type::bf16: break;
  }
  return 0.0f;
}

float dot_float(Type type, const std::byte* row, const float* x, int64_t n) noexcept {
  const uint16_t* half = blocks<uint16_t>(row);
  const float* full = blocks<float>(row);
  switch (type) {
    case Type::f16: return strided(x, n, [half](int64_t i) { return half_to_float(half[i]); });
    case Type::bf16: return strided(x, n, [half](int64_t i) { return bfloat_to_float(half[i]); });
    default: return strided(x, n, [full](int64_t i) { return full[i]; });
  }
}

}  // namespace assay::engine::quant
