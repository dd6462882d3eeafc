// The weight types that the engine computes with, by their GGUF ids.
//
// Sizes live in one table, gguf/types.h; here is the closed list that kernels switch over.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "engine/gguf/types.h"

namespace assay::engine::quant {

/// Values are GGUF type ids.
enum class Type : uint32_t {
  f32 = 0,
  f16 = 1,
  q4_0 = 2,
  q4_1 = 3,
  q5_0 = 6,
  q5_1 = 7,
  q8_0 = 8,
  q4_k = 12,
  q5_k = 13,
  q6_k = 14,
  iq4_nl = 20,
  bf16 = 30,
};

inline constexpr Type kTypes[] = {Type::f32,  Type::f16,  Type::bf16, Type::q8_0,
                                  Type::q4_0, Type::q4_1, Type::q5_0, Type::q5_1,
                                  Type::q4_k, Type::q5_k, Type::q6_k, Type::iq4_nl};

/// Activations are quantised in groups of 32 along the input dimension, whatever the weight type.
inline constexpr int64_t kGroup = 32;

[[nodiscard]] constexpr const gguf::TypeInfo& info(Type type) noexcept {
  return *gguf::find_type(static_cast<uint32_t>(type));
}

/// The type of that GGUF id, or nothing when this build does not compute with it.
[[nodiscard]] constexpr std::optional<Type> type_of(uint32_t gguf_id) noexcept {
  for (const Type type : kTypes) {
    if (static_cast<uint32_t>(type) == gguf_id) return type;
  }
  return std::nullopt;
}

/// Weights per block; n_in is a multiple of it.
[[nodiscard]] constexpr int64_t block_elements(Type type) noexcept {
  return info(type).block_elements;
}

/// Bytes of a row of n_in weights.
[[nodiscard]] constexpr int64_t row_bytes(Type type, int64_t n_in) noexcept {
  return n_in / info(type).block_elements * info(type).block_bytes;
}

/// F32, F16, BF16: multiplied with unquantised activations; every other type with int8 ones.
[[nodiscard]] constexpr bool is_float(Type type) noexcept {
  return type == Type::f32 || type == Type::f16 || type == Type::bf16;
}

}  // namespace assay::engine::quant
