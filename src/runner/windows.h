// The timed windows: prefill, teacher-forced decode, free-run decode.
//
// Clock     World::now() is read exactly twice a prefill run, twice a teacher-forced window and
//           three times a free-run window; the middle reading of the last closes the seed prefill
//           and opens the decode run, so that there is no gap. Tokens of a free run are compared
//           after the last reading, and phase_diagnostics lies outside every window.
// Refuses   what Session refuses, and WINDOW-INPUT-INVALID, RUN_TIMEOUT_BUDGET_INVALID,
//           TOKEN_MISMATCH (label and step, never a token value).
// Source    docs/protocol.md, "Timing"; docs/run.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "runner/clock.h"
#include "runner/session.h"
#include "runner/world.h"
#include "scoring/free_run.h"
#include "scoring/gain.h"
#include "scoring/statistics.h"

namespace assay::runner {

/// What a wrong token does. Mismatches are counted in every mode.
enum class VerifyMode {
  verify,        // any mismatch ends the window
  time_only,     // none does: warm-ups, and timing kept after a failed correctness check
  prefill_only,  // a wrong prefill token does; decode tokens are kept and judged later
};

/// How long a window may take: tokens x ceiling x margin. Liveness only, never scored.
struct RunBudget {
  double seconds_per_token_max = scoring::kRunTimeoutCeilingDefault;
  double margin = scoring::kRunTimeoutMargin;
};
/// Refuses RUN_TIMEOUT_BUDGET_INVALID when the product is not positive and finite.
[[nodiscard]] Result<Duration> run_budget(uint64_t tokens, const RunBudget& budget);

struct PrefillPlan {
  std::vector<int64_t> prompt;
  int64_t expected_token = 0;
  int warmup_runs = 0;
  int timed_runs = 1;
  VerifyMode verify = VerifyMode::verify;
  RunBudget budget;  // of one run
};

struct PrefillWindow {
  std::vector<Duration> timed;    // one entry per timed run, in order
  double seconds = 0;             // median of `timed`; an even count: mean of the two middle ones
  int64_t prompt_length = 0;      // tokens
  uint64_t token_mismatches = 0;  // runs whose token was wrong
  PhaseClose close;
  /// Refuses SCORE-WINDOW-NOT-POSITIVE.
  [[nodiscard]] Result<scoring::SecondsPerToken> seconds_per_token() const {
    return scoring::prefill_seconds_per_token(timed, prompt_length);
  }
};
/// A whole phase: begin, warm-up and timed runs, close.
[[nodiscard]] Result<PrefillWindow> measure_prefill(World& world, Session& session,
                                                    const PrefillPlan& plan);

struct DecodePlan {
  std::vector<int64_t> seed;
  int64_t expected_seed_token = 0;
  std::vector<int64_t> expected_tokens;  // at least `steps`: the tokens after the seed token
  uint32_t steps = 0;
  std::optional<protocol::SpecConfig> spec;
  VerifyMode verify = VerifyMode::verify;
  RunBudget budget;  // of steps tokens; one deadline for the whole window
};

struct DecodeWindow {
  Duration seed_prefill{0};  // free-run only; report only
  Duration decode{0};        // free-run: the decode run alone. Teacher-forced: the whole window
  uint32_t steps = 0;
  int64_t seed_token = 0;
  std::vector<int64_t> tokens;  // the engine's own, `steps` of them
  bool seed_token_matches = true;
  uint64_t token_mismatches = 0;                   // of `tokens`
  std::optional<uint64_t> first_mismatch;          // index into `tokens`
  std::optional<FreeRun> account;                  // free-run only
  std::optional<protocol::SpecConfig> spec;        // as asked for
  std::optional<scoring::FreeRunMetrics> metrics;  // free-run only; audit, never scored
  PhaseClose close;
  [[nodiscard]] Duration whole() const { return seed_prefill + decode; }
  /// Refuses SCORE-WINDOW-NOT-POSITIVE.
  [[nodiscard]] Result<scoring::SecondsPerToken> seconds_per_token() const {
    return scoring::decode_window_seconds_per_token(decode, steps);
  }
};
/// free_run_v1_1, the scored path: decode.seconds_per_token() is the decode run over its tokens.
[[nodiscard]] Result<DecodeWindow> measure_free_run(World& world, Session& session,
                                                    const DecodePlan& plan);
/// teacher_forced_v1: feeds the oracle's tokens, compares inside the window.
[[nodiscard]] Result<DecodeWindow> measure_teacher_forced(World& world, Session& session,
                                                          const DecodePlan& plan);

}  // namespace assay::runner
