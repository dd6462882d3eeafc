// SmolLM2-135M-Instruct (Q4_1) through the real program, against recorded answers of llama.cpp:
// tokenization, greedy tokens, perplexity. Skips by name what is not on this machine.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "bench/answers/greedy.h"
#include "bench/answers/smollm2.h"
#include "bench/child/child.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

const fs::path kEngine = ASSAY_BIN_DIR "/assay-engine";
const fs::path kOracles = ASSAY_SOURCE_DIR "/../shared/oracles/smollm2";
const fs::path kLicence = "/usr/share/common-licenses/GPL-3";

class SmolLM2 : public testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(bench::smollm2_path())) {
      GTEST_SKIP() << "no model at " << bench::smollm2_path() << " (tools/fetch_model.sh smollm2)";
    }
    text_ = fs::temp_directory_path() / cat("assay_smollm2_", getpid(), ".txt");
  }
  void TearDown() override { fs::remove(text_); }

  // Runs a verb on `text`, passed as a file, and reads the one JSON object that it prints.
  json::Value run(const std::string& verb, const std::string& text,
                  const std::vector<std::string>& flags) {
    EXPECT_TRUE(write_file_atomic(text_, text));
    std::vector<std::string> argv = {
        kEngine.string(), verb,    "-m", bench::smollm2_path().string(), "-f",
        text_.string(),   "--json"};
    argv.insert(argv.end(), flags.begin(), flags.end());
    auto child = bench::Child::start(argv);
    EXPECT_TRUE(child) << child.refusal().text();
    if (!child) return {};
    const Status finished = child->finish();
    EXPECT_TRUE(finished) << join(argv, " ") << ": " << finished.refusal().text();
    const auto answer = json::parse(child->output());
    EXPECT_TRUE(answer) << answer.refusal().text();
    return answer && answer->is_object() ? *answer : json::Value::object();
  }

  static std::vector<int32_t> ids(const json::Value& object, std::string_view key) {
    const json::Value* value = object.find(key);
    EXPECT_NE(value, nullptr) << key;
    if (!value) return {};
    const auto wide = value->as_int64s(key);
    EXPECT_TRUE(wide);
    return wide ? std::vector<int32_t>(wide->begin(), wide->end()) : std::vector<int32_t>{};
  }

  fs::path text_;
};

TEST_F(SmolLM2, TokenizesEveryRecordedString) {
  const fs::path path = kOracles / "tokenize.json";
  if (!fs::exists(path)) GTEST_SKIP() << "no " << path;
  const auto bytes = read_file(path);
  ASSERT_TRUE(bytes);
  const auto oracle = json::parse(*bytes);
  ASSERT_TRUE(oracle);
  const auto& strings = oracle->find("strings")->items();
  ASSERT_GT(strings.size(), 40U);
  for (const json::Value& one : strings) {
    const std::string& text = one.find("text")->string();
    SCOPED_TRACE(testing::Message() << "text " << json::write(text));
    EXPECT_EQ(ids(run("tokenize", text, {}), "ids"), ids(one, "ids"));
    EXPECT_EQ(ids(run("tokenize", text, {"--no-special"}), "ids"), ids(one, "ids_plain"));
  }
}

TEST_F(SmolLM2, GreedyTokensLeaveTheReferenceAtNearTiesOnly) {
  const fs::path path = kOracles / "greedy.json";
  if (!fs::exists(path)) GTEST_SKIP() << "no " << path;
  const auto cases = bench::read_greedy_cases(path);
  ASSERT_TRUE(cases) << cases.refusal().text();
  ASSERT_FALSE(cases->empty());
  for (const bench::GreedyCase& reference : *cases) {
    SCOPED_TRACE(reference.name);
    const json::Value answer = run("generate", reference.prompt,
                                   {"--temperature", "0", "-n", cat(reference.tokens.size())});
    EXPECT_EQ(ids(answer, "prompt_ids"), reference.prompt_ids);
    const bench::Judgement judgement = bench::judge(reference, ids(answer, "ids"));
    EXPECT_NE(judgement.verdict, bench::Verdict::wrong)
        << "position " << judgement.position << ", gap " << judgement.gap;
    if (judgement.verdict == bench::Verdict::near_tie) {
      std::printf("%s leaves the reference at position %zu, gap %.3f\n", reference.name.c_str(),
                  judgement.position, judgement.gap);
    }
  }
}

// llama.cpp gives 18.49 for the same tokens cut the same way; F32 arithmetic on the same weights
// gives 18.34. Both figures were measured with llama.cpp; ours must lie within 0.5 % of the first.
TEST_F(SmolLM2, PerplexityFollowsLlamaCppsConvention) {
  if (!fs::exists(kLicence)) GTEST_SKIP() << "no " << kLicence;
  const auto text = read_file(kLicence);
  ASSERT_TRUE(text);
  ASSERT_GE(text->size(), 20480U);
  const json::Value answer = run("perplexity", text->substr(0, 20480), {"--ctx", "512"});
  ASSERT_NE(answer.find("perplexity"), nullptr);
  const auto perplexity = answer.find("perplexity")->as_double("perplexity");
  ASSERT_TRUE(perplexity);
  std::printf("perplexity %.4f\n", *perplexity);
  EXPECT_NEAR(*perplexity, 18.49, 18.49 * 0.005);
}

}  // namespace
}  // namespace assay
