// Splitters against the pieces that an independent regex engine cuts (tests/conformance/tokenizer).
#include "engine/tokenizer/splitter.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "engine/tokenizer/unicode.h"

namespace assay::engine::tokenizer {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> split(Splitter splitter, std::string_view text) {
  std::vector<std::string> pieces;
  for (size_t at = 0; at < text.size();) {
    const size_t end = piece_end(splitter, text, at);
    EXPECT_GT(end, at);
    EXPECT_LE(end, text.size());
    if (end <= at) break;
    pieces.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return pieces;
}

TEST(Splitter, AgreesWithTheRegexPackage) {
  const auto text = read_file(ASSAY_SOURCE_DIR "/tests/conformance/tokenizer/splits.json");
  ASSERT_TRUE(text) << text.refusal().text();
  const auto vectors = json::parse(*text);
  ASSERT_TRUE(vectors);
  size_t n_cases = 0;
  for (const auto& [name, cases] : vectors->find("splitters")->members()) {
    const PreTokenizer* const pre = find_pre_tokenizer(name);
    ASSERT_NE(pre, nullptr) << name;
    for (const json::Value& item : cases.items()) {
      std::vector<std::string> expected;
      for (const json::Value& piece : item.find("pieces")->items()) {
        expected.push_back(piece.string());
      }
      const std::string& input = item.find("text")->string();
      EXPECT_EQ(split(pre->splitter, input), expected) << name << ": " << input;
      ++n_cases;
    }
  }
  EXPECT_GT(n_cases, 1500u);
}

// G33: symbols stay together, and Qwen's digits stand alone.
TEST(Splitter, G33SymbolsAndDigits) {
  EXPECT_THAT(split(Splitter::qwen2, "p->x(y):\n 2024"),
              ElementsAre("p", "->", "x", "(y", "):\n", " ", "2", "0", "2", "4"));
  EXPECT_THAT(split(Splitter::llama_bpe, "20241"), ElementsAre("202", "41"));
  EXPECT_THAT(split(Splitter::gpt2, " 20241"), ElementsAre(" 20241"));
  EXPECT_THAT(split(Splitter::smollm, " 20"), ElementsAre(" ", "2", "0"));
}

// Marks are punctuation to qwen2 and part of the word to qwen35.
TEST(Splitter, CombiningMarks) {
  const std::string text = "e\xCC\x81t";  // e, U+0301, t
  EXPECT_THAT(split(Splitter::qwen2, text), ElementsAre("e", "\xCC\x81t"));
  EXPECT_THAT(split(Splitter::qwen35, text), ElementsAre(text));
}

TEST(Splitter, UnknownNamesHaveNoRow) {
  EXPECT_EQ(find_pre_tokenizer(""), nullptr);
  EXPECT_EQ(find_pre_tokenizer("Qwen2"), nullptr);
  EXPECT_EQ(find_pre_tokenizer("llama-spm"), nullptr);
  EXPECT_TRUE(find_pre_tokenizer("llama-bpe")->ignore_merges);
  EXPECT_TRUE(find_pre_tokenizer("llama-bpe")->adds_bos_absent);
}

TEST(Unicode, Classes) {
  EXPECT_EQ(class_of('a'), CharClass::letter);
  EXPECT_EQ(class_of('7'), CharClass::number);
  EXPECT_EQ(class_of(' '), CharClass::white_space);
  EXPECT_EQ(class_of('\n'), CharClass::white_space);
  EXPECT_EQ(class_of(0x1C), CharClass::other);  // a control, not White_Space
  EXPECT_EQ(class_of(0x85), CharClass::white_space);
  EXPECT_EQ(class_of(0x200B), CharClass::other);  // zero width space is not White_Space
  EXPECT_EQ(class_of(0x301), CharClass::mark);
  EXPECT_EQ(class_of(0x4E2D), CharClass::letter);
  EXPECT_EQ(class_of(0x2167), CharClass::number);
  EXPECT_EQ(class_of(0x1F600), CharClass::other);
  EXPECT_EQ(class_of(0x10FFFF), CharClass::other);
}

// Well-formed and ill-formed sequences of Unicode 15, table 3-7 and section 3.9.
TEST(Unicode, Utf8) {
  const auto size = [](std::string_view text) { return decode_utf8(text, 0).size_bytes; };
  EXPECT_EQ(decode_utf8("\xF0\x9F\x98\x80", 0).code_point, 0x1F600u);
  EXPECT_EQ(size("\xC3\xA9"), 2u);
  EXPECT_EQ(size("\xC0\x80"), 0u);          // overlong
  EXPECT_EQ(size("\xE0\x80\x80"), 0u);      // overlong
  EXPECT_EQ(size("\xED\xA0\x80"), 0u);      // surrogate
  EXPECT_EQ(size("\xF4\x90\x80\x80"), 0u);  // above U+10FFFF
  EXPECT_EQ(size("\xE4\xB8"), 0u);
  EXPECT_EQ(incomplete_utf8("\xE4\xB8", 0), 2u);
  EXPECT_EQ(incomplete_utf8("\xE4", 0), 1u);
  EXPECT_EQ(incomplete_utf8("\xE4x", 0), 0u);
  EXPECT_EQ(incomplete_utf8("\xFF", 0), 0u);
  EXPECT_EQ(broken_utf8("\xF0\x9F\x98x", 0), 3u);
  EXPECT_EQ(broken_utf8("\xE0\x80\x80", 0), 1u);
}

}  // namespace
}  // namespace assay::engine::tokenizer
