// Half and bfloat16 to F32 and back, in integer arithmetic: the same bits everywhere.
#pragma once

#include <bit>
#include <cstdint>

namespace assay::engine::quant {

/// Exact. Subnormals, infinities and NaN payloads included.
[[nodiscard]] constexpr float half_to_float(uint16_t half) noexcept {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16;
  const uint32_t exponent = (half >> 10) & 0x1Fu;
  const uint32_t mantissa = half & 0x3FFu;
  if (exponent == 0x1Fu) {
    // A signalling NaN turns quiet, as the conversion instructions of every CPU do.
    const uint32_t quiet = mantissa != 0 ? 0x0040'0000u : 0u;
    return std::bit_cast<float>(sign | 0x7F80'0000u | quiet | (mantissa << 13));
  }
  if (exponent != 0)
    return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
  // mantissa * 2^-24, exact in F32
  const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
}

/// To nearest, ties to even; too large becomes infinity; NaN stays a quiet NaN.
[[nodiscard]] constexpr uint16_t float_to_half(float value) noexcept {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t magnitude = bits & 0x7FFF'FFFFu;
  if (magnitude > 0x7F80'0000u) {
    return static_cast<uint16_t>(sign | 0x7E00u | ((magnitude >> 13) & 0x3FFu));
  }
  if (magnitude >= 0x477F'F000u) return static_cast<uint16_t>(sign | 0x7C00u);  // >= 65520
  if (magnitude >= 0x3880'0000u) {  // >= 2^-14: a normal half
    const uint32_t rounded = magnitude + 0xFFFu + ((magnitude >> 13) & 1u);
    return static_cast<uint16_t>(sign | ((rounded - 0x3800'0000u) >> 13));
  }
  if (magnitude <= 0x3300'0000u) return static_cast<uint16_t>(sign);  // <= 2^-25 rounds to zero
  const uint32_t mantissa = (magnitude & 0x7F'FFFFu) | 0x80'0000u;
  const uint32_t shift = 126u - (magnitude >> 23);  // units of 2^-24
  const uint32_t kept = mantissa >> shift;
  const uint32_t rest = mantissa & ((1u << shift) - 1u);
  const uint32_t tie = 1u << (shift - 1u);
  const uint32_t up = (rest > tie || (rest == tie && (kept & 1u) != 0)) ? 1u : 0u;
  return static_cast<uint16_t>(sign | (kept + up));
}

/// Exact.
[[nodiscard]] constexpr float bfloat_to_float(uint16_t value) noexcept {
  return std::bit_cast<float>(static_cast<uint32_t>(value) << 16);
}

}  // namespace assay::engine::quant
