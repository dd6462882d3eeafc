// What can become of a campaign's cell, and which guard decides it: pure arithmetic and words.
//
// A status that is not `success` is a fact about the cell, never a rate of zero.
// Threads   plain functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace assay::load {

enum class CellStatus { success, failed, capacity_gated, unsupported, aborted, not_applicable };

[[nodiscard]] std::string_view status_name(CellStatus status);
[[nodiscard]] std::optional<CellStatus> status_from(std::string_view name);
/// 0 for success and not_applicable, 1 for the rest.
[[nodiscard]] int status_exit(CellStatus status);

/// prompt + reservation <= window. Before the run the target stands in for the prompt.
[[nodiscard]] bool admits(int64_t prompt_tokens, int64_t output_reservation_tokens,
                          int64_t configured_window_tokens);

/// Why these prompt lengths, as the server counted them, are not the cell's: further than
/// `tolerance` from the request, unequal over the repetitions, or not admitted with the
/// reservation. Empty when they are right. Needs at least one count.
[[nodiscard]] std::string prompt_problem(const std::vector<int64_t>& actual_prompt_tokens,
                                         int64_t requested_prompt_tokens, int64_t tolerance,
                                         int64_t output_reservation_tokens,
                                         int64_t configured_window_tokens);

/// Bytes of the attention cache: per token x (prompt + reservation) x sequences. It informs the
/// capacity gate only; what really fits is seen at run time. Absent on overflow.
[[nodiscard]] std::optional<int64_t> kv_cache_bytes(int64_t kv_bytes_per_token,
                                                    int64_t prompt_tokens,
                                                    int64_t output_reservation_tokens,
                                                    int64_t sequences);

/// True when weights and caches stay below memory x (utilisation + 0.05).
[[nodiscard]] bool fits_memory(int64_t weights_bytes, int64_t cache_bytes, int64_t memory_bytes,
                               double utilisation);

}  // namespace assay::load
