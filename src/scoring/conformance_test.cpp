#include "scoring/conformance.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace assay::scoring {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr uint32_t kVocab = 100;
using Logits = std::vector<TopLogit>;

TEST(Logits, CanonicalArgmaxTakesTheLowestIdOnTies) {
  EXPECT_EQ(canonical_argmax(Logits{{9, 1.0}, {4, 2.0}, {3, 2.0}}), 3);
  EXPECT_EQ(canonical_argmax({}), std::nullopt);
}

TEST(Logits, RankSortsByLogitThenId) {
  const Logits logits{{5, 1.0}, {2, 3.0}, {9, 3.0}, {1, 0.5}};
  EXPECT_EQ(rank_of(logits, 2), 1u);
  EXPECT_EQ(rank_of(logits, 9), 2u);
  EXPECT_EQ(rank_of(logits, 5), 3u);
  EXPECT_EQ(rank_of(logits, 1), 4u);
  EXPECT_EQ(rank_of(logits, 7), std::nullopt);
}

TEST(Logits, Trustworthy) {
  const Logits good{{5, 3.0}, {2, 1.0}, {9, 1.0}};
  EXPECT_TRUE(trustworthy(good, 5, kVocab));
  EXPECT_FALSE(trustworthy({}, 5, kVocab));
  EXPECT_FALSE(trustworthy(good, 2, kVocab));  // not the reported one
  EXPECT_FALSE(trustworthy(Logits{{5, 3.0}, {9, 1.0}, {2, 1.0}}, 5, kVocab));  // tie by id
  EXPECT_FALSE(trustworthy(Logits{{5, 1.0}, {2, 3.0}}, 5, kVocab));            // not descending
  EXPECT_FALSE(trustworthy(Logits{{5, 3.0}, {5, 1.0}}, 5, kVocab));            // twice
  EXPECT_FALSE(trustworthy(Logits{{5, 3.0}, {100, 1.0}}, 5, kVocab));          // outside
  EXPECT_FALSE(trustworthy(Logits{{5, 3.0}, {-1, 1.0}}, 5, kVocab));
  EXPECT_FALSE(trustworthy(Logits{{5, kNaN}, {2, 1.0}}, 5, kVocab));
  Logits nine;
  for (int i = 0; i < 9; ++i) nine.push_back({i, 9.0 - i});
  EXPECT_FALSE(trustworthy(nine, 0, kVocab));
  nine.pop_back();
  EXPECT_TRUE(trustworthy(nine, 0, kVocab));
}

TEST(Logits, ATieIsOneMillionthInclusive) {
  EXPECT_TRUE(tie_accept(2, 2, {}));
  EXPECT_FALSE(tie_accept(2, 5, {}));
  // 1e-6 below 0 is representable as the literal itself.
  EXPECT_TRUE(tie_accept(2, 5, Logits{{5, 0.0}, {2, -1e-6}}));
  EXPECT_FALSE(tie_accept(2, 5, Logits{{5, 0.0}, {2, -1.1e-6}}));
  EXPECT_FALSE(tie_accept(7, 5, Logits{{5, 0.0}, {2, -1e-6}}));
}

TEST(Tolerance, TenPercentIsExact) {
  const auto fails = [](uint64_t m, uint64_t n) { return exceeds_tolerance(m, n, 100); };
  // 6*1000 <= 100*64 = 6400 < 7*1000.
  EXPECT_FALSE(fails(6, 64));
  EXPECT_TRUE(fails(7, 64));
  EXPECT_FALSE(fails(10, 100));
  EXPECT_TRUE(fails(11, 100));
  for (const uint64_t n : {127u, 128u, 129u}) {
    EXPECT_FALSE(fails(12, n));
    EXPECT_TRUE(fails(13, n));
  }
  EXPECT_FALSE(fails(25, 256));
  EXPECT_TRUE(fails(26, 256));
  EXPECT_FALSE(fails(0, 1));
  EXPECT_TRUE(exceeds_tolerance(1, 1000, 0));
  EXPECT_FALSE(exceeds_tolerance(1000, 1000, 1000));
  // No overflow at the top of the range.
  constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();
  EXPECT_TRUE(fails(kMax, kMax));
  EXPECT_FALSE(fails(kMax / 10, kMax));
  EXPECT_TRUE(fails(kMax / 10 + 1, kMax));
}

