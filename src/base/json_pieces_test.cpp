// Reading over must accept exactly what Document::parse accepts, wherever the pieces of the file
// end.
#include "base/json_pieces.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <memory>
#include <random>

#include "base/json_document.h"
#include "base/text.h"

namespace assay::json {
namespace {

constexpr int kDepth = 6;
using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;
File file_of(std::string& text) {
  return {::fmemopen(text.data(), text.size(), "rb"), &std::fclose};
}

// What reading `value` over says, and what is left behind it.
std::string read_over(std::string_view value, size_t piece_bytes, std::string* rest = nullptr) {
  std::string text = cat(":", value, "\n]");
  const File file = file_of(text);
  PieceStream stream(file.get(), piece_bytes);
  const Status passed = stream.read_over_member(kDepth, true);
  if (!passed) return std::string(passed.refusal().code);
  std::string left;
  while (stream.Peek() != '\0') left += stream.Take();
  EXPECT_EQ(stream.Tell(), text.size()) << value;
  if (rest != nullptr) *rest = left;
  // A value must end where it is read to: white space and our bracket follow.
  return left.starts_with(":0") && trim(left.substr(2)) == "]" ? "accepted" : "JSON-SYNTAX";
}

std::string parsed(std::string_view value) {
  const auto result = Document::parse(value, {.depth_max = kDepth});
  if (value.starts_with("\xEF\xBB\xBF")) return "JSON-SYNTAX";  // only before a whole text
  if (result && result->values().size() != 1) return "JSON-SYNTAX";
  return std::string(result ? "accepted" : result.refusal().code);
}

const std::string_view kTexts[] = {
    R"({"a":[1,-0,0.5e-7,1E+2,NaN,-Infinity,Inf,true,false,null,{}],"b":{"c":[],"d":"x"}})",
    R"("sixteen plain bytes and more, \" \\ \/ \b\f\n\r\t \u00e9 \ud83d\ude00 é € 😀")",
    "[ [ [ [ [ [ ] ] ] ] ] ]",
    "[[[[[[[]]]]]]]",
    R"({"a":{"b":{"c":{"d":{"e":{"f":1}}}}}})",
    R"({"a":{"b":{"c":{"d":{"e":{"f":[]}}}}}})",
    "12345678901234567890.125",
    "01",
    "1.",
    ".5",
    "-",
    "+1",
    "1e",
    "[1,]",
    "[,1]",
    "[1 2]",
    "[1",
    "{\"a\" 1}",
    "{\"a\":}",
    "{\"a\":1,}",
    "{a:1}",
    "{1:1}",
    "}",
    "]",
    "",
    "tru",
    "nul",
    "Nan",
    "Infin",
    "infinity",
    "\"no end",
    "\"control \x01\"",
    "\"tab\t\"",
    R"("\x")",
    R"("\u12g4")",
    R"("\ud83d")",
    R"("\ude00")",
    R"("\ud83dA")",
    R"("\ud83dA")",
    "\"\xff\"",
    "\"\xc0\x80\"",
    "\"\xe0\x80\x80\"",
    "\"\xed\xa0\x80\"",
    "\"\xf4\x90\x80\x80\"",
    "\"\xf0\x80\x80\x80\"",
    "\"\xc3\"",
    "\xef\xbb\xbf 1",
    "1 // comment",
};

TEST(JsonPieces, ReadingOverJudgesAsParsingDoes) {
  for (const std::string_view text : kTexts) {
    for (const size_t piece : {1u, 2u, 3u, 7u, 16u, 4096u})
      EXPECT_EQ(read_over(text, piece), parsed(text)) << text << " in pieces of " << piece;
  }
}

// Of `text`, an object or array and more, when its inside was read over.
std::string emptied(std::string text, size_t piece_bytes) {
  const File file = file_of(text);
  PieceStream stream(file.get(), piece_bytes);
  const Status passed = stream.read_over_inside(kDepth, true);
  if (!passed) return std::string(passed.refusal().code);
  std::string left;
  while (stream.Peek() != '\0') left += stream.Take();
  return left;
}

TEST(JsonPieces, AnObjectOrArrayIsLeftEmpty) {
  for (const size_t piece : {1u, 2u, 5u, 4096u}) {
    EXPECT_EQ(emptied(R"({"a":[1,{"b":"}"}], "c":2 },7)", piece), "{},7");
    EXPECT_EQ(emptied(R"([ [1],{"b":"]"} ],7)", piece), "[],7");
    EXPECT_EQ(emptied("{ } ", piece), "{} ");
    EXPECT_EQ(emptied("[]", piece), "[]");
    EXPECT_EQ(emptied("[1,]", piece), "JSON-SYNTAX");
    EXPECT_EQ(emptied("[1}", piece), "JSON-SYNTAX");
    EXPECT_EQ(emptied("{1:2}", piece), "JSON-SYNTAX");
    EXPECT_EQ(emptied("[[[[[[[1]]]]]]]", piece), "[]");
    EXPECT_EQ(emptied("[[[[[[[[1]]]]]]]]", piece), "JSON-TOO-DEEP");
    EXPECT_EQ(emptied("{\"a\":1", piece), "JSON-SYNTAX");
  }
}

TEST(JsonPieces, OneScalarIsLeftInPlace) {
  std::string rest;
  EXPECT_EQ(read_over(R"( {"a":[1,{"b":"}"}]} )", 5, &rest), "accepted");
  EXPECT_EQ(rest, ":0 \n]");
}

// Bytes removed, doubled and replaced: most texts become wrong, some stay right.
TEST(JsonPieces, ReadingOverJudgesMutatedTextsAsParsingDoes) {
  std::mt19937 random(7);
  const std::string_view bytes("{}[]:,\"\\u0d8eE+-.19 \n\x01\xc3\xa9\xed NIaf");
  size_t accepted = 0, refused = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text(kTexts[static_cast<size_t>(i) % 6]);
    for (auto changes = random() % 3 + 1; changes > 0 && !text.empty(); --changes) {
      const size_t at = random() % text.size();
      const char byte = bytes[random() % bytes.size()];
      switch (random() % 3) {
        case 0: text.erase(at, 1); break;
        case 1: text.insert(at, 1, byte); break;
        default: text[at] = byte;
      }
    }
    const bool right = parsed(text) == "accepted";
    ASSERT_EQ(read_over(text, random() % 20 + 1) == "accepted", right) << text;
    ++(right ? accepted : refused);
  }
  EXPECT_GT(accepted, 1000u);  // both happen often, or nothing was compared
  EXPECT_GT(refused, 1000u);
}

TEST(JsonPieces, AStreamGivesTheBytesOfItsFile) {
  std::string text = "\xEF\xBB\xBF[1, 2]";
  for (const size_t piece : {3u, 4u, 100u}) {
    const File file = file_of(text);
    PieceStream stream(file.get(), piece);
    stream.pass_prefix("\xEF\xBB\xBF");
    std::string read;
    while (stream.Peek() != '\0') read += stream.Take();
    EXPECT_EQ(read, "[1, 2]") << piece;
    EXPECT_EQ(stream.Take(), '\0');
    EXPECT_EQ(stream.Tell(), text.size());
  }
}

}  // namespace
}  // namespace assay::json
