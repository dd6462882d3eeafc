#include "scoring/gain.h"

#include <cmath>
#include <limits>
#include <vector>

#include "base/text.h"
#include "scoring/refusals.h"
#include "scoring/statistics.h"

namespace assay::scoring {

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

bool usable(double value) {
  return std::isfinite(value) && value > 0.0;
}

Result<SecondsPerToken> per_token(double seconds, int64_t tokens, std::string_view window) {
  if (!usable(seconds)) {
    return Refusal(kScoreWindowNotPositive,
                   cat("the ", window, " window has no positive duration, expected time above 0"));
  }
  if (tokens <= 0) {
    return Refusal(kScoreNoCommittedTokens,
                   cat("the ", window, " window has ", tokens, " tokens, expected at least 1"));
  }
  return SecondsPerToken{seconds / static_cast<double>(tokens)};
}

// One axis of the composite. A weight of 0 does not read the gain; a share of exactly 1 keeps its
// bits.
double factor(double gain, double weight, double total) {
  if (weight == 0.0) return 1.0;
  if (std::isnan(gain) || gain <= 0.0) return kNaN;
  const double share = weight / total;
  return share == 1.0 ? gain : std::pow(gain, share);
}

}  // namespace

Result<SecondsPerToken> decode_window_seconds_per_token(std::chrono::nanoseconds decode_window,
                                                        int64_t tokens_committed) {
  return per_token(seconds_of(decode_window), tokens_committed, "decode");
}

Result<SecondsPerToken> prefill_seconds_per_token(
    std::span<const std::chrono::nanoseconds> timed_passes, int64_t prompt_tokens) {
  std::vector<double> seconds;
  for (const std::chrono::nanoseconds pass : timed_passes) {
    TRY_DO(per_token(seconds_of(pass), prompt_tokens, "prefill"));
    seconds.push_back(seconds_of(pass));
  }
  return per_token(even_n_median(seconds), prompt_tokens, "prefill");
}

double speedup(SecondsPerToken base, SecondsPerToken candidate) {
  if (!usable(base.value) || !usable(candidate.value)) return 0.0;
  return base.value / candidate.value;
}

double composite(double prefill_gain, double decode_gain, const ScoringWeights& weights) {
  const double total = weights.decode + weights.prefill;
  if (!std::isfinite(weights.decode) || !std::isfinite(weights.prefill) || weights.decode < 0.0 ||
      weights.prefill < 0.0 || !(total > 0.0)) {
    return kNaN;
  }
  return factor(decode_gain, weights.decode, total) * factor(prefill_gain, weights.prefill, total);
}

bool clears_floor(double gain, double floor) {
  return std::isfinite(gain) && std::isfinite(floor) && gain >= floor;
}

std::optional<std::string> band_failure(SecondsPerToken value, SecondsPerToken reference,
                                        double down_tolerance, bool down_enabled,
                                        std::string_view axis) {
  if (!usable(value.value) || !usable(reference.value)) {
    return cat(axis, " seconds per token and its reference must be finite and positive");
  }
  const double low = reference.value * (1.0 - down_tolerance);
  if (down_enabled && value.value < low) {
    return cat(axis, " improvement too large: ", format_double(value.value),
               " s/token is below the band's low edge ", format_double(low));
  }
  return std::nullopt;
}

TimedVerdict evaluate_timed_run(const LegFigures& base, const LegFigures& candidate,
                                const TimedTerms& terms) {
  TimedVerdict out;
  out.decode_speedup = speedup(base.decode, candidate.decode);
  out.prefill_speedup = speedup(base.prefill, candidate.prefill);
  out.score = composite(out.prefill_speedup, out.decode_speedup, terms.weights);
  return gate_timed_run(std::move(out), base, candidate, terms);
}

TimedVerdict gate_timed_run(TimedVerdict out, const LegFigures& base, const LegFigures& candidate,
                            const TimedTerms& terms) {
  out.passed_decode_floor = clears_floor(out.decode_speedup, terms.floors.decode);
  out.passed_prefill_floor = clears_floor(out.prefill_speedup, terms.floors.prefill);
  out.failure.clear();
  if (!std::isfinite(out.score) || out.score < 0.0) {
    out.failure = "computed score was not finite";
    return out;
  }
  if (!out.passed_decode_floor || !out.passed_prefill_floor) {
    out.failure =
        cat("performance floor failed: decode_speedup=", format_fixed(out.decode_speedup, 6),
            " floor=", format_fixed(terms.floors.decode, 6),
            " prefill_speedup=", format_fixed(out.prefill_speedup, 6),
            " floor=", format_fixed(terms.floors.prefill, 6));
    return out;
  }
  const AcceptanceBands& bands = terms.bands;
  auto band = band_failure(candidate.prefill, base.prefill, bands.prefill_down_tolerance,
                           bands.prefill_down_enabled, "prefill");
  if (!band) {
    band = band_failure(candidate.decode, base.decode, bands.decode_down_tolerance,
                        bands.decode_down_enabled, "decode");
  }
  if (band) out.failure = cat("acceptance band failed: ", *band);
  return out;
}

}  // namespace assay::scoring
