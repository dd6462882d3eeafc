// Tokenizers from end to end: independent vectors, real models where they are, every refusal.
#include "engine/tokenizer/tokenizer.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <limits>

#include "base/files.h"
#include "base/json.h"
#include "engine/gguf/refusals.h"
#include "engine/tokenizer/refusals.h"
#include "engine/tokenizer/streaming_text.h"
#include "engine/tokenizer/vocabulary_files.h"

namespace assay::engine::tokenizer {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A tokenizer together with the file that it reads from.
struct Opened {
  gguf::File file;
  Tokenizer tokenizer;
};
Opened open(const VocabularyFile& vocabulary) {
  gguf::File file = vocabulary.file();
  auto tokenizer = Tokenizer::open(file);
  if (!tokenizer) {
    ADD_FAILURE() << tokenizer.refusal().text();
    std::abort();
  }
  return {std::move(file), std::move(*tokenizer)};
}

void expect_refusal(const VocabularyFile& vocabulary, const RefusalInfo& info,
                    std::string_view part) {
  const gguf::File file = vocabulary.file();
  const auto tokenizer = Tokenizer::open(file);
  ASSERT_FALSE(tokenizer) << "accepted";
  EXPECT_EQ(tokenizer.refusal().code, info.code) << tokenizer.refusal().detail;
  EXPECT_THAT(tokenizer.refusal().detail,
              AllOf(HasSubstr(std::string(part)), HasSubstr("vocabulary.gguf")));
}

std::vector<TokenId> ids_of(const json::Value& value) {
  std::vector<TokenId> ids;
  for (const json::Value& item : value.items()) ids.push_back(*item.as_uint32("ids"));
  return ids;
}
std::vector<std::string> strings_of(const json::Value& value) {
  std::vector<std::string> texts;
  for (const json::Value& item : value.items()) texts.push_back(item.string());
  return texts;
}
json::Value load_vectors(const std::string& path) {
  const auto text = read_file(path);
  if (!text) return {};
  auto value = json::parse(*text);
  return value ? std::move(*value) : json::Value{};
}

TEST(TokenizerVectors, ByteLevelAgreesWithTheTokenizersPackage) {
  const json::Value vectors =
      load_vectors(ASSAY_SOURCE_DIR "/tests/conformance/tokenizer/bpe.json");
  ASSERT_TRUE(vectors.is_object());
  for (const auto& [name, data] : vectors.find("splitters")->members()) {
    VocabularyFile vocabulary;
    vocabulary.pre = name;
    vocabulary.tokens = strings_of(*data.find("tokens"));
    vocabulary.merges = strings_of(*data.find("merges"));
    vocabulary.switches = {{"add_bos_token", false}};
    const Opened opened = open(vocabulary);
    for (const json::Value& item : data.find("cases")->items()) {
      const std::string& text = item.find("text")->string();
      const auto ids = opened.tokenizer.encode(text);
      ASSERT_TRUE(ids) << ids.refusal().text();
      EXPECT_EQ(*ids, ids_of(*item.find("ids"))) << name << ": " << text;
      EXPECT_EQ(*opened.tokenizer.decode(*ids), text);
    }
  }
}

TEST(TokenizerVectors, SentencePieceAgreesWithTheSentencepiecePackage) {
  const json::Value vectors =
      load_vectors(ASSAY_SOURCE_DIR "/tests/conformance/tokenizer/spm.json");
  ASSERT_TRUE(vectors.is_object());
  VocabularyFile vocabulary;
  vocabulary.model = "llama";
  vocabulary.tokens = strings_of(*vectors.find("tokens"));
  for (const json::Value& item : vectors.find("scores")->items()) {
    vocabulary.scores.push_back(static_cast<float>(*item.as_double("scores")));
  }
  for (const json::Value& item : vectors.find("types")->items()) {
    vocabulary.types.push_back(static_cast<int32_t>(*item.as_int64("types")));
  }
  vocabulary.ids = {{"bos", 1}, {"eos", 2}, {"unknown", 0}};
  const Opened opened = open(vocabulary);
  for (const json::Value& item : vectors.find("cases")->items()) {
    const std::string& text = item.find("text")->string();
    const auto ids = opened.tokenizer.encode(text, {.add_special = false});
    ASSERT_TRUE(ids) << ids.refusal().text();
    EXPECT_EQ(*ids, ids_of(*item.find("ids"))) << text;
    EXPECT_EQ(*opened.tokenizer.decode(*ids), text);
  }
}

// Every string that llama.cpp tokenized, three ways, and its way back.
TEST(TokenizerVectors, SmolLM2AgreesWithLlamaCpp) {
  const std::string vectors_path = ASSAY_SOURCE_DIR "/../shared/oracles/smollm2/tokenize.json";
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  const char* const home = std::getenv("HOME");
  const std::string model_path =
      (cache != nullptr ? std::string(cache) : cat(home != nullptr ? home : "", "/.cache")) +
      "/assay/SmolLM2-135M-Instruct.Q4_1.gguf";
  for (const std::string& path : {vectors_path, model_path}) {
    if (!std::filesystem::exists(path)) GTEST_SKIP() << "not there: " << path;
  }
  const json::Value vectors = load_vectors(vectors_path);
  const auto model = gguf::open_file(model_path);
  ASSERT_TRUE(model) << model.refusal().text();
  const auto tokenizer = Tokenizer::open(*model);
  ASSERT_TRUE(tokenizer) << tokenizer.refusal().text();
  EXPECT_EQ(tokenizer->vocab_size(), 49152u);
  EXPECT_EQ(tokenizer->splitter(), "smollm");
  EXPECT_TRUE(tokenizer->is_stop(2));
  for (const json::Value& item : vectors.find("strings")->items()) {
    const std::string& text = item.find("text")->string();
    const auto encode = [&](bool add, bool parse) {
      return *tokenizer->encode(text, {.add_special = add, .parse_special = parse});
    };
    EXPECT_EQ(encode(false, true), ids_of(*item.find("ids"))) << text;
    EXPECT_EQ(encode(false, false), ids_of(*item.find("ids_plain"))) << text;
    EXPECT_EQ(encode(true, true), ids_of(*item.find("ids_add_special"))) << text;
    EXPECT_EQ(*tokenizer->decode(encode(false, true)), text);
  }
}

TEST(TokenizerVectors, Stories260K) {
  const std::string path = ASSAY_SOURCE_DIR "/../shared/models/stories260K.gguf";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "not there: " << path;
  const auto model = gguf::open_file(path);
  ASSERT_TRUE(model) << model.refusal().text();
  const auto tokenizer = Tokenizer::open(*model);
  ASSERT_TRUE(tokenizer) << tokenizer.refusal().text();
  const auto ids = tokenizer->encode("Once upon a time");
  EXPECT_THAT(*ids, ElementsAre(1, 403, 407, 261, 378));
  EXPECT_EQ(*tokenizer->decode(*ids, false), "Once upon a time");
}

TEST(Bpe, MergesByRankFromTheLeft) {
  const Opened opened = open(small_bpe());
  EXPECT_THAT(*opened.tokenizer.encode("hello hello"), ElementsAre(259, 260));
  EXPECT_THAT(*opened.tokenizer.encode("helllo"), ElementsAre(258, 'l', 'o'));
  EXPECT_THAT(*opened.tokenizer.encode("lll"), ElementsAre(257, 'l'));
  EXPECT_THAT(*opened.tokenizer.encode(""), IsEmpty());
}

// The same piece through the scan (up to 64 bytes) and through the heap.
TEST(Bpe, LongPiecesMergeAsShortOnes) {
  const Opened opened = open(small_bpe());
  for (const size_t n : {12u, 13u, 200u}) {
    std::string text;
    std::vector<TokenId> expected;
    for (size_t i = 0; i < n; ++i) {
      text += "hello";
      expected.push_back(259);
    }
    EXPECT_EQ(*opened.tokenizer.encode(text), expected);
  }
}

TEST(Bpe, SpecialTokens) {
  const Opened opened = open(small_bpe());
  const Tokenizer& tokenizer = opened.tokenizer;
  EXPECT_THAT(*tokenizer.encode("<|end|>hello"), ElementsAre(261, 259));
  EXPECT_THAT(*tokenizer.encode("<|endless|><|end|>"), ElementsAre(262, 261));  // the longest
  EXPECT_THAT(*tokenizer.encode("[TAG]hello", {.parse_special = false}), ElementsAre(263, 259));
  EXPECT_EQ(tokenizer.encode("<|end|>", {.parse_special = false})->size(), 7u);
  EXPECT_EQ(tokenizer.encode("<|endles")->size(), 8u);
  EXPECT_EQ(*tokenizer.decode(std::vector<TokenId>{261, 259}), "<|end|>hello");
  EXPECT_EQ(*tokenizer.decode(std::vector<TokenId>{261, 259, 263}, false), "hello[TAG]");
}

TEST(Bpe, IgnoreMergesTakesWholePieces) {
  VocabularyFile vocabulary = small_bpe();
  vocabulary.add("xyz");  // 264, no merge leads to it
  vocabulary.switches = {{"add_bos_token", false}};
  vocabulary.pre = "gpt-2";
  EXPECT_THAT(*open(vocabulary).tokenizer.encode("xyz"), ElementsAre('x', 'y', 'z'));
  vocabulary.pre = "llama-bpe";
  EXPECT_THAT(*open(vocabulary).tokenizer.encode("xyz"), ElementsAre(264));
}

TEST(Bpe, BosFollowsTheMetadata) {
  VocabularyFile vocabulary = small_bpe();
  vocabulary.ids = {{"bos", 261}, {"eos", 262}};
  EXPECT_THAT(*open(vocabulary).tokenizer.encode("hello"), ElementsAre(259));
  vocabulary.switches = {{"add_bos_token", true}, {"add_eos_token", true}};
  EXPECT_THAT(*open(vocabulary).tokenizer.encode("hello"), ElementsAre(261, 259, 262));
  EXPECT_THAT(*open(vocabulary).tokenizer.encode("hello", {.add_special = false}),
              ElementsAre(259));
  vocabulary.switches = {};
  vocabulary.pre = "llama-bpe";  // asks for BOS where the file does not say
  EXPECT_THAT(*open(vocabulary).tokenizer.encode("hello"), ElementsAre(261, 259));
}

TEST(Bpe, BytesThatAreNotUtf8BecomeReplacementCharacters) {
  const Opened opened = open(small_bpe());
  const auto ids = opened.tokenizer.encode("a\xFF\x80");
  ASSERT_TRUE(ids);
  EXPECT_EQ(*opened.tokenizer.decode(*ids), "a\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST(Bpe, MissingBytes) {
  VocabularyFile vocabulary = small_bpe();
  vocabulary.tokens[0] = "spare";  // no token for the byte 0x00
  const Opened without = open(vocabulary);
  const auto refused = without.tokenizer.encode(std::string_view("a\0b", 3));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.refusal().code, kTextNotCovered.code);
  EXPECT_THAT(refused.refusal().detail, HasSubstr("0x00"));
  vocabulary.add("<0x00>", 6);
  const Opened with = open(vocabulary);
  EXPECT_THAT(*with.tokenizer.encode(std::string_view("a\0b", 3)), ElementsAre('a', 264, 'b'));
  EXPECT_EQ(*with.tokenizer.decode(std::vector<TokenId>{264}), std::string(1, '\0'));
}

TEST(Bpe, RefusesMergesThatLeadNowhere) {
  VocabularyFile vocabulary = small_bpe();
  const std::pair<std::string, std::string> cases[] = {{"hell", "not two parts"},
                                                       {"hell ", "not two parts"},
                                                       {"qq e", "its left part"},
                                                       {"h qq", "its right part"},
                                                       {"h x", "its result"}};
  for (const auto& [merge, part] : cases) {
    vocabulary.merges[4] = merge;
    expect_refusal(vocabulary, kMergeInvalid, "merge 4");
    expect_refusal(vocabulary, kMergeInvalid, part);
  }
}

// G36: a missing or unknown splitter, or merges left out, would give bad ids silently.
TEST(Bpe, G36MissingOrUnknownSplitter) {
  VocabularyFile vocabulary = small_bpe();
  vocabulary.pre = "";
  expect_refusal(vocabulary, kPreUnknown, "is not there");
  vocabulary.pre = "my-tokenizer";
  expect_refusal(vocabulary, kPreUnknown, "`my-tokenizer`; known are");
  const gguf::File file = vocabulary.file();
  const auto overridden = Tokenizer::open(file, {.pre_override = "qwen2"});
  ASSERT_TRUE(overridden);
  EXPECT_EQ(overridden->splitter(), "qwen2");
  EXPECT_FALSE(Tokenizer::open(file, {.pre_override = "nope"}));
  vocabulary.pre = "gpt-2";
  vocabulary.write_merges = false;
  expect_refusal(vocabulary, gguf::kKeyMissing, "tokenizer.ggml.merges");
}

// G32: long unbroken runs; 1 MiB of each must neither recurse nor take quadratic time (the test's
// timeout says so). The ids must still spell the text.
TEST(Bpe, G32LongRuns) {
  constexpr size_t kSize = 1 << 20;
  for (const char* pre : {"gpt-2", "smollm", "qwen2", "qwen35", "llama-bpe"}) {
    VocabularyFile vocabulary = small_bpe();
    vocabulary.pre = pre;
    vocabulary.switches = {{"add_bos_token", false}};
    const Opened opened = open(vocabulary);
    for (const std::string_view unit :
         {"A", "l", "hel", "us", "\n", " ", "=", "7", "Z ", "\xCC\x81"}) {
      std::string text;
      while (text.size() < kSize) text += unit;
      const auto ids = opened.tokenizer.encode(text);
      ASSERT_TRUE(ids);
      EXPECT_EQ(*opened.tokenizer.decode(*ids), text) << pre << " " << unit;
    }
  }
}

TEST(Spm, MergesByScore) {
  const Opened opened = open(small_spm());
  const Tokenizer& tokenizer = opened.tokenizer;
  EXPECT_EQ(tokenizer.splitter(), "spm");
  EXPECT_THAT(*tokenizer.encode("ab"), ElementsAre(1, 263));
  // "ab" (-4) before "ba" (-6), leftmost first.
  EXPECT_THAT(*tokenizer.encode("xabab"), ElementsAre(1, 259, 3 + 'x', 262, 262));
  EXPECT_THAT(*tokenizer.encode("\xC3\xA9"), ElementsAre(1, 259, 3 + 0xC3, 3 + 0xA9));
  EXPECT_THAT(*tokenizer.encode("\xFF"), ElementsAre(1, 259, 3 + 0xFF));
  EXPECT_THAT(*tokenizer.encode("", {.add_special = false}), IsEmpty());
  EXPECT_EQ(*tokenizer.decode(*tokenizer.encode(" ab\xC3\xA9"), false), " ab\xC3\xA9");
}

TEST(Spm, SpacePrefixFollowsSpecialTokens) {
  VocabularyFile vocabulary = small_spm();
  EXPECT_THAT(*open(vocabulary).tokenizer.encode("ab</s>ab"), ElementsAre(1, 263, 2, 263));
  vocabulary.switches = {{"add_space_prefix", false}};
  EXPECT_THAT(*open(vocabulary).tokenizer.encode("ab</s>ab"), ElementsAre(1, 262, 2, 262));
}

// Text cannot spell a control or byte token by merging.
TEST(Spm, MergingNeverMakesControlTokens) {
  VocabularyFile vocabulary = small_spm();
  for (const char* token : {"<", "s>"}) {
    vocabulary.add(token);
    vocabulary.scores.push_back(-50);
  }
  vocabulary.add("s");
  vocabulary.scores.push_back(-60);
  vocabulary.add(">");
  vocabulary.scores.push_back(-61);
  const Opened opened = open(vocabulary);
  EXPECT_THAT(*opened.tokenizer.encode("<s>", {.add_special = false, .parse_special = false}),
              ElementsAre(259, 265, 266));
}

TEST(Spm, UnknownTokenWhereThereAreNoBytes) {
  VocabularyFile vocabulary = small_spm();
  for (size_t i = 3; i < 259; ++i) {
    vocabulary.tokens[i] = cat("[", i, "]");
    vocabulary.types[i] = 5;
    vocabulary.scores[i] = -1000 - static_cast<float>(i);
  }
  EXPECT_THAT(*open(vocabulary).tokenizer.encode("x"), ElementsAre(1, 259, 0));
  vocabulary.ids = {{"bos", 1}, {"eos", 2}};
  const Opened opened = open(vocabulary);
  const auto refused = opened.tokenizer.encode("x");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.refusal().code, kTextNotCovered.code);
}

