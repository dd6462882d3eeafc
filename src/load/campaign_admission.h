// What decides a cell before anything is measured: does the prompt fit the window, do weights and
// caches fit the memory. Pure arithmetic.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "load/cell_status.h"

namespace assay::load {

/// prompt + reservation <= window. Before the run the target stands in for the prompt.
[[nodiscard]] bool admits(int64_t prompt_tokens, int64_t output_reservation_tokens,
                          int64_t configured_window_tokens);

/// Bytes of the attention cache: per token x (prompt + reservation) x sequences. It informs the
/// capacity gate only; what really fits is seen at run time. Absent on overflow.
[[nodiscard]] std::optional<int64_t> kv_cache_bytes(int64_t kv_bytes_per_token,
                                                    int64_t prompt_tokens,
                                                    int64_t output_reservation_tokens,
                                                    int64_t sequences);

/// weights + caches < memory x (utilisation + 0.05); the addition is what allocators of serving
/// stacks take beyond their own setting.
[[nodiscard]] bool fits_memory(int64_t weights_bytes, int64_t cache_bytes, int64_t memory_bytes,
                               double utilisation);

/// "capacity_gated" and so on; nothing for another word.
[[nodiscard]] std::optional<CellStatus> status_from(std::string_view name);

}  // namespace assay::load
