// Teacher-forced agreement with llama.cpp itself, run by bench/engine. Needs the peer's library in
// build/peers (bench/run fetches it), the SmolLM2 model and the program engine_bench; skips by name
// without them.
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <string>

#include "base/json.h"
#include "bench/answers/smollm2.h"
#include "bench/child/child.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

const fs::path kBench = ASSAY_BENCH_PROGRAM;
const fs::path kPeer = ASSAY_SOURCE_DIR "/build/peers/llama.cpp-3.21.1/package/bins/linux-x64";
const fs::path kText = "/usr/share/common-licenses/GPL-3";

TEST(LlamaCpp, AgreesOnTheNextToken) {
  for (const fs::path& needed : {kBench, kPeer, kText, bench::smollm2_path()}) {
    if (!fs::exists(needed)) GTEST_SKIP() << "no " << needed;
  }
  auto child =
      bench::Child::start({kBench.string(), "agreement", "--model", bench::smollm2_path().string(),
                           "--peer", kPeer.string(), "--text", kText.string(), "--min", "0"});
  ASSERT_TRUE(child) << child.refusal().text();
  ASSERT_TRUE(child->finish());
  const auto line = json::parse(child->output());
  ASSERT_TRUE(line) << child->output();
  std::printf("%s", child->output().c_str());
  // Where they differ, llama.cpp's own row puts the two tokens within 0.35, about what it differs
  // from itself by between CPU variants. The line also says how often it agrees with itself.
  const auto number = [&](const char* key) {
    const json::Value* value = line->find(key);
    const auto result = value ? value->as_double(key) : Result<double>(-1.0);
    return result ? *result : -1.0;
  };
  EXPECT_GE(number("agreement_or_near_tie"), 0.99);
}

}  // namespace
}  // namespace assay
