#include "base/json.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/files.h"
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

TEST(JsonParse, ReadsNonFiniteOnlyWhenAsked) {
  const auto value = parse(R"([NaN,Infinity,-Infinity,1])", {.allow_non_finite = true});
  ASSERT_TRUE(value);
  EXPECT_EQ(value->items().size(), 4u);
  EXPECT_FALSE(value->items()[1].as_double("x"));
  for (const char* word : {"NInf", "NaInf", "-NaInfinity", "Infin", "nan", "+Infinity"})
    EXPECT_EQ(refusal_of(word, {.allow_non_finite = true}), "JSON-SYNTAX") << word;
}

TEST(JsonParse, ReadsFilesOfOtherToolsLeniently) {
  const ParseOptions lenient{.allow_non_finite = true,
                             .last_duplicate_wins = true,
                             .skip_byte_order_mark = true,
                             .skip_members = {"requests"}};
  const auto value = parse(
      "\xEF\xBB\xBF{\"a\":1,\"b\":2,\"a\":3,\"requests\":[{\"a\":[1]},{}],\"c\":{\"requests\":5,"
      "\"d\":NaN}}",
      lenient);
  ASSERT_TRUE(value) << value.refusal().text();
  EXPECT_EQ(write(*value), "{\"a\":3,\"b\":2,\"c\":{\"d\":NaN}}");
  // What is skipped is still checked.
  EXPECT_EQ(refusal_of("{\"requests\":[1,}", lenient), "JSON-SYNTAX");
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

TEST(JsonParseFile, EqualsTheParseOfItsBytes) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / cat("assay-json-", ::getpid());
  std::string text = "[";
  for (int i = 0; i < 50000; ++i) text += cat(i == 0 ? "" : ",", "{\"key\":\"value ", i, "\"}");
  text += "]\n";
  ASSERT_TRUE(write_file_atomic(path, text));
  const auto values = parse_file(path, text.size());
  ASSERT_TRUE(values) << values.refusal().text();
  EXPECT_EQ(values->at(0), *parse(text));
  EXPECT_EQ(parse_file(path, text.size() - 1).refusal().code, "FILE-TOO-LARGE");
  ASSERT_TRUE(write_file_atomic(path, std::string("[1]\0[2]", 7)));
  EXPECT_EQ(parse_file(path, 100).refusal().code, "JSON-SYNTAX");
  std::filesystem::remove(path);
  EXPECT_EQ(parse_file(path, 100).refusal().code, "FILE-UNREADABLE");
}

TEST(JsonParseFile, DecodesInPlaceWhatParseDecodes) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / cat("assay-json-place-", ::getpid());
  const std::string texts[] = {
      R"({"a":[1.0,-0,1e-7,12345678901234567890123,0.1],"b":"x\"\\\u00e9\ud83d\ude00\n"})",
      R"([{"long key with \t escapes":"sixteen bytes and more, then \u0041 and the rest"}])",
      "\xEF\xBB\xBF {\"a\": NaN, \"a\": -Infinity}", "1 2.50\n[true,false,null]", "7"};
  const ParseOptions lenient{.allow_non_finite = true,
                             .last_duplicate_wins = true,
                             .skip_byte_order_mark = true,
                             .skip_members = {}};
  for (const std::string& text : texts) {
    ASSERT_TRUE(write_file_atomic(path, text));
    const auto from_file = parse_file(path, 1000, lenient);
    const auto from_bytes = parse_many(text, lenient);
    ASSERT_TRUE(from_file && from_bytes) << text;
    EXPECT_EQ(*from_file, *from_bytes) << text;
  }
  for (const std::string& text :
       {std::string("[1"), std::string("\"a"), std::string("{\"a\":1"), std::string("[1]\0", 4),
        std::string("\"a\0b\"", 5), std::string("\"\xff\"")}) {
    ASSERT_TRUE(write_file_atomic(path, text));
    EXPECT_EQ(parse_file(path, 1000).refusal().code, "JSON-SYNTAX") << text;
  }
  std::filesystem::remove(path);
}

TEST(JsonParse, ReadsOverMembersAtTheirDepth) {
  ParseOptions options;
  options.skip_members = {"a@1", "b"};
  const auto value =
      parse(R"({"a":{"x":[1,{"a":2}]},"c":{"a":3,"b":[4]},"b":5,"d":[{"a":6}]})", options);
  ASSERT_TRUE(value);
  EXPECT_EQ(write(*value), R"({"c":{"a":3},"d":[{"a":6}]})");
  EXPECT_FALSE(parse(R"({"a":[1,})", options)) << "what is read over must be JSON too";
}

TEST(JsonParse, CountsTheItemsOfArraysThatAreNotKept) {
  ParseOptions options;
  options.skip_members = {"runs[]@1"};
  const auto value =
      parse(R"({"runs":[{"a":[1]},[2,{}],3,{}],"x":{"runs":[{"a":4}]},"y":[{"b":5}]})", options);
  ASSERT_TRUE(value);
  EXPECT_EQ(write(*value), R"({"runs":[null,null,3,null],"x":{"runs":[{"a":4}]},"y":[{"b":5}]})");
  EXPECT_EQ(write(*parse(R"({"runs":{"a":1},"b":[{"c":2}]})", options)),
            R"({"runs":{"a":1},"b":[{"c":2}]})");
  EXPECT_FALSE(parse(R"({"runs":[{"a":}]})", options)) << "what is read over must be JSON too";
}

TEST(JsonParseFile, ReadsOverInPiecesWhatItReadsOverInPlace) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / cat("assay-json-pieces-", ::getpid());
  constexpr uint64_t kMax = uint64_t{64} << 20;
  ParseOptions options;
  options.last_duplicate_wins = true;
  options.skip_members = {"skip@1", "runs[]@1"};
  std::string runs;
  for (int i = 0; i < 100; ++i) runs += cat(i == 0 ? "" : ",", R"({"a":[)", i, "]}");
  const std::string head = cat(R"({"runs":[)", runs, R"(],"skip":[)");
  const std::string tail = R"({"a":"]}"}],"kept":[1.50],"skip":7})";
  std::string filler;  // more than is held at once
  while (filler.size() < size_t{25} << 20) filler += R"([0.125, "text", {"k": null}],)";
  for (const std::string& between : {std::string(), filler}) {
    ASSERT_TRUE(write_file_atomic(path, cat(head, between, tail)));
    const auto values = parse_file(path, kMax, options);
    ASSERT_TRUE(values) << values.refusal().text();
    ASSERT_EQ(values->size(), 1u);
    EXPECT_EQ(values->at(0).find("runs")->items().size(), 100u);
    EXPECT_EQ(values->at(0).find("skip"), nullptr);
    EXPECT_EQ(write(*values->at(0).find("kept")), "[1.50]");
    ASSERT_TRUE(write_file_atomic(path, cat(head, between, "01,", tail)));
    EXPECT_EQ(parse_file(path, kMax, options).refusal().code, "JSON-SYNTAX");
  }
  std::filesystem::remove(path);
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
