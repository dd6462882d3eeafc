#include "runner/conformance.h"

#include <utility>

#include "base/text.h"
#include "runner/refusals.h"

namespace assay::runner {
namespace {

using scoring::CaseKind;
using scoring::CaseResult;

scoring::Prediction for_scoring(Prediction prediction) {
  scoring::Prediction judged;
  judged.token = prediction.token;
  for (const auto& entry : prediction.top_logits) {
    judged.top_logits.push_back({entry.token, entry.logit});
  }
  return judged;
}

Result<CaseResult> run_base(Session& session, const scoring::BaseCase& golden,
                            const ConformancePlan& plan) {
  if (plan.steps == 0 || golden.expected_tokens.size() < plan.steps) {
    return Refusal(kConformanceCaseTooShort,
                   cat("case `", golden.name, "` has ", golden.expected_tokens.size(),
                       " expected tokens, ", plan.steps, " steps were asked for"));
  }
  session.begin_phase();
  std::vector<scoring::Prediction> predictions;
  TRY(first, session.correctness_begin(golden.prompt_tokens));
  predictions.push_back(for_scoring(std::move(first)));
  for (uint32_t i = 0; i + 1 < plan.steps; ++i) {
    TRY(next, session.correctness_step(golden.expected_tokens[i]));
    predictions.push_back(for_scoring(std::move(next)));
  }
  TRY_DO(session.close_phase());
  return CaseResult{CaseKind::base, golden.name,
                    scoring::judge_base_case(golden, predictions, plan.vocab_size)};
}

Result<CaseResult> run_anchor(Session& session, const scoring::AnchorCase& golden,
                              const ConformancePlan& plan) {
  session.begin_phase();
  TRY(prediction, session.correctness_begin(golden.context_tokens));
  TRY_DO(session.close_phase());
  return CaseResult{
      CaseKind::anchor, golden.name,
      scoring::judge_anchor(golden, for_scoring(std::move(prediction)), plan.vocab_size)};
}

Result<CaseResult> run_free(Session& session, const scoring::FreeRunCase& golden) {
  session.begin_phase();
  TRY(tokens, session.correctness(golden.prompt_tokens,
                                  static_cast<int64_t>(golden.expected_tokens.size())));
  TRY_DO(session.close_phase());
  return CaseResult{CaseKind::free_run, golden.name, scoring::judge_free_run(golden, tokens)};
}

}  // namespace

Result<scoring::ConformanceReport> run_conformance(Session& session, const scoring::Golden& golden,
                                                   const ConformancePlan& plan) {
  std::vector<CaseResult> results;
  for (const auto& base : golden.cases) {
    TRY(result, run_base(session, base, plan));
    results.push_back(std::move(result));
  }
  size_t case_count = golden.cases.size();
  if (plan.scope == ConformanceScope::full) {
    case_count = golden.total_correctness_case_count();
    if (golden.correctness_gates) {
      for (const auto& anchor : golden.correctness_gates->anchors) {
        TRY(result, run_anchor(session, anchor, plan));
        results.push_back(std::move(result));
      }
      for (const auto& free_run : golden.correctness_gates->free_run) {
        TRY(result, run_free(session, free_run));
        results.push_back(std::move(result));
      }
    }
  }
  return scoring::summarize_conformance(std::move(results), case_count);
}

}  // namespace assay::runner
