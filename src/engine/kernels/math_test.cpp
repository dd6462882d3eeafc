// Our own functions against the C library's, evaluated in double or long double.
#include "engine/kernels/math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace assay::engine::kernels {
namespace {

TEST(CosSin, AgreesWithTheLibraryUpToAMillionRadians) {
  std::mt19937_64 rng(1);
  for (const double limit : {1.0, 100.0, 1e5, 1e6, 1e9}) {
    std::uniform_real_distribution<double> angle(-limit, limit);
    for (int i = 0; i < 20'000; ++i) {
      const double theta = angle(rng);
      const CosSin got = cos_sin(theta);
      ASSERT_NEAR(got.cos, std::cos(theta), 0x1p-51) << theta;
      ASSERT_NEAR(got.sin, std::sin(theta), 0x1p-51) << theta;
    }
  }
}

TEST(CosSin, RoundedToFloatItIsWithinOneStep) {
  std::mt19937_64 rng(2);
  std::uniform_real_distribution<double> angle(0.0, 1e6);
  for (int i = 0; i < 20'000; ++i) {
    const double theta = angle(rng);
    const float got = static_cast<float>(cos_sin(theta).cos);
    const float exact = static_cast<float>(std::cos(theta));
    ASSERT_LE(std::fabs(got - exact), std::nextafter(std::fabs(exact), 2.0f) - std::fabs(exact));
  }
}

TEST(CosSin, KnownAngles) {
  EXPECT_EQ(cos_sin(0.0).cos, 1.0);
  EXPECT_EQ(cos_sin(0.0).sin, 0.0);
  EXPECT_NEAR(cos_sin(3.14159265358979323846).cos, -1.0, 0x1p-52);
  EXPECT_NEAR(cos_sin(1.57079632679489661923).sin, 1.0, 0x1p-52);
  // cos(355) is nearly -1: 355 / 113 approximates pi.
  EXPECT_NEAR(cos_sin(355.0).sin, -3.0144353359488449e-05, 1e-20);
}

TEST(Power, InverseFrequenciesOfRope) {
  // base 1e7, 64 rotated values: base^(-2j / 64).
  EXPECT_EQ(power(1e7, 0.0), 1.0);
  EXPECT_NEAR(power(1e7, -2.0 / 64.0), 0.604296390, 5e-10);
  EXPECT_NEAR(power(1e7, -62.0 / 64.0), 1.6548171e-07, 5e-15);
}

TEST(Power, AgreesWithTheLibrary) {
  std::mt19937_64 rng(3);
  std::uniform_real_distribution<double> exponent(-1.0, 1.0);
  for (const double base : {0.3, 2.0, 10000.0, 100000.0, 500000.0, 1e7}) {
    for (int i = 0; i < 5'000; ++i) {
      const double y = exponent(rng);
      const double exact = std::pow(base, y);
      const double bound = (4.0 + std::fabs(y * std::log(base))) * 0x1p-52;
      ASSERT_NEAR(power(base, y) / exact, 1.0, bound) << base << " " << y;
    }
  }
}

TEST(Silu, KnownValues) {
  EXPECT_EQ(silu_f32(0.0f), 0.0f);
  // 1 / (1 + e^-1) = 0.7310585786…
  EXPECT_NEAR(silu_f32(1.0f), 0.73105858f, 1.2e-7f);
  EXPECT_NEAR(silu_f32(-1.0f), -0.26894142f, 6e-8f);
  EXPECT_EQ(silu_f32(-200.0f), -0.0f);
  EXPECT_EQ(silu_f32(200.0f), 200.0f);
}

}  // namespace
}  // namespace assay::engine::kernels