TEST(Spm, G32LongRuns) {
  const Opened opened = open(small_spm());
  for (const std::string_view unit : {"a", "ab", " ", "x", "\n"}) {
    std::string text;
    while (text.size() < (1 << 20)) text += unit;
    const auto ids = opened.tokenizer.encode(text);
    ASSERT_TRUE(ids);
    EXPECT_EQ(*opened.tokenizer.decode(*ids, false), text);
  }
}

TEST(Spm, G36ScoresThatCarryNoOrder) {
  VocabularyFile vocabulary = small_spm();
  for (float& score : vocabulary.scores) score = 0;
  expect_refusal(vocabulary, kScoresFlat, "have the score 0");
  vocabulary.scores.clear();
  expect_refusal(vocabulary, gguf::kKeyMissing, "tokenizer.ggml.scores");
}

TEST(Refusals, UnknownTokenizerModels) {
  VocabularyFile vocabulary = small_bpe();
  vocabulary.model = "bert";
  expect_refusal(vocabulary, kModelUnknown, "`bert`; known are llama, gpt2");
}

// G22: lengths agree, types are integers in an array.
TEST(Refusals, G22LengthsAndTypes) {
  VocabularyFile vocabulary = small_bpe();
  vocabulary.types.pop_back();
  expect_refusal(vocabulary, kLengthsDiffer, "has 263 items, but there are 264 tokens");
  vocabulary = small_spm();
  vocabulary.scores.pop_back();
  expect_refusal(vocabulary, kLengthsDiffer, "`tokenizer.ggml.scores` has 264");

  const auto open_with = [](const gguf::Writer& keys) {
    const std::string bytes = keys.bytes();
    auto file = gguf::open_bytes("v.gguf", std::as_bytes(std::span(bytes.data(), bytes.size())));
    EXPECT_TRUE(file);
    return Tokenizer::open(*file);
  };
  VocabularyFile no_types = small_bpe();
  no_types.types.clear();
  gguf::Writer scalar = no_types.writer();
  scalar.add_u32("tokenizer.ggml.token_type", 1);
  const auto refused = open_with(scalar);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.refusal().code, gguf::kKeyType.code);
  VocabularyFile bad = small_bpe();
  bad.types[3] = 9;
  expect_refusal(bad, gguf::kKeyRange, "item 3 is 9");
}

