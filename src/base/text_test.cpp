#include "base/text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

namespace assay {
namespace {

// Layout cases of the wire's float rule, written from the rule: digits d1…dn, value = d1…dn * 10^k.
TEST(FormatDouble, FollowsTheLayoutRule) {
  EXPECT_EQ(format_double(0.0), "0.0");
  EXPECT_EQ(format_double(-0.0), "-0.0");
  EXPECT_EQ(format_double(10.0), "10.0");
  EXPECT_EQ(format_double(18.5), "18.5");
  EXPECT_EQ(format_double(123456.789), "123456.789");
  EXPECT_EQ(format_double(0.00001), "0.00001");
  EXPECT_EQ(format_double(1e-6), "1e-6");
  EXPECT_EQ(format_double(1.5e-7), "1.5e-7");
  EXPECT_EQ(format_double(1e15), "1000000000000000.0");
  EXPECT_EQ(format_double(1e16), "1e16");
  EXPECT_EQ(format_double(1.2345e17), "1.2345e17");
  EXPECT_EQ(format_double(-2.5e-9), "-2.5e-9");
  EXPECT_EQ(format_double(1234567890123456.0), "1234567890123456.0");
}

TEST(FormatDouble, ReadsBackExactly) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 100000; ++i) {
    const uint64_t bits = random();
    double value = 0;
    static_assert(sizeof value == sizeof bits);
    std::memcpy(&value, &bits, sizeof value);
    if (!std::isfinite(value)) continue;
    ASSERT_EQ(parse_double(format_double(value)), value);
  }
}

TEST(ParseNumbers, TakeTheWholeText) {
  EXPECT_EQ(parse_int64("-9223372036854775808"), INT64_MIN);
  EXPECT_EQ(parse_int64("9223372036854775808"), std::nullopt);
  EXPECT_EQ(parse_uint64("-1"), std::nullopt);
  EXPECT_EQ(parse_int64("12 "), std::nullopt);
  EXPECT_EQ(parse_double("1.5x"), std::nullopt);
  EXPECT_EQ(parse_double(""), std::nullopt);
}

TEST(Trim, StripsUnicodeWhiteSpaceOnly) {
  EXPECT_EQ(trim(" \t\u00a0x y\u3000\n"), "x y");
  EXPECT_EQ(trim("\u200bx"), "\u200bx");  // zero-width space is not White_Space
  EXPECT_EQ(trim("  "), "");
}

TEST(Utf8, RefusesWhatIsNotUtf8) {
  EXPECT_TRUE(is_utf8("caf\u00e9 \U0001F600"));
  EXPECT_FALSE(is_utf8("\xC0\xAF"));          // overlong
  EXPECT_FALSE(is_utf8("\xED\xA0\x80"));      // surrogate
  EXPECT_FALSE(is_utf8("\xF4\x90\x80\x80"));  // above U+10FFFF
  EXPECT_FALSE(is_utf8("a\xE2\x82"));         // cut short
}

TEST(Text, ControlCharactersAndHex) {
  EXPECT_TRUE(has_control_character("a\x1f"));
  EXPECT_TRUE(has_control_character("a\u0085"));
  EXPECT_FALSE(has_control_character("a \u00e9"));
  EXPECT_TRUE(is_lower_hex("0af9", 4));
  EXPECT_FALSE(is_lower_hex("0AF9", 4));
  EXPECT_FALSE(is_lower_hex("0af", 4));
  EXPECT_EQ(to_hex(std::string_view("\x00\xff", 2)), "00ff");
  EXPECT_EQ(format_utc(0), "1970-01-01T00:00:00Z");
}

}  // namespace
}  // namespace assay
