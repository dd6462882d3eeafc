// Free-run audit: an engine's own counters of one decode run must add up.
//
// In      the counters of free_decode_run(N) of one stream
// Out     nothing (they agree), or FREE_RUN_CONSISTENCY with the rule that broke; and report-only
// metrics Order   token count, committed total, drafted < accepted, acceptance sum, round counter,
// disagreements
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace assay::scoring {

inline constexpr std::string_view kSeriesTeacherForced = "teacher_forced_v1";
inline constexpr std::string_view kSeriesFreeRun = "free_run_v1_1";
/// Two figures are comparable when their series tags are equal.
[[nodiscard]] bool series_comparable(std::string_view a, std::string_view b);

struct FreeRunCounters {
  uint64_t tokens_len = 0;                   // tokens in the response
  std::vector<uint32_t> acceptance_lengths;  // tokens committed by each round
  uint64_t drafted_total = 0;
  uint64_t accepted_total = 0;
  uint64_t committed_total = 0;
  int64_t completed_work = 0;  // rounds + 1 for the seed prefill
  std::optional<uint64_t> verify_replay_disagreements;
};

/// `tokens` = the N that was asked for. Refuses FREE_RUN_CONSISTENCY; its detail begins with the
/// rule's name: "token count", "committed total", "drafted < accepted", "acceptance sum", "round
/// counter", "disagreements exceed rejected".
[[nodiscard]] Status audit_free_run(const FreeRunCounters& counters, uint64_t tokens);

/// Report-only; flat names are `audit_spec_` + the member's name. Needs counters that passed the
/// audit.
struct FreeRunMetrics {
  double mean_acceptance_length = 0.0;  // 0 without rounds
  double median_acceptance_length = 0.0;
  uint64_t verified_token_count = 0;
  uint64_t rounds = 0;
  uint64_t drafted_total = 0;
  uint64_t accepted_total = 0;
  double effective_tokens_per_forward = 0.0;
  double effective_mean_draft_len = 0.0;
  uint64_t non_drafting_round_count = 0;  // rounds that committed at most one token
  std::optional<double> acceptance_rate;  // none when nothing was drafted
};
[[nodiscard]] FreeRunMetrics free_run_metrics(const FreeRunCounters& counters, uint64_t tokens);

}  // namespace assay::scoring
