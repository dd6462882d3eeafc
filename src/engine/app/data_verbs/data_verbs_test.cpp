// The verbs as a user meets them: command line in, text and exit code out.
#include "engine/app/data_verbs/data_verbs.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>

#include "base/files.h"
#include "base/json.h"
#include "engine/app/data_verbs/synthetic_model.h"

namespace assay::engine::app {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

struct Ran {
  int exit = 0;
  std::string out;
  std::string err;
};

class VerbsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "assay_verbs_XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    SyntheticModel model;
    model.n_layers = 1;
    model.n_shards = 2;
    ASSERT_TRUE(write_synthetic(model, folder_ / "m"));
    model_ = (folder_ / "m").string();
  }
  void TearDown() override { fs::remove_all(folder_); }

  static Ran run(const std::vector<std::string>& arguments) {
    const cli::Program program{.name = "assay-engine",
                               .summary = "test",
                               .commands = {inspect_command(), tokenize_command(), synth_command()},
                               .versions = {}};
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    Ran ran;
    ran.exit = cli::run_program(program, arguments);
    ran.out = ::testing::internal::GetCapturedStdout();
    ran.err = ::testing::internal::GetCapturedStderr();
    return ran;
  }

  fs::path folder_;
  std::string model_;
};

// The vocabulary's rule: bytes are their own ids, "b a" is the first merge.
TEST_F(VerbsTest, TokenizePromptAndFile) {
  const Ran prompt = run({"tokenize", "-m", model_, "-p", "xba", "--json"});
  EXPECT_EQ(prompt.exit, cli::kOk) << prompt.err;
  EXPECT_EQ(prompt.out, "{\"ids\":[120,256]}\n");
  ASSERT_TRUE(write_file_atomic(folder_ / "t.txt", "xba"));
  const Ran file = run({"tokenize", "-m", model_, "-f", (folder_ / "t.txt").string(), "--json"});
  EXPECT_EQ(file.out, prompt.out);
  const Ran table = run({"tokenize", "-m", model_, "-p", "x\xC3"});
  EXPECT_THAT(table.out, AllOf(HasSubstr("120\t\"x\"\n"), HasSubstr("\t\"\xEF\xBF\xBD\"\n")));
}

TEST_F(VerbsTest, TokenizeNoSpecial) {
  EXPECT_EQ(run({"tokenize", "-m", model_, "-p", "<|im_end|>", "--json"}).out,
            "{\"ids\":[1023]}\n");
  const auto plain = json::parse(
      run({"tokenize", "-m", model_, "-p", "<|im_end|>", "--no-special", "--json"}).out);
  ASSERT_TRUE(plain);
  EXPECT_GT(plain->find("ids")->items().size(), 5u);
}

TEST_F(VerbsTest, TokenizeRefusals) {
  const Ran missing = run({"tokenize", "-m", "none.gguf", "-p", "x", "--json"});
  EXPECT_EQ(missing.exit, cli::kInputOutput);
  EXPECT_THAT(missing.out, HasSubstr("FILE-UNREADABLE"));
  EXPECT_EQ(run({"tokenize", "-p", "x"}).exit, cli::kUsage);
  EXPECT_EQ(run({"tokenize", "-m", model_, "-p", "x", "-f", "y"}).exit, cli::kUsage);
}

TEST_F(VerbsTest, InspectJson) {
  const Ran ran = run({"inspect", model_, "--json"});
  EXPECT_EQ(ran.exit, cli::kOk) << ran.err;
  const auto value = json::parse(ran.out);
  ASSERT_TRUE(value) << value.refusal().text();
  EXPECT_EQ(value->find("architecture")->string(), "llama");
  EXPECT_EQ(value->find("files")->items().size(), 2u);
  // token_embd, output, output_norm, and nine tensors of one block.
  EXPECT_EQ(value->find("tensors")->items().size(), 12u);
  uint64_t bytes = 0;
  for (const json::Value& family : value->find("families")->items()) {
    bytes += *family.find("bytes")->as_uint64("bytes");
    // Two matrices of 256 x 1024 F32 weights.
    if (family.find("family")->string() == "embedding and output") {
      EXPECT_EQ(*family.find("bytes")->as_uint64("bytes"), 2u * 256 * 1024 * 4);
    }
  }
  EXPECT_EQ(bytes, *value->find("data_bytes")->as_uint64("data_bytes"));
}

TEST_F(VerbsTest, InspectTable) {
  const Ran ran = run({"inspect", model_});
  EXPECT_EQ(ran.exit, cli::kOk) << ran.err;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("architecture llama"), HasSubstr("blk.0.attn_q.weight"),
                             HasSubstr("[256, 1024]"), HasSubstr("string[1024]")));
}

TEST_F(VerbsTest, InspectRefusals) {
  ASSERT_TRUE(write_file_atomic(folder_ / "page.gguf", "<!DOCTYPE html>"));
  const Ran page = run({"inspect", (folder_ / "page.gguf").string()});
  EXPECT_EQ(page.exit, cli::kInputOutput);
  EXPECT_THAT(page.err, AllOf(HasSubstr("GGUF-NOT-GGUF"), HasSubstr("an HTML page")));
  EXPECT_EQ(run({"inspect"}).exit, cli::kUsage);
}

TEST_F(VerbsTest, Synth) {
  const std::string out = (folder_ / "new").string();
  const Ran ran =
      run({"synth", "--arch", "qwen3", "--layers", "1", "--type", "Q8_0", "-o", out, "--json"});
  EXPECT_EQ(ran.exit, cli::kOk) << ran.err;
  const auto value = json::parse(ran.out);
  ASSERT_TRUE(value);
  EXPECT_TRUE(fs::exists(value->find("files")->items()[0].string()));
  EXPECT_EQ(run({"synth", "--type", "Q9", "-o", out}).exit, cli::kUsage);
  EXPECT_EQ(run({"synth", "--arch", "gpt5", "-o", out}).exit, cli::kUsage);
  EXPECT_EQ(run({"synth", "--layers", "0", "-o", out}).exit, cli::kUsage);
}

}  // namespace
}  // namespace assay::engine::app
