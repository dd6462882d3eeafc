#include "load/campaign_status.h"

#include <algorithm>

#include "base/ensure.h"
#include "base/text.h"

namespace assay::load {

namespace {

struct Row {
  CellStatus status;
  std::string_view name;
  int exit;
};
constexpr Row kRows[] = {
    {CellStatus::success, "success", 0},
    {CellStatus::failed, "failed", 1},
    {CellStatus::capacity_gated, "capacity_gated", 1},
    {CellStatus::unsupported, "unsupported", 1},
    {CellStatus::aborted, "aborted", 1},
    {CellStatus::not_applicable, "not_applicable", 0},
};

// What a memory plan may exceed the utilisation by: allocator slack of the serving stacks.
constexpr double kUtilisationSlack = 0.05;

const Row& row_of(CellStatus status) {
  const auto* row = std::find_if(std::begin(kRows), std::end(kRows),
                                 [&](const Row& each) { return each.status == status; });
  ENSURE(row != std::end(kRows));
  return *row;
}

}  // namespace

std::string_view status_name(CellStatus status) {
  return row_of(status).name;
}

std::optional<CellStatus> status_from(std::string_view name) {
  for (const Row& row : kRows) {
    if (row.name == name) return row.status;
  }
  return std::nullopt;
}

int status_exit(CellStatus status) {
  return row_of(status).exit;
}

bool admits(int64_t prompt_tokens, int64_t output_reservation_tokens,
            int64_t configured_window_tokens) {
  // A subtraction of two non-negative numbers: the sum could overflow.
  return prompt_tokens <= configured_window_tokens - output_reservation_tokens;
}

std::string prompt_problem(const std::vector<int64_t>& actual_prompt_tokens,
                           int64_t requested_prompt_tokens, int64_t tolerance,
                           int64_t output_reservation_tokens, int64_t configured_window_tokens) {
  ENSURE(!actual_prompt_tokens.empty());
  const auto [low, high] =
      std::minmax_element(actual_prompt_tokens.begin(), actual_prompt_tokens.end());
  if (*low != *high) {
    return cat("the server counted between ", *low, " and ", *high,
               " prompt tokens: the repetitions are not of one length");
  }
  const int64_t off = *low > requested_prompt_tokens ? *low - requested_prompt_tokens
                                                     : requested_prompt_tokens - *low;
  if (off > tolerance) {
    return cat("the server counted ", *low, " prompt tokens, ", off, " off the requested ",
               requested_prompt_tokens, "; at most ", tolerance, " are tolerated");
  }
  if (!admits(*low, output_reservation_tokens, configured_window_tokens)) {
    return cat("prompt ", *low, " + reservation ", output_reservation_tokens,
               " exceeds the window ", configured_window_tokens);
  }
  return {};
}

std::optional<int64_t> kv_cache_bytes(int64_t kv_bytes_per_token, int64_t prompt_tokens,
                                      int64_t output_reservation_tokens, int64_t sequences) {
  int64_t tokens = 0, one = 0, all = 0;
  if (__builtin_add_overflow(prompt_tokens, output_reservation_tokens, &tokens) ||
      __builtin_mul_overflow(kv_bytes_per_token, tokens, &one) ||
      __builtin_mul_overflow(one, sequences, &all)) {
    return std::nullopt;
  }
  return all;
}

bool fits_memory(int64_t weights_bytes, int64_t cache_bytes, int64_t memory_bytes,
                 double utilisation) {
  return static_cast<double>(weights_bytes) + static_cast<double>(cache_bytes) <
         static_cast<double>(memory_bytes) * (utilisation + kUtilisationSlack);
}

}  // namespace assay::load