// G24: ids are checked against the vocabulary, whatever they are for.
TEST(Refusals, G24IdsOutsideTheVocabulary) {
  VocabularyFile vocabulary;
  vocabulary.add("x");
  vocabulary.ids = {{"eos", 4294967295u}};
  expect_refusal(vocabulary, kIdOutOfRange, "`tokenizer.ggml.eos_token_id` is 4294967295");
  vocabulary = small_bpe();
  vocabulary.ids = {{"fim_pre", 264}};
  expect_refusal(vocabulary, kIdOutOfRange, "is 264, expected 0 to 263");
  const Opened opened = open(small_bpe());
  const auto decoded = opened.tokenizer.decode(std::vector<TokenId>{0, 264});
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.refusal().code, kIdOutOfRange.code);
}

// G25: two equal tokens; a BOS that is asked for and not named.
TEST(Refusals, G25DuplicatesAndMissingBos) {
  VocabularyFile vocabulary = small_bpe();
  vocabulary.add("he");
  expect_refusal(vocabulary, kTokenDuplicate, "tokens 256 and 264 are both `he`");
  vocabulary = small_bpe();
  vocabulary.switches = {{"add_bos_token", true}};
  expect_refusal(vocabulary, kBosMissing, "bos_token_id");
  vocabulary.switches = {{"add_eos_token", true}};
  expect_refusal(vocabulary, kBosMissing, "eos_token_id");
  vocabulary = small_spm();
  vocabulary.ids = {{"eos", 2}};
  expect_refusal(vocabulary, kBosMissing, "bos_token_id");
}

