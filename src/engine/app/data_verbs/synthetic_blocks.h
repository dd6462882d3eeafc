// Random weights in every block format, the same bytes on every machine.
//
// Rule     a weight is uniform around 0 with the amplitude asked for; block scales are halves near
//          what that amplitude needs, so every decoded weight is finite and small. (A random half
//          as a scale gives infinities, and then every comparison passes on NaN.)
// Random   splitmix64 of (seed, tensor name, position): no state, any row by itself.
// Floats   only IEEE +, *, / and conversions; no library function whose last bit may differ.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "engine/quant/types.h"

namespace assay::engine::app {

/// A reproducible stream of 64-bit numbers addressed by position.
class Positional64 {
 public:
  Positional64(uint64_t seed, std::string_view name) noexcept;
  [[nodiscard]] uint64_t at(uint64_t position) const noexcept;

 private:
  uint64_t key_;
};

/// Fills whole rows of `n_in` weights of that type, starting with row `first_row`. Rows from
/// `zero_from` on decode to zero.
///
/// amplitude   largest magnitude of an F32 weight; quantised ones may exceed it by a third
/// Needs       rows.size() a multiple of the row size
void fill_rows(quant::Type type, uint64_t n_in, float amplitude, uint64_t zero_from,
               const Positional64& random, uint64_t first_row, std::span<std::byte> rows);

/// F32 values 1 ± 0.05: norm weights.
void fill_near_one(const Positional64& random, std::span<std::byte> values);

}  // namespace assay::engine::app
