#include "judge_fixture.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/text.h"

namespace assay::e2e {

namespace fs = std::filesystem;

namespace {

std::string ids(int first, int count) {
  std::string text = "[";
  for (int i = 0; i < count; ++i) text += cat(i > 0 ? "," : "", first + i);
  return text + "]";
}

std::vector<std::string> joined(std::vector<std::string> first,
                                const std::vector<std::string>& more) {
  first.insert(first.end(), more.begin(), more.end());
  return first;
}

}  // namespace

std::string contract_text(const TrackValues& v) {
  return cat("{\"track_id\":\"", v.track_id, "\",\"official_pairs\":", v.pairs,
             ",\"scores_against_live_control_leg\":", v.live_control,
             ",\"paired_flow_retired\":true,\"decode_speedup_floor\":", v.floor,
             ",\"prefill_speedup_floor\":", v.floor, ",\"prefill_band_up_tolerance\":", v.band_up,
             ",\"prefill_band_down_tolerance\":0.5,\"decode_band_up_tolerance\":", v.band_up,
             ",\"decode_band_down_tolerance\":0.5,\"decode_band_down_enabled\":false,"
             "\"prefill_band_down_enabled\":false,\"calibration_cv_max\":",
             v.cv_max, ",\"score_decode_weight\":0.75,\"score_prefill_weight\":0.25,",
             "\"correctness_steps\":", v.correctness_steps,
             ",\"benchmark_decode_steps\":", v.decode_steps,
             ",\"local_submit_benchmark_decode_steps\":", v.decode_steps,
             ",\"official_prefill_warmup_runs\":1,\"official_prefill_timed_runs\":3,"
             "\"vocab_size\":300000,\"num_hidden_layers\":2,\"seed_tokens\":",
             v.seed_tokens, ",\"golden_model_type\":\"liar\"", v.more_keys, "}");
}

std::string golden_text(const GoldenValues& v) {
  const std::string prompt = ids(v.first_prompt_token, v.prompt_tokens);
  const int checked = 100000 + v.prompt_tokens;
  const int timed = 200000 + v.prompt_tokens;
  return cat("{\"version\":1,\"model_type\":\"liar\",\"cases\":[{\"name\":\"a\",\"prompt_tokens\":",
             prompt, ",\"expected_tokens\":", ids(checked + v.expected_shift, v.expected_tokens),
             "}],\"benchmark\":{\"prefill_prompt_tokens\":", prompt,
             ",\"expected_prefill_token\":", checked, ",\"decode_seed_tokens\":", prompt,
             ",\"expected_decode_seed_token\":", timed,
             ",\"expected_decode_tokens\":", ids(timed + 1 + v.decode_shift, v.decode_tokens),
             v.more_benchmark_keys, "}}");
}

void JudgeTest::SetUp() {
  std::string name = (fs::temp_directory_path() / "assay-judge-XXXXXX").string();
  ASSERT_NE(::mkdtemp(name.data()), nullptr);
  top_ = fs::canonical(name);
  candidate_ = top_ / "candidate";
  reference_ = top_ / "reference";
  weights_ = top_ / "weights";
  install_engine(candidate_);
  install_engine(reference_);
  write(weights_ / "model.gguf", "weights");
  write(candidate_ / "contract.json", contract_text({}));
  write(candidate_ / "a.golden.json", golden_text({}));
}

void JudgeTest::TearDown() {
  std::error_code error;
  fs::remove_all(top_, error);
}

void JudgeTest::write(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

std::string JudgeTest::read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string JudgeTest::lying_engine() const {
  return ASSAY_BIN_DIR "/../tests/lying_engine";
}

void JudgeTest::install_engine(const fs::path& workspace) {
  install_script(workspace, "");
}

void JudgeTest::install_script(const fs::path& workspace, const std::string& body) {
  const fs::path path = workspace / "bin" / "engine";
  write(path, cat("#!/bin/sh\n", body, "\nexec '", lying_engine(), "' \"$@\"\n"));
  ::chmod(path.c_str(), 0755);
}

ProcessRequest JudgeTest::benchd_request(std::vector<std::string> arguments) const {
  arguments.insert(arguments.begin(), ASSAY_BIN_DIR "/benchd");
  ProcessRequest request;
  request.argv = std::move(arguments);
  request.working_directory = candidate_;
  request.environment["XDG_CACHE_HOME"] = (top_ / "cache").string();
  return request;
}

ProcessResult JudgeTest::benchd(std::vector<std::string> arguments) const {
  return run_process(benchd_request(std::move(arguments)));
}

void JudgeTest::expect_refusal(std::vector<std::string> arguments, const std::string& code,
                               int exit) const {
  arguments.emplace_back("--json");
  const ProcessResult result = benchd(arguments);
  const auto object = json::parse(result.out);
  ASSERT_TRUE(object) << result.out << result.err;
  ASSERT_NE(object->find("refusal"), nullptr) << result.out;
  EXPECT_EQ(object->find("refusal")->string(), code) << result.out;
  EXPECT_EQ(object->find("ok")->boolean(), false);
  EXPECT_EQ(object->find("exit")->literal(), cat(exit));
  EXPECT_EQ(result.exit_code, exit) << result.out;
  EXPECT_FALSE(object->find("detail")->string().empty());
}

std::vector<std::string> JudgeTest::iterate_arguments(std::vector<std::string> more) const {
  return joined({"iterate", "--engine", "bin/engine", "--weights", weights_.string(), "--contract",
                 "contract.json", "--golden", "a.golden.json", "--score-path", "out/score.json",
                 "--no-cool-gate"},
                more);
}

std::vector<std::string> JudgeTest::paired_arguments(std::vector<std::string> more) const {
  return joined(
      iterate_arguments({"--mode", "local-submit", "--baseline-workspace", reference_.string(),
                         "--baseline-calibration", "calibration.json", "--box", "local"}),
      more);
}

void JudgeTest::calibrate() {
  const ProcessResult result = benchd_until_quiet(
      {"calibrate-baseline", "--baseline-workspace", reference_.string(), "--engine", "bin/engine",
       "--weights", weights_.string(), "--golden", "a.golden.json", "--contract", "contract.json",
       "--box", "local", "--no-cool-gate", "--passes", "2", "--out", "calibration.json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
}

ProcessResult JudgeTest::benchd_until_quiet(const std::vector<std::string>& arguments) const {
  ProcessResult result;
  for (int attempt = 0; attempt < 5; ++attempt) {
    result = benchd(arguments);
    const bool disturbed = result.err.find("DEFERRED-PREFILL") != std::string::npos ||
                           result.err.find("FRONT-LOADED-DECODE") != std::string::npos;
    if (!disturbed) break;
  }
  return result;
}

json::Value JudgeTest::metrics(const std::string& score_file) const {
  auto document = json::parse(read(candidate_ / score_file));
  if (!document || document->find("metrics") == nullptr) return json::Value::object();
  return *document->find("metrics");
}

std::vector<std::string> JudgeTest::outputs() const {
  std::vector<std::string> names;
  if (fs::is_directory(candidate_ / "out")) {
    for (const auto& entry : fs::directory_iterator(candidate_ / "out")) {
      names.push_back(entry.path().filename().string());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace assay::e2e
