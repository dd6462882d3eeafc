// Gain: from windows to seconds per token, to gains, to one composite, to floors and bands.
//
// In / Out  values only; binary64 in the order written in docs/formats/score.md, "Arithmetic"
// Errors    SCORE-WINDOW-NOT-POSITIVE, SCORE-NO-COMMITTED-TOKENS; a failed floor or band is a
// verdict, not
//           a refusal
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "scoring/contract.h"
#include "scoring/units.h"

namespace assay::scoring {

/// What one leg cost. A decode window lies wholly after the seed prefill, so the two never overlap.
struct LegFigures {
  SecondsPerToken prefill;
  SecondsPerToken decode;  // the decode window over its committed tokens
  std::optional<SecondsPerToken> seed_prefill_window;  // report-only: begin → seed token
};

/// Decode cost of one leg: the time of its decode run over the tokens that run committed.
/// decode_window [ns] parent's clock; tokens_committed: rejected drafts do not count.
/// Refuses SCORE-WINDOW-NOT-POSITIVE, SCORE-NO-COMMITTED-TOKENS
[[nodiscard]] Result<SecondsPerToken> decode_window_seconds_per_token(
    std::chrono::nanoseconds decode_window, int64_t tokens_committed);

/// Even-n median of the timed passes over the prompt's tokens. Refuses as above.
[[nodiscard]] Result<SecondsPerToken> prefill_seconds_per_token(
    std::span<const std::chrono::nanoseconds> timed_passes, int64_t prompt_tokens);

/// base / candidate; 0 when either is not finite and positive.
[[nodiscard]] double speedup(SecondsPerToken base, SecondsPerToken candidate);

/// Weighted geometric mean of the two gains. NaN for unusable weights or a weighted gain that is
/// NaN or
/// <= 0; a gain of weight 0 is not read; weight share 1 gives the gain bit for bit.
[[nodiscard]] double composite(double prefill_gain, double decode_gain,
                               const ScoringWeights& weights);

/// Both finite and gain >= floor.
[[nodiscard]] bool clears_floor(double gain, double floor);

/// The fast side of the candidate's acceptance band (the slow side is the floors' task). Empty =
/// inside.
[[nodiscard]] std::optional<std::string> band_failure(SecondsPerToken value,
                                                      SecondsPerToken reference,
                                                      double down_tolerance, bool down_enabled,
                                                      std::string_view axis);

/// What gates apply to a timed pair of figures.
struct TimedTerms {
  ScoringWeights weights;
  SpeedupFloors floors;
  AcceptanceBands bands;
};
struct TimedVerdict {
  double score = 0.0;  // the composite, whatever the gates say
  double decode_speedup = 0.0;
  double prefill_speedup = 0.0;
  bool passed_decode_floor = false;
  bool passed_prefill_floor = false;
  std::string failure;  // empty = passed; else the first failed gate's message

  [[nodiscard]] bool passed() const { return failure.empty(); }
};
/// Gates in order: score finite and not negative, floors, prefill band, decode band.
[[nodiscard]] TimedVerdict evaluate_timed_run(const LegFigures& base, const LegFigures& candidate,
                                              const TimedTerms& terms);

/// The gates alone, over gains and a score that are already in `verdict` (an aggregate's).
[[nodiscard]] TimedVerdict gate_timed_run(TimedVerdict verdict, const LegFigures& base,
                                          const LegFigures& candidate, const TimedTerms& terms);

}  // namespace assay::scoring