BaseCase base_case(size_t steps) {
  BaseCase out{"c", {1}, {}};
  for (size_t i = 0; i < steps; ++i) out.expected_tokens.push_back(static_cast<int64_t>(i % 50));
  return out;
}
std::vector<Prediction> right(const BaseCase& one) {
  std::vector<Prediction> out;
  for (const int64_t token : one.expected_tokens) out.push_back({token, {{token, 5.0}}});
  return out;
}

TEST(BaseCaseVerdict, SixOfSixtyFourMayMissAndSevenMayNot) {
  const BaseCase expected = base_case(64);
  auto got = right(expected);
  CaseVerdict verdict = judge_base_case(expected, got, kVocab);
  EXPECT_TRUE(verdict.passed);
  EXPECT_EQ(verdict.checked_steps, 64u);
  EXPECT_EQ(verdict.first_failing_step, std::nullopt);
  for (size_t i = 10; i < 16; ++i) got[i] = {99, {{99, 5.0}}};
  verdict = judge_base_case(expected, got, kVocab);
  EXPECT_TRUE(verdict.passed);
  EXPECT_EQ(verdict.mismatches, 6u);
  got[60] = {99, {{99, 5.0}}};
  verdict = judge_base_case(expected, got, kVocab);
  EXPECT_FALSE(verdict.passed);
  EXPECT_EQ(verdict.mismatches, 7u);
  EXPECT_EQ(verdict.first_failing_step, 10u);
  EXPECT_EQ(verdict.checked_steps, 11u);  // first mismatch + 1
}

TEST(BaseCaseVerdict, TiesCountOnlyFromTrustworthyLogits) {
  const BaseCase expected = base_case(1);  // expects token 0
  const auto judge = [&](Prediction got) {
    return judge_base_case(expected, std::vector{std::move(got)}, kVocab).passed;
  };
  EXPECT_TRUE(judge({9, {{9, 0.0}, {0, -1e-6}}}));
  EXPECT_FALSE(judge({9, {{9, 0.0}, {0, -1.1e-6}}}));
  EXPECT_FALSE(judge({9, {{9, 0.0}, {0, -1e-6}, {0, -2e-6}}}));  // twice: not trusted
  EXPECT_FALSE(judge({9, {{0, 0.0}, {9, 0.0}}}));                // reported is not first
  EXPECT_FALSE(judge({9, {{9, kNaN}, {0, kNaN}}}));
  EXPECT_FALSE(judge({9, {}}));
}

AnchorCase anchor() {
  AnchorCase out;
  out.name = "a";
  out.context_tokens = {1};
  out.expected_token = 2;
  return out;
}
bool anchor_passes(const AnchorCase& expected, Logits logits, int64_t reported = 77) {
  const CaseVerdict verdict = judge_anchor(expected, {reported, std::move(logits)}, kVocab);
  EXPECT_EQ(verdict.checked_steps, 1u);
  return verdict.passed;
}

TEST(AnchorVerdict, BelievesTheLogitsAndNotTheReportedToken) {
  EXPECT_TRUE(anchor_passes(anchor(), {{2, 3.0}, {5, 1.0}}, 5));
  EXPECT_FALSE(anchor_passes(anchor(), {{5, 3.0}, {2, 1.0}}, 2));
  EXPECT_FALSE(anchor_passes(anchor(), {}, 2));
  EXPECT_FALSE(anchor_passes(anchor(), {{2, kNaN}}, 2));
  EXPECT_FALSE(anchor_passes(anchor(), {{2, 3.0}, {5, -std::numeric_limits<double>::infinity()}}));
}

