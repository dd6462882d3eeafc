#include "base/json.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace assay::json {
namespace {

std::string refusal_of(std::string_view text, const ParseOptions& options = {}) {
  const auto parsed = parse(text, options);
  return parsed ? "accepted" : std::string(parsed.refusal().code);
}

TEST(JsonParse, KeepsNumbersAsWritten) {
  const auto value = parse(R"({"a":1.0,"b":-0,"c":[1e3,12345678901234567890]})");
  ASSERT_TRUE(value);
  EXPECT_EQ(value->find("a")->literal(), "1.0");
  EXPECT_FALSE(value->find("a")->is_integer());
  EXPECT_FALSE(value->find("a")->as_int64("a"));
  EXPECT_FALSE(value->find("b")->as_int64("b"));  // -0 is no integer
  EXPECT_TRUE(value->find("b")->as_double("b"));
  EXPECT_FALSE(value->find("c")->items()[0].as_int64("c"));
  EXPECT_EQ(*value->find("c")->items()[1].as_uint64("c"), 12345678901234567890u);
}

TEST(JsonParse, RefusesWhatIsNotOneValue) {
  for (const char* text : {"",
                           " ",
                           "{",
                           "[1,]",
                           "{\"a\":1}x",
                           "{} {}",
                           "nul",
                           "01",
                           "1.",
                           ".5",
                           "+1",
                           "'a'",
                           "[1 2]",
                           "{\"a\" 1}",
                           "\"\x01\"",
                           "NaN",
                           "Infinity",
                           "// c\n1",
                           "\xEF\xBB\xBF{}",
                           "\"\xC0\xAF\"",
                           "\"\\ud800\"",
                           "\"\\ud800\\u0041\"",
                           "\"\\udc00\"",
                           "\"\\udc00\\ud800\"",
                           "{\"\\udfff\":1}",
                           "{a:1}",
                           "[1e999]"}) {
    EXPECT_EQ(refusal_of(text), "JSON-SYNTAX") << text;
  }
  EXPECT_EQ(refusal_of(std::string_view("{}\0x", 4)), "JSON-SYNTAX");
}

TEST(JsonParse, RefusesDuplicateKeysAtEveryLevel) {
  EXPECT_EQ(refusal_of(R"({"a":1,"a":1})"), "JSON-DUPLICATE-KEY");
  EXPECT_EQ(refusal_of(R"([{"x":{"b":1,"\u0062":2}}])"), "JSON-DUPLICATE-KEY");
  EXPECT_EQ(refusal_of(R"([{"a":1},{"a":1}])"), "accepted");
}

TEST(JsonParse, BoundsDepth) {
  const auto nested = [](int depth) {
    return std::string(static_cast<size_t>(depth), '[') +
           std::string(static_cast<size_t>(depth), ']');
  };
  EXPECT_EQ(refusal_of(nested(128)), "accepted");
  EXPECT_EQ(refusal_of(nested(129)), "JSON-TOO-DEEP");
  EXPECT_EQ(refusal_of(nested(17), {.depth_max = 16}), "JSON-TOO-DEEP");
  EXPECT_EQ(refusal_of(std::string(1000000, '[')), "JSON-TOO-DEEP");
}

TEST(JsonParse, TakesTheLastOfTwoKeysOnlyWhenAsked) {
  const auto value = parse(R"({"a":1,"b":2,"a":3})", {.last_duplicate_wins = true});
  ASSERT_TRUE(value);
  EXPECT_EQ(write(*value), R"({"a":3,"b":2})");
}

TEST(JsonParse, PassesOverAByteOrderMarkOnlyWhenAsked) {
  EXPECT_EQ(refusal_of("\xEF\xBB\xBF{}"), "JSON-SYNTAX");
  EXPECT_EQ(refusal_of("\xEF\xBB\xBF{}", {.skip_byte_order_mark = true}), "accepted");
  EXPECT_EQ(refusal_of("\xEF\xBB\xBF\xEF\xBB\xBF{}", {.skip_byte_order_mark = true}),
            "JSON-SYNTAX");
}

TEST(JsonParse, ManyMembersKeepTheirOrderAndRefuseDuplicates) {
  std::string text = "{";
  for (int i = 0; i < 100; ++i) text += "\"k" + std::to_string(i) + "\":" + std::to_string(i) + ",";
  EXPECT_EQ(refusal_of(text + "\"z\":0}"), "accepted");
  EXPECT_EQ(refusal_of(text + "\"k7\":0}"), "JSON-DUPLICATE-KEY");
  EXPECT_EQ(refusal_of(text + "\"k99\":0}"), "JSON-DUPLICATE-KEY");
}

TEST(JsonParseMany, ReadsJsonLines) {
  const auto values = parse_many("{\"a\":1}\n\n[2] 3\n");
  ASSERT_TRUE(values);
  EXPECT_EQ(values->size(), 3u);
  EXPECT_FALSE(parse_many("{\"a\":1}\nx"));
  EXPECT_FALSE(parse_many(""));
}

TEST(JsonAccess, NamesPathAndExpectation) {
  const auto value = parse(R"({"n":4294967296,"s":"x","t":[1,"2"],"tiny":1e-999})");
  ASSERT_TRUE(value);
  EXPECT_EQ(value->find("n")->as_uint32("n").refusal().code, "JSON-RANGE");
  EXPECT_EQ(value->find("s")->as_int64("s").refusal().code, "JSON-TYPE");
  const auto tokens = value->find("t")->as_int64s("t");
  ASSERT_FALSE(tokens);
  EXPECT_NE(tokens.refusal().detail.find("t[1]"), std::string::npos);
  EXPECT_EQ(*value->find("tiny")->as_double("tiny"), 0.0);
  EXPECT_EQ(value->at("zz", "doc").refusal().code, "JSON-MISSING-KEY");
  EXPECT_EQ(value->expect_only({"n", "s", "t"}, "doc").refusal().code, "JSON-UNKNOWN-KEY");
}

TEST(JsonWrite, IsCanonical) {
  Value value =
      Value::object({{"b", 1}, {"a", Value::array({true, Value(), "x\n\"\\/\x01\u00e9", 0.5})}});
  EXPECT_EQ(write(value), "{\"b\":1,\"a\":[true,null,\"x\\n\\\"\\\\/\\u0001\u00e9\",0.5]}");
  EXPECT_EQ(write(value, {.indent = 2, .sort_keys = true}),
            "{\n  \"a\": [\n    true,\n    null,\n    \"x\\n\\\"\\\\/\\u0001\u00e9\",\n    0.5\n  "
            "],\n  \"b\": 1\n}");
  EXPECT_EQ(write(Value::object(), {.indent = 2}), "{}");
}

TEST(JsonWrite, ParseOfWrittenIsTheSame) {
  const std::string text = R"({"a":[1,2.5,-3,"x",null,true,{"k":[]}],"z":{"deep":{"er":1e16}}})";
  const auto value = parse(text);
  ASSERT_TRUE(value);
  EXPECT_EQ(write(*value), text);
}

}  // namespace
}  // namespace assay::json
