#include "scoring/free_run.h"

#include <gtest/gtest.h>

namespace assay::scoring {
namespace {

FreeRunCounters example() {
  FreeRunCounters out;
  out.tokens_len = 12;
  out.acceptance_lengths = {3, 2, 3, 1, 3};
  out.drafted_total = 15;
  out.accepted_total = 9;
  out.committed_total = 12;
  out.completed_work = 6;
  return out;
}
// The rule that broke, from the beginning of the detail.
std::string broken(const FreeRunCounters& counters) {
  const Status status = audit_free_run(counters, 12);
  if (status) return "";
  EXPECT_EQ(status.refusal().code, "FREE_RUN_CONSISTENCY");
  return status.refusal().detail.substr(0, status.refusal().detail.find(':'));
}

TEST(FreeRun, MetricsOfTheWorkedExample) {
  ASSERT_EQ(broken(example()), "");
  const FreeRunMetrics m = free_run_metrics(example(), 12);
  EXPECT_EQ(m.mean_acceptance_length, 2.4);  // 12 / 5
  EXPECT_EQ(m.median_acceptance_length, 3.0);
  EXPECT_EQ(m.verified_token_count, 12u);
  EXPECT_EQ(m.rounds, 5u);
  EXPECT_EQ(m.effective_tokens_per_forward, 2.4);
  EXPECT_EQ(m.effective_mean_draft_len, 2.4);
  EXPECT_EQ(m.non_drafting_round_count, 1u);
  EXPECT_EQ(m.acceptance_rate, 0.6);  // 9 / 15
}

TEST(FreeRun, EveryRuleHasItsOwnError) {
  FreeRunCounters c = example();
  c.tokens_len = 11;
  EXPECT_EQ(broken(c), "token count");
  c = example();
  c.committed_total = 13;
  EXPECT_EQ(broken(c), "committed total");
  c = example();
  c.drafted_total = 8;
  EXPECT_EQ(broken(c), "drafted < accepted");
  c = example();
  c.acceptance_lengths = {3, 2, 3, 1, 4};  // 13
  EXPECT_EQ(broken(c), "acceptance sum");
  c = example();
  c.completed_work = 5;
  EXPECT_EQ(broken(c), "round counter");
  c.completed_work = -1;
  EXPECT_EQ(broken(c), "round counter");
  c = example();
  c.verify_replay_disagreements = 7;  // only 15 - 9 = 6 were rejected
  EXPECT_EQ(broken(c), "disagreements exceed rejected");
  c.verify_replay_disagreements = 6;
  EXPECT_EQ(broken(c), "");
}

TEST(FreeRun, RulesAreCheckedInOrder) {
  FreeRunCounters c = example();
  c.verify_replay_disagreements = 99;
  c.completed_work = 99;
  EXPECT_EQ(broken(c), "round counter");
  c.acceptance_lengths = {99};
  EXPECT_EQ(broken(c), "acceptance sum");
  c.accepted_total = 99;
  EXPECT_EQ(broken(c), "drafted < accepted");
  c.committed_total = 99;
  EXPECT_EQ(broken(c), "committed total");
  c.tokens_len = 99;
  EXPECT_EQ(broken(c), "token count");
}

TEST(FreeRun, SerialRunHasNoAcceptanceRate) {
  FreeRunCounters c;
  c.tokens_len = c.committed_total = 4;
  c.acceptance_lengths = {1, 1, 1, 1};
  c.completed_work = 5;
  ASSERT_TRUE(audit_free_run(c, 4));
  const FreeRunMetrics m = free_run_metrics(c, 4);
  EXPECT_EQ(m.acceptance_rate, std::nullopt);
  EXPECT_EQ(m.non_drafting_round_count, 4u);
  EXPECT_EQ(m.median_acceptance_length, 1.0);
  EXPECT_EQ(free_run_metrics({}, 0).mean_acceptance_length, 0.0);  // no rounds
}

TEST(FreeRun, SeriesTagsCompareAsWholeStrings) {
  EXPECT_TRUE(series_comparable(kSeriesFreeRun, "free_run_v1_1"));
  EXPECT_FALSE(series_comparable(kSeriesFreeRun, kSeriesTeacherForced));
  EXPECT_FALSE(series_comparable("batched_free_run_v1_2_b8", "batched_free_run_v1_2_b16"));
}

}  // namespace
}  // namespace assay::scoring
