#include "engine/quant/dequantise.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "engine/quant/blocks.h"
#include "engine/quant/half.h"

namespace assay::engine::quant {
namespace {

std::vector<std::byte> from_hex(std::string_view hex) {
  std::vector<std::byte> out;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    out.push_back(static_cast<std::byte>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  }
  return out;
}

std::vector<float> dequantised(Type type, const std::vector<std::byte>& bytes) {
  const auto n =
      static_cast<int64_t>(bytes.size()) / info(type).block_bytes * info(type).block_elements;
  std::vector<float> y(static_cast<size_t>(n));
  dequantise_row(type, bytes.data(), n, y.data());
  return y;
}

// The vectors of an independent implementation: tests/conformance/quant.
class Vectors : public testing::TestWithParam<const char*> {};

TEST_P(Vectors, EveryBitAgrees) {
  const std::filesystem::path path = std::filesystem::path(ASSAY_SOURCE_DIR) /
                                     "tests/conformance/quant" /
                                     (std::string(GetParam()) + ".json");
  const auto bytes = read_file(path, 1 << 20);
  ASSERT_TRUE(bytes) << bytes.refusal().text();
  const auto parsed = json::parse(*bytes);
  ASSERT_TRUE(parsed) << parsed.refusal().text();
  const json::Value& document = *parsed;
  const auto type_name = document.find("type")->as_string("type");
  const auto hex = document.find("bytes")->as_string("bytes");
  const auto expected = document.find("float_bits")->as_int64s("float_bits");
  ASSERT_TRUE(type_name && hex && expected);
  const gguf::TypeInfo* const type_info = gguf::find_type(std::string_view(*type_name));
  ASSERT_NE(type_info, nullptr);
  const auto type = type_of(type_info->id);
  ASSERT_TRUE(type);
  const auto y = dequantised(*type, from_hex(*hex));
  ASSERT_EQ(y.size(), expected->size());
  for (size_t i = 0; i < y.size(); ++i) {
    ASSERT_EQ(std::bit_cast<uint32_t>(y[i]), static_cast<uint32_t>((*expected)[i]))
        << "element " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Vectors,
                         testing::Values("f16", "bf16", "q8_0", "q4_0", "q4_1", "q5_0", "q5_1",
                                         "q4_k", "q5_k", "q6_k", "iq4_nl"),
                         [](const auto& param) { return std::string(param.param); });

TEST(ScaleMin, UnpacksTheWorkedExample) {
  // Bytes 01 42 83 C4 15 26 37 C8 9A BC DE F1. Group 0: 0x01 & 63 = 1, 0x15 & 63 = 21; group 4:
  // (0x9A & 15) | (0x01 >> 6) << 4 = 10, (0x9A >> 4) | (0x15 >> 6) << 4 = 9; and so on.
  const uint8_t p[12] = {0x01, 0x42, 0x83, 0xC4, 0x15, 0x26, 0x37, 0xC8, 0x9A, 0xBC, 0xDE, 0xF1};
  const int scales[8] = {1, 2, 3, 4, 10, 28, 46, 49};
  const int mins[8] = {21, 38, 55, 8, 9, 11, 13, 63};
  for (int g = 0; g < 8; ++g) {
    EXPECT_EQ(unpack_scale_min(p, g).scale, scales[g]) << g;
    EXPECT_EQ(unpack_scale_min(p, g).min, mins[g]) << g;
  }
}

TEST(Half, EveryPatternSurvivesTheRoundTrip) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    if ((half & 0x7C00) == 0x7C00 && (half & 0x3FF) != 0) continue;  // NaN
    ASSERT_EQ(float_to_half(half_to_float(half)), half) << bits;
  }
}

TEST(Half, RoundsToNearestEven) {
  // Between 1 and 1 + 2^-10 lies the tie 1 + 2^-11: it goes to the even 1. The next tie goes up.
  EXPECT_EQ(float_to_half(0x1.002p+0f), 0x3C00);
  EXPECT_EQ(float_to_half(0x1.002002p+0f), 0x3C01);
  EXPECT_EQ(float_to_half(0x1.006p+0f), 0x3C02);
  EXPECT_EQ(float_to_half(65504.0f), 0x7BFF);
  EXPECT_EQ(float_to_half(65519.9f), 0x7BFF);
  EXPECT_EQ(float_to_half(65520.0f), 0x7C00);
  EXPECT_EQ(float_to_half(-1e30f), 0xFC00);
  EXPECT_EQ(float_to_half(0x1p-24f), 0x0001);
  EXPECT_EQ(float_to_half(0x1p-25f), 0x0000);
  EXPECT_EQ(float_to_half(0x1.8p-25f), 0x0001);
  EXPECT_EQ(float_to_half(0x1.8p-24f), 0x0002);  // the tie 1.5 goes to the even 2
  EXPECT_EQ(float_to_half(-0.0f), 0x8000);
  EXPECT_EQ(half_to_float(0x0001), 0x1p-24f);
  EXPECT_EQ(half_to_float(0x83FF), -0x3FFp-24f);
}

TEST(Types, OnlyThoseThatKernelsComputeWith) {
  for (const Type type : kTypes) EXPECT_TRUE(info(type).computable) << info(type).name;
  for (const auto& entry : gguf::kTypes) {
    EXPECT_EQ(type_of(entry.id).has_value(), entry.computable) << entry.name;
  }
  EXPECT_FALSE(type_of(9));
  EXPECT_FALSE(type_of(4242));
}

}  // namespace
}  // namespace assay::engine::quant
