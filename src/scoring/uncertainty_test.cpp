#include "scoring/uncertainty.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace assay::scoring {
namespace {

LegFigures leg(double prefill, double decode) {
  return {{prefill}, {decode}, std::nullopt};
}
constexpr ScoringWeights kDecodeOnly{1.0, 0.0};

// Decode gains only; prefill is equal on both sides.
std::vector<MeasuredPair> pairs_of(const std::vector<double>& gains) {
  std::vector<MeasuredPair> out;
  for (const double gain : gains) {
    out.push_back({static_cast<uint32_t>(out.size() + 1), "", leg(0.001, gain), leg(0.001, 1.0)});
  }
  return out;
}

TEST(Uncertainty, IntervalIsStudentsTOnLogarithms) {
  // Gains e^0.1 and e^0.3: mean 0.2, s = 0.1 sqrt(2), s/sqrt(2) = 0.1, t(0.975, 1) = 12.7062.
  const auto u = estimate_uncertainty(pairs_of({std::exp(0.1), std::exp(0.3)}), kDecodeOnly,
                                      PairOrder::control_first);
  EXPECT_EQ(u.method, kUncertaintyMethod);
  EXPECT_EQ(u.pairs, 2u);
  ASSERT_TRUE(u.composite);
  EXPECT_NEAR(u.composite->center, std::exp(0.2), 1e-12);
  EXPECT_NEAR(std::log(u.composite->low), 0.2 - 1.27062, 1e-5);
  EXPECT_NEAR(std::log(u.composite->high), 0.2 + 1.27062, 1e-5);
  EXPECT_NEAR(u.decode_speedup->center, std::exp(0.2), 1e-12);
  EXPECT_EQ(u.prefill_speedup->low, 1.0);
  EXPECT_EQ(u.prefill_speedup->high, 1.0);
  // (t(0.975, 1) + t(0.8, 1)) * 0.1 = (12.7062 + 1.3764) * 0.1.
  EXPECT_NEAR(std::log1p(*u.detectable_change), 1.40826, 1e-5);
  EXPECT_EQ(u.order_effect, std::nullopt);
}

TEST(Uncertainty, OrderEffectNeedsBothOrders) {
  // Pairs 1 and 3 run the control first, 2 and 4 the candidate.
  const auto u =
      estimate_uncertainty(pairs_of({std::exp(0.3), std::exp(0.1), std::exp(0.3), std::exp(0.1)}),
                           kDecodeOnly, PairOrder::counterbalanced);
  ASSERT_TRUE(u.order_effect);
  EXPECT_NEAR(*u.order_effect, std::expm1(0.2), 1e-12);
}

TEST(Uncertainty, EqualPairsHaveNoSpread) {
  const auto u =
      estimate_uncertainty(pairs_of({1.5, 1.5, 1.5}), kDecodeOnly, PairOrder::control_first);
  EXPECT_EQ(u.composite->low, u.composite->high);
  EXPECT_EQ(u.detectable_change, 0.0);
}

TEST(Uncertainty, SaysNothingWhereNothingCanBeSaid) {
  for (const auto& pairs : {pairs_of({}), pairs_of({1.5}), pairs_of({1.5, 0.0, 1.5})}) {
    const auto u = estimate_uncertainty(pairs, kDecodeOnly, PairOrder::counterbalanced);
    EXPECT_EQ(u.method, kUncertaintyNone);
    EXPECT_EQ(u.pairs, pairs.size());
    EXPECT_FALSE(u.composite || u.decode_speedup || u.prefill_speedup);
    EXPECT_FALSE(u.detectable_change || u.order_effect);
  }
}

}  // namespace
}  // namespace assay::scoring
