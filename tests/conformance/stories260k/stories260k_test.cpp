// stories260K, a very small real llama model in F32: tokens known from an independent program. F32
// arithmetic leaves no room for ties here, so they must be equal.
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "bench/child/child.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

const fs::path kModel = ASSAY_SOURCE_DIR "/../shared/models/stories260K.gguf";
constexpr const char* kEngine = ASSAY_BIN_DIR "/assay-engine";

json::Value run(const std::string& verb, const std::vector<std::string>& flags) {
  std::vector<std::string> argv = {kEngine, verb, "-m", kModel.string(), "-p", "Once upon a time",
                                   "--json"};
  argv.insert(argv.end(), flags.begin(), flags.end());
  auto child = bench::Child::start(argv);
  EXPECT_TRUE(child);
  if (!child) return json::Value::object();
  EXPECT_TRUE(child->finish()) << join(argv, " ");
  const auto answer = json::parse(child->output());
  EXPECT_TRUE(answer);
  return answer && answer->is_object() ? *answer : json::Value::object();
}

std::vector<int64_t> ids(const json::Value& answer) {
  const json::Value* value = answer.find("ids");
  const auto result = value ? value->as_int64s("ids") : Result<std::vector<int64_t>>({});
  EXPECT_TRUE(result);
  return result ? *result : std::vector<int64_t>{};
}

TEST(Stories260K, TokenizesWithItsBos) {
  if (!fs::exists(kModel)) GTEST_SKIP() << "no " << kModel;
  EXPECT_EQ(ids(run("tokenize", {})), (std::vector<int64_t>{1, 403, 407, 261, 378}));
}

TEST(Stories260K, TellsTheKnownStory) {
  if (!fs::exists(kModel)) GTEST_SKIP() << "no " << kModel;
  const json::Value answer = run("generate", {"--temperature", "0", "-n", "24"});
  EXPECT_EQ(ids(answer),
            (std::vector<int64_t>{432, 383, 286, 261, 376, 298, 315, 421, 395, 317, 426, 338,
                                  401, 396, 267, 337, 410, 408, 419, 292, 411, 322, 265, 282}));
  ASSERT_NE(answer.find("text"), nullptr);
  const std::string& text = answer.find("text")->string();
  // The 24 tokens end in the middle of "park".
  EXPECT_EQ(text, ", there was a little girl named Lily. She loved to play outside in the p");
}

}  // namespace
}  // namespace assay
