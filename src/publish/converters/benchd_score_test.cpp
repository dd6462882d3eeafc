// One sealed score as rows: figures, points, gates, verdicts, and the row of the seal.
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "base/sha256.h"
#include "base/text.h"
#include "publish/convert.h"
#include "publish/validate.h"

namespace assay::publish {
namespace {

namespace fs = std::filesystem;

const std::string kHash(64, 'a');

// Two pairs; decode 0.02 and 0.025 against 0.04 s/token, prefill 0.001 against 0.002.
std::string score_text(std::string_view score = "1.5", std::string_view more = "") {
  return cat(R"({"metrics": {)", more, R"(
    "acceptance_bands": {"decode_band_down_enabled": false, "decode_band_down_tolerance": 0.25,
                         "decode_band_up_tolerance": 0.5},
    "baseline_leg_decode_window_seconds_per_token": 0.04,
    "baseline_leg_prefill_seconds_per_token": 0.002,
    "candidate_leg_decode_window_seconds_per_token": 0.025,
    "candidate_leg_prefill_seconds_per_token": 0.001,
    "case_count": 2, "checked_steps": 128, "contract_sha256": "cc", "decode_speedup": 1.6,
    "decode_speedup_floor": 0.9, "decode_tokens": 128, "effective_spec_mode": "serial",
    "engine_device": "cpu", "error": "", "expected_token": 17,
    "gates": [
      {"pair": 1, "leg": "control", "phase": "prefill",
       "quiescence": {"state": "passed", "waited_seconds": 1.5, "load": 0.25, "gpu_util": null},
       "cool": {"state": "skipped", "waited_seconds": 0.0, "gpu_temp_c": null,
                "skip_reason": "cpu track"}},
      {"pair": 1, "leg": "control", "phase": "prefill",
       "quiescence": {"state": "passed", "waited_seconds": 1.5, "load": 0.25, "gpu_util": null}}],
    "golden_hash": "gg", "harness_hash": "hh", "model_id": "tiny",
    "official_pairs": 2, "official_pair_combine": "mean",
    "paired_legs": [
      {"pair": 1, "prompt_sha256": "p1", "control_decode_seconds_per_token": 0.04,
       "control_decode_window_seconds_per_token": 0.04, "control_prefill_seconds_per_token": 0.002,
       "control_seed_prefill_window_seconds_per_token": 0.0025,
       "candidate_decode_window_seconds_per_token": 0.02,
       "candidate_prefill_seconds_per_token": 0.001, "token_mismatch_count": 3,
       "token_mismatch_first_step": null},
      {"pair": 2, "prompt_sha256": "p1", "control_decode_window_seconds_per_token": 0.04,
       "candidate_decode_window_seconds_per_token": 0.025}],
    "passed_correctness": true, "passed_decode_speedup_floor": true,
    "per_prompt": [{"effective_mean_draft_len": 1.0}], "prefill_speedup": 2.0,
    "score_decode_weight": 0.75, "seed_tokens": 512, "timestamp": "2026-11-29T20:34:31Z",
    "track_id": "tiny-cpu-v1",
    "uncertainty": {"composite": {"center": 1.52, "high": 1.7, "low": 1.4}, "confidence": 0.95,
      "decode_speedup": {"center": 1.78, "high": 2.1, "low": 1.5}, "detectable_change": 0.05,
      "method": "student-t on log ratios of pairs", "order_effect": null, "pairs": 2,
      "prefill_speedup": null},
    "weights_byte_count": 7, "weights_hash": ")",
             kHash, R"("}, "passed": true, "score": )", score, "}");
}

class Folder {
 public:
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "record.XXXXXX").string();
    path = ::mkdtemp(pattern.data());
  }
  ~Folder() { fs::remove_all(path); }
  void write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path / name, std::ios::binary) << bytes;
  }
  fs::path path;
};

Envelope convert(const fs::path& path) {
  const auto file = read_tool_file(path, "auto");
  EXPECT_TRUE(file) << file.refusal().text();
  RunContext context;
  context.suite = "throughput";
  context.git_sha = "0123abc";
  auto envelopes = convert_file(*file, "auto", context);
  EXPECT_TRUE(envelopes) << envelopes.refusal().text();
  return envelopes->at(0);
}

std::vector<const ResultRow*> rows(const Envelope& envelope, std::string_view name) {
  std::vector<const ResultRow*> out;
  for (const ResultRow& row : envelope.results) {
    if (row.name == name) out.push_back(&row);
  }
  return out;
}

std::string tag(const ResultRow& row, std::string_view key) {
  return std::string(row.find_tag(key).value_or("(none)"));
}

