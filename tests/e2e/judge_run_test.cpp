// A run from inputs to seal, and what stands on disk after a run that went wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>

#include "base/sha256.h"
#include "base/text.h"
#include "judge_fixture.h"

namespace assay::e2e {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

class JudgeRun : public JudgeTest {
 protected:
  std::vector<std::string> sealed_names() const {
    return {"benchmark-integrity.json", "benchmark-integrity.json.sha256", "score.json",
            "score.json.sha256"};
  }
  std::string text_of(const std::string& key) const {
    const json::Value all = metrics("out/score.json");
    const json::Value* value = all.find(key);
    if (value == nullptr) return "(absent)";
    return value->is_string() ? value->string() : json::write(*value);
  }
  size_t measured_pairs() const {
    const json::Value all = metrics("out/score.json");
    const json::Value* rows = all.find("paired_legs");
    return rows == nullptr ? 0 : rows->items().size();
  }
  bool verifies() const {
    return benchd({"score", "verify", "out/score.json", "--contract", "contract.json"}).exit_code ==
           0;
  }
  // A lie that only the candidate's engine tells, at the n-th engine that its workspace starts.
  void lie_at_start(int n, const std::string& lie) {
    write(top_ / "lies" / ("lie-" + lie) / "model.gguf", "weights");
    install_script(
        candidate_,
        cat("n=$(($(cat '", (top_ / "starts").string(), "' 2>/dev/null || echo 0) + 1))\n",
            "echo $n > '", (top_ / "starts").string(), "'\n",
            "echo \"engine-start $n pid $$\" >&2\n", "[ $n = ", n, " ] && exec '", lying_engine(),
            "' runtime-worker --weights '", (top_ / "lies" / ("lie-" + lie)).string(), "'"));
  }
};

// --- without a reference

TEST_F(JudgeRun, AnUnscoredLocalRunIsSealed) {
  const ProcessResult result = benchd_until_quiet(iterate_arguments());
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, read(candidate_ / "out/score.json"));
  EXPECT_THAT(outputs(), ElementsAre("benchmark-integrity.local-iterate.json",
                                     "benchmark-integrity.local-iterate.json.sha256", "score.json",
                                     "score.json.sha256"));
  EXPECT_THAT(result.out, HasSubstr("\"score\": null"));
  EXPECT_EQ(text_of("baseline_source"), "none (local mode: unscored)");
  EXPECT_EQ(text_of("runtime"), "rust-local-iterate");
  EXPECT_EQ(text_of("case_count"), "1");
  EXPECT_EQ(text_of("checked_steps"), "18");  // 16 decode tokens, the seed token, the prefill token
  EXPECT_EQ(text_of("passed_correctness"), "true");
  EXPECT_EQ(text_of("golden_hash"), sha256_hex(read(candidate_ / "a.golden.json")));
  EXPECT_EQ(text_of("contract_sha256"), sha256_hex(read(candidate_ / "contract.json")));
  EXPECT_THAT(result.err, HasSubstr("decode window"));
  EXPECT_TRUE(verifies());
}

