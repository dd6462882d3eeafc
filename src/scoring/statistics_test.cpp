#include "scoring/statistics.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

namespace assay::scoring {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

TEST(Statistics, MeanAddsFromLeftToRight) {
  // (0.1 + 0.2) + 0.3 = 0.6000000000000001 in binary64; 0.1 + (0.2 + 0.3) would be 0.6.
  EXPECT_EQ(mean(std::array{0.1, 0.2, 0.3}), (0.1 + 0.2 + 0.3) / 3);
  EXPECT_NE(mean(std::array{0.1, 0.2, 0.3}), (0.1 + (0.2 + 0.3)) / 3);
  EXPECT_TRUE(std::isnan(mean({})));
}

TEST(Statistics, EvenNMedian) {
  EXPECT_EQ(even_n_median(std::array{4.0, 1.0, 3.0, 2.0}), 2.5);
  EXPECT_EQ(even_n_median(std::array{3.0, 1.0, 2.0}), 2.0);
  EXPECT_EQ(even_n_median(std::array{1.02, 1.05}), 1.0350000000000001);
  EXPECT_TRUE(std::isnan(even_n_median({})));
  // NaN sorts above all numbers, so it cannot hide in the middle.
  EXPECT_EQ(even_n_median(std::array{kNaN, 1.0, 2.0}), 2.0);
}

TEST(Statistics, LowerMedianIndexKeepsTheOrderOfTies) {
  // Sorted: 1.1 1.2 1.3 1.4; element (4-1)/2 = 1 is 1.2, at index 3.
  EXPECT_EQ(lower_median_index(std::array{1.4, 1.1, 1.3, 1.2}), 3u);
  EXPECT_EQ(lower_median_index(std::array{1.2, 1.2}), 0u);
  EXPECT_EQ(lower_median_index(std::array{2.0, 1.0, 1.0, 1.0}), 2u);
  EXPECT_EQ(lower_median_index(std::array{0.0, -0.0}), 1u);  // -0 sorts before +0
  EXPECT_EQ(lower_median_index({}), std::nullopt);
}

TEST(Statistics, SampleCvPercent) {
  const std::array legs{0.000628, 0.000629, 0.000627, 0.00063};
  EXPECT_EQ(mean(legs), 0.0006284999999999999);
  EXPECT_EQ(sample_cv_percent(legs), 0.20540882239233685);
  const std::array decode{0.0329, 0.0330, 0.0329, 0.0331};
  EXPECT_EQ(mean(decode), 0.032975);
  EXPECT_EQ(sample_cv_percent(decode), 0.29034938825059453);
  EXPECT_NEAR(*sample_cv_percent(std::array{0.0329, 0.0338, 0.0329, 0.0331}), 1.2877, 5e-5);
}

TEST(Statistics, SampleCvIsAbsentWhereItMeansNothing) {
  EXPECT_EQ(sample_cv_percent(std::array{1.0}), std::nullopt);
  EXPECT_EQ(sample_cv_percent(std::array{1.0, -1.0}), std::nullopt);
  EXPECT_EQ(sample_cv_percent(std::array{1.0, kNaN}), std::nullopt);
  EXPECT_EQ(sample_cv_percent(std::array{1.0, kInf}), std::nullopt);
}

TEST(Statistics, StudentTQuantilesAreThoseOfTheTables) {
  // Printed tables of the two-sided 95 % point give three or four decimals.
  EXPECT_NEAR(student_t_quantile(0.975, 1), 12.7062, 5e-5);
  EXPECT_NEAR(student_t_quantile(0.975, 2), 4.3027, 5e-5);
  EXPECT_NEAR(student_t_quantile(0.975, 3), 3.1824, 5e-5);
  EXPECT_NEAR(student_t_quantile(0.975, 7), 2.3646, 5e-5);
  EXPECT_NEAR(student_t_quantile(0.975, 30), 2.0423, 5e-5);
  EXPECT_NEAR(student_t_quantile(0.80, 1), 1.3764, 5e-5);
  EXPECT_NEAR(student_t_quantile(0.80, 10), 0.8791, 5e-5);
  EXPECT_NEAR(student_t_quantile(0.975, 1e6), 1.95997, 1e-5);
  // One degree of freedom is the Cauchy distribution: tan(pi (p - 1/2)).
  EXPECT_NEAR(student_t_quantile(0.9, 1), std::tan(std::numbers::pi * 0.4), 1e-9);
  // Two degrees have a closed form: (2p-1) / sqrt(2 p (1-p)).
  EXPECT_NEAR(student_t_quantile(0.9, 2), 0.8 / std::sqrt(2 * 0.9 * 0.1), 1e-9);
  EXPECT_EQ(student_t_quantile(0.5, 4), 0.0);
  EXPECT_EQ(student_t_quantile(0.025, 3), -student_t_quantile(0.975, 3));
}

TEST(RunTimeout, MultipliesTokensCeilingAndMargin) {
  EXPECT_NEAR(*run_timeout_seconds(128), 68.410341668, 5e-10);
  EXPECT_EQ(*run_timeout_seconds(128), 128 * 0.1336139485703125 * 4.0);
  EXPECT_NEAR(*run_timeout_seconds(128, 0.0329116748046875 * 1.02), 17.18779305, 5e-9);
}

TEST(RunTimeout, RefusesEveryDegenerateInput) {
  for (const auto& result :
       {run_timeout_seconds(0), run_timeout_seconds(128, 0.0), run_timeout_seconds(128, -1.0),
        run_timeout_seconds(128, kNaN), run_timeout_seconds(128, kInf),
        run_timeout_seconds(128, 0.1, 0.0), run_timeout_seconds(128, 0.1, -4.0),
        run_timeout_seconds(128, 0.1, kNaN), run_timeout_seconds(128, 1e300, 1e300)}) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.refusal().code, "RUN_TIMEOUT_BUDGET_INVALID");
  }
}

}  // namespace
}  // namespace assay::scoring
