// What a document reads is compared with json::parse of the same text, which is another reader of
// the same events; what it reads beside that is stated.
#include "base/json_document.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/files.h"
#include "base/text.h"

namespace assay::json {
namespace {

constexpr uint64_t kMax = uint64_t{64} << 20;

std::string text_of(const Document& document) {
  std::string out;
  for (const Node value : document.values()) out += cat(write(value.to_value()), "\n");
  return out;
}
std::string parsed(std::string_view text, const ReadOptions& options = {}) {
  const auto document = Document::parse(text, options);
  return document ? text_of(*document) : std::string(document.refusal().code);
}

class DocumentFile : public ::testing::Test {
 protected:
  ~DocumentFile() override { std::filesystem::remove(path_); }
  Result<Document> read(std::string_view text, const ReadOptions& options = {}) {
    EXPECT_TRUE(write_file_atomic(path_, text));
    return Document::read(path_, kMax, options);
  }
  const std::filesystem::path path_ =
      std::filesystem::temp_directory_path() / cat("assay-json-document-", ::getpid());
};

const std::string_view kStrict[] = {
    R"({"a":[1.0,-0,1e-7,12345678901234567890123,0.1],"b":"x\"\\\u00e9\ud83d\ude00\n","c":{}})",
    R"([{"long key with \t escapes":"sixteen bytes and more, then \u0041 and the rest"},[],[[]]])",
    R"({"":{"":[true,false,null,"",{"x":"é€😀"}]}})",
    "7",
    "\"text\"",
    "1 2.50\n[true,false,null]\n{\"a\":{}}",
};

TEST(Document, ReadsWhatParseReads) {
  for (const std::string_view text : kStrict) {
    std::string expected;
    const auto values = parse_many(text);
    ASSERT_TRUE(values) << text;
    for (const Value& value : *values) expected += cat(write(value), "\n");
    EXPECT_EQ(parsed(text), expected);
  }
}

TEST(Document, RefusesWhatParseRefuses) {
  using namespace std::string_view_literals;
  for (const std::string_view text : {""sv,
                                      " "sv,
                                      "{"sv,
                                      "[1,]"sv,
                                      "[1"sv,
                                      "{\"a\":1}x"sv,
                                      "{\"a\" 1}"sv,
                                      "{\"a\":}"sv,
                                      "{a:1}"sv,
                                      "1."sv,
                                      "nul"sv,
                                      "\"a"sv,
                                      "\"\x01\""sv,
                                      "\"\\x\""sv,
                                      "\"\\udc00\""sv,
                                      "\"\\ud800\""sv,
                                      "\"\xff\""sv,
                                      "\"\xc0\x80\""sv,
                                      "[1]\0"sv,
                                      "\"a\0b\""sv,
                                      "[1]\0[2]"sv,
                                      "// c\n1"sv,
                                      "{\"\\udc00\":1}"sv,
                                      "1e999"sv}) {
    EXPECT_FALSE(parse_many(text)) << text;
    EXPECT_EQ(parsed(text), "JSON-SYNTAX") << text;
  }
}

TEST(Document, ReadsWhatOtherToolsWrite) {
  EXPECT_EQ(parsed("\xEF\xBB\xBF {\"a\":1,\"b\":2,\"a\":3}"), "{\"b\":2,\"a\":3}\n");
  EXPECT_EQ(parsed("[NaN,-Infinity,Infinity]"), "[NaN,-Infinity,Infinity]\n");
  EXPECT_EQ(parsed("[NaN]", {.allow_non_finite = false}), "JSON-SYNTAX");
  for (const char* word : {"NInf", "NaInf", "-NaInfinity", "Infin", "nan", "+Infinity"})
    EXPECT_EQ(parsed(word), "JSON-SYNTAX") << word;
}

TEST(Document, TheLastOfEqualKeysCountsHoweverManyThereAre) {
  std::string text = "{";
  for (int i = 0; i < 1000; ++i) text += cat("\"k", i % 300, "\":", i, ",");
  const auto document = Document::parse(cat(text, R"("k7":[7],"k7":{"k7":1}})"));
  ASSERT_TRUE(document);
  const Node object = document->values().front();
  EXPECT_EQ(object.members().size(), 300u);
  size_t seen = 0;
  for (const auto& [key, value] : object.members()) seen += value.is_number() ? 1 : 0;
  EXPECT_EQ(seen, 299u);
  EXPECT_EQ(object.find("k8").literal(), "908");    // 908 = 3 * 300 + 8, the last below 1000
  EXPECT_EQ(object.find("k299").literal(), "899");  // 999 % 300 = 99: no fourth time
  EXPECT_EQ(object.at({"k7", "k7"}).literal(), "1");
  EXPECT_EQ(parsed(R"({"a":1,"a":2,"a":3})"), "{\"a\":3}\n");
  EXPECT_EQ(parsed(R"([{"a":1},{"a":2}])"), "[{\"a\":1},{\"a\":2}]\n");
}