TEST(BenchdScore, OneRunWhole) {
  const Folder folder;
  folder.write("score.json", score_text());
  const Envelope e = convert(folder.path / "score.json");
  const auto problems = validate(to_json(e), {});
  ASSERT_EQ(problems.size(), 1u);  // no integrity file: the weights are not proven
  EXPECT_EQ(problems[0].code, "W-PROV");

  const auto composite = rows(e, "composite");
  ASSERT_EQ(composite.size(), 3u);
  EXPECT_EQ(composite[0]->value, 1.5);
  EXPECT_EQ(tag(*composite[0], "composite_low"), "1.4");
  EXPECT_EQ(tag(*composite[0], "composite_high"), "1.7");
  EXPECT_EQ(tag(*composite[0], "confidence"), "0.95");
  EXPECT_EQ(tag(*composite[0], "order_effect"), "(none)");
  EXPECT_EQ(composite[1]->metric, "decode_gain");
  EXPECT_EQ(tag(*composite[1], "decode_gain_low"), "1.5");
  EXPECT_EQ(tag(*composite[1], "floor"), "0.9");
  EXPECT_EQ(tag(*composite[1], "floor_passed"), "true");
  EXPECT_EQ(tag(*composite[1], "weight"), "0.75");
  EXPECT_EQ(tag(*composite[1], "band_up_tolerance"), "0.5");
  EXPECT_EQ(tag(*composite[2], "prefill_gain_low"), "(none)");

  const auto candidate = rows(e, "candidate");
  ASSERT_EQ(candidate.size(), 2u);
  EXPECT_EQ(candidate[0]->value, 1 / 0.025);
  EXPECT_EQ(candidate[1]->value, 1 / 0.001);
  EXPECT_EQ(tag(*candidate[1], "rate_basis"), "prefill_window");

  // Pair 1: control decode, prefill, seed prefill, candidate decode and prefill; pair 2: two
  // decodes.
  const auto legs = rows(e, "leg");
  ASSERT_EQ(legs.size(), 7u);
  EXPECT_EQ(legs[2]->metric, "seed_prefill_toks_per_s");
  EXPECT_EQ(legs[2]->value, 1 / 0.0025);
  EXPECT_EQ(tag(*legs[3], "leg"), "candidate");
  EXPECT_EQ(tag(*legs[3], "pair"), "1");
  EXPECT_EQ(tag(*legs[3], "phase"), "decode");
  EXPECT_EQ(tag(*legs[3], "seconds_per_token"), "0.02");
  EXPECT_EQ(tag(*legs[3], "token_mismatch_count"), "3");
  EXPECT_EQ(tag(*legs[3], "token_mismatch_first_step"), "(none)");
  EXPECT_EQ(tag(*legs[0], "token_mismatch_count"), "(none)");
  EXPECT_EQ(tag(*legs[6], "pair"), "2");

  const auto gates = rows(e, "gate");
  ASSERT_EQ(gates.size(), 3u);
  EXPECT_EQ(gates[0]->metric, "quiescence_waited_s");
  EXPECT_EQ(gates[0]->value, 1.5);
  EXPECT_EQ(tag(*gates[0], "state"), "passed");
  EXPECT_EQ(tag(*gates[0], "load"), "0.25");
  EXPECT_EQ(tag(*gates[1], "skip_reason"), "cpu track");
  EXPECT_EQ(tag(*gates[2], "gate_index"), "1");  // two equal gate points are two rows

  const auto correctness = rows(e, "correctness");
  ASSERT_EQ(correctness.size(), 1u);
  EXPECT_EQ(correctness[0]->value, 128);
  EXPECT_EQ(tag(*correctness[0], "verdict"), "passed");

  const json::Value& regime = *e.find("regime");
  EXPECT_EQ(regime.find("max_tokens")->literal(), "128");
  EXPECT_EQ(regime.find("prompt_tokens_min")->literal(), "512");
  EXPECT_EQ(e.find("control")->find("value")->as_double("").operator*(), 1 / 0.04);
  EXPECT_TRUE(e.find("errors")->items().empty());
}

