#include "bench/engine/statistics.h"

#include <gtest/gtest.h>

namespace assay::bench {
namespace {

TEST(Spread, OddCountTakesTheMiddle) {
  EXPECT_EQ(spread({3, 1, 2}).median, 2);
  EXPECT_EQ(spread({3, 1, 2}).low, 1);
  EXPECT_EQ(spread({3, 1, 2}).high, 3);
}

TEST(Spread, EvenCountTakesTheMeanOfTheTwoMiddleOnes) {
  EXPECT_EQ(spread({4, 1, 2, 9}).median, 3);
}

// 9 values: P(X <= 1) = (1 + 9) / 512 = 0.0195, twice that is 0.039 <= 0.05; with X <= 2 it is
// (1 + 9 + 36) / 512 * 2 = 0.18. So the second smallest and the second largest bound the median.
TEST(Spread, NineValuesDropOneAtEachEnd) {
  const Spread s = spread({1, 2, 3, 4, 5, 6, 7, 8, 9});
  EXPECT_EQ(s.low, 2);
  EXPECT_EQ(s.high, 8);
}

// 8 values: 2 * (1 + 8) / 256 = 0.07 > 0.05, so nothing may be dropped.
TEST(Spread, EightValuesKeepTheExtremes) {
  const Spread s = spread({1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_EQ(s.low, 1);
  EXPECT_EQ(s.high, 8);
}

}  // namespace
}  // namespace assay::bench
