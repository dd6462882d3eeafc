// The examples in docs/formats are read by the code they describe, and every sealed key is
// documented.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/files.h"
#include "base/json.h"
#include "scoring/calibration.h"
#include "scoring/golden.h"
#include "scoring/score_document.h"
#include "scoring/seal.h"

namespace assay::scoring {
namespace {

std::string page(const std::string& name) {
  const auto bytes =
      read_file(std::filesystem::path(ASSAY_SOURCE_DIR) / "docs/formats" / (name + ".md"));
  EXPECT_TRUE(bytes) << bytes.refusal().text();
  return bytes ? *bytes : std::string();
}
// The text of the page's JSON example.
std::string example(const std::string& name) {
  const std::string text = page(name);
  constexpr std::string_view kOpen = "```json\n";
  const size_t open = text.find(kOpen);
  EXPECT_NE(open, std::string::npos) << name;
  if (open == std::string::npos) return {};
  const size_t begin = open + kOpen.size();
  return text.substr(begin, text.find("```", begin) - begin);
}

TEST(Formats, ContractExample) {
  const auto contract = parse_contract(example("contract"));
  ASSERT_TRUE(contract) << contract.refusal().text();
  EXPECT_TRUE(refuse_unsupported(*contract));
  EXPECT_TRUE(resolve_window_shape(*contract));
  EXPECT_TRUE(resolve_model_shape(*contract));
  EXPECT_TRUE(resolve_scoring_weights(*contract));
  EXPECT_TRUE(resolve_speedup_floors(*contract));
  EXPECT_TRUE(resolve_acceptance_bands(*contract));
  EXPECT_EQ(*platform_of_track(*contract->track_id), Platform::cpu);
}

TEST(Formats, GoldenExample) {
  GoldenRequirements required;
  required.required_steps = 3;
  required.required_prompt_tokens = required.seed_tokens = 4;
  required.vocab_size = 100;
  required.benchmark_decode_steps = 2;
  required.required_model_type = "llama";
  const auto golden = load_golden(example("golden"), required);
  ASSERT_TRUE(golden) << golden.refusal().text();
  EXPECT_TRUE(require_benchmark(golden->golden));
  EXPECT_EQ(golden->golden.total_correctness_case_count(), 3u);
}

TEST(Formats, CalibrationExample) {
  const auto calibration = parse_calibration(example("calibration"), 0.01);
  ASSERT_TRUE(calibration) << calibration.refusal().text();
}

TEST(Formats, ScoreExample) {
  const std::string text = example("score");
  const auto document = json::parse(text);
  ASSERT_TRUE(document) << document.refusal().text();
  const auto score = read_score_document(*document);
  ASSERT_TRUE(score) << score.refusal().text();
  EXPECT_EQ(score_bytes(*score) + "\n", text);
}

TEST(Formats, IntegrityExample) {
  const std::string text = example("integrity");
  const auto integrity = read_integrity(text);
  ASSERT_TRUE(integrity) << integrity.refusal().text();
  EXPECT_EQ(write_integrity(*integrity), text);
}

TEST(Formats, EverySealedKeyIsDocumented) {
  const std::string text = page("score");
  for (const auto& list : {always_present_metrics(), optional_metrics()}) {
    for (const std::string_view key : list) {
      // The leg figures stand as a prefix and a list of endings.
      std::string_view shown = key;
      for (const std::string_view prefix : {"baseline_leg_", "candidate_leg_"}) {
        if (key.starts_with(prefix)) shown.remove_prefix(prefix.size());
      }
      EXPECT_NE(text.find("`" + std::string(shown) + "`"), std::string::npos) << key;
    }
  }
}

}  // namespace
}  // namespace assay::scoring
