#include "protocol/runner_manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay::protocol {
namespace {

// The published manifest of a live runner; its digests below were made with sha256sum.
const std::string kManifest =
    R"({"schemaVersion":1,"runnerID":"layr/qwen4exp-125b-a6b","modelTypes":["qwen4_exp","qwen4_exp_text"],)"
    R"("backend":"mlx","engine":{"supportsPrefixReuse":false,"supportsPagedKV":false,)"
    R"("supportsCompiledDecode":false,"supportsPackedPrefill":false,"supportsMTP":true,)"
    R"("supportsCompactRecurrentMTPReplay":false},"kvBackends":["contiguous"],"decoders":[)"
    R"({"mode":"serial","drafter":"none","state":"stateless","depth":null},)"
    R"({"mode":"mtp","drafter":"embeddedHead","state":"requestStateful","depth":[1,3]}],)"
    R"("regimes":[{"batch":"single","timing":"freeRun","perStreamTiming":false},)"
    R"({"batch":"single","timing":"teacherForced","perStreamTiming":false}],)"
    R"("multimodal":false,"recurrentLayers":true,"requiresKeepMask":true})";
constexpr std::string_view kDigest =
    "474efd9965aef3453e1e8324e99f9711d8e44bb2dceb0366d9c14c7d8e9ecebe";

std::string with(std::string text, std::string_view from, std::string_view to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string code_of(const std::string& bytes) {
  const auto manifest = read_runner_manifest(bytes);
  return manifest ? "" : std::string(manifest.refusal().code);
}

TEST(RunnerManifest, DigestsArePinned) {
  const auto manifest = read_runner_manifest(kManifest);
  ASSERT_TRUE(manifest) << manifest.refusal().text();
  EXPECT_EQ(manifest->sha256, kDigest);
  const auto deeper = read_runner_manifest(with(kManifest, "[1,3]", "[1,6]"));
  ASSERT_TRUE(deeper);
  EXPECT_EQ(deeper->sha256, "0430b22f8325c9c9371910d1e14eb3c78b235932bf35fa6623a4c511dd68e180");
}

TEST(RunnerManifest, WhiteSpaceAndKeyOrderDoNotMatter) {
  std::string text = with(kManifest, R"("schemaVersion":1,)", "");
  text = with(text, R"("multimodal":false)", "\n  \"multimodal\": false, \"schemaVersion\":  1");
  text = with(text, R"("drafter":"none","state":"stateless")",
              R"("state":"stateless", "drafter":"none")");
  const auto manifest = read_runner_manifest(text + "\n");
  ASSERT_TRUE(manifest) << manifest.refusal().text();
  EXPECT_EQ(manifest->sha256, kDigest);
}

TEST(RunnerManifest, Refusals) {
  EXPECT_EQ(code_of("{"), "JSON-SYNTAX");
  EXPECT_EQ(code_of("[]"), "JSON-TYPE");
  EXPECT_EQ(code_of(with(kManifest, R"(,"multimodal":false)", "")), "JSON-MISSING-KEY");
  EXPECT_EQ(code_of(with(kManifest, R"("stateless","depth":null)", R"("stateless")")),
            "JSON-MISSING-KEY");
  EXPECT_EQ(code_of(with(kManifest, "{\"schema", "{\"more\":1,\"schema")), "JSON-UNKNOWN-KEY");
  EXPECT_EQ(code_of(with(kManifest, "\"supportsMTP\":true", "\"supportsMTP\":1")), "JSON-TYPE");
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"\"schemaVersion\":1", "\"schemaVersion\":2"},
           {"layr/", "layr"},
           {"[\"contiguous\"]", "[\"ring\"]"},
           {"embeddedHead", "oracle"},
           {"requestStateful", "global"},
           {"[1,3]", "[3,1]"},
           {"[1,3]", "[3]"},
           {"\"batch\":\"single\"", "\"batch\":\"double\""},
           {"\"batch\":\"single\"", "\"batch\":{\"upTo\":1}"},
           {"\"freeRun\"", "\"wall\""}}) {
    EXPECT_EQ(code_of(with(kManifest, from, to)), "RUNNER-MANIFEST-INVALID") << to;
  }
}

Hello honest_hello() {
  Hello hello;
  hello.backend = "mlx";
  hello.spec_modes = {"serial"};  // fewer than declared is fine
  hello.capabilities = {"free_run_decode"};
  hello.runner = RunnerIdentity{"layr/qwen4exp-125b-a6b", "qwen4_exp", std::string(kDigest), "b1"};
  return hello;
}

std::vector<std::string> failed(const Hello& hello, bool trusted = false,
                                const std::string& text = kManifest) {
  const auto manifest = read_runner_manifest(text);
  EXPECT_TRUE(manifest);
  std::vector<std::string> names;
  for (const auto& row : check_manifest(*manifest, hello, trusted)) names.emplace_back(row.check);
  return names;
}

TEST(RunnerManifest, AHelloThatKeepsToIt) {
  EXPECT_THAT(failed(honest_hello()), testing::IsEmpty());
  Hello replaying = honest_hello();
  replaying.capabilities = {"cohort_reference_replay", "free_run_decode"};
  EXPECT_THAT(failed(replaying, true), testing::IsEmpty());
  EXPECT_THAT(failed(replaying), testing::ElementsAre("capabilities_derived"));
}

TEST(RunnerManifest, BatchesGiveCapabilityAndWidth) {
  const std::string batched = with(kManifest, "\"batch\":\"single\"", "\"batch\":{\"upTo\":8}");
  Hello hello = honest_hello();
  hello.runner->manifest_sha256 = read_runner_manifest(batched)->sha256;
  EXPECT_THAT(failed(hello, false, batched),
              testing::ElementsAre("capabilities_derived", "max_batch_size_derived"));
  hello.capabilities.emplace_back("batched_free_run_decode");
  hello.max_batch_size = 8;
  EXPECT_THAT(failed(hello, false, batched), testing::IsEmpty());
}

TEST(RunnerManifest, EveryDivergenceIsListedInOrder) {
  Hello hello = honest_hello();
  hello.spec_modes = {"serial", "dflash"};
  hello.capabilities = {"free_run_decode", "free_run_decode"};  // duplicates matter
  hello.max_batch_size = 4;
  hello.backend = "cuda";
  hello.runner->manifest_sha256 = std::string(64, '0');
  hello.runner->id = "layr/other";
  hello.runner->model_type = "llama";
  EXPECT_THAT(failed(hello), testing::ElementsAre("spec_modes_declared", "capabilities_derived",
                                                  "max_batch_size_derived", "backend_matches",
                                                  "manifest_digest_matches", "runner_id_matches",
                                                  "model_type_declared"));
  EXPECT_THAT(failed(Hello{}),
              testing::ElementsAre("capabilities_derived", "backend_matches",
                                   "runner_identity_present", "manifest_digest_matches"));
}

}  // namespace
}  // namespace assay::protocol
