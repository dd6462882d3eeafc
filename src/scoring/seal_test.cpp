#include "scoring/seal.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "base/sha256.h"
#include "scoring/score_fixture.h"

namespace assay::scoring {
namespace {

Integrity integrity() {
  Integrity out;
  out.score_path = "out/score.json";
  out.weights_path = "weights";
  out.transform_source_sha256 = "";
  out.candidate_executable = "build/engine";
  out.candidate_executable_sha256 = std::string(64, '3');
  out.candidate_executable_resolution = "canonical";
  out.benchd_executable = "build/benchd";
  out.benchd_executable_sha256 = std::string(64, '4');
  out.sandbox = "none (linux)";
  return out;
}

TEST(Seal, ScoreBytesAreSortedIndentedAndEndWithoutNewline) {
  const std::string bytes = score_bytes(ScoreDocument{});
  EXPECT_TRUE(bytes.starts_with(
      "{\n  \"metrics\": {\n    \"actual_token\": null,\n    \"bandwidth_gb_per_token\": 0.0,\n"));
  EXPECT_TRUE(bytes.ends_with("\n  },\n  \"passed\": false,\n  \"score\": null\n}"));
  EXPECT_NE(bytes.back(), '\n');
  const auto parsed = json::parse(bytes);
  std::string last;
  for (const auto& member : parsed->find("metrics")->members()) {
    EXPECT_LT(last, member.first);
    last = member.first;
  }
}

TEST(Seal, DoublesHaveAFractionOrAnExponent) {
  ScoreDocument document;
  document.metrics.decode_speedup = 1.0;
  document.metrics.prefill_seconds_per_token = 1e-6;
  const std::string bytes = score_bytes(document);
  EXPECT_NE(bytes.find("\"decode_speedup\": 1.0,"), std::string::npos);
  EXPECT_NE(bytes.find("\"prefill_seconds_per_token\": 1e-6,"), std::string::npos);
}

TEST(Seal, FourFilesThatNameEachOther) {
  const ScoreDocument document = sealed_pairs(PairCombine::lower_median);
  const SealedScore sealed = seal(document, integrity(), "score.json", "benchmark-integrity.json");
  EXPECT_EQ(sealed.score_sha256, sha256_hex(sealed.score.bytes));
  EXPECT_EQ(sealed.score_sidecar.name, "score.json.sha256");
  EXPECT_EQ(sealed.score_sidecar.bytes, sealed.score_sha256 + "  score.json\n");
  EXPECT_EQ(sealed.integrity_sidecar.name, "benchmark-integrity.json.sha256");
  EXPECT_EQ(sealed.integrity_sidecar.bytes,
            sha256_hex(sealed.integrity.bytes) + "  benchmark-integrity.json\n");
  const auto read = read_integrity(sealed.integrity.bytes);
  ASSERT_TRUE(read) << read.refusal().text();
  EXPECT_EQ(read->score_sha256, sealed.score_sha256);
  EXPECT_EQ(read->weights_sha256, document.metrics.weights_hash);
  EXPECT_EQ(read->golden_sha256, document.metrics.golden_hash);
  EXPECT_EQ(read->golden_path, "[private]");
}

TEST(Seal, SidecarLineOfAKnownDigest) {
  // SHA-256 of the two bytes {}.
  EXPECT_EQ(sidecar_line(sha256_hex("{}"), "score.json"),
            "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a  score.json\n");
}

TEST(Integrity, KeysStandInTheirOrder) {
  const std::string bytes = write_integrity(integrity());
  EXPECT_EQ(bytes.back(), '\n');
  const auto parsed = json::parse(bytes);
  std::vector<std::string> keys;
  for (const auto& member : parsed->members()) keys.push_back(member.first);
  EXPECT_EQ(
      keys,
      (std::vector<std::string>{
          "score_path", "score_sha256", "weights_path", "weights_sha256", "weights_file_count",
          "weights_byte_count", "golden_path", "golden_sha256", "transform_source_sha256",
          "candidate_executable", "candidate_executable_sha256", "baseline_executable",
          "baseline_executable_sha256", "candidate_executable_resolution", "benchd_executable",
          "benchd_executable_sha256", "candidate_workspace_sha256", "sandbox"}));
}

TEST(Integrity, ReadingIsClosed) {
  const auto code = [](auto&& change) {
    json::Value document = *json::parse(write_integrity(integrity()));
    change(document);
    const auto read = read_integrity(json::write(document));
    return read ? "accepted" : std::string(read.refusal().code);
  };
  EXPECT_EQ(code([](json::Value&) {}), "accepted");
  EXPECT_EQ(code([](json::Value& d) { d.set("extra", ""); }), "INTEGRITY-INVALID");
  EXPECT_EQ(code([](json::Value& d) { d.set("golden_path", "g.json"); }), "INTEGRITY-INVALID");
  EXPECT_EQ(code([](json::Value& d) { d.set("candidate_executable_resolution", "maybe"); }),
            "INTEGRITY-INVALID");
  EXPECT_EQ(code([](json::Value& d) { d.set("weights_file_count", "4"); }), "JSON-TYPE");
  EXPECT_EQ(code([](json::Value& d) { d.members().pop_back(); }), "JSON-MISSING-KEY");
}

TEST(Integrity, NameFollowsTheMode) {
  EXPECT_EQ(integrity_name_of_mode("local-iterate"), "benchmark-integrity.local-iterate.json");
  EXPECT_EQ(integrity_name_of_mode("local-submit"), "benchmark-integrity.json");
  EXPECT_EQ(integrity_name_of_mode("official"), "benchmark-integrity.json");
}

TEST(Redaction, PathsNameNobody) {
  const auto redact = [](std::string_view path) {
    return redact_path(path, "/home/ann/work", "/home/ann");
  };
  EXPECT_EQ(redact("out/score.json"), "out/score.json");
  EXPECT_EQ(redact("../shared/x"), "../shared/x");
  EXPECT_EQ(redact("/home/ann/work/out/score.json"), "out/score.json");
  EXPECT_EQ(redact("/home/ann/models/m.gguf"), "models/m.gguf");
  EXPECT_EQ(redact("/home/ann/workspace/x"), "workspace/x");  // not below /home/ann/work
  EXPECT_EQ(redact("/home/bob/models/m.gguf"), "models/m.gguf");
  EXPECT_EQ(redact("/Users/bob/m.gguf"), "m.gguf");
  EXPECT_EQ(redact("/opt/engine"), "/opt/engine");
  EXPECT_EQ(redact("/home/ann/work"), ".");
  EXPECT_EQ(redact("/home/ann"), ".");
  EXPECT_EQ(redact("/home/bob"), ".");
  EXPECT_EQ(redact(""), ".");
  EXPECT_EQ(redact_path("/srv/x", "/", ""), "/srv/x");
}

}  // namespace
}  // namespace assay::scoring
