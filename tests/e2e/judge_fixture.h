// A small world for end-to-end tests of the judge: two workspaces with an engine each, weights, a
// contract, a golden, a calibration; and benchd itself as a process.
//
// The engine is the lying engine of tests/support, honest unless a lie is named in the last part of
// its weights' path. Its tokens are known beforehand (its opening comment), so the golden is
// arithmetic.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/json.h"
#include "process.h"

namespace assay::e2e {

struct TrackValues {
  int seed_tokens = 16;
  int correctness_steps = 8;
  int decode_steps = 16;
  int pairs = 2;
  std::string track_id = "liar-tiny-cpu-v1";
  bool live_control = true;
  double floor = 1e-9;  // mocks take microseconds: their ratios say nothing
  double band_up = 1e6;
  double cv_max = 1e3;
  std::string more_keys;  // further members, each with a comma in front
};
[[nodiscard]] std::string contract_text(const TrackValues& values);

/// The golden of an honest lying engine: prefill and correctness start at 100000 + |prompt|, decode
/// openers at 200000 + |seed|; each later token is one more.
struct GoldenValues {
  int prompt_tokens = 16;
  int expected_tokens = 40;
  int decode_tokens = 16;
  int first_prompt_token = 1;
  int expected_shift = 0;  // of the checked tokens, away from the engine's
  int decode_shift = 0;    // of the timed decode tokens
  std::string more_benchmark_keys;
};
[[nodiscard]] std::string golden_text(const GoldenValues& values);

class JudgeTest : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  static void write(const std::filesystem::path& path, const std::string& text);
  static std::string read(const std::filesystem::path& path);
  /// Puts the lying engine (or a script that ends in it) at bin/engine of a workspace.
  void install_engine(const std::filesystem::path& workspace);
  void install_script(const std::filesystem::path& workspace, const std::string& body);
  [[nodiscard]] std::string lying_engine() const;

  [[nodiscard]] ProcessRequest benchd_request(std::vector<std::string> arguments) const;
  [[nodiscard]] ProcessResult benchd(std::vector<std::string> arguments) const;
  /// `benchd <arguments> --json`; expects this refusal and exit code.
  void expect_refusal(std::vector<std::string> arguments, const std::string& code, int exit) const;

  /// The arguments of a run of the candidate; paired adds workspace, calibration and box.
  [[nodiscard]] std::vector<std::string> iterate_arguments(
      std::vector<std::string> more = {}) const;
  [[nodiscard]] std::vector<std::string> paired_arguments(std::vector<std::string> more = {}) const;
  void calibrate();

  /// A run that a machine under load disturbed (the seed prefill was held up by something else) is
  /// repeated, at most four times.
  [[nodiscard]] ProcessResult benchd_until_quiet(const std::vector<std::string>& arguments) const;

  [[nodiscard]] json::Value metrics(const std::string& score_file) const;
  /// Names of the files in out/.
  [[nodiscard]] std::vector<std::string> outputs() const;

  std::filesystem::path top_;        // of everything; removed at the end
  std::filesystem::path candidate_;  // benchd's working folder
  std::filesystem::path reference_;
  std::filesystem::path weights_;  // shared, outside both workspaces
};

}  // namespace assay::e2e
