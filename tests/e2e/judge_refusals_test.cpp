// The refusals of benchd's verbs, each provoked, with its exit code; beside them the verb's
// success.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/sha256.h"
#include "base/text.h"
#include "judge_fixture.h"

namespace assay::e2e {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class JudgeRefusals : public JudgeTest {
 protected:
  void contract(const TrackValues& track) {
    write(candidate_ / "contract.json", contract_text(track));
  }
  std::vector<std::string> validate(std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments = {"validate-golden", "--golden", "a.golden.json",
                                          "--contract", "contract.json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  std::vector<std::string> correctness(std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments = {"correctness",   "--engine",        "bin/engine",
                                          "--weights",     weights_.string(), "--golden",
                                          "a.golden.json", "--contract",      "contract.json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  std::vector<std::string> calibration(std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments = {
        "calibrate-baseline", "--engine",       "bin/engine",    "--weights",
        weights_.string(),    "--golden",       "a.golden.json", "--contract",
        "contract.json",      "--no-cool-gate", "--out",         "calibration.json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  std::vector<std::string> official(std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments = {"official",      "--engine",        "bin/engine",
                                          "--weights",     weights_.string(), "--contract",
                                          "contract.json", "--golden",        "a.golden.json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
};

// --- the command line

TEST_F(JudgeRefusals, WrongCommandLines) {
  EXPECT_EQ(benchd({}).exit_code, 2);
  EXPECT_EQ(benchd({"--help"}).exit_code, 0);
  EXPECT_EQ(benchd({"iterate", "--help"}).exit_code, 0);
  EXPECT_EQ(benchd({"--version"}).exit_code, 0);
  expect_refusal({"iterat"}, "USAGE-UNKNOWN-COMMAND", 2);
  expect_refusal({"iterate", "--weights", "w"}, "USAGE-MISSING-FLAG", 2);
  expect_refusal(iterate_arguments({"--speed", "9"}), "USAGE-UNKNOWN-FLAG", 2);
  expect_refusal(iterate_arguments({"--mode", "fast"}), "USAGE-INVALID-VALUE", 2);
  expect_refusal(iterate_arguments({"--cool-gate"}), "USAGE-CONFLICT", 2);
  expect_refusal(iterate_arguments({"--mtp-depth", "2", "--candidate-spec", "{}"}),
                 "USAGE-CONFLICT", 2);
  expect_refusal(iterate_arguments({"--mtp-depth", "0"}), "USAGE-INVALID-VALUE", 2);
  expect_refusal(iterate_arguments({"--mtp-depth", "33"}), "USAGE-INVALID-VALUE", 2);
  expect_refusal(iterate_arguments({"--mtp-depth", "two"}), "USAGE-INVALID-VALUE", 2);
  expect_refusal(iterate_arguments({"--golden-bytes", "many"}), "USAGE-INVALID-VALUE", 2);
  expect_refusal(iterate_arguments({"--baseline-prefill-spt", "0.1"}), "USAGE-MISSING-FLAG", 2);
  expect_refusal({"official", "--engine", "e", "--weights", "w", "--golden", "g"},
                 "USAGE-MISSING-FLAG", 2);
  expect_refusal({"official", "--mode", "official"}, "USAGE-UNKNOWN-FLAG", 2);
  expect_refusal(calibration({"--passes", "1"}), "USAGE-INVALID-VALUE", 2);
  expect_refusal(correctness({"--trusted"}), "USAGE-INVALID-VALUE", 2);
}

TEST_F(JudgeRefusals, RunnerManifest) {
  expect_refusal(correctness({"--manifest", "absent.json"}), "FILE-UNREADABLE", 2);
  write(candidate_ / "m.json", "{\"schemaVersion\":1}");
  expect_refusal(correctness({"--manifest", "m.json"}), "JSON-MISSING-KEY", 2);
  write(candidate_ / "m.json",
        R"({"schemaVersion":1,"runnerID":"liar/tiny","modelTypes":["liar"],"backend":"cuda",)"
        R"("engine":{"supportsPrefixReuse":false,"supportsPagedKV":false,)"
        R"("supportsCompiledDecode":false,"supportsPackedPrefill":false,"supportsMTP":false,)"
        R"("supportsCompactRecurrentMTPReplay":false},"kvBackends":["contiguous"],"decoders":[)"
        R"({"mode":"serial","drafter":"none","state":"stateless","depth":null}],"regimes":[)"
        R"({"batch":"single","timing":"freeRun","perStreamTiming":false}],"multimodal":false,)"
        R"("recurrentLayers":false,"requiresKeepMask":false})");
  const ProcessResult result = benchd(correctness({"--manifest", "m.json"}));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("benchd correctness: manifest check FAILED backend_matches: "));
  EXPECT_THAT(result.err, HasSubstr("manifest check FAILED runner_identity_present: "));
  EXPECT_THAT(result.out, HasSubstr("\"passed\":false,\"case_count\":0,"));
  EXPECT_THAT(result.out, HasSubstr("manifest check failed: "));
}

TEST_F(JudgeRefusals, SpeculationRequests) {
  for (const std::string text :
       {"mtp", "[]", "{}", "{\"mode\":\"magic\"}", "{\"mode\":\"serial\",\"mtp\":{\"depth\":2}}",
        "{\"mode\":\"mtp\",\"speed\":1}", "{\"mode\":\"mtp\"},\"id\":{}"}) {
    expect_refusal(iterate_arguments({"--candidate-spec", text}), "CANDIDATE-SPEC-INVALID", 2);
  }
  TrackValues track;
  track.more_keys = ",\"mtp_head\":{\"permitted_draft_depths\":[1,2]}";
  contract(track);
  expect_refusal(iterate_arguments({"--mtp-depth", "3"}), "DRAFT-DEPTH-NOT-PERMITTED", 1);
  EXPECT_EQ(benchd_until_quiet(iterate_arguments({"--mtp-depth", "2"})).exit_code, 0);
  track.more_keys = ",\"allowed_modes\":[\"serial\"]";
  contract(track);
  expect_refusal(iterate_arguments({"--mtp-depth", "2"}), "DRAFT-DEPTH-NOT-PERMITTED", 1);
}

TEST_F(JudgeRefusals, ALocalCapOfTheDraftDepth) {
  ProcessRequest request = benchd_request(iterate_arguments({"--mtp-depth", "3"}));
  request.environment["MLXFAST_MAX_DRAFT_DEPTH"] = "2";
  const ProcessResult result = run_process(request);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("DRAFT-DEPTH-NOT-PERMITTED: "));
}

// --- verbs that are known and not there

TEST_F(JudgeRefusals, KnownVerbsThatAreNotOffered) {
  for (const std::string verb : {"transform", "submit", "measure-job", "overlay-timing",
                                 "parity-diff", "prefill-decompose", "validate-weights"}) {
    expect_refusal({verb}, "VERB-NOT-OFFERED", 2);
    EXPECT_THAT(benchd({verb, "--any", "thing"}).err, HasSubstr("VERB-NOT-OFFERED: ")) << verb;
  }
  expect_refusal(iterate_arguments({"--capture-baseline", "r.json"}),
                 "CAPTURE-RETIRED-FOR-LIVE-CONTROL-LEG", 1);
  TrackValues track;
  track.live_control = false;
  contract(track);
  expect_refusal(iterate_arguments({"--capture-baseline", "r.json"}), "CAPTURE-NOT-OFFERED", 1);
}

TEST_F(JudgeRefusals, OfficialRuns) {
  expect_refusal(official(), "OFFICIAL-SCORING-NO-ARM-STATE", 1);
  TrackValues track;
  track.more_keys = ",\"official_scoring_enabled\":false";
  contract(track);
  expect_refusal(official(), "OFFICIAL-SCORING-DISARMED", 1);
  track.more_keys = ",\"official_scoring_enabled\":true";
  contract(track);
  expect_refusal(official(), "OFFICIAL-SANDBOX-MISSING", 1);
  expect_refusal(official({"--unsandboxed"}), "BASELINE-WORKSPACE-MISSING", 1);
  ProcessRequest request = benchd_request(official());
  request.environment["MLXFAST_BENCHMARK_SKIP_TIMED"] = "1";
  EXPECT_THAT(run_process(request).err, HasSubstr("GATES-ONLY-NOT-OFFERED: "));
  track.live_control = false;
  contract(track);
  expect_refusal(official({"--unsandboxed"}), "OFFICIAL-STORED-PAIR-NOT-OFFERED", 1);
}

// A cpu track has no temperature, so an armed one can be run in full; the seal says what was not
// active.
TEST_F(JudgeRefusals, AnArmedUnsandboxedOfficialRunIsSealed) {
  TrackValues track;
  track.more_keys = ",\"official_scoring_enabled\":true";
  contract(track);
  calibrate();
  const ProcessResult result = benchd_until_quiet(
      official({"--unsandboxed", "--baseline-workspace", reference_.string(),
                "--baseline-calibration", "calibration.json", "--box", "local", "--no-cool-gate"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(read(candidate_ / "benchmark-integrity.json"),
              HasSubstr("\"sandbox\": \"none (linux)\""));
  const json::Value sealed = metrics("score.json");
  EXPECT_EQ(sealed.find("runtime")->string(), "rust");
  EXPECT_EQ(sealed.find("local_phases"), nullptr);
  EXPECT_NE(sealed.find("environment_read"), nullptr);
  EXPECT_EQ(benchd({"score", "verify"}).exit_code, 0);
}

// --- inputs of a run

TEST_F(JudgeRefusals, ContractsAndTracks) {
  std::vector<std::string> arguments = iterate_arguments();
  arguments.erase(arguments.begin() + 5, arguments.begin() + 7);  // without --contract FILE
  expect_refusal(arguments, "WINDOW-SHAPE-UNDECLARED-FOR-TRACK", 1);
  write(candidate_ / "contract.json", "{");
  expect_refusal(iterate_arguments(), "JSON-SYNTAX", 1);
  fs::remove(candidate_ / "contract.json");
  expect_refusal(iterate_arguments(), "FILE-UNREADABLE", 1);
  TrackValues track;
  track.track_id = "liar-tiny-spark-v1";
  contract(track);
  expect_refusal(iterate_arguments(), "TRACK-PLATFORM-UNKNOWN", 1);
  track.track_id = "";
  contract(track);
  expect_refusal(iterate_arguments(), "TRACK-ID-UNRESOLVED", 1);
  expect_refusal(correctness(), "TRACK-ID-UNRESOLVED", 2);
  track.track_id = "liar-tiny-cpu-v1";
  track.more_keys = ",\"timed_token_tolerance_per_thousand\":100";
  contract(track);
  expect_refusal(iterate_arguments(), "CONTRACT-FEATURE-NOT-SUPPORTED", 1);
  contract({});
  ProcessRequest request = benchd_request(iterate_arguments());
  request.environment["MLXFAST_QWEN_MTP_TRACK_ID"] = "other-tiny-cpu-v1";
  EXPECT_THAT(run_process(request).err, HasSubstr("TRACK-ID-MISMATCH: "));
}

TEST_F(JudgeRefusals, GoldensOfARun) {
  const std::string golden = read(candidate_ / "a.golden.json");
  const std::string sha256 = sha256_hex(golden);
  const std::string bytes = cat(golden.size());
  expect_refusal(iterate_arguments({"--golden-sha256", sha256}), "GOLDEN-PIN-INCOMPLETE", 2);
  expect_refusal(iterate_arguments({"--golden-sha256", sha256, "--golden-bytes", "1"}),
                 "GOLDEN-PIN-BYTES-MISMATCH", 1);
  expect_refusal(
      iterate_arguments({"--golden-sha256", std::string(64, '0'), "--golden-bytes", bytes}),
      "GOLDEN-PIN-DIGEST-MISMATCH", 1);
  expect_refusal(iterate_arguments({"--golden-sha256", sha256, "--golden-bytes", bytes, "--golden",
                                    "a.golden.json"}),
                 "GOLDEN-COUNT-MISMATCH", 1);
  expect_refusal(iterate_arguments({"--golden", "a.golden.json"}),
                 "MULTIPLE-GOLDENS-WITHOUT-PAIRED-PATH", 1);
  expect_refusal(iterate_arguments({"--control-golden", "a.golden.json"}),
                 "CONTROL-GOLDEN-WITHOUT-PAIRED-PATH", 1);
  expect_refusal(iterate_arguments({"--golden", "none.golden.json"}), "FILE-UNREADABLE", 1);
  EXPECT_EQ(
      benchd_until_quiet(iterate_arguments({"--golden-sha256", sha256, "--golden-bytes", bytes}))
          .exit_code,
      0);
  GoldenValues stored;
  stored.more_benchmark_keys =
      ",\"baseline_prefill_seconds_per_token\":1.0,\"baseline_decode_seconds_per_token\":1.0";
  write(candidate_ / "a.golden.json", golden_text(stored));
  expect_refusal(iterate_arguments(), "GOLDEN-CARRIES-STORED-BASELINE", 1);
}

TEST_F(JudgeRefusals, EnginesAndWeights) {
  ::chmod((candidate_ / "bin/engine").c_str(), 0644);
  expect_refusal(iterate_arguments(), "ENGINE-NOT-EXECUTABLE", 1);
  fs::remove(candidate_ / "bin/engine");
  expect_refusal(iterate_arguments(), "ENGINE-NOT-EXECUTABLE", 1);
  install_engine(candidate_);
  fs::create_symlink("model.gguf", weights_ / "link.gguf");
  expect_refusal(iterate_arguments(), "WEIGHTS-NOT-REGULAR", 1);
  fs::remove_all(weights_);
  expect_refusal(iterate_arguments(), "WEIGHTS-MISSING", 1);
  fs::create_directories(weights_);
  expect_refusal(iterate_arguments(), "WEIGHTS-MISSING", 1);
  write(weights_ / "model.gguf", "weights");
  expect_refusal(iterate_arguments({"--engine-resource", "=x"}), "ENGINE-ARGUMENT-REFUSED", 1);
}

// The candidate's engine writes to the weights while it is measured.
TEST_F(JudgeRefusals, WeightsThatChangeDuringTheRun) {
  install_script(candidate_, cat("echo more >> '", (weights_ / "model.gguf").string(), "'"));
  const ProcessResult result = benchd_until_quiet(iterate_arguments());
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(metrics("out/score.json").find("error")->string().substr(0, 16), "WEIGHTS-CHANGED:");
}

// --- the reference of a paired run

TEST_F(JudgeRefusals, TheReferenceOfAPairedRun) {
  expect_refusal(paired_arguments(), "BASELINE-CALIBRATION-MISSING", 1);
  calibrate();
  expect_refusal(paired_arguments({"--baseline-workspace", (top_ / "none").string()}),
                 "BASELINE-WORKSPACE-MISSING", 1);
  expect_refusal(paired_arguments({"--box", "other"}), "BASELINE-CALIBRATION-BOX-MISMATCH", 1);
  expect_refusal(paired_arguments({"--box", " "}), "BASELINE-BOX-UNRESOLVED", 1);
  expect_refusal(paired_arguments({"--baseline-prefill-spt", "1", "--baseline-decode-spt", "1"}),
                 "STORED-BASELINE-OVERRIDE-REFUSED", 1);
  expect_refusal(paired_arguments({"--engine", "/bin/true"}), "BASELINE-ENGINE-NOT-ROOT-RELATIVE",
                 1);
  expect_refusal(paired_arguments({"--weights", "../weights"}),
                 "BASELINE-WEIGHTS-NOT-ROOT-RELATIVE", 1);
  write(candidate_ / "model.gguf", "weights");
  expect_refusal(paired_arguments({"--weights", "model.gguf"}), "BASELINE-WORKSPACE-NO-WEIGHTS", 1);
  fs::rename(reference_ / "bin/engine", reference_ / "bin/other");
  expect_refusal(paired_arguments(), "BASELINE-WORKSPACE-NO-ENGINE", 1);
  fs::rename(reference_ / "bin/other", reference_ / "bin/engine");

  fs::copy_file(candidate_ / "a.golden.json", candidate_ / "b.golden.json");
  expect_refusal(paired_arguments({"--golden", "b.golden.json"}),
                 "BASELINE-CALIBRATION-PROMPT-MISMATCH", 1);
  expect_refusal(paired_arguments({"--golden", "a.golden.json", "--golden", "a.golden.json"}),
                 "OFFICIAL-PAIRS-NOT-A-MULTIPLE-OF-GOLDENS", 1);
  expect_refusal(paired_arguments({"--control-golden", "b.golden.json"}),
                 "CONTROL-GOLDEN-PROMPT-MISMATCH", 1);
  expect_refusal(
      paired_arguments({"--control-golden", "a.golden.json", "--control-golden", "a.golden.json"}),
      "GOLDEN-COUNT-MISMATCH", 1);
  GoldenValues other;
  other.first_prompt_token = 7;
  write(candidate_ / "serial/a.golden.json", golden_text(other));
  expect_refusal(paired_arguments({"--control-golden", "serial/a.golden.json"}),
                 "CONTROL-GOLDEN-PROMPT-MISMATCH", 1);

  ProcessRequest request = benchd_request(paired_arguments());
  request.environment["DS4_RESIDENT_SOCKET"] = "/tmp/x.sock";
  EXPECT_THAT(run_process(request).err, HasSubstr("LEG-SERVE-INHERITED-SOCKET: "));
  request.environment = {{"MLXFAST_PAIRED_BASELINE_DECODE_SECONDS_PER_TOKEN", "1"}};
  EXPECT_THAT(run_process(request).err, HasSubstr("STORED-BASELINE-OVERRIDE-REFUSED: "));

  write(candidate_ / "calibration.json", "{\"version\":2}");
  expect_refusal(paired_arguments(), "BASELINE-CALIBRATION-WHOLE-WINDOW-DECODE", 1);
  EXPECT_TRUE(outputs().empty());
}

TEST_F(JudgeRefusals, Calibrations) {
  const std::vector<std::string> box = {"--box", "local"};
  expect_refusal(calibration(box), "BASELINE-WORKSPACE-MISSING", 1);
  const std::vector<std::string> workspace = {"--baseline-workspace", reference_.string()};
  expect_refusal(calibration(workspace), "BASELINE-BOX-UNRESOLVED", 1);
  const std::vector<std::string> both = {"--baseline-workspace", reference_.string(), "--box",
                                         "local"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), both.begin(), both.end());
    return calibration(more);
  };
  expect_refusal(with({"--reference-commit", "abc"}), "CALIBRATION-COMMIT-UNRESOLVED", 1);
  expect_refusal(with({"--weights", "none"}), "BASELINE-WORKSPACE-NO-WEIGHTS", 1);
  expect_refusal(with({"--golden", "a.golden.json", "--prompt", "p"}), "GOLDEN-COUNT-MISMATCH", 1);
  expect_refusal(with({"--track", "other-cpu-v1"}), "TRACK-ID-MISMATCH", 1);
  TrackValues track;
  track.cv_max = 1e-9;
  contract(track);
  const ProcessResult result = benchd_until_quiet(with({}));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("CALIBRATION-CV-EXCEEDED: "));
  EXPECT_FALSE(fs::exists(candidate_ / "calibration.json"));
}

// --- the smaller verbs

TEST_F(JudgeRefusals, ValidateGolden) {
  const std::string golden = read(candidate_ / "a.golden.json");
  EXPECT_THAT(benchd(validate()).out,
              testing::StartsWith(cat("ACCEPT a.golden.json (sha256=", sha256_hex(golden),
                                      ", cases=1, gate_cases=0)")));
  EXPECT_EQ(benchd(validate()).exit_code, 0);
  const ProcessResult pinned = benchd(
      validate({"--golden-sha256", std::string(64, '0'), "--golden-bytes", cat(golden.size())}));
  EXPECT_EQ(pinned.exit_code, 1);
  EXPECT_THAT(pinned.out, testing::StartsWith("REJECT a.golden.json (integrity pin): "));
  EXPECT_EQ(benchd(validate({"--golden-sha256", "0"})).exit_code, 2);
  EXPECT_EQ(benchd(validate({"--golden", "none"})).exit_code, 3);
  EXPECT_EQ(benchd(validate({"--contract", "none"})).exit_code, 2);
  EXPECT_EQ(benchd(validate({"--track", "other-cpu-v1"})).exit_code, 2);
  GoldenValues stored;
  stored.more_benchmark_keys =
      ",\"baseline_prefill_seconds_per_token\":1.0,\"baseline_decode_seconds_per_token\":1.0";
  write(candidate_ / "a.golden.json", golden_text(stored));
  EXPECT_EQ(benchd(validate()).exit_code, 0);  // a stored pair is a run's question
  GoldenValues shorter;
  shorter.expected_tokens = 7;
  write(candidate_ / "a.golden.json", golden_text(shorter));
  const ProcessResult schema = benchd(validate());
  EXPECT_EQ(schema.exit_code, 1);
  EXPECT_THAT(schema.out,
              testing::StartsWith("REJECT a.golden.json (schema): GOLDEN-CASE-INVALID: "));
  const std::string no_benchmark = golden.substr(0, golden.find(",\"benchmark\"")) + "}";
  write(candidate_ / "a.golden.json", no_benchmark);
  expect_refusal(validate(), "GOLDEN-BENCHMARK-MISSING", 1);
  EXPECT_EQ(benchd(validate({"--gates-only"})).exit_code, 0);
}

TEST_F(JudgeRefusals, Correctness) {
  const ProcessResult passed = benchd(correctness());
  EXPECT_EQ(passed.exit_code, 0) << passed.err;
  EXPECT_EQ(passed.out,
            "{\"passed\":true,\"case_count\":1,\"first_failing_case\":null,"
            "\"first_failing_step\":null,\"error\":\"\"}");
  GoldenValues golden;
  golden.expected_shift = 50;
  write(candidate_ / "a.golden.json", golden_text(golden));
  const ProcessResult failed = benchd(correctness());
  EXPECT_EQ(failed.exit_code, 1);
  EXPECT_EQ(failed.out,
            "{\"passed\":false,\"case_count\":1,\"first_failing_case\":\"a\","
            "\"first_failing_step\":0,\"error\":\"teacher-forced token mismatch\"}");
  EXPECT_EQ(failed.err.find("1000"), std::string::npos) << "a token stands in the judge's text";
  write(top_ / "lie-exit3@correctness_step/model.gguf", "weights");
  expect_refusal(correctness({"--weights", (top_ / "lie-exit3@correctness_step").string()}),
                 "PROTOCOL", 1);
}

// The worked tree of two digests, and what is left out of them.
TEST_F(JudgeRefusals, Digests) {
  const fs::path tree = top_ / "tree";
  write(tree / "config.json", "{}");
  write(tree / "model.safetensors.index.json", "{}");
  write(tree / "sub/a.bin", "abc");
  write(tree / "sub/.gitkeep", "");
  write(tree / ".benchmark-source.sha256", "ignored");
  EXPECT_EQ(benchd({"weights-digest", "--weights", tree.string()}).out,
            "6a5c7d9ec368be5783396c116e030808e75d5318a9923e395abecb75d026f60f:7:4\n");
  expect_refusal({"weights-digest", "--weights", (top_ / "none").string()}, "WEIGHTS-MISSING", 3);
  write(top_ / "shards/m-00001-of-00002.gguf", "one");
  expect_refusal({"weights-digest", "--weights", (top_ / "shards/m-00001-of-00002.gguf").string()},
                 "WEIGHTS-MISSING", 3);
  write(top_ / "shards/m-00002-of-00002.gguf", "two");
  write(top_ / "shards/other.gguf", "not part of the set");
  const ProcessResult shards =
      benchd({"weights-digest", "--weights", (top_ / "shards/m-00002-of-00002.gguf").string()});
  EXPECT_THAT(shards.out, testing::EndsWith(":6:2\n"));
}

TEST_F(JudgeRefusals, HarnessHash) {
  // Paths are part of the digest, so the expected value is made the way the format says.
  write(candidate_ / "benchmark.json", "{\"k\":1}\n");
  write(candidate_ / "tools/t.sh", "tools-t\n");
  write(candidate_ / "tools/.hidden/x", "skipped");
  fs::create_symlink("t.sh", candidate_ / "tools/link.sh");
  const std::string root = candidate_.string();
  const std::string expected =
      sha256_hex(cat(root, "/benchmark.json{\"k\":1}\n", root, "/tools/t.shtools-t\n"));
  const ProcessResult result = benchd({"harness-hash"});
  EXPECT_EQ(result.out, expected + "\n");
  EXPECT_THAT(result.err, HasSubstr("harnessHash root absent, skipped: Package.swift"));
  // A file that cannot be read whole: larger than any file that is read in one piece.
  fs::resize_file(candidate_ / "tools/t.sh", uint64_t{2} << 30);
  expect_refusal({"harness-hash"}, "HARNESS-UNREADABLE", 1);
}

TEST_F(JudgeRefusals, Explain) {
  const ProcessResult one = benchd({"explain", "BASELINE-BOX-UNRESOLVED"});
  EXPECT_EQ(one.exit_code, 0);
  EXPECT_THAT(one.out, HasSubstr("RUNNER_NAME"));
  const ProcessResult all = benchd({"explain"});
  EXPECT_THAT(all.out, HasSubstr("\nSEAL-ARITHMETIC\n"));
  const ProcessResult unknown = benchd({"explain", "BASELINE-BOX-UNRESOLVD"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("BASELINE-BOX-UNRESOLVED"));
  expect_refusal({"explain", "NOT-A-CODE"}, "REFUSAL-UNKNOWN", 2);
}

// --- record-correctness-golden

class JudgeRecord : public JudgeRefusals {
 protected:
  ProcessResult record(std::vector<std::string> more) const {
    ProcessRequest request = benchd_request({});
    request.argv = {ASSAY_BIN_DIR "/record-correctness-golden",
                    "--contract",
                    "contract.json",
                    "--out",
                    "out/r.golden.json",
                    "--steps",
                    "64",
                    "--json"};
    request.argv.insert(request.argv.end(), more.begin(), more.end());
    return run_process(request);
  }
  std::string refusal(std::vector<std::string> more) const {
    const ProcessResult result = record(std::move(more));
    const auto object = json::parse(result.out);
    if (!object || object->find("refusal") == nullptr) return "none: " + result.err;
    EXPECT_TRUE(outputs().empty());
    return object->find("refusal")->string();
  }
  void SetUp() override {
    JudgeRefusals::SetUp();
    std::string ids;
    for (int i = 1; i <= 16; ++i) ids += cat(i, i % 2 == 0 ? "\n" : ", ");
    write(candidate_ / "p.ids", ids);
  }
};

TEST_F(JudgeRecord, TheMockGivesTheSameBytesTwiceAndTheyAreAccepted) {
  const std::vector<std::string> arguments = {"--backend",   "mock", "--prompt-tokens",     "p.ids",
                                              "--case-name", "p",    "--benchmark-free-run"};
  ASSERT_EQ(record(arguments).exit_code, 0) << record(arguments).err;
  const std::string first = read(candidate_ / "out/r.golden.json");
  ASSERT_EQ(record(arguments).exit_code, 0);
  EXPECT_EQ(read(candidate_ / "out/r.golden.json"), first);
  EXPECT_EQ(benchd(validate({"--golden", "out/r.golden.json"})).exit_code, 0);
  const auto golden = json::parse(first);
  const json::Value* benchmark = golden->find("benchmark");
  const json::Value& expected = *golden->find("cases")->items()[0].find("expected_tokens");
  EXPECT_EQ(*benchmark->find("expected_prefill_token"), expected.items()[0]);
  EXPECT_EQ(*benchmark->find("expected_decode_seed_token"), expected.items()[0]);
  EXPECT_EQ(benchmark->find("expected_decode_tokens")->items().size(), 128U);
  EXPECT_EQ(benchmark->find("expected_decode_tokens")->items()[5], expected.items()[6]);
  EXPECT_EQ(benchmark->find("baseline_decode_seconds_per_token"), nullptr);
}

TEST_F(JudgeRecord, RefusesWhatItCannotRecord) {
  const std::vector<std::string> mock = {"--backend", "mock"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), mock.begin(), mock.end());
    return more;
  };
  EXPECT_EQ(refusal(with({})), "USAGE-MISSING-FLAG");
  EXPECT_EQ(
      refusal(with({"--prompt-tokens", "p.ids", "--prompt-tokens", "p.ids", "--case-name", "p"})),
      "USAGE-INVALID-VALUE");
  EXPECT_EQ(refusal(with({"--prompt-tokens", "p.ids", "--case-name", "p", "--steps", "63"})),
            "USAGE-INVALID-VALUE");
  EXPECT_EQ(
      refusal(with({"--prompt-tokens", "p.ids", "--case-name", "p", "--benchmark-steps", "128"})),
      "USAGE-INVALID-VALUE");
  EXPECT_EQ(refusal({"--prompt-tokens", "p.ids", "--case-name", "p"}), "USAGE-INVALID-VALUE");
  EXPECT_EQ(refusal(with({"--prompt-tokens", "none", "--case-name", "p"})), "FILE-UNREADABLE");
  for (const std::string text : {"1 2 3", "[1,2,", "one two", "[1,2.5]", ""}) {
    write(candidate_ / "bad.ids", text);
    EXPECT_EQ(refusal(with({"--prompt-tokens", "bad.ids", "--case-name", "p"})),
              "RECORD-PROMPT-INVALID")
        << text;
  }
  write(candidate_ / "bad.ids", "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 300000");
  EXPECT_EQ(refusal(with({"--prompt-tokens", "bad.ids", "--case-name", "p"})),
            "RECORD-PROMPT-INVALID");
}

// The lying engine's checked and timed answers start from different numbers: nothing may be
// recorded.
TEST_F(JudgeRecord, AnEngineThatDisagreesWithItselfIsNotRecorded) {
  EXPECT_EQ(refusal({"--worker-bin", "bin/engine", "--weights", weights_.string(),
                     "--prompt-tokens", "p.ids", "--case-name", "p", "--benchmark-free-run"}),
            "RECORD-DISAGREEMENT");
}

}  // namespace
}  // namespace assay::e2e
