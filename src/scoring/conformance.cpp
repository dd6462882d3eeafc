#include "scoring/conformance.h"

#include <algorithm>
#include <cmath>

#include "base/ensure.h"
#include "scoring/total_order.h"

namespace assay::scoring {

namespace {

// Logit descending, then id ascending.
bool before(const TopLogit& a, const TopLogit& b) {
  const int64_t key_a = total_order_key(a.logit);
  const int64_t key_b = total_order_key(b.logit);
  return key_a != key_b ? key_a > key_b : a.token < b.token;
}

const TopLogit* find_token(std::span<const TopLogit> logits, int64_t token) {
  const auto found = std::find_if(logits.begin(), logits.end(),
                                  [token](const TopLogit& entry) { return entry.token == token; });
  return found == logits.end() ? nullptr : &*found;
}

CaseVerdict failed_at(uint64_t step, uint64_t mismatches) {
  return CaseVerdict{false, step + 1, step, mismatches};
}

}  // namespace

std::optional<int64_t> canonical_argmax(std::span<const TopLogit> logits) {
  if (logits.empty()) return std::nullopt;
  return std::min_element(logits.begin(), logits.end(), before)->token;
}

std::optional<size_t> rank_of(std::span<const TopLogit> logits, int64_t token) {
  const TopLogit* wanted = find_token(logits, token);
  if (wanted == nullptr) return std::nullopt;
  const auto ahead = std::count_if(logits.begin(), logits.end(), [wanted](const TopLogit& other) {
    return before(other, *wanted);
  });
  return static_cast<size_t>(ahead) + 1;
}

bool trustworthy(std::span<const TopLogit> logits, int64_t reported, uint32_t vocab_size) {
  if (logits.empty() || logits.size() > kTopLogitsMax || logits.front().token != reported) {
    return false;
  }
  for (size_t i = 0; i < logits.size(); ++i) {
    const TopLogit& entry = logits[i];
    if (entry.token < 0 || entry.token >= static_cast<int64_t>(vocab_size)) return false;
    if (!std::isfinite(entry.logit)) return false;
    if (find_token(logits.first(i), entry.token) != nullptr) return false;
    if (i > 0) {
      // Values, not the total order: -0.0 and 0.0 are one logit and tie by id.
      const TopLogit& last = logits[i - 1];
      const bool ordered =
          last.logit > entry.logit || (last.logit == entry.logit && last.token < entry.token);
      if (!ordered) return false;
    }
  }
  return true;
}

bool tie_accept(int64_t want, int64_t got, std::span<const TopLogit> logits) {
  if (got == want) return true;
  const TopLogit* wanted = find_token(logits, want);
  return wanted != nullptr && logits.front().logit - wanted->logit <= kTieTolerance;
}

bool exceeds_tolerance(uint64_t mismatches, uint64_t tokens, uint64_t tolerance_per_thousand) {
  ENSURE(tolerance_per_thousand <= 1000);
  // Divided form of mismatches * 1000 > tolerance * tokens, where neither product can overflow:
  // tolerance * tokens = tolerance * (1000 q + r).
  const uint64_t whole = tolerance_per_thousand * (tokens / 1000);
  const uint64_t rest = tolerance_per_thousand * (tokens % 1000);
  if (mismatches <= whole) return false;
  return mismatches - whole > rest / 1000;
}

CaseVerdict judge_base_case(const BaseCase& expected, std::span<const Prediction> predictions,
                            uint32_t vocab_size) {
  ENSURE(!predictions.empty() && expected.expected_tokens.size() >= predictions.size());
  uint64_t mismatches = 0;
  uint64_t first_mismatch = 0;
  for (size_t i = 0; i < predictions.size(); ++i) {
    const Prediction& got = predictions[i];
    const bool trusted = trustworthy(got.top_logits, got.token, vocab_size);
    const std::span<const TopLogit> logits =
        trusted ? std::span<const TopLogit>(got.top_logits) : std::span<const TopLogit>();
    if (tie_accept(expected.expected_tokens[i], got.token, logits)) continue;
    if (mismatches++ == 0) first_mismatch = i;
  }
  if (exceeds_tolerance(mismatches, predictions.size(), kTokenTolerancePerThousand)) {
    return failed_at(first_mismatch, mismatches);
  }
  return CaseVerdict{true, predictions.size(), std::nullopt, mismatches};
}

CaseVerdict judge_anchor(const AnchorCase& anchor, const Prediction& prediction,
                         uint32_t vocab_size) {
  const std::span<const TopLogit> logits = prediction.top_logits;
  const CaseVerdict failed = failed_at(0, 1);
  const CaseVerdict passed{true, 1, std::nullopt, 0};
  const auto finite = [](const TopLogit& entry) { return std::isfinite(entry.logit); };
  if (logits.empty() || !std::all_of(logits.begin(), logits.end(), finite)) return failed;

  // The reported token is not believed: the logits say what the engine would have chosen.
  const int64_t argmax = *canonical_argmax(logits);
  const bool trusted = trustworthy(logits, argmax, vocab_size);
  const std::span<const TopLogit> usable = trusted ? logits : std::span<const TopLogit>();
  if (tie_accept(anchor.expected_token, argmax, usable)) return passed;
  for (const int64_t token : anchor.accepted_tokens.value_or(Tokens())) {
    if (tie_accept(token, argmax, usable)) return passed;
  }
  if (!anchor.max_expected_rank) return failed;
  const auto rank = rank_of(usable, anchor.expected_token);
  if (!rank || *rank > *anchor.max_expected_rank) return failed;
  const double below = usable.front().logit - find_token(usable, anchor.expected_token)->logit;
  return below <= anchor.max_top_logit_delta.value_or(kTieTolerance) ? passed : failed;
}

CaseVerdict judge_free_run(const FreeRunCase& expected, std::span<const int64_t> generated) {
  const size_t steps =
      expected.exact_prefix_tokens.value_or(static_cast<uint32_t>(expected.expected_tokens.size()));
  for (size_t i = 0; i < steps; ++i) {
    if (i >= generated.size() || generated[i] != expected.expected_tokens[i]) {
      return failed_at(i, 1);
    }
  }
  return CaseVerdict{true, steps, std::nullopt, 0};
}

std::string_view failure_text(CaseKind kind) {
  switch (kind) {
    case CaseKind::base: return "teacher-forced token mismatch";
    case CaseKind::anchor: return "anchor token mismatch";
    case CaseKind::free_run: return "free-run token mismatch";
  }
  return "";
}

ConformanceReport summarize_conformance(std::vector<CaseResult> cases, uint64_t case_count) {
  ConformanceReport report;
  report.passed = true;
  report.case_count = case_count;
  for (const CaseResult& one : cases) {
    report.checked_steps += one.verdict.checked_steps;
    if (one.verdict.passed) continue;
    report.passed = false;
    report.first_failing_case = one.name;
    report.first_failing_step = one.verdict.first_failing_step;
    report.error = failure_text(one.kind);
    break;
  }
  report.cases = std::move(cases);
  return report;
}

}  // namespace assay::scoring
