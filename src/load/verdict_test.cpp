// The counting rules of a verdict, with the arithmetic by hand.
#include "load/verdict.h"

#include <gtest/gtest.h>

namespace assay::load {
namespace {

constexpr int64_t kDay = 86400;

ComparedRun run(std::string env, int64_t day, Pair candidate, Pair control) {
  return {.env_class = std::move(env),
          .config = "window 8192",
          .candidate = "new",
          .control = "old",
          .time_seconds = day * kDay,
          .candidate_pair = candidate,
          .control_pair = control,
          .source = "day " + std::to_string(day)};
}

TEST(VerdictPairs, FifteenPercentOfTheMean) {
  const VerdictRules rules;
  // |107.5 - 92.5| = 15, mean 100: exactly 15 %.
  EXPECT_TRUE(agrees({107.5, 92.5}, rules));
  // |108 - 92| = 16, mean 100: 16 %.
  EXPECT_FALSE(agrees({108, 92}, rules));
  EXPECT_TRUE(agrees({50, 50}, rules));
  EXPECT_FALSE(agrees({0, 0}, rules));
  EXPECT_FALSE(agrees({-1, 1}, rules));
}

TEST(VerdictPairs, BoundedRatesDifferByATenthAtMost) {
  VerdictRules rules;
  rules.bounded = true;
  EXPECT_TRUE(agrees({0.75, 0.8125}, rules));  // 0.0625
  EXPECT_FALSE(agrees({0.75, 0.875}, rules));  // 0.125; 15 % of the mean would let it pass
}

TEST(Verdict, FourRunsFiveDaysApartInBothClassesAreFinal) {
  std::vector<ComparedRun> runs;
  for (int64_t i = 0; i < 4; ++i) {
    runs.push_back(run("isolated", 5 * i, {120, 120}, {100, 100}));
    runs.push_back(run("under-load", 5 * i, {110, 110}, {100, 100}));
  }
  const auto verdicts = count_verdicts(runs, {});
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_TRUE(verdicts[0].final_);
  EXPECT_DOUBLE_EQ(verdicts[0].ratio("isolated"), 1.2);
  EXPECT_DOUBLE_EQ(verdicts[0].ratio("under-load"), 1.1);
  EXPECT_EQ(verdicts[0].sentence("isolated", {}),
            "new leads old as of 4 runs (in 4 of 4, median ratio candidate/control 1.200), final");
}

TEST(Verdict, OneClassAloneStaysProvisional) {
  std::vector<ComparedRun> runs;
  for (int64_t i = 0; i < 6; ++i) runs.push_back(run("isolated", 5 * i, {80, 80}, {100, 100}));
  const auto verdicts = count_verdicts(runs, {});
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_FALSE(verdicts[0].final_);
  EXPECT_EQ(verdicts[0].sentence("isolated", {}),
            "old leads new as of 6 runs (in 6 of 6, median ratio candidate/control 0.800), "
            "PROVISIONAL 4/4");
  EXPECT_EQ(verdicts[0].sentence("under-load", {}),
            "no counted run of new against old, PROVISIONAL 0/4");
}

TEST(Verdict, RunsCloserThanFiveDaysCountOnce) {
  // Day 0 counts, 4 is too close, 5 counts, 9 is too close to 5, 10 counts.
  std::vector<ComparedRun> runs;
  for (const int64_t day : {10, 0, 4, 9, 5}) runs.push_back(run("isolated", day, {2, 2}, {1, 1}));
  const auto verdicts = count_verdicts(runs, {});
  const ClassCount& count = verdicts.at(0).classes.at("isolated");
  EXPECT_EQ(count.ratios.size(), 3u);
  ASSERT_EQ(count.discarded.size(), 2u);
  EXPECT_EQ(count.discarded[0], "day 4: less than 5 days after the run counted before it");
  EXPECT_EQ(count.discarded[1], "day 9: less than 5 days after the run counted before it");
}

TEST(Verdict, ADivergentPairIsDiscardedWholeAndHoldsNoPlace) {
  // The control of day 0 diverges (|100 - 120| / 110 = 18 %): day 3 is then the first that counts.
  const auto verdicts = count_verdicts(
      {run("isolated", 0, {130, 130}, {100, 120}), run("isolated", 3, {130, 130}, {100, 104})}, {});
  const ClassCount& count = verdicts.at(0).classes.at("isolated");
  ASSERT_EQ(count.ratios.size(), 1u);
  EXPECT_DOUBLE_EQ(count.ratios[0], 130.0 / 102.0);
  ASSERT_EQ(count.discarded.size(), 1u);
  EXPECT_EQ(count.discarded[0], "day 0: the pair of old diverges (100.000 and 120.000)");
  EXPECT_EQ(verdicts[0].sentence("isolated", {}),
            "new leads old as of 1 run (in 1 of 1, median ratio candidate/control 1.275), "
            "PROVISIONAL 1/4");
}

TEST(Verdict, ConfigurationsAreNeverMixed) {
  ComparedRun other = run("isolated", 20, {2, 2}, {1, 1});
  other.config = "window 2048";
  const auto verdicts = count_verdicts({run("isolated", 0, {2, 2}, {1, 1}), other}, {});
  ASSERT_EQ(verdicts.size(), 2u);
  EXPECT_EQ(verdicts[0].classes.at("isolated").ratios.size(), 1u);
  EXPECT_EQ(verdicts[1].classes.at("isolated").ratios.size(), 1u);
}

TEST(Verdict, EqualModelsLeadNobody) {
  const auto verdicts = count_verdicts({run("isolated", 0, {5, 5}, {5, 5})}, {});
  EXPECT_EQ(verdicts.at(0).sentence("isolated", {}),
            "neither new nor old leads as of 1 run, PROVISIONAL 1/4");
}

}  // namespace
}  // namespace assay::load
