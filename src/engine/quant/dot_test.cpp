#include "engine/quant/dot.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "engine/quant/blocks.h"
#include "engine/quant/dequantise.h"
#include "engine/quant/half.h"

namespace assay::engine::quant {
namespace {

struct Quantised {
  std::vector<int8_t> q;
  std::vector<float> d, sum;
  std::vector<int16_t> sum16;

  explicit Quantised(const std::vector<float>& x)
      : q(x.size()), d(x.size() / 32), sum(x.size() / 32), sum16(x.size() / 16) {
    quantise_row(x.data(), static_cast<int64_t>(x.size()), row());
  }
  ActivationRow row() { return {q.data(), d.data(), sum.data(), sum16.data()}; }
};

TEST(Activations, TheWorkedExample) {
  // max 1.27, d = 0.01: 50 -100 25 127, the rest zero; sum 102, all in the first half.
  std::vector<float> x(32, 0.0f);
  x[0] = 0.5f;
  x[1] = -1.0f;
  x[2] = 0.25f;
  x[3] = 1.27f;
  Quantised a(x);
  EXPECT_EQ(a.q[0], 50);
  EXPECT_EQ(a.q[1], -100);
  EXPECT_EQ(a.q[2], 25);
  EXPECT_EQ(a.q[3], 127);
  EXPECT_FLOAT_EQ(a.d[0], 0.01f);
  EXPECT_EQ(a.sum[0], 102.0f);
  EXPECT_EQ(a.sum16[0], 102);
  EXPECT_EQ(a.sum16[1], 0);
}

TEST(Activations, TiesGoToEven) {
  // d = 1: 0.5 -> 0, 1.5 -> 2, 2.5 -> 2, -0.5 -> 0, -3.5 -> -4.
  std::vector<float> x(32, 0.0f);
  x[0] = 127.0f;
  x[1] = 0.5f;
  x[2] = 1.5f;
  x[3] = 2.5f;
  x[4] = -0.5f;
  x[31] = -3.5f;
  Quantised a(x);
  EXPECT_EQ(a.d[0], 1.0f);
  EXPECT_EQ(a.q[1], 0);
  EXPECT_EQ(a.q[2], 2);
  EXPECT_EQ(a.q[3], 2);
  EXPECT_EQ(a.q[4], 0);
  EXPECT_EQ(a.q[31], -4);
  EXPECT_EQ(a.sum16[1], -4);
}

TEST(Activations, GroupsThatCannotBeScaledAreZero) {
  std::vector<float> x(96, 0.0f);
  x[5] = 1e-40f;  // d would be subnormal
  x[40] = std::numeric_limits<float>::quiet_NaN();
  x[41] = 3.0f;
  x[64] = std::numeric_limits<float>::infinity();
  x[65] = 3.0f;
  Quantised a(x);
  EXPECT_EQ(a.d[0], 0.0f);
  EXPECT_EQ(a.q[5], 0);
  EXPECT_TRUE(std::isnan(a.d[1]));  // shows in every product
  EXPECT_EQ(a.q[41], 0);
  EXPECT_TRUE(std::isinf(a.d[2]));
  EXPECT_EQ(a.sum[2], 0.0f);
}

// A product in double over the dequantised weights and the quantised activations: all that the
// reference does beyond it is rounding, a few steps a group.
TEST(Dot, AgreesWithDoubleArithmeticForEveryFormat) {
  std::mt19937 rng(5);
  std::normal_distribution<float> normal;
  for (const Type type : kTypes) {
    if (is_float(type)) continue;
    const int64_t n = 512;
    std::vector<std::byte> row(static_cast<size_t>(row_bytes(type, n)));
    for (std::byte& byte : row) byte = static_cast<std::byte>(rng());
    const auto block = static_cast<size_t>(info(type).block_bytes);
    for (size_t i = 0; i < row.size(); i += block) {
      const uint16_t d = float_to_half(0.01f + 0.01f * static_cast<float>(rng() % 8));
      std::memcpy(row.data() + i + (type == Type::q6_k ? 208 : 0), &d, 2);
      if (type == Type::q4_1 || type == Type::q5_1 || type == Type::q4_k || type == Type::q5_k) {
        std::memcpy(row.data() + i + 2, &d, 2);
      }
    }
    std::vector<float> x(static_cast<size_t>(n)), w(x.size());
    for (float& value : x) value = normal(rng);
    Quantised a(x);
    dequantise_row(type, row.data(), n, w.data());
    double exact = 0.0, magnitude = 0.0;
    for (size_t i = 0; i < x.size(); ++i) {
      const double product = static_cast<double>(w[i]) * static_cast<double>(a.q[i]) *
                             static_cast<double>(a.d[i / 32]);
      exact += product;
      magnitude += std::fabs(product);
    }
    const double got = static_cast<double>(dot_quantised(type, row.data(), a.row(), n));
    // 16 groups, four roundings each, terms of an offset format up to three times the products.
    EXPECT_NEAR(got, exact, 3 * 4 * 16 * 0x1p-24 * magnitude) << info(type).name;
    EXPECT_NE(got, 0.0);
  }
}

TEST(Dot, OneGroupByHand) {
  // Q4_1, d = 0.5, m = -1, all codes 3: weights 0.5 * 3 - 1 = 0.5. Activations all 127 * d, d = 2:
  // 32 * 0.5 * 254 = 4064.
  Q4_1Block block{};
  block.d = 0x3800;
  block.m = 0xBC00;
  std::memset(block.nibbles, 0x33, sizeof block.nibbles);
  Quantised a(std::vector<float>(32, 254.0f));
  EXPECT_EQ(dot_quantised(Type::q4_1, reinterpret_cast<const std::byte*>(&block), a.row(), 32),
            4064.0f);
}

TEST(Dot, FloatRowsInSixteenPartialSums) {
  // Products: 1 and sixteen times 2^-24. In one running sum every 2^-24 vanishes (a tie to even).
  // In lanes: lane 0 holds 1 (element 16 vanishes), lanes 1..15 hold 2^-24. The tree: eight[0] = 1,
  // eight[1..7] = 2^-23; four[0] = 1 + 2^-23, four[1..3] = 2^-22; then (1 + 2^-23 + 2^-22) + 2^-21.
  std::vector<float> w(17, 1.0f), x(17, 0x1p-24f);
  x[0] = 1.0f;
  const float got =
      dot_float(Type::f32, reinterpret_cast<const std::byte*>(w.data()), x.data(), 17);
  EXPECT_EQ(got, 1.0f + 0x1p-23f + 0x1p-22f + 0x1p-21f);
}

TEST(Dot, HalfAndBfloatRows) {
  const std::vector<float> x{1.0f, 2.0f, 3.0f};
  const uint16_t half[3] = {0x3C00, 0x4000, 0xC200};   // 1, 2, -3
  const uint16_t brain[3] = {0x3F80, 0x4000, 0xC040};  // 1, 2, -3
  EXPECT_EQ(dot_float(Type::f16, reinterpret_cast<const std::byte*>(half), x.data(), 3), -4.0f);
  EXPECT_EQ(dot_float(Type::bf16, reinterpret_cast<const std::byte*>(brain), x.data(), 3), -4.0f);
}

}  // namespace
}  // namespace assay::engine::quant
