// The judge and our own engine on a model that the engine writes: the whole product on one small
// machine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "judge_fixture.h"

namespace assay::e2e {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const fs::path kTrack = ASSAY_SOURCE_DIR "/tracks/synthetic";

class JudgeEngine : public JudgeTest {
 protected:
  void SetUp() override {
    JudgeTest::SetUp();
    for (const fs::path& workspace : {candidate_, reference_}) {
      fs::copy_file(ASSAY_BIN_DIR "/assay-engine", workspace / "bin/engine",
                    fs::copy_options::overwrite_existing);
    }
    weights_ = top_ / "model";
    ProcessRequest synth;
    synth.argv = {ASSAY_BIN_DIR "/assay-engine",
                  "synth",
                  "--arch",
                  "llama",
                  "--preset",
                  "tiny",
                  "-o",
                  weights_.string()};
    const ProcessResult made = run_process(synth);
    ASSERT_EQ(made.exit_code, 0) << made.err;
    fs::copy_file(kTrack / "goldens/lighthouse.golden.json", candidate_ / "a.golden.json",
                  fs::copy_options::overwrite_existing);
    fs::copy_file(kTrack / "contract.json", candidate_ / "contract.json",
                  fs::copy_options::overwrite_existing);
  }
  // The track's contract with floors and bands that no noise of a busy machine can reach.
  void widen_contract() {
    auto contract = json::parse(read(kTrack / "contract.json"));
    ASSERT_TRUE(contract);
    for (const char* key : {"decode_speedup_floor", "prefill_speedup_floor"})
      contract->set(key, 1e-9);
    for (const char* key : {"decode_band_up_tolerance", "prefill_band_up_tolerance"}) {
      contract->set(key, 1e6);
    }
    contract->set("calibration_cv_max", 1e3);
    write(candidate_ / "contract.json", json::write(*contract));
  }
};

TEST_F(JudgeEngine, MeetsTheCommittedGolden) {
  const ProcessResult result =
      benchd({"correctness", "--engine", "bin/engine", "--weights", weights_.string(), "--golden",
              "a.golden.json", "--contract", "contract.json"});
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_THAT(result.out, HasSubstr("\"passed\":true,\"case_count\":2"));
}

// The same prompts, taken from the golden, give the same bytes again.
TEST_F(JudgeEngine, RecordsTheCommittedGoldenByteForByte) {
  const auto golden = json::parse(read(candidate_ / "a.golden.json"));
  ASSERT_TRUE(golden);
  ProcessRequest request = benchd_request({});
  request.argv = {ASSAY_BIN_DIR "/record-correctness-golden",
                  "--worker-bin",
                  "bin/engine",
                  "--weights",
                  weights_.string(),
                  "--contract",
                  "contract.json",
                  "--steps",
                  "129",
                  "--benchmark-free-run",
                  "--out",
                  "r.golden.json"};
  for (const json::Value& base : golden->find("cases")->items()) {
    const std::string name = base.find("name")->string();
    write(candidate_ / (name + ".ids"), json::write(*base.find("prompt_tokens")));
    request.argv.insert(request.argv.end(),
                        {"--prompt-tokens", name + ".ids", "--case-name", name});
  }
  const ProcessResult result = run_process(request);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(read(candidate_ / "r.golden.json"), read(candidate_ / "a.golden.json"));
}

TEST_F(JudgeEngine, AChangedTokenInTheGoldenIsFound) {
  auto golden = json::parse(read(candidate_ / "a.golden.json"));
  ASSERT_TRUE(golden);
  json::Value& first = golden->find("cases")->items()[0];
  for (int i = 0; i < 7; ++i) {  // 6 of 64 positions may differ, 7 may not
    json::Value& token = first.find("expected_tokens")->items()[static_cast<size_t>(i + 10)];
    token = json::Value(int64_t{(*parse_int64(token.literal()) + 1) % 1024});
  }
  write(candidate_ / "a.golden.json", json::write(*golden));
  const ProcessResult result =
      benchd({"correctness", "--engine", "bin/engine", "--weights", weights_.string(), "--golden",
              "a.golden.json", "--contract", "contract.json"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.out, HasSubstr("\"first_failing_step\":10,"));
}

TEST_F(JudgeEngine, APairedRunIsSealedAndVerifies) {
  widen_contract();
  calibrate();
  const ProcessResult result = benchd_until_quiet(paired_arguments());
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json::Value sealed = metrics("out/score.json");
  EXPECT_EQ(sealed.find("paired_legs")->items().size(), 4U);
  EXPECT_EQ(sealed.find("engine_backend")->string(), "cpu");
  EXPECT_EQ(sealed.find("passed_correctness")->boolean(), true);
  EXPECT_EQ(sealed.find("case_count")->literal(), "2");
  EXPECT_EQ(benchd({"score", "verify", "out/score.json", "--contract", "contract.json"}).exit_code,
            0);
}

}  // namespace
}  // namespace assay::e2e
