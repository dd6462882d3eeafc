// Synthetic models: loadable, reproducible, sane in every block format.
#include "engine/app/data_verbs/synthetic_model.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cmath>
#include <cstring>

#include "base/files.h"
#include "base/text.h"
#include "engine/app/data_verbs/refusals.h"
#include "engine/app/data_verbs/synthetic_blocks.h"
#include "engine/gguf/file.h"
#include "engine/quant/dequantise.h"
#include "engine/tokenizer/tokenizer.h"

namespace assay::engine::app {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class SynthTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "assay_synth_XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path folder_;
};

SyntheticModel small(std::string architecture = "llama") {
  SyntheticModel model;
  model.architecture = std::move(architecture);
  model.n_layers = 2;
  model.n_ff = 256;
  model.n_vocab = 512;
  return model;
}

void expect_refusal(const SyntheticModel& model, const fs::path& folder, std::string_view part) {
  const auto files = write_synthetic(model, folder);
  ASSERT_FALSE(files) << "accepted";
  EXPECT_EQ(files.refusal().code, kSynthGeometry.code);
  EXPECT_THAT(files.refusal().detail, HasSubstr(std::string(part)));
}

TEST(Positional64, DependsOnSeedNameAndPosition) {
  const Positional64 a(1, "blk.0.attn_q.weight");
  const Positional64 same(1, "blk.0.attn_q.weight");
  const Positional64 other_seed(2, "blk.0.attn_q.weight");
  const Positional64 other_name(1, "blk.1.attn_q.weight");
  EXPECT_EQ(a.at(5), same.at(5));
  EXPECT_NE(a.at(5), a.at(6));
  EXPECT_NE(a.at(5), other_seed.at(5));
  EXPECT_NE(a.at(5), other_name.at(5));
}

// Decoded with quant's scalar truth: finite, within 1.4 x the amplitude, spread around zero.
TEST(SyntheticBlocks, EveryTypeIsSane) {
  constexpr uint64_t kIn = 512;
  constexpr float kAmplitude = 0.0866f;  // standard deviation 0.05
  const Positional64 random(3, "w");
  for (const quant::Type type : quant::kTypes) {
    std::vector<std::byte> rows(static_cast<size_t>(quant::row_bytes(type, kIn)) * 8);
    fill_rows(type, kIn, kAmplitude, 7, random, 0, rows);
    std::vector<float> weights(kIn * 8);
    for (size_t row = 0; row < 8; ++row) {
      quant::dequantise_row(type, rows.data() + row * rows.size() / 8, kIn,
                            weights.data() + row * kIn);
    }
    double sum = 0;
    double squares = 0;
    for (size_t i = 0; i < kIn * 7; ++i) {
      ASSERT_TRUE(std::isfinite(weights[i])) << quant::info(type).name;
      ASSERT_LE(std::fabs(weights[i]), 1.4f * kAmplitude) << quant::info(type).name;
      sum += weights[i];
      squares += double{weights[i]} * weights[i];
    }
    const double n = kIn * 7;
    EXPECT_LT(std::fabs(sum / n), 0.01) << quant::info(type).name;
    EXPECT_NEAR(std::sqrt(squares / n), 0.045, 0.02) << quant::info(type).name;
    for (size_t i = kIn * 7; i < kIn * 8; ++i) ASSERT_EQ(weights[i], 0.0f);  // zero_from
  }
}

// Rows can be made in any pieces: what a 4 MiB writer makes is what one call makes.
TEST(SyntheticBlocks, RowsDoNotDependOnTheirCall) {
  const Positional64 random(3, "w");
  std::vector<std::byte> all(34 * 4);
  fill_rows(quant::Type::q8_0, 32, 0.1f, UINT64_MAX, random, 0, all);
  std::vector<std::byte> last(34);
  fill_rows(quant::Type::q8_0, 32, 0.1f, UINT64_MAX, random, 3, last);
  EXPECT_EQ(std::memcmp(all.data() + 34 * 3, last.data(), 34), 0);
}

TEST_F(SynthTest, SameOptionsGiveTheSameBytes) {
  SyntheticModel model = small();
  model.type = "mix";
  ASSERT_TRUE(write_synthetic(model, folder_ / "a"));
  ASSERT_TRUE(write_synthetic(model, folder_ / "b"));
  model.seed = 1;
  ASSERT_TRUE(write_synthetic(model, folder_ / "c"));
  const auto digest = [&](const char* name) {
    return digest_file(folder_ / name / "model.gguf")->sha256;
  };
  EXPECT_EQ(digest("a"), digest("b"));
  EXPECT_NE(digest("a"), digest("c"));
}

