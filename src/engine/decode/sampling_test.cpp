#include "engine/decode/sampling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace assay::engine::decode {
namespace {

Sampler sampler(const SamplingOptions& options) {
  auto made = Sampler::make(options);
  EXPECT_TRUE(made);
  return std::move(*made);
}

// log p of p = 0.5, 0.25, 0.15, 0.1, out of order.
const std::vector<float> kLogits = {std::log(0.15f), std::log(0.5f), std::log(0.1f),
                                    std::log(0.25f)};

std::vector<double> frequencies(const SamplingOptions& options, const std::vector<float>& logits,
                                int draws) {
  Sampler s = sampler(options);
  std::vector<double> out(logits.size(), 0.0);
  for (int i = 0; i < draws; ++i) out[static_cast<size_t>(s.next(logits))] += 1.0 / draws;
  return out;
}

// A frequency over n draws has standard deviation sqrt(p (1 - p) / n); five of them fail once in
// two million. The seed is fixed, so the outcome is too.
void expect_distribution(const std::vector<double>& seen, const std::vector<double>& expected,
                         int draws) {
  for (size_t i = 0; i < expected.size(); ++i) {
    const double p = expected[i];
    EXPECT_NEAR(seen[i], p, 5 * std::sqrt(p * (1 - p) / draws)) << i;
  }
}

constexpr int kDraws = 40000;

TEST(Sampling, DrawsInProportion) {
  expect_distribution(frequencies({.min_p = 0.0, .seed = 1}, kLogits, kDraws),
                      {0.15, 0.5, 0.1, 0.25}, kDraws);
}

// At temperature 0.5 probabilities go as p^2: 0.0225 + 0.25 + 0.01 + 0.0625 = 0.345.
TEST(Sampling, TemperatureSharpens) {
  expect_distribution(frequencies({.temperature = 0.5, .min_p = 0.0, .seed = 2}, kLogits, kDraws),
                      {0.0225 / 0.345, 0.25 / 0.345, 0.01 / 0.345, 0.0625 / 0.345}, kDraws);
}

TEST(Sampling, TopKKeepsTheLikeliest) {
  expect_distribution(frequencies({.top_k = 2, .min_p = 0.0, .seed = 3}, kLogits, kDraws),
                      {0.0, 0.5 / 0.75, 0.0, 0.25 / 0.75}, kDraws);
}

// 0.5 + 0.25 = 0.75 < 0.8, so the third comes in: 0.9 of the probability is held.
TEST(Sampling, TopPKeepsEnough) {
  expect_distribution(frequencies({.top_p = 0.8, .min_p = 0.0, .seed = 4}, kLogits, kDraws),
                      {0.15 / 0.9, 0.5 / 0.9, 0.0, 0.25 / 0.9}, kDraws);
}

// 0.4 * 0.5 = 0.2 drops 0.15 and 0.1.
TEST(Sampling, MinPDropsTheUnlikely) {
  expect_distribution(frequencies({.min_p = 0.4, .seed = 5}, kLogits, kDraws),
                      {0.0, 0.5 / 0.75, 0.0, 0.25 / 0.75}, kDraws);
}

TEST(Sampling, TopKOfEqualsTakesLowerIds) {
  const std::vector<float> equal(10, 1.0f);
  const auto seen = frequencies({.top_k = 3, .min_p = 0.0, .seed = 6}, equal, 2000);
  for (size_t i = 3; i < 10; ++i) EXPECT_EQ(seen[i], 0.0);
}

TEST(Sampling, ZeroTemperatureIsGreedy) {
  Sampler s = sampler({.temperature = 0.0});
  EXPECT_EQ(s.next(std::vector<float>{1.0f, 3.0f, 3.0f, 2.0f}), 1);
}

TEST(Sampling, MinPOneIsGreedy) {
  Sampler s = sampler({.min_p = 1.0, .seed = 7});
  for (int i = 0; i < 100; ++i) EXPECT_EQ(s.next(kLogits), 1);
}

TEST(Sampling, SameSeedSameTokens) {
  std::vector<float> logits;
  for (int i = 0; i < 5000; ++i) logits.push_back(static_cast<float>((i * 7919) % 1000) * 0.01f);
  Sampler a = sampler({.top_p = 0.9, .min_p = 0.0, .seed = 8});
  Sampler b = sampler({.top_p = 0.9, .min_p = 0.0, .seed = 8});
  Sampler c = sampler({.top_p = 0.9, .min_p = 0.0, .seed = 9});
  int different = 0;
  for (int i = 0; i < 200; ++i) {
    const int32_t token = a.next(logits);
    EXPECT_EQ(token, b.next(logits));
    different += token != c.next(logits);
  }
  EXPECT_GT(different, 100);
}

TEST(Sampling, ExtremeLogits) {
  Sampler s = sampler({.temperature = 0.01, .min_p = 0.0, .seed = 10});
  EXPECT_EQ(s.next(std::vector<float>{-1e30f, 1e30f, 0.0f}), 1);
  EXPECT_EQ(s.next(std::vector<float>{5.0f}), 0);
}

// SplitMix64 of seed 0 starts e220a8397b1dcdaf, 6e789e6aa1b965f4 (published outputs); xoshiro256**
// returns rotl(5 s1, 7) * 9 of its second state word first.
TEST(Random, FollowsItsSource) {
  const uint64_t s1 = 0x6e789e6aa1b965f4;
  EXPECT_EQ(Random(0).next(), std::rotl(s1 * 5, 7) * 9);
}

TEST(Random, UniformStaysBelowOne) {
  Random random(3);
  double sum = 0.0;
  for (int i = 0; i < 10000; ++i) {
    const double u = random.uniform();
    EXPECT_GE(u, 0.0);
    EXPECT_LT(u, 1.0);
    sum += u;
  }
  // Mean of n uniforms: standard deviation sqrt(1 / 12 n) = 0.0029.
  EXPECT_NEAR(sum / 10000, 0.5, 5 * 0.0029);
}

class SamplingRefusal : public testing::TestWithParam<SamplingOptions> {};

TEST_P(SamplingRefusal, IsNamed) {
  const auto made = Sampler::make(GetParam());
  ASSERT_FALSE(made);
  EXPECT_EQ(made.refusal().code, "DECODE-SAMPLING");
}

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
INSTANTIATE_TEST_SUITE_P(
    Ranges, SamplingRefusal,
    testing::Values(SamplingOptions{.temperature = kNan}, SamplingOptions{.temperature = 1e9},
                    SamplingOptions{.top_k = -1}, SamplingOptions{.top_k = 1025},
                    SamplingOptions{.top_p = 0.0}, SamplingOptions{.top_p = 1.5},
                    SamplingOptions{.top_p = kNan}, SamplingOptions{.min_p = -0.1},
                    SamplingOptions{.min_p = 2.0}));

}  // namespace
}  // namespace assay::engine::decode
