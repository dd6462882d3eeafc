#include "load/campaign_admission.h"

namespace assay::load {

namespace {
constexpr double kUtilisationSlack = 0.05;
}

bool admits(int64_t prompt_tokens, int64_t output_reservation_tokens,
            int64_t configured_window_tokens) {
  // A difference of two positive numbers: the sum could overflow.
  return prompt_tokens <= configured_window_tokens - output_reservation_tokens;
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

std::optional<CellStatus> status_from(std::string_view name) {
  for (const CellStatus status :
       {CellStatus::success, CellStatus::failed, CellStatus::capacity_gated,
        CellStatus::unsupported, CellStatus::aborted, CellStatus::not_applicable}) {
    if (name_of(status) == name) return status;
  }
  return std::nullopt;
}

}  // namespace assay::load
