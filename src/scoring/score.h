// Score: pairs of measured legs become one score under the contract's rule.
//
// In      pairs in measurement order; weights, floors, bands and rule of the contract
// Out     PairedScore: the figures that are sealed, the gates' verdict, the pair that correctness
// runs on Rules   lower_median  the pair at (n-1)/2 of a stable ascending sort of composites; only
// it is gated
//         mean          every pair is gated, first failure refuses; figures are means over pairs
//         ratio_of_sums gains are sums of control over sums of candidate; the aggregate is gated
// Source  docs/formats/score.md, "Pairs"
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "scoring/contract.h"
#include "scoring/gain.h"

namespace assay::scoring {

struct MeasuredPair {
  uint32_t pair = 0;          // 1-based
  std::string prompt_sha256;  // digest of the golden this pair ran
  LegFigures control;
  LegFigures candidate;
};

struct PairedTerms {
  TimedTerms timed;
  PairCombine combine = PairCombine::lower_median;
};

struct PairedScore {
  TimedVerdict verdict;  // of the scored pair, of the first failing pair, or of the aggregate
  LegFigures control;    // run-level figures, as sealed
  LegFigures candidate;
  size_t lower_median_pair = 0;    // index into the pairs: correctness runs on its golden
  std::vector<double> composites;  // one a pair

  /// The score, when the gates passed.
  [[nodiscard]] std::optional<double> score() const {
    if (!verdict.passed()) return std::nullopt;
    return verdict.score;
  }
};

/// Refuses SCORE-NO-PAIRS.
[[nodiscard]] Result<PairedScore> combine_pairs(std::span<const MeasuredPair> pairs,
                                                const PairedTerms& terms);

/// The golden of pair `pair` (1-based) among `goldens`: (pair - 1) mod goldens.
[[nodiscard]] constexpr size_t golden_index_of_pair(uint32_t pair, size_t goldens) {
  return (pair - 1) % goldens;
}
/// Refuses GOLDEN-COUNT-MISMATCH (no golden), OFFICIAL-PAIRS-NOT-A-MULTIPLE-OF-GOLDENS.
[[nodiscard]] Status check_pair_count(uint32_t official_pairs, size_t goldens);

}  // namespace assay::scoring