TEST(BenchdScore, TheSealRowHoldsEveryFactAndSaysHowToVerify) {
  const Folder folder;
  const std::string score = score_text();
  const std::string integrity =
      cat(R"({"score_path": "out/score.json", "score_sha256": ")", sha256_hex(score),
          R"(", "weights_sha256": ")", kHash,
          R"(", "candidate_executable": "build/assay-engine", "candidate_executable_sha256": "ee",
              "baseline_executable": "", "sandbox": "none"})");
  folder.write("score.json", score);
  folder.write("benchmark-integrity.json", integrity);
  const Envelope e = convert(folder.path / "score.json");
  const auto problems = validate(to_json(e), {});
  EXPECT_TRUE(problems.empty()) << problems.front().message;
  const auto seal = rows(e, "seal");
  ASSERT_EQ(seal.size(), 1u);
  const ResultRow& row = *seal[0];
  EXPECT_EQ(row.value, 7);
  EXPECT_EQ(row.unit, "bytes");
  EXPECT_EQ(tag(row, "score_file"), "score.json");
  EXPECT_EQ(tag(row, "score_sha256"), sha256_hex(score));
  EXPECT_EQ(tag(row, "integrity_sha256"), sha256_hex(integrity));
  EXPECT_EQ(tag(row, "verify"), "benchd score verify score.json");
  EXPECT_EQ(tag(row, "integrity.candidate_executable_sha256"), "ee");
  EXPECT_EQ(tag(row, "integrity.baseline_executable"), "(none)");  // "" says nothing
  EXPECT_EQ(tag(row, "metrics.harness_hash"), "hh");
  EXPECT_EQ(tag(row, "metrics.uncertainty.composite.low"), "1.4");
  EXPECT_EQ(tag(row, "metrics.per_prompt.0.effective_mean_draft_len"), "1.0");
  // A measure per token is no secret; a golden's token is nobody's business.
  EXPECT_EQ(tag(row, "metrics.baseline_leg_decode_window_seconds_per_token"), "0.04");
  EXPECT_EQ(tag(row, "metrics.expected_token"), "(none)");
  EXPECT_EQ(e.find("provenance")->find("verified")->boolean(), true);
}

TEST(BenchdScore, AnotherRunsIntegrityFileIsLeftOutAndNamed) {
  const Folder folder;
  folder.write("score.json", score_text());
  folder.write("benchmark-integrity.json", R"({"score_sha256": "00"})");
  const Envelope e = convert(folder.path / "score.json");
  EXPECT_EQ(tag(*rows(e, "seal").at(0), "integrity_file"), "(none)");
  ASSERT_EQ(e.find("errors")->items().size(), 1u);
  EXPECT_EQ(e.find("errors")->items()[0].string(),
            "benchmark-integrity.json beside the score belongs to another score");
  EXPECT_EQ(e.find("provenance")->find("verified")->boolean(), false);
}

TEST(BenchdScore, WrongTokensLeaveNoRate) {
  const Folder folder;
  std::string text = score_text("null");
  const std::string flag = R"("passed_correctness": true)";
  text.replace(text.find(flag), flag.size(), R"("passed_correctness": false)");
  folder.write("score.json", text);
  const Envelope e = convert(folder.path / "score.json");
  EXPECT_EQ(e.text("cell_status"), "failed");
  for (const ResultRow& row : e.results) EXPECT_NE(row.unit, "tok/s");
  EXPECT_EQ(tag(*rows(e, "correctness").at(0), "verdict"), "failed");
  EXPECT_EQ(rows(e, "seal").size(), 1u);
  EXPECT_EQ(e.find("control"), nullptr);
  for (const Problem& problem : validate(to_json(e), {})) EXPECT_TRUE(problem.is_warning());
}

TEST(BenchdScore, AMissedFloorKeepsItsRowsWithoutAScore) {
  const Folder folder;
  std::string text = score_text("null", R"("local_phases": {"correctness": "passed"},)");
  for (const auto& [from, to] :
       {std::pair{R"("passed_correctness": true)", R"("passed_correctness": false)"},
        {R"("passed_decode_speedup_floor": true)", R"("passed_decode_speedup_floor": false)"},
        {R"("error": "")", R"("error": "performance floor failed")"},
        {R"("passed": true)", R"("passed": false)"}}) {
    text.replace(text.find(from), std::string_view(from).size(), to);
  }
  folder.write("score.json", text);
  const Envelope e = convert(folder.path / "score.json");
  EXPECT_EQ(e.find("cell_status"), nullptr);
  const auto composite = rows(e, "composite");
  ASSERT_EQ(composite.size(), 2u);
  EXPECT_EQ(tag(*composite[0], "floor_passed"), "false");
  EXPECT_EQ(tag(*composite[0], "passed"), "false");
  EXPECT_EQ(e.find("errors")->items().at(0).string(), "performance floor failed");
  EXPECT_EQ(tag(*rows(e, "correctness").at(0), "verdict"), "passed");
}

TEST(BenchdScore, IsNotAnythingElse) {
  const Folder folder;
  folder.write("score.json", R"({"metrics": [], "passed": true, "score": 1.0})");
  const auto file = read_tool_file(folder.path / "score.json", "benchd-score");
  ASSERT_TRUE(file);
  RunContext context;
  const auto envelopes = convert_file(*file, "benchd-score", context);
  ASSERT_FALSE(envelopes);
  EXPECT_EQ(envelopes.refusal().code, "CONVERT-INPUT");
}

}  // namespace
}  // namespace assay::publish
