#include "scoring/score.h"

#include <gtest/gtest.h>

#include <vector>

namespace assay::scoring {
namespace {

LegFigures leg(double prefill, double decode) {
  return {{prefill}, {decode}, std::nullopt};
}

// The three worked pairs: control and candidate, prefill and decode seconds per token.
std::vector<MeasuredPair> worked() {
  return {{1, "a", leg(0.00063, 0.0330), leg(0.00060, 0.0220)},
          {2, "a", leg(0.00064, 0.0331), leg(0.00061, 0.0215)},
          {3, "a", leg(0.00062, 0.0329), leg(0.00062, 0.0225)}};
}
PairedTerms terms(PairCombine combine) {
  PairedTerms out;
  out.timed = {{0.75, 0.25}, {0.95, 0.95}, {0.05, 0.05, 0.02, 0.05, false, false}};
  out.combine = combine;
  return out;
}
PairedScore combine(const std::vector<MeasuredPair>& pairs, const PairedTerms& paired_terms) {
  auto score = combine_pairs(pairs, paired_terms);
  EXPECT_TRUE(score);
  return *std::move(score);
}

TEST(PairedScore, CompositeOfEachPair) {
  const PairedScore score = combine(worked(), terms(PairCombine::lower_median));
  EXPECT_EQ(score.composites,
            (std::vector{1.372036828843042, 1.3987969772336133, 1.3297194916037505}));
}

TEST(PairedScore, LowerMedianSealsOnePair) {
  const PairedScore three = combine(worked(), terms(PairCombine::lower_median));
  // Sorted 1.3297 1.3720 1.3988: element (3-1)/2 = 1 is pair 1.
  EXPECT_EQ(three.score(), 1.372036828843042);
  EXPECT_EQ(three.lower_median_pair, 0u);
  EXPECT_EQ(three.control.decode.value, 0.0330);
  EXPECT_EQ(three.candidate.decode.value, 0.0220);
  EXPECT_EQ(three.verdict.decode_speedup, 1.5000000000000002);

  auto two = worked();
  two.pop_back();
  EXPECT_EQ(combine(two, terms(PairCombine::lower_median)).score(), 1.372036828843042);
}

TEST(PairedScore, MeanOfPairs) {
  const PairedScore three = combine(worked(), terms(PairCombine::mean));
  EXPECT_EQ(three.score(), 1.3668510992268021);
  EXPECT_EQ(three.verdict.prefill_speedup, 1.0330601092896174);
  EXPECT_EQ(three.verdict.decode_speedup, 1.500585701981051);
  // Figures are means of the pairs, never derived from another mean.
  EXPECT_EQ(three.control.decode.value, (0.0330 + 0.0331 + 0.0329) / 3);
  EXPECT_EQ(three.candidate.prefill.value, (0.00060 + 0.00061 + 0.00062) / 3);
  EXPECT_EQ(three.lower_median_pair, 0u);  // correctness still runs on this pair's golden

  auto two = worked();
  two.pop_back();
  EXPECT_EQ(combine(two, terms(PairCombine::mean)).score(), 1.3854169030383277);
}

TEST(PairedScore, RatioOfSums) {
  const PairedScore three = combine(worked(), terms(PairCombine::ratio_of_sums));
  EXPECT_EQ(three.score(), 1.3663788244941915);
  EXPECT_EQ(three.verdict.prefill_speedup, 1.0327868852459017);
  EXPECT_EQ(three.verdict.decode_speedup, 1.4999999999999998);

  auto two = worked();
  two.pop_back();
  EXPECT_EQ(combine(two, terms(PairCombine::ratio_of_sums)).score(), 1.3852837492878842);
}

TEST(PairedScore, LowerMedianIgnoresAFailingPairThatIsNotScored) {
  auto pairs = worked();
  pairs[2].candidate.decode.value = 0.1;  // far below the floor, the lowest composite
  const PairedScore score = combine(pairs, terms(PairCombine::lower_median));
  EXPECT_TRUE(score.verdict.passed());
  EXPECT_EQ(score.score(), 1.372036828843042);
}

TEST(PairedScore, MeanRefusesOnTheFirstFailingPairWithItsFigures) {
  auto pairs = worked();
  pairs[1].candidate.decode.value = 0.1;
  pairs[2].candidate.decode.value = 0.2;
  const PairedScore score = combine(pairs, terms(PairCombine::mean));
  EXPECT_EQ(score.score(), std::nullopt);
  // 0.0331 / 0.1 = 0.331.
  EXPECT_EQ(score.verdict.failure,
            "pair 2 of 3: performance floor failed: decode_speedup=0.331000 floor=0.950000 "
            "prefill_speedup=1.049180 floor=0.950000");
  EXPECT_EQ(score.candidate.decode.value, 0.1);
}

TEST(PairedScore, RatioOfSumsGatesTheAggregateOnly) {
  auto pairs = worked();
  pairs[2].candidate.decode.value = 0.05;  // 0.658 alone; 0.099 / 0.0935 = 1.0588 in sum
  EXPECT_TRUE(combine(pairs, terms(PairCombine::ratio_of_sums)).verdict.passed());
  EXPECT_FALSE(combine(pairs, terms(PairCombine::mean)).verdict.passed());
  pairs[2].candidate.decode.value = 0.07;  // 0.099 / 0.1135 = 0.872
  EXPECT_EQ(combine(pairs, terms(PairCombine::ratio_of_sums))
                .verdict.failure.find("performance floor failed: decode_speedup=0.872"),
            0u);
}

TEST(PairedScore, SeedWindowIsAMeanOnlyWhenEveryPairHasOne) {
  auto pairs = worked();
  pairs[0].candidate.seed_prefill_window = SecondsPerToken{0.001};
  pairs[1].candidate.seed_prefill_window = SecondsPerToken{0.002};
  EXPECT_FALSE(combine(pairs, terms(PairCombine::mean)).candidate.seed_prefill_window);
  pairs[2].candidate.seed_prefill_window = SecondsPerToken{0.003};
  EXPECT_EQ(combine(pairs, terms(PairCombine::mean)).candidate.seed_prefill_window->value,
            (0.001 + 0.002 + 0.003) / 3);
  EXPECT_EQ(combine(pairs, terms(PairCombine::lower_median)).candidate.seed_prefill_window->value,
            0.001);
}

TEST(PairedScore, AnUnmeasuredLegNeverGivesAScore) {
  auto pairs = worked();
  pairs.resize(1);
  pairs[0].candidate.decode.value = 0.0;
  for (const PairCombine rule :
       {PairCombine::lower_median, PairCombine::mean, PairCombine::ratio_of_sums}) {
    EXPECT_EQ(combine(pairs, terms(rule)).score(), std::nullopt);
  }
  EXPECT_EQ(combine_pairs({}, terms(PairCombine::mean)).refusal().code, "SCORE-NO-PAIRS");
}

TEST(Pairs, AreSharedOutOverGoldens) {
  EXPECT_EQ(golden_index_of_pair(1, 2), 0u);
  EXPECT_EQ(golden_index_of_pair(2, 2), 1u);
  EXPECT_EQ(golden_index_of_pair(3, 2), 0u);
  EXPECT_TRUE(check_pair_count(4, 2));
  EXPECT_EQ(check_pair_count(3, 2).refusal().code, "OFFICIAL-PAIRS-NOT-A-MULTIPLE-OF-GOLDENS");
  EXPECT_EQ(check_pair_count(0, 1).refusal().code, "OFFICIAL-PAIRS-NOT-A-MULTIPLE-OF-GOLDENS");
  EXPECT_EQ(check_pair_count(4, 0).refusal().code, "GOLDEN-COUNT-MISMATCH");
}

}  // namespace
}  // namespace assay::scoring
