// Conformance: is the engine's answer the reference's answer? Verdicts over what it returned.
//
// In      expected tokens of one case, the tokens and top logits that the engine reported
// Out     a verdict with the steps that were checked
// Rules   an untrustworthy list of logits never widens acceptance; a tie is 1e-6 or closer to the
// first
//         logit; one base case may miss 10 % of its steps, inclusive (docs/formats/golden.md,
//         "Verdicts")
// Threads pure functions
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/message.h"
#include "scoring/golden.h"

namespace assay::scoring {

inline constexpr double kTieTolerance = 1e-6;
inline constexpr uint64_t kTokenTolerancePerThousand = 100;

using protocol::TopLogit;
/// One position: what the engine named, and its best entries (0 to 8).
struct Prediction {
  int64_t token = 0;
  std::vector<TopLogit> top_logits;
};

/// The highest logit's token, the lowest id on ties; none for no entries. NaN sorts above all.
[[nodiscard]] std::optional<int64_t> canonical_argmax(std::span<const TopLogit> logits);
/// 1-based place of `token` by logit descending, then id ascending; none when it is not listed.
[[nodiscard]] std::optional<size_t> rank_of(std::span<const TopLogit> logits, int64_t token);
/// 1..8 entries, the first is `reported`, ids in the vocabulary and unique, logits finite, in
/// strict order.
[[nodiscard]] bool trustworthy(std::span<const TopLogit> logits, int64_t reported,
                               uint32_t vocab_size);
/// Equal, or want's logit is known and at most 1e-6 below the first.
[[nodiscard]] bool tie_accept(int64_t want, int64_t got, std::span<const TopLogit> logits);
/// mismatches * 1000 > tolerance * tokens, in whole numbers that cannot overflow.
[[nodiscard]] bool exceeds_tolerance(uint64_t mismatches, uint64_t tokens,
                                     uint64_t tolerance_per_thousand);

struct CaseVerdict {
  bool passed = false;
  uint64_t checked_steps = 0;
  std::optional<uint64_t> first_failing_step;  // 0-based; set when not passed
  uint64_t mismatches = 0;
};

/// Teacher-forced. Needs predictions.size() == steps and expected.size() >= steps (the runner's
/// duty).
[[nodiscard]] CaseVerdict judge_base_case(const BaseCase& expected,
                                          std::span<const Prediction> predictions,
                                          uint32_t vocab_size);
[[nodiscard]] CaseVerdict judge_anchor(const AnchorCase& anchor, const Prediction& prediction,
                                       uint32_t vocab_size);
/// `generated` may be shorter than expected: the missing token is a failure at its step.
[[nodiscard]] CaseVerdict judge_free_run(const FreeRunCase& expected,
                                         std::span<const int64_t> generated);

enum class CaseKind { base, anchor, free_run };
/// "teacher-forced token mismatch", "anchor token mismatch", "free-run token mismatch".
[[nodiscard]] std::string_view failure_text(CaseKind kind);

struct CaseResult {
  CaseKind kind = CaseKind::base;
  std::string name;
  CaseVerdict verdict;
};
struct ConformanceReport {
  bool passed = false;
  uint64_t case_count = 0;     // every case of the golden, the unexecuted behavior cases included
  uint64_t checked_steps = 0;  // in order, up to and with the first failing case
  std::optional<std::string> first_failing_case;
  std::optional<uint64_t> first_failing_step;
  std::string error;  // empty when passed; never a token value
  std::vector<CaseResult> cases;
};
/// Results in run order: base, anchors, free run.
[[nodiscard]] ConformanceReport summarize_conformance(std::vector<CaseResult> cases,
                                                      uint64_t case_count);

}  // namespace assay::scoring