TEST_F(SynthTest, TinyModelOpens) {
  const auto files = write_synthetic(tiny_model(), folder_);
  ASSERT_TRUE(files) << files.refusal().text();
  const auto model = gguf::open_model(folder_);
  ASSERT_TRUE(model) << model.refusal().text();
  EXPECT_EQ(model->model.tensors().size(), files->n_tensors);
  EXPECT_EQ(model->model.data_bytes(), files->data_bytes);
  const uint64_t size = model->model.shards()[0].size_bytes;
  EXPECT_GT(size, 2u << 20);
  EXPECT_LT(size, 4u << 20);
  EXPECT_GE(*model->model.metadata().get_uint("llama.context_length"), 1024u);
  const auto tokenizer = tokenizer::Tokenizer::open(model->model);
  ASSERT_TRUE(tokenizer) << tokenizer.refusal().text();
  const auto ids = tokenizer->encode("bade fugo <|im_end|>");
  EXPECT_EQ(*tokenizer->decode(*ids), "bade fugo <|im_end|>");
  EXPECT_LT(ids->size(), 8u);  // the merges work
}

TEST_F(SynthTest, EveryArchitectureAndVocabulary) {
  for (const char* architecture : {"llama", "qwen2", "qwen3"}) {
    for (const VocabularyKind kind :
         {VocabularyKind::byte, VocabularyKind::bpe, VocabularyKind::spm}) {
      if (kind == VocabularyKind::spm && std::string_view(architecture) != "llama") continue;
      SyntheticModel model = small(architecture);
      model.vocabulary = kind;
      model.tied = kind == VocabularyKind::byte;
      const auto files = write_synthetic(model, folder_);
      ASSERT_TRUE(files) << files.refusal().text();
      const auto file = gguf::open_file(files->paths[0]);
      ASSERT_TRUE(file) << file.refusal().text();
      EXPECT_EQ(file->find("output.weight") == nullptr, model.tied);
      const auto tokenizer = tokenizer::Tokenizer::open(*file);
      ASSERT_TRUE(tokenizer) << tokenizer.refusal().text();
      EXPECT_EQ(tokenizer->vocab_size(), 512u);
      const auto ids = tokenizer->encode("bade fugo\n");
      ASSERT_TRUE(ids);
      EXPECT_EQ(*tokenizer->decode(*ids, false), "bade fugo\n");
    }
  }
}

TEST_F(SynthTest, ShardsBelongTogether) {
  SyntheticModel model = small();
  model.n_shards = 3;
  const auto files = write_synthetic(model, folder_);
  ASSERT_TRUE(files) << files.refusal().text();
  ASSERT_EQ(files->paths.size(), 3u);
  const auto opened = gguf::open_model(folder_);
  ASSERT_TRUE(opened) << opened.refusal().text();
  EXPECT_EQ(opened->model.shards().size(), 3u);
  EXPECT_EQ(opened->model.tensors().size(), files->n_tensors);
  EXPECT_EQ(opened->model.find("token_embd.weight")->shard, 1u);
  EXPECT_EQ(opened->model.find("output.weight")->shard, 2u);
}

TEST_F(SynthTest, RefusesGeometryThatMakesNoModel) {
  SyntheticModel model = small();
  model.n_layers = 0;  // G30: a model without blocks
  expect_refusal(model, folder_, "--layers is 0");
  model = small();
  model.n_kv_heads = 3;
  expect_refusal(model, folder_, "not a multiple of --kv-heads 3");
  model = small();
  model.type = "Q4_K";
  model.n_embd = 320;
  expect_refusal(model, folder_, "needs a multiple of 256");
  model = small();
  model.type = "Q9_X";
  expect_refusal(model, folder_, "type Q9_X is not known");
  model.type = "Q2_K";  // known to the reader, not to the kernels
  expect_refusal(model, folder_, "type Q2_K is not known");
  model = small();
  model.n_vocab = 100;
  expect_refusal(model, folder_, "--vocab 100 is too small");
  model = small("qwen2");
  model.vocabulary = VocabularyKind::spm;
  expect_refusal(model, folder_, "spm belongs to llama");
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(SynthTest, RefusesAFolderWithAnotherModel) {
  ASSERT_TRUE(write_file_atomic(folder_ / "other.gguf", "x"));
  const auto files = write_synthetic(small(), folder_);
  ASSERT_FALSE(files);
  EXPECT_EQ(files.refusal().code, kSynthFolderOccupied.code);
  EXPECT_THAT(files.refusal().detail, HasSubstr("other.gguf"));
  // Its own output may be written again.
  fs::remove(folder_ / "other.gguf");
  EXPECT_TRUE(write_synthetic(small(), folder_));
  EXPECT_TRUE(write_synthetic(small(), folder_));
}

}  // namespace
}  // namespace assay::engine::app