TEST(Document, BoundsDepth) {
  const auto nested = [](size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_EQ(parsed(nested(16), {.depth_max = 16}), nested(16) + "\n");
  EXPECT_EQ(parsed(nested(17), {.depth_max = 16}), "JSON-TOO-DEEP");
  EXPECT_EQ(parsed(std::string(1000000, '[')), "JSON-TOO-DEEP");
}

TEST(Document, LookingIntoNothingFindsNothing) {
  const auto document =
      Document::parse(R"({"a":{"b":[1.5,"x",{"c":true}]},"n":null,"inf":Infinity})");
  ASSERT_TRUE(document);
  const Node root = document->values().front();
  EXPECT_TRUE(root.is_object());
  EXPECT_EQ(root.at({"a", "b"}).items().size(), 3u);
  EXPECT_EQ(root.at({"a", "b"}).items().front().as_double(), 1.5);
  EXPECT_FALSE(root.at({"a", "b", "c"}));
  EXPECT_FALSE(root.find("z").find("y"));
  EXPECT_TRUE(root.find("z").members().empty());
  EXPECT_TRUE(root.items().empty());
  EXPECT_FALSE(root.find("a").items().front());
  EXPECT_TRUE(root.find("n"));
  EXPECT_TRUE(root.find("n").is_null());
  EXPECT_FALSE(root.find("n").as_double());
  EXPECT_FALSE(root.find("inf").as_double());
  EXPECT_TRUE(root.find("z").to_value().is_null());
}

TEST(Document, ReadsOverMembersAtTheirDepth) {
  const ReadOptions options{.read_over = {"a@1", "b"}};
  EXPECT_EQ(parsed(R"({"a":{"x":[1,{"a":2}]},"c":{"a":3,"b":[4]},"b":5,"d":[{"a":6}]})", options),
            "{\"c\":{\"a\":3},\"d\":[{\"a\":6}]}\n");
  EXPECT_EQ(parsed(R"({"a":[1,})", options), "JSON-SYNTAX") << "what is read over must be JSON too";
}

TEST(Document, CountsTheItemsOfArraysThatAreNotKept) {
  const ReadOptions options{.read_over = {"runs[]@1"}};
  EXPECT_EQ(
      parsed(R"({"runs":[{"a":[1]},[2,{}],3,{}],"x":{"runs":[{"a":4}]},"y":[{"b":5}]})", options),
      "{\"runs\":[null,null,3,null],\"x\":{\"runs\":[{\"a\":4}]},\"y\":[{\"b\":5}]}\n");
  EXPECT_EQ(parsed(R"({"runs":{"a":1},"b":[{"c":2}]})", options),
            "{\"runs\":{\"a\":1},\"b\":[{\"c\":2}]}\n");
  EXPECT_EQ(parsed(R"({"runs":[{"a":}]})", options), "JSON-SYNTAX");
}

TEST_F(DocumentFile, ReadsAFileAsItsBytes) {
  for (const std::string_view text : kStrict) {
    const auto document = read(text);
    ASSERT_TRUE(document) << document.refusal().text();
    EXPECT_EQ(text_of(*document), parsed(text));
  }
  EXPECT_EQ(read("[1").refusal().code, "JSON-SYNTAX");
  EXPECT_EQ(read("").refusal().code, "JSON-SYNTAX");
  EXPECT_EQ(Document::read(path_.parent_path(), kMax).refusal().code, "FILE-UNREADABLE");
  ASSERT_TRUE(read("[12]"));
  EXPECT_EQ(Document::read(path_, 3).refusal().code, "FILE-TOO-LARGE");
  std::filesystem::remove(path_);
  EXPECT_EQ(Document::read(path_, kMax).refusal().code, "FILE-UNREADABLE");
}

TEST(Document, ReadsAPipeThatTheProcessWasGiven) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_EQ(::write(ends[1], "{\"a\":[1]}", 9), 9);
  ::close(ends[1]);
  const auto document = Document::read(cat("/dev/fd/", ends[0]), kMax);
  ::close(ends[0]);
  ASSERT_TRUE(document) << document.refusal().text();
  EXPECT_EQ(text_of(*document), "{\"a\":[1]}\n");
}

TEST_F(DocumentFile, ReadsOverInPiecesWhatItReadsOverInPlace) {
  const ReadOptions options{.read_over = {"skip@1", "runs[]@1"}};
  std::string runs;
  for (int i = 0; i < 100; ++i) runs += cat(i == 0 ? "" : ",", R"({"a":[)", i, "]}");
  const std::string head = cat(R"({"runs":[)", runs, R"(],"skip":[)");
  const std::string tail = R"({"a":"]}"}],"kept":[1.50,"a text"],"kept too":"x","skip":7})";
  std::string filler;  // more than is held at once
  while (filler.size() < size_t{25} << 20) filler += R"([0.125, "text", {"k": null}],)";
  for (const std::string& between : {std::string(), filler}) {
    const auto document = read(cat(head, between, tail), options);
    ASSERT_TRUE(document) << document.refusal().text();
    ASSERT_EQ(document->values().size(), 1u);
    const Node root = document->values().front();
    EXPECT_EQ(root.members().size(), 3u);
    EXPECT_EQ(root.find("runs").items().size(), 100u);
    EXPECT_EQ(write(root.find("kept").to_value()), "[1.50,\"a text\"]");
    EXPECT_EQ(root.find("kept too").string(), "x");
    EXPECT_EQ(read(cat(head, between, "01,", tail), options).refusal().code, "JSON-SYNTAX");
  }
}

}  // namespace
}  // namespace assay::json