TEST(AnchorVerdict, AcceptedTokensAndTies) {
  AnchorCase wide = anchor();
  wide.accepted_tokens = Tokens{5, 6};
  EXPECT_TRUE(anchor_passes(wide, {{6, 3.0}, {2, 1.0}}));
  EXPECT_TRUE(anchor_passes(anchor(), {{5, 0.0}, {2, -1e-6}}));
  EXPECT_FALSE(anchor_passes(anchor(), {{5, 0.0}, {2, -1e-6}, {2, -1e-6}}));  // not trusted
}

TEST(AnchorVerdict, RankRule) {
  AnchorCase ranked = anchor();
  ranked.max_expected_rank = 2;
  EXPECT_FALSE(anchor_passes(ranked, {{5, 3.0}, {2, 2.75}}));  // 0.25 below, default delta 1e-6
  ranked.max_top_logit_delta = 0.25;
  EXPECT_TRUE(anchor_passes(ranked, {{5, 3.0}, {2, 2.75}}));
  EXPECT_FALSE(anchor_passes(ranked, {{5, 3.0}, {2, 2.5}}));
  EXPECT_FALSE(anchor_passes(ranked, {{5, 3.0}, {6, 2.9}, {2, 2.8}}));  // third
  EXPECT_FALSE(anchor_passes(ranked, {{5, 3.0}, {6, 2.9}}));            // not listed
  EXPECT_FALSE(anchor_passes(ranked, {{2, 2.75}, {5, 3.0}}));           // order not trusted
}

TEST(FreeRunVerdict, ComparesThePrefix) {
  FreeRunCase expected{"f", {1}, {4, 5, 6}, std::nullopt};
  EXPECT_TRUE(judge_free_run(expected, Tokens{4, 5, 6}).passed);
  EXPECT_EQ(judge_free_run(expected, Tokens{4, 5, 6}).checked_steps, 3u);
  const CaseVerdict failed = judge_free_run(expected, Tokens{4, 9, 6});
  EXPECT_FALSE(failed.passed);
  EXPECT_EQ(failed.first_failing_step, 1u);
  EXPECT_EQ(failed.checked_steps, 2u);
  EXPECT_FALSE(judge_free_run(expected, Tokens{4, 5}).passed);
  expected.exact_prefix_tokens = 2;
  EXPECT_TRUE(judge_free_run(expected, Tokens{4, 5, 99}).passed);
  EXPECT_EQ(judge_free_run(expected, Tokens{4, 5, 99}).checked_steps, 2u);
}

TEST(ConformanceReport, AddsUpToTheFirstFailingCase) {
  // Base passes 64, anchor passes 1, a free run of 3 fails at step 1: 64 + 1 + 2 = 67.
  const CaseResult base{CaseKind::base, "c", {true, 64, std::nullopt, 0}};
  const CaseResult anchor_result{CaseKind::anchor, "a", {true, 1, std::nullopt, 0}};
  const CaseResult failing{CaseKind::free_run, "f", {false, 2, 1, 1}};
  const CaseResult after{CaseKind::free_run, "g", {false, 3, 2, 1}};
  const ConformanceReport report = summarize_conformance({base, anchor_result, failing, after}, 5);
  EXPECT_FALSE(report.passed);
  EXPECT_EQ(report.checked_steps, 67u);
  EXPECT_EQ(report.case_count, 5u);
  EXPECT_EQ(report.first_failing_case, "f");
  EXPECT_EQ(report.first_failing_step, 1u);
  EXPECT_EQ(report.error, "free-run token mismatch");
  EXPECT_EQ(report.cases.size(), 4u);

  const ConformanceReport passed = summarize_conformance({base, anchor_result}, 2);
  EXPECT_TRUE(passed.passed);
  EXPECT_EQ(passed.checked_steps, 65u);
  EXPECT_EQ(passed.error, "");
  EXPECT_EQ(failure_text(CaseKind::base), "teacher-forced token mismatch");
  EXPECT_EQ(failure_text(CaseKind::anchor), "anchor token mismatch");
}

}  // namespace
}  // namespace assay::scoring