TEST_F(JudgeRun, QuietSaysNothingOnStderr) {
  const ProcessResult result = benchd_until_quiet(iterate_arguments({"--quiet"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
}

TEST_F(JudgeRun, AWrongEngineIsStillTimed) {
  GoldenValues golden;
  golden.expected_shift = 50;  // every checked position is wrong
  write(candidate_ / "a.golden.json", golden_text(golden));
  const ProcessResult result = benchd_until_quiet(iterate_arguments());
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(text_of("error"), "local-iterate teacher-forced token mismatch");
  EXPECT_EQ(text_of("passed_correctness"), "false");
  EXPECT_EQ(text_of("first_failing_step"), "0");
  EXPECT_THAT(text_of("local_phases"), HasSubstr("\"correctness\":\"failed\""));
  EXPECT_THAT(text_of("local_phases"), HasSubstr("\"timing\":\"measured\""));
  EXPECT_NE(text_of("decode_seconds_per_token"), "0.0");
  EXPECT_TRUE(verifies());
}

TEST_F(JudgeRun, AStoredPairInTheGoldenDecides) {
  TrackValues track;
  track.live_control = false;
  write(candidate_ / "contract.json", contract_text(track));
  GoldenValues golden;
  golden.more_benchmark_keys =
      ",\"baseline_prefill_seconds_per_token\":1.0,\"baseline_decode_seconds_per_token\":1.0";
  write(candidate_ / "a.golden.json", golden_text(golden));
  const ProcessResult result = benchd_until_quiet(iterate_arguments());
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(text_of("baseline_decode_seconds_per_token"), "1.0");
  EXPECT_THAT(result.out, testing::Not(HasSubstr("\"score\": null")));
  EXPECT_TRUE(verifies());
}

TEST_F(JudgeRun, AStoredPairThatIsNotReachedGivesNoScore) {
  TrackValues track;
  track.live_control = false;
  track.floor = 0.9;
  write(candidate_ / "contract.json", contract_text(track));
  GoldenValues golden;
  golden.more_benchmark_keys =
      ",\"baseline_prefill_seconds_per_token\":1e-12,\"baseline_decode_seconds_per_token\":1e-12";
  write(candidate_ / "a.golden.json", golden_text(golden));
  EXPECT_EQ(benchd_until_quiet(iterate_arguments()).exit_code, 1);
  EXPECT_THAT(text_of("error"), StartsWith("performance floor failed: decode_speedup="));
  EXPECT_EQ(text_of("golden_hash"), "");
  EXPECT_THAT(text_of("local_phases"), HasSubstr("\"correctness\":\"passed\""));
  EXPECT_TRUE(verifies());
}

// --- paired

TEST_F(JudgeRun, APairedRunIsScoredAndVerifies) {
  calibrate();
  const ProcessResult result = benchd_until_quiet(paired_arguments());
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, read(candidate_ / "out/score.json"));
  EXPECT_EQ(outputs(), sealed_names());
  EXPECT_EQ(measured_pairs(), 2U);
  EXPECT_EQ(text_of("baseline_source"), "serial-control-leg");
  EXPECT_EQ(text_of("baseline_box"), "local");
  EXPECT_EQ(text_of("baseline_calibration_sha256"),
            sha256_hex(read(candidate_ / "calibration.json")));
  EXPECT_EQ(text_of("baseline_band_passed"), "true");
  EXPECT_EQ(text_of("passed_correctness"), "true");
  EXPECT_EQ(metrics("out/score.json").find("gates")->items().size(),
            8U);  // 2 pairs, 2 legs, 2 phases
  EXPECT_THAT(result.err, HasSubstr("candidate tok/s"));
  EXPECT_TRUE(verifies());
  EXPECT_EQ(benchd({"score", "verify", "out/score.json", "--contract", "contract.json"}).exit_code,
            0);
}

TEST_F(JudgeRun, CounterbalancedPairsRunInBothOrders) {
  TrackValues track;
  track.more_keys = ",\"official_pair_order\":\"counterbalanced\"";
  write(candidate_ / "contract.json", contract_text(track));
  calibrate();
  const ProcessResult result = benchd_until_quiet(paired_arguments());
  ASSERT_EQ(result.exit_code, 0) << result.err;
  std::string order;
  const json::Value sealed = metrics("out/score.json");
  for (const json::Value& row : sealed.find("gates")->items()) {
    if (row.find("phase")->string() == "decode") order += row.find("leg")->string() + " ";
  }
  EXPECT_EQ(order, "control candidate candidate control ");
  EXPECT_TRUE(verifies());
}

TEST_F(JudgeRun, AMissedFloorIsSealedWithoutAScore) {
  TrackValues track;
  track.floor = 1e9;
  write(candidate_ / "contract.json", contract_text(track));
  calibrate();
  const ProcessResult result = benchd_until_quiet(paired_arguments());
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(text_of("error"), StartsWith("performance floor failed: decode_speedup="));
  EXPECT_EQ(text_of("golden_hash"), "");
  EXPECT_EQ(text_of("passed_correctness"), "false");
  EXPECT_THAT(text_of("local_phases"), HasSubstr("\"correctness\":\"passed\""));
  EXPECT_THAT(result.out, HasSubstr("\"score\": null"));
  EXPECT_TRUE(verifies());
}

TEST_F(JudgeRun, AControlLegOutsideItsBandEndsTheRun) {
  calibrate();
  std::string calibration = read(candidate_ / "calibration.json");
  for (const std::string axis : {"prefill", "decode"}) {
    const std::string key = "\"" + axis + "_seconds_per_token_mean\": ";
    const size_t begin = calibration.find(key) + key.size();
    calibration.replace(begin, calibration.find(',', begin) - begin, "1e-15");
  }
  write(candidate_ / "calibration.json", calibration);
  TrackValues track;
  track.band_up = 0.05;
  write(candidate_ / "contract.json", contract_text(track));
  const ProcessResult result = benchd_until_quiet(paired_arguments());
  EXPECT_EQ(result.exit_code, 1) << result.err;
  // The mean of the calibration is also the deadline's measure, so the leg may end by that instead.
  EXPECT_THAT(text_of("error"),
              testing::AnyOf(StartsWith("SERIAL-CONTROL-LEG-OUTSIDE-BAND: pair 1 of 2"),
                             StartsWith("SERIAL-CONTROL-LEG-FAILED: pair 1 of 2")));
  EXPECT_EQ(measured_pairs(), 0U);
  EXPECT_TRUE(verifies());
}

// --- engines that die, hang or lie in the middle

struct MidRunLie {
  const char* lie;
  const char* refusal;
};
class JudgeMidRun : public JudgeRun, public testing::WithParamInterface<MidRunLie> {};

// The candidate's second leg goes wrong: the first pair stays sealed, without a score.
TEST_P(JudgeMidRun, TheMeasuredPairsAreSealed) {
  calibrate();
  lie_at_start(2, GetParam().lie);
  ProcessResult result;
  for (int attempt = 0; attempt < 5; ++attempt) {
    fs::remove(top_ / "starts");
    result = benchd(paired_arguments());
    const bool disturbed = text_of("error").find("PREFILL") != std::string::npos ||
                           text_of("error").find("FRONT-LOADED") != std::string::npos;
    if (!disturbed) break;
  }
  EXPECT_EQ(result.exit_code, 1) << result.err;
  EXPECT_THAT(text_of("error"), StartsWith(cat(GetParam().refusal, ": pair 2 of 2: ")));
  EXPECT_EQ(measured_pairs(), 1U);
  EXPECT_THAT(result.out, HasSubstr("\"score\": null"));
  EXPECT_EQ(result.out, read(candidate_ / "out/score.json"));
  EXPECT_EQ(outputs(), sealed_names());
  EXPECT_TRUE(verifies());
}

INSTANTIATE_TEST_SUITE_P(
    Lies, JudgeMidRun,
    testing::Values(MidRunLie{"exit3@free_decode_run", "PROTOCOL"},
                    MidRunLie{"signal9@prefill", "PROTOCOL"},
                    MidRunLie{"wrong-nonce@free_decode_begin", "NONCE_MISMATCH"},
                    MidRunLie{"counter-plus-1@phase_diagnostics", "COMPLETED_WORK_MISMATCH"},
                    MidRunLie{"truncated-json@prefill", "JSON"},
                    MidRunLie{"one-token-less@free_decode_run", "FREE_RUN_CONSISTENCY"},
                    MidRunLie{"no-capability", "CAPABILITY_NOT_ADVERTISED"},
                    MidRunLie{"hello-exit3", "PROTOCOL"}),
    [](const auto& lie) {
      std::string name = lie.param.lie;
      std::replace_if(
          name.begin(), name.end(),
          [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
      return name;
    });

TEST_F(JudgeRun, AControlEngineThatFailsIsTheReferencesFault) {
  calibrate();
  write(reference_ / "weights" / "model.gguf", "weights");
  install_script(reference_, cat("exec '", lying_engine(), "' runtime-worker --weights '",
                                 (top_ / "lies/lie-exit3@prefill").string(), "'"));
  const ProcessResult result = benchd(paired_arguments());
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(text_of("error"), StartsWith("SERIAL-CONTROL-LEG-FAILED: pair 1 of 2: PROTOCOL: "));
  EXPECT_THAT(text_of("error"), HasSubstr("reference warmup leg failed"));
  EXPECT_EQ(text_of("error").find("/home/"), std::string::npos);
  EXPECT_TRUE(verifies());
}

// The candidate is held against a golden that it does not meet, the control leg against its own.
TEST_F(JudgeRun, ACandidateWithWrongTokensIsRefusedAfterItsControlLeg) {
  calibrate();
  GoldenValues golden;
  golden.decode_shift = 50;
  write(candidate_ / "depth/a.golden.json", golden_text(golden));
  std::vector<std::string> arguments = paired_arguments({"--control-golden", "a.golden.json"});
  *(std::find(arguments.begin(), arguments.end(), "--golden") + 1) = "depth/a.golden.json";
  const ProcessResult result = benchd_until_quiet(arguments);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(text_of("error"),
            "TOKEN_MISMATCH: pair 1 of 2: benchmark free-run decode token mismatch at step 0");
  EXPECT_EQ(measured_pairs(), 0U);
  EXPECT_EQ(text_of("baseline_band_passed"), "true");
  EXPECT_NE(text_of("baseline_leg_decode_seconds_per_token"), "(absent)");
  EXPECT_EQ(text_of("candidate_leg_decode_seconds_per_token"), "(absent)");
  EXPECT_TRUE(verifies());
}

TEST_F(JudgeRun, AnEngineThatHangsIsEndedByTheDeadline) {
  TrackValues track;
  track.band_up =
      1000;  // the deadline is 4 x mean x 1001: well under a second of a mock's microseconds
  write(candidate_ / "contract.json", contract_text(track));
  calibrate();
  lie_at_start(1, "hang@free_decode_run");
  const ProcessResult result = benchd(paired_arguments());
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(text_of("error"), StartsWith("RUN_TIMEOUT: pair 1 of 2: "));
  EXPECT_TRUE(verifies());
}

// --- stopped

class JudgeStopped : public JudgeRun, public testing::WithParamInterface<int> {};

bool is_gone(pid_t pid) {
  return ::kill(pid, 0) != 0 && errno == ESRCH;
}

// Stopped while the first pair's candidate hangs: nothing was measured, so nothing is written.
TEST_P(JudgeStopped, BeforeAPairNothingIsWritten) {
  calibrate();
  lie_at_start(1, "hang@prefill");
  Process judge(benchd_request(paired_arguments()));
  const std::string line = judge.wait_for_line("engine-start 1 pid ");
  ASSERT_NE(line, "");
  const pid_t engine = static_cast<pid_t>(*parse_int64(line.substr(line.rfind(' ') + 1)));
  judge.signal(GetParam());
  const ProcessResult result = judge.wait();
  EXPECT_EQ(result.exit_code, 128 + GetParam());
  EXPECT_THAT(result.err, HasSubstr("RUN-INTERRUPTED: "));
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(outputs(), IsEmpty());
  EXPECT_TRUE(is_gone(engine));
}

TEST_P(JudgeStopped, AfterAPairThePairIsSealed) {
  calibrate();
  lie_at_start(2, "hang@prefill");
  Process judge(benchd_request(paired_arguments()));
  const std::string line = judge.wait_for_line("engine-start 2 pid ");
  if (line.empty()) GTEST_SKIP() << "the machine disturbed the first pair";
  const pid_t engine = static_cast<pid_t>(*parse_int64(line.substr(line.rfind(' ') + 1)));
  judge.signal(GetParam());
  const ProcessResult result = judge.wait();
  EXPECT_EQ(result.exit_code, 128 + GetParam());
  EXPECT_THAT(text_of("error"), StartsWith("RUN-INTERRUPTED: "));
  EXPECT_EQ(outputs(), sealed_names());
  EXPECT_EQ(measured_pairs(), 1U);
  EXPECT_TRUE(verifies());
  EXPECT_TRUE(is_gone(engine));
}

TEST_P(JudgeStopped, ACalibrationLeavesNoFile) {
  install_script(reference_, cat("echo \"engine-start 1 pid $$\" >&2\nexec '", lying_engine(),
                                 "' runtime-worker --weights '",
                                 (top_ / "lies/lie-hang@prefill").string(), "'"));
  Process judge(benchd_request(
      {"calibrate-baseline", "--baseline-workspace", reference_.string(), "--engine", "bin/engine",
       "--weights", weights_.string(), "--golden", "a.golden.json", "--contract", "contract.json",
       "--box", "local", "--no-cool-gate", "--passes", "2", "--out", "out/calibration.json"}));
  const std::string line = judge.wait_for_line("engine-start 1 pid ");
  ASSERT_NE(line, "");
  const pid_t engine = static_cast<pid_t>(*parse_int64(line.substr(line.rfind(' ') + 1)));
  judge.signal(GetParam());
  EXPECT_EQ(judge.wait().exit_code, 128 + GetParam());
  EXPECT_THAT(outputs(), IsEmpty());
  EXPECT_TRUE(is_gone(engine));
}

INSTANTIATE_TEST_SUITE_P(Signals, JudgeStopped, testing::Values(SIGINT, SIGTERM));

// --- a full disk

TEST_F(JudgeRun, AFullDiskLeavesNoHalfFile) {
  ProcessRequest request = benchd_request(iterate_arguments());
  request.file_bytes_max = 1024;
  ProcessResult result = run_process(request);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("FILE-NOT-WRITTEN: "));
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(outputs(), IsEmpty());
}

TEST_F(JudgeRun, AFullDiskLeavesTheOldSealAsItWas) {
  ASSERT_EQ(benchd_until_quiet(iterate_arguments()).exit_code, 0);
  const std::string before = read(candidate_ / "out/score.json");
  ProcessRequest request = benchd_request(iterate_arguments());
  request.file_bytes_max = 1024;
  EXPECT_EQ(run_process(request).exit_code, 1);
  EXPECT_EQ(read(candidate_ / "out/score.json"), before);
  EXPECT_EQ(outputs().size(), 4U);
  EXPECT_TRUE(verifies());
}

// --- a leg's resident

class JudgeResident : public JudgeRun {
 protected:
  // A resident that is only a socket and a line in a log.
  void install_serve_script(const fs::path& workspace, const std::string& extra) {
    const fs::path path = workspace / "tools/serve-up.sh";
    write(path,
          cat("#!/bin/sh\necho \"$(basename \"$PWD\") $*\" >> '", log().string(), "'\n", extra,
              "\n[ \"$1\" = --boot ] || exit 0\n"
              "while [ $# -gt 0 ]; do [ \"$1\" = --socket-out ] && out=$2; shift; done\n"
              "sock='",
              (top_ / "resident.sock").string(),
              "'; rm -f \"$sock\"\n"
              "python3 -c 'import socket,sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "
              "\"$sock\"\necho \"$sock\" > \"$out\"\n"));
    fs::permissions(path, fs::perms::owner_all);
  }
  fs::path log() const { return top_ / "serve.log"; }
};

TEST_F(JudgeResident, IsBootedForEachLegAndAlwaysStopped) {
  if (!fs::exists("/usr/bin/python3")) GTEST_SKIP() << "/usr/bin/python3 is not there";
  calibrate();
  install_serve_script(candidate_, "");
  install_serve_script(reference_, "");
  const ProcessResult result = benchd_until_quiet(paired_arguments({"--mtp-depth", "3"}));
  const std::string said = read(log());
  EXPECT_THAT(said, HasSubstr("reference --boot --spec serial --draft-len 0 --socket-out "));
  EXPECT_THAT(said, HasSubstr("candidate --boot --spec mtp --draft-len 3 --socket-out "));
  size_t boots = 0, stops = 0;
  for (size_t at = said.find("--boot"); at != std::string::npos; at = said.find("--boot", at + 1))
    ++boots;
  for (size_t at = said.find("--stop"); at != std::string::npos; at = said.find("--stop", at + 1))
    ++stops;
  EXPECT_EQ(boots, stops);
  EXPECT_EQ(result.exit_code, 0) << result.err << said;
}

TEST_F(JudgeResident, AScriptThatFailsIsNamed) {
  calibrate();
  install_serve_script(reference_, "echo no memory left >&2; exit 7");
  const ProcessResult result = benchd(paired_arguments());
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(text_of("error"),
              StartsWith("SERIAL-CONTROL-LEG-FAILED: pair 1 of 2: LEG-SERVE-BOOT-FAILED: "));
  EXPECT_THAT(text_of("error"), HasSubstr("exit 7"));
}

TEST_F(JudgeResident, ATrackThatNeedsOneRefusesWithout) {
  TrackValues track;
  track.track_id = "liar-tiny-cuda-v1";
  write(candidate_ / "contract.json", contract_text(track));
  const ProcessResult result = benchd(
      {"calibrate-baseline", "--baseline-workspace", reference_.string(), "--engine", "bin/engine",
       "--weights", weights_.string(), "--golden", "a.golden.json", "--contract", "contract.json",
       "--box", "local", "--no-cool-gate", "--out", "calibration.json"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("LEG-SERVE-SCRIPT-MISSING: "));
}

}  // namespace
}  // namespace assay::e2e
