// Goldens that somebody else wrote, valid and broken: each file's verdict, as a structural load and
// as the default check that also wants a benchmark block.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/files.h"
#include "base/json.h"
#include "base/sha256.h"
#include "scoring/golden.h"

namespace assay::scoring {
namespace {

namespace fs = std::filesystem;

const fs::path kFolder = fs::path(ASSAY_SOURCE_DIR) / "../shared/golden_fuzz";

std::string text_at(const json::Value& object, std::string_view key) {
  return object.find(key)->string();
}
uint32_t number_at(const json::Value& object, std::string_view key) {
  return *object.find(key)->as_uint32(key);
}

GoldenRequirements requirements_of(const json::Value& parameters) {
  GoldenRequirements out;
  out.required_steps = number_at(parameters, "required_steps");
  out.required_prompt_tokens = number_at(parameters, "required_prompt_tokens");
  out.vocab_size = number_at(parameters, "vocab_size");
  out.seed_tokens = number_at(parameters, "seed_tokens");
  out.benchmark_decode_steps = number_at(parameters, "benchmark_decode_steps_min");
  out.required_model_type = text_at(parameters, "required_model_type");
  return out;
}

TEST(GoldenFuzz, EveryFileGetsItsVerdict) {
  const fs::path verdicts_path = kFolder / "verdicts.json";
  if (!fs::exists(verdicts_path)) GTEST_SKIP() << verdicts_path << " is missing";
  const auto verdicts = json::parse(*read_file(verdicts_path));
  ASSERT_TRUE(verdicts) << verdicts.refusal().text();
  const GoldenRequirements required = requirements_of(*verdicts->find("load_parameters"));
  size_t checked = 0;
  for (const json::Value& file : verdicts->find("files")->items()) {
    const std::string name = text_at(file, "file");
    SCOPED_TRACE(name + ": " + text_at(file, "why"));
    const auto bytes = read_file(kFolder / name);
    ASSERT_TRUE(bytes) << bytes.refusal().text();
    ASSERT_EQ(sha256_hex(*bytes), text_at(file, "sha256"));
    const auto loaded = load_golden(*bytes, required);
    EXPECT_EQ(loaded ? "ACCEPT" : "REJECT", text_at(file, "structural"))
        << (loaded ? "" : loaded.refusal().text());
    const bool accepted = loaded && require_benchmark(loaded->golden);
    EXPECT_EQ(accepted ? "ACCEPT" : "REJECT", text_at(file, "expected"));
    EXPECT_TRUE(loaded || !loaded.refusal().detail.empty());
    ++checked;
  }
  EXPECT_EQ(checked, 20u);
}

// The refusal of each broken file, by the reason that its verdict states.
TEST(GoldenFuzz, RefusalsNameTheDefect) {
  if (!fs::exists(kFolder)) GTEST_SKIP() << kFolder << " is missing";
  GoldenRequirements required;
  required.required_prompt_tokens = required.seed_tokens = 1024;
  required.vocab_size = 248320;
  required.required_model_type = "qwen4_exp_text";
  const auto refusal = [&](const char* name) {
    const auto loaded = load_golden(*read_file(kFolder / name), required);
    return loaded ? "accepted" : loaded.refusal().text();
  };
  const std::pair<const char*, const char*> expected[] = {
      {"model_type_empty.json", "GOLDEN-MODEL-TYPE: `model_type`"},
      {"version_missing.json", "GOLDEN-VERSION: `version`"},
      {"unknown_top_key_00.json", "JSON-UNKNOWN-KEY: `"},
      {"cases_empty.json", "GOLDEN-CASE-INVALID: `cases`"},
      {"case_name_control.json", "GOLDEN-NAME-INVALID: `cases[0].name`"},
      {"case_token_oob_01.json", "GOLDEN-TOKEN-OUT-OF-RANGE: `cases[0]."},
      {"case_prompt_null_elem.json", "JSON-TYPE: `cases["},
      {"gates_null.json", "JSON-TYPE: `correctness_gates`"},
      {"gates_unknown_section_00.json", "JSON-UNKNOWN-KEY: `correctness_gates."},
      {"anchor_accepted_empty.json", "GOLDEN-GATE-INVALID: `correctness_gates.anchors["},
      {"anchor_delta_without_rank.json", "GOLDEN-GATE-INVALID: `correctness_gates.anchors["},
      {"free_run_expected_too_long.json", "GOLDEN-GATE-INVALID: `correctness_gates.free_run["},
      {"behavior_prompt_too_long.json", "GOLDEN-GATE-INVALID: `correctness_gates.behavior["},
      {"behavior_sequence_oob.json", "GOLDEN-TOKEN-OUT-OF-RANGE: `correctness_gates.behavior["},
      {"benchmark_decode_steps_short.json",
       "GOLDEN-BENCHMARK-INVALID: `benchmark.expected_decode_tokens`"},
      {"benchmark_unknown_key_00.json", "JSON-UNKNOWN-KEY: `benchmark."},
      {"json_truncated.json", "JSON-SYNTAX: "},
      {"json_top_level_array.json", "JSON-TYPE: `golden`"}};
  for (const auto& [name, prefix] : expected) {
    EXPECT_EQ(refusal(name).substr(0, std::string_view(prefix).size()), prefix) << refusal(name);
  }
}

}  // namespace
}  // namespace assay::scoring