TEST(Refusals, EmptyVocabulariesAndTokens) {
  VocabularyFile vocabulary;
  expect_refusal(vocabulary, kVocabularySize, "has 0 items");
  vocabulary = small_bpe();
  vocabulary.add("");
  expect_refusal(vocabulary, kTokenInvalid, "token 264 is empty");
  vocabulary = small_bpe();
  vocabulary.add("<0xZZ>", 6);
  expect_refusal(vocabulary, kTokenInvalid, "expected the form <0x0A>");
}

// G11: limits cost nothing per element. 150,000 tokens open within the test's timeout by far; the
// figure itself is measured by bench.
TEST(Vocabulary, G11LargeVocabulariesOpen) {
  VocabularyFile vocabulary = small_bpe();
  for (int i = 0; vocabulary.tokens.size() < 150000; ++i) vocabulary.add(cat("filler", i));
  const Opened opened = open(vocabulary);
  EXPECT_EQ(opened.tokenizer.vocab_size(), 150000u);
  EXPECT_EQ(opened.tokenizer.find("filler149735"), 149999u);
}

TEST(Vocabulary, StopIds) {
  VocabularyFile vocabulary = small_bpe();
  vocabulary.ids = {{"eos", 262}};
  const Opened opened = open(vocabulary);
  EXPECT_THAT(opened.tokenizer.stop_ids(), ElementsAre(261, 262));  // <|end|> and eos
  EXPECT_TRUE(opened.tokenizer.is_stop(261));
  EXPECT_FALSE(opened.tokenizer.is_stop(263));
}

