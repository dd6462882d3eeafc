#include "engine/app/data_verbs/synthetic_blocks.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "engine/quant/half.h"

namespace assay::engine::app {
namespace {

using quant::Type;

constexpr uint64_t mix(uint64_t value) noexcept {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

// Uniform in [-1, 1): 24 bits, exact in F32.
float signed_unit(uint64_t bits) {
  return static_cast<float>(static_cast<int32_t>(bits >> 40) - (1 << 23)) * 0x1p-23f;
}

// Writes one block front to back; every draw comes from its own position.
class BlockWriter {
 public:
  BlockWriter(std::byte* at, const Positional64& random, uint64_t first_position)
      : at_(at), random_(random), position_(first_position) {}

  uint64_t draw() { return random_.at(position_++); }
  void byte(uint8_t value) { *at_++ = static_cast<std::byte>(value); }
  void half(float value) {
    const uint16_t bits = quant::float_to_half(value);
    std::memcpy(at_, &bits, sizeof bits);
    at_ += sizeof bits;
  }
  // n random bytes, eight a draw.
  void random_bytes(size_t n) {
    while (n > 0) {
      const uint64_t bits = draw();
      const size_t taken = std::min<size_t>(n, sizeof bits);
      std::memcpy(at_, &bits, taken);
      at_ += taken;
      n -= taken;
    }
  }
  // Scales differ from block to block: x 0.75 … 1.25.
  float vary(float scale) { return scale * (1.0f + 0.25f * signed_unit(draw())); }

 private:
  std::byte* at_;
  const Positional64& random_;
  uint64_t position_;
};

// The 6-bit scales and mins of a K-quant super-block, packed into 12 bytes. A min within 3 of its
// scale keeps the group's mean near zero when dmin = d * (half of the code range).
void write_k_scales(BlockWriter& out) {
  uint8_t scales[8];
  uint8_t mins[8];
  for (size_t j = 0; j < 8; ++j) {
    const uint64_t bits = out.draw();
    scales[j] = static_cast<uint8_t>(24 + bits % 37);                  // 24..60
    mins[j] = static_cast<uint8_t>(scales[j] - 3 + (bits >> 32) % 7);  // scale ± 3
  }
  for (size_t j = 0; j < 4; ++j) {
    out.byte(static_cast<uint8_t>(scales[j] | (scales[j + 4] >> 4) << 6));
  }
  for (size_t j = 0; j < 4; ++j) {
    out.byte(static_cast<uint8_t>(mins[j] | (mins[j + 4] >> 4) << 6));
  }
  for (size_t j = 4; j < 8; ++j) {
    out.byte(static_cast<uint8_t>((scales[j] & 15) | (mins[j] & 15) << 4));
  }
}

// `a` is the amplitude; 0 makes every scale, and so every weight, zero.
void write_block(Type type, float a, BlockWriter& out) {
  switch (type) {
    case Type::q8_0: out.half(out.vary(a / 127)); return out.random_bytes(32);
    case Type::q4_0: out.half(out.vary(a / 8)); return out.random_bytes(16);
    case Type::q4_1: {
      const float d = out.vary(a / 7.5f);
      out.half(d);
      out.half(d * -7.5f);
      return out.random_bytes(16);
    }
    case Type::q5_0: out.half(out.vary(a / 16)); return out.random_bytes(4 + 16);
    case Type::q5_1: {
      const float d = out.vary(a / 15.5f);
      out.half(d);
      out.half(d * -15.5f);
      return out.random_bytes(4 + 16);
    }
    case Type::q4_k: {
      const float d = out.vary(a / (60 * 7.5f));
      out.half(d);
      out.half(d * 7.5f);
      write_k_scales(out);
      return out.random_bytes(128);
    }
    case Type::q5_k: {
      const float d = out.vary(a / (60 * 15.5f));
      out.half(d);
      out.half(d * 15.5f);
      write_k_scales(out);
      return out.random_bytes(32 + 128);
    }
    case Type::q6_k:
      out.random_bytes(128 + 64);
      for (int j = 0; j < 16; ++j) {
        const uint64_t bits = out.draw();
        const int magnitude = 48 + static_cast<int>(bits % 80);  // 48..127
        out.byte(static_cast<uint8_t>((bits >> 63) != 0 ? -magnitude : magnitude));
      }
      return out.half(out.vary(a / (127 * 32)));
    case Type::iq4_nl: out.half(out.vary(a / 127)); return out.random_bytes(16);
    case Type::f16: return out.half(a * signed_unit(out.draw()));
    case Type::f32:
    case Type::bf16: {
      const uint32_t bits = std::bit_cast<uint32_t>(a * signed_unit(out.draw()));
      if (type == Type::f32) {
        out.byte(static_cast<uint8_t>(bits));
        out.byte(static_cast<uint8_t>(bits >> 8));
      }
      out.byte(static_cast<uint8_t>(bits >> 16));
      return out.byte(static_cast<uint8_t>(bits >> 24));
    }
  }
}

}  // namespace

Positional64::Positional64(uint64_t seed, std::string_view name) noexcept {
  uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  for (const char c : name) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3u;
  key_ = mix(hash ^ mix(seed + 0x9e3779b97f4a7c15u));
}

uint64_t Positional64::at(uint64_t position) const noexcept {
  return mix(key_ + (position + 1) * 0x9e3779b97f4a7c15u);
}

void fill_rows(Type type, uint64_t n_in, float amplitude, uint64_t zero_from,
               const Positional64& random, uint64_t first_row, std::span<std::byte> rows) {
  // More draws than any block makes; positions of two blocks never overlap.
  constexpr uint64_t kDrawsPerBlock = 64;
  const gguf::TypeInfo& info = quant::info(type);
  const uint64_t blocks_per_row = n_in / info.block_elements;
  const uint64_t n_rows = rows.size() / (blocks_per_row * info.block_bytes);
  std::byte* at = rows.data();
  for (uint64_t row = first_row; row < first_row + n_rows; ++row) {
    const float a = row < zero_from ? amplitude : 0.0f;
    for (uint64_t block = 0; block < blocks_per_row; ++block) {
      BlockWriter out(at, random, (row * blocks_per_row + block) * kDrawsPerBlock);
      write_block(type, a, out);
      at += info.block_bytes;
    }
  }
}

void fill_near_one(const Positional64& random, std::span<std::byte> values) {
  for (uint64_t i = 0; i < values.size() / sizeof(float); ++i) {
    const float value = 1.0f + 0.05f * signed_unit(random.at(i));
    std::memcpy(values.data() + i * sizeof value, &value, sizeof value);
  }
}

}  // namespace assay::engine::app
