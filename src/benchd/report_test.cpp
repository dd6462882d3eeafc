#include "benchd/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay::benchd {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Align, FirstColumnLeftTheOthersRight) {
  EXPECT_THAT(align({{"", "tok/s", "x"}, {"prefill", "9.5", "ok"}, {"d", "100.25"}}),
              ElementsAre("          tok/s   x", "prefill     9.5  ok", "d        100.25"));
}

TEST(Align, ColoursAndLongCharactersHaveTheirScreenWidth) {
  EXPECT_THAT(align({{"a", "\033[32mok\033[0m"}, {"é", "long"}}),
              ElementsAre("a    \033[32mok\033[0m", "é  long"));
}

scoring::ScoreDocument document() {
  scoring::ScoreDocument d;
  d.metrics.baseline_prefill_seconds_per_token = 0.002;
  d.metrics.prefill_seconds_per_token = 0.001;
  d.metrics.baseline_decode_seconds_per_token = 0.02;
  d.metrics.decode_seconds_per_token = 0.025;
  d.metrics.prefill_speedup = 2.0;
  d.metrics.decode_speedup = 0.8;
  d.metrics.prefill_speedup_floor = 0.9;
  d.metrics.decode_speedup_floor = 0.9;
  d.metrics.passed_prefill_speedup_floor = true;
  return d;
}

TEST(PairedTable, ShowsBothLegsGainsAndFloors) {
  const auto lines = paired_table(document(), false);
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_THAT(lines[1], HasSubstr("500.00"));   // 1 / 0.002
  EXPECT_THAT(lines[1], HasSubstr("1000.00"));  // 1 / 0.001
  EXPECT_THAT(lines[1], testing::EndsWith("0.9000      ok"));
  EXPECT_THAT(lines[2], HasSubstr("50.00"));  // 1 / 0.02
  EXPECT_THAT(lines[2], HasSubstr("40.00"));  // 1 / 0.025
  EXPECT_THAT(lines[2], testing::EndsWith("MISSED"));
  EXPECT_EQ(lines[3], "score none");
}

TEST(PairedTable, IntervalsWhereThereAreSome) {
  scoring::ScoreDocument d = document();
  d.score = 1.25;
  d.metrics.uncertainty = scoring::Uncertainty{};
  d.metrics.uncertainty->composite = scoring::Interval{1.0, 1.25, 1.5};
  d.metrics.uncertainty->detectable_change = 0.031;
  const auto lines = paired_table(d, false);
  EXPECT_EQ(lines[3], "score 1.2500  (95 % interval 1.0000 .. 1.5000)");
  EXPECT_EQ(lines[4], "smallest change this run could have shown: 3.1 %");
}

TEST(PairedTable, ColourOnlyWhenAsked) {
  for (const std::string& line : paired_table(document(), false)) {
    EXPECT_EQ(line.find('\033'), std::string::npos);
  }
  EXPECT_THAT(paired_table(document(), true)[2], HasSubstr("\033[31mMISSED\033[0m"));
}

}  // namespace
}  // namespace assay::benchd