// G37: text comes out as whole code points; broken bytes are shown, and kept as they were.
TEST(StreamingText, G37HoldsIncompleteCharacters) {
  const Opened opened = open(small_bpe());
  StreamingText stream(opened.tokenizer, false);
  // 😀 is F0 9F 98 80: tokens of single bytes.
  EXPECT_EQ(stream.push(0xF0), "");
  EXPECT_EQ(stream.push(0x9F), "");
  EXPECT_EQ(stream.push(0x98), "");
  EXPECT_EQ(stream.push(0x80), "\xF0\x9F\x98\x80");
  EXPECT_EQ(stream.push(259), "hello");
  EXPECT_EQ(stream.push(0xE4), "");
  EXPECT_EQ(stream.push(259), "\xEF\xBF\xBDhello");  // can no longer become a character
  EXPECT_EQ(stream.push(0xFF), "\xEF\xBF\xBD");
  EXPECT_EQ(stream.push(261), "");  // control
  EXPECT_EQ(stream.push(0xC3), "");
  EXPECT_EQ(stream.finish(), "\xEF\xBF\xBD");
  EXPECT_EQ(stream.bytes(), "\xF0\x9F\x98\x80hello\xE4hello\xFF\xC3");
}

TEST(StreamingText, LossyUtf8) {
  EXPECT_EQ(to_utf8_lossy("ok \xC3\xA9"), "ok \xC3\xA9");
  EXPECT_EQ(to_utf8_lossy("\xF0\x9F\x98"), "\xEF\xBF\xBD");          // one maximal part
  EXPECT_EQ(to_utf8_lossy("\xE0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD");  // 80 may not follow E0
  EXPECT_EQ(to_utf8_lossy("\xED\xA0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
}

}  // namespace
}  // namespace assay::engine::tokenizer
