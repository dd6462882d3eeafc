// The element types of GGUF tensors: how many weights a block holds and how many bytes it takes.
//
// One table for the whole engine: the reader computes tensor sizes from it, quant and kernels check
// their block structures against it, the model asks it which types may be bound.
// Source: docs/formats/gguf.md, "Element types".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace assay::engine::gguf {

struct TypeInfo {
  uint32_t id;
  std::string_view name;
  uint32_t block_elements;  // weights in a block; a row length is a multiple of it
  uint32_t block_bytes;
  bool computable;  // this build has kernels for it; other types may only ride along unbound
};

/// Ascending ids. Ids that are not here were removed from the format (4, 5, 31-33, 36-38) or are
/// newer than this build.
inline constexpr TypeInfo kTypes[] = {
    {0, "F32", 1, 4, true},          {1, "F16", 1, 2, true},
    {2, "Q4_0", 32, 18, true},       {3, "Q4_1", 32, 20, true},
    {6, "Q5_0", 32, 22, true},       {7, "Q5_1", 32, 24, true},
    {8, "Q8_0", 32, 34, true},       {9, "Q8_1", 32, 36, false},
    {10, "Q2_K", 256, 84, false},    {11, "Q3_K", 256, 110, false},
    {12, "Q4_K", 256, 144, true},    {13, "Q5_K", 256, 176, true},
    {14, "Q6_K", 256, 210, true},    {15, "Q8_K", 256, 292, false},
    {16, "IQ2_XXS", 256, 66, false}, {17, "IQ2_XS", 256, 74, false},
    {18, "IQ3_XXS", 256, 98, false}, {19, "IQ1_S", 256, 50, false},
    {20, "IQ4_NL", 32, 18, true},    {21, "IQ3_S", 256, 110, false},
    {22, "IQ2_S", 256, 82, false},   {23, "IQ4_XS", 256, 136, false},
    {24, "I8", 1, 1, false},         {25, "I16", 1, 2, false},
    {26, "I32", 1, 4, false},        {27, "I64", 1, 8, false},
    {28, "F64", 1, 8, false},        {29, "IQ1_M", 256, 56, false},
    {30, "BF16", 1, 2, true},        {34, "TQ1_0", 256, 54, false},
    {35, "TQ2_0", 256, 66, false},   {142, "PQ2_0", 128, 34, false}};

/// The row of the table, or null when this build does not know the id (or the name).
[[nodiscard]] constexpr const TypeInfo* find_type(uint32_t id) noexcept {
  for (const TypeInfo& type : kTypes) {
    if (type.id == id) return &type;
  }
  return nullptr;
}
[[nodiscard]] constexpr const TypeInfo* find_type(std::string_view name) noexcept {
  for (const TypeInfo& type : kTypes) {
    if (type.name == name) return &type;
  }
  return nullptr;
}

/// "Q4_K (12)", or "type 39" for an id that is not in the table: for messages.
[[nodiscard]] std::string type_label(uint32_t id);
/// "F32 (0), F16 (1), …": every computable type, for messages.
[[nodiscard]] std::string computable_types();

}  // namespace assay::engine::gguf
