#include "scoring/gain.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace assay::scoring {
namespace {

using std::chrono::nanoseconds;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr ScoringWeights kWeights{0.75, 0.25};

TimedTerms terms() {
  TimedTerms out;
  out.weights = kWeights;
  out.floors = {0.95, 0.95};
  out.bands = {0.05, 0.05, 0.02, 0.05, false, false};
  return out;
}
LegFigures leg(double prefill, double decode) {
  return {{prefill}, {decode}, std::nullopt};
}

TEST(Windows, DecodeIsTheRunOverItsTokens) {
  // 4.2127 s over 128 tokens.
  EXPECT_EQ(decode_window_seconds_per_token(nanoseconds(4'212'700'000), 128)->value, 0.03291171875);
  // With the seed prefill of 0.6433 s it would be (4.2127 + 0.6433) / 128 = 0.0379375.
  EXPECT_EQ(decode_window_seconds_per_token(nanoseconds(4'856'000'000), 128)->value, 0.0379375);
  EXPECT_EQ(decode_window_seconds_per_token(nanoseconds(0), 128).refusal().code,
            "SCORE-WINDOW-NOT-POSITIVE");
  EXPECT_EQ(decode_window_seconds_per_token(nanoseconds(-1), 128).refusal().code,
            "SCORE-WINDOW-NOT-POSITIVE");
  EXPECT_EQ(decode_window_seconds_per_token(nanoseconds(1), 0).refusal().code,
            "SCORE-NO-COMMITTED-TOKENS");
}

TEST(Windows, PrefillIsTheMedianOfThePasses) {
  const std::vector<nanoseconds> passes{nanoseconds(3'000'000'000), nanoseconds(1'000'000'000),
                                        nanoseconds(2'000'000'000)};
  EXPECT_EQ(prefill_seconds_per_token(passes, 4)->value, 0.5);
  EXPECT_EQ(prefill_seconds_per_token(std::span(passes).first(2), 4)->value, 0.5);  // (3+1)/2 / 4
  EXPECT_EQ(prefill_seconds_per_token({}, 4).refusal().code, "SCORE-WINDOW-NOT-POSITIVE");
  EXPECT_EQ(prefill_seconds_per_token(passes, 0).refusal().code, "SCORE-NO-COMMITTED-TOKENS");
}

TEST(Speedup, IsZeroForFiguresThatCannotBeCompared) {
  EXPECT_EQ(speedup({0.033}, {0.022}), 1.5000000000000002);
  for (const double bad : {0.0, -1.0, kNaN, kInf}) {
    EXPECT_EQ(speedup({bad}, {0.022}), 0.0);
    EXPECT_EQ(speedup({0.022}, {bad}), 0.0);
  }
}

TEST(Composite, WorkedNumbers) {
  const double pg = speedup({0.00063}, {0.00060});
  const double dg = speedup({0.0330}, {0.0220});
  EXPECT_EQ(pg, 1.05);
  EXPECT_EQ(composite(pg, dg, kWeights), 1.372036828843042);
  EXPECT_EQ(composite(1.0, 2.0, kWeights), 1.681792830507429);  // 2^0.75
}

TEST(Composite, AWeightOfZeroDoesNotReadItsGain) {
  const ScoringWeights decode_only{1.0, 0.0};
  const double gain = 1.4622222222222223;
  EXPECT_EQ(composite(kNaN, gain, decode_only), gain);  // bit for bit
  EXPECT_EQ(composite(-1.0, gain, decode_only), gain);
  EXPECT_EQ(composite(gain, 0.0, {0.0, 2.0}), gain);
  EXPECT_TRUE(std::isnan(composite(gain, kNaN, decode_only)));
  EXPECT_TRUE(std::isnan(composite(gain, 0.0, decode_only)));
}

TEST(Composite, GuardsItsInputs) {
  EXPECT_TRUE(std::isnan(composite(1.0, 1.0, {0.0, 0.0})));
  EXPECT_TRUE(std::isnan(composite(1.0, 1.0, {-1.0, 2.0})));
  EXPECT_TRUE(std::isnan(composite(1.0, 1.0, {kNaN, 1.0})));
  EXPECT_TRUE(std::isnan(composite(1.0, 1.0, {kInf, 1.0})));
  EXPECT_TRUE(std::isnan(composite(0.0, 1.0, kWeights)));
  EXPECT_TRUE(std::isnan(composite(1.0, -1.0, kWeights)));
  EXPECT_EQ(composite(1.0, kInf, kWeights), kInf);
}

TEST(Floors, EqualityPasses) {
  EXPECT_TRUE(clears_floor(0.95, 0.95));
  EXPECT_FALSE(clears_floor(0.9482758620689656, 0.95));
  EXPECT_FALSE(clears_floor(kNaN, 0.95));
  EXPECT_FALSE(clears_floor(kInf, 0.95));
  EXPECT_FALSE(clears_floor(1.0, kNaN));
}

TEST(TimedRun, FloorMessageIsFixed) {
  const LegFigures base = leg(0.00063, 0.033);
  const TimedVerdict slow = evaluate_timed_run(base, leg(0.00060, 0.0348), terms());
  EXPECT_EQ(slow.decode_speedup, 0.9482758620689656);
  EXPECT_FALSE(slow.passed_decode_floor);
  EXPECT_TRUE(slow.passed_prefill_floor);
  EXPECT_EQ(slow.failure,
            "performance floor failed: decode_speedup=0.948276 floor=0.950000 "
            "prefill_speedup=1.050000 floor=0.950000");
  const TimedVerdict fine = evaluate_timed_run(base, leg(0.00060, 0.0220), terms());
  EXPECT_TRUE(fine.passed());
  EXPECT_EQ(fine.score, 1.372036828843042);
}

TEST(TimedRun, FailuresComeInOrder) {
  TimedTerms strict = terms();
  strict.bands.prefill_down_enabled = strict.bands.decode_down_enabled = true;
  const LegFigures base = leg(0.00063, 0.033);
  // A leg that was not measured: the composite is NaN, before any floor.
  EXPECT_EQ(evaluate_timed_run(base, leg(0.0, 0.02), strict).failure,
            "computed score was not finite");
  // Too fast on both axes: the prefill reason is the one.
  const TimedVerdict fast = evaluate_timed_run(base, leg(0.0001, 0.001), strict);
  EXPECT_EQ(fast.failure.find("acceptance band failed: prefill improvement too large"), 0u);
  const TimedVerdict decode = evaluate_timed_run(base, leg(0.00063, 0.001), strict);
  EXPECT_EQ(decode.failure.find("acceptance band failed: decode improvement too large"), 0u);
  // Slow prefill and too fast decode: floors come first.
  EXPECT_EQ(
      evaluate_timed_run(base, leg(0.01, 0.001), strict).failure.find("performance floor failed"),
      0u);
}

TEST(Bands, LowerEdgeIsInclusiveAndMayBeOff) {
  // 0.033 * (1 - 0.05) = 0.03135.
  const double edge = 0.033 * (1 - 0.05);
  EXPECT_TRUE(band_failure({0.0313}, {0.033}, 0.05, true, "decode"));
  EXPECT_FALSE(band_failure({0.0313}, {0.033}, 0.05, false, "decode"));
  EXPECT_FALSE(band_failure({edge}, {0.033}, 0.05, true, "decode"));
  EXPECT_TRUE(band_failure({std::nextafter(edge, 0.0)}, {0.033}, 0.05, true, "decode"));
  EXPECT_FALSE(band_failure({99.0}, {0.033}, 0.05, true, "decode"));  // slow is the floors' task
  for (const double bad : {0.0, -1.0, kNaN, kInf}) {
    EXPECT_NE(
        band_failure({bad}, {0.033}, 0.05, false, "decode")->find("must be finite and positive"),
        std::string::npos);
    EXPECT_TRUE(band_failure({0.03}, {bad}, 0.05, false, "decode"));
  }
}

}  // namespace
}  // namespace assay::scoring
