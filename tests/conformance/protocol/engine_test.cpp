// What every engine built on the SDK must do, asked of the programs over their pipes: all routes to
// the same tokens agree, counters follow the table, refusals name their cause.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "base/text.h"
#include "engine_process.h"
#include "protocol/hello.h"
#include "protocol/verb.h"

namespace assay::protocol_tests {
namespace {

using ::testing::HasSubstr;

struct Candidate {
  std::string name;
  std::vector<std::string> argv;
};

class SdkEngine : public ::testing::TestWithParam<Candidate> {
 protected:
  static constexpr int64_t kSteps = 12;

  SdkEngine() : engine_(GetParam().argv) { hello_ = engine_.response(); }

  protocol::Response ask(std::string_view fields) {
    auto response = engine_.ask(fields);
    EXPECT_EQ(response.nonce, hello_.nonce);
    EXPECT_TRUE(response.ok) << fields << ": " << response.error.value_or("");
    return response;
  }
  void refused(std::string_view fields, const std::string& why) {
    const auto response = engine_.ask(fields);
    EXPECT_FALSE(response.ok) << fields;
    EXPECT_THAT(response.error.value_or(""), HasSubstr(why)) << fields;
  }
  void close(int64_t completed_work) {
    const auto response = ask(R"("kind":"phase_diagnostics")");
    EXPECT_EQ(response.completed_work, completed_work);
    EXPECT_EQ(response.cache_memory, 0);
    EXPECT_TRUE(response.expert_stats);
    EXPECT_TRUE(response.peak_ram_gb);
  }
  // The engine's own greedy continuation of the prompt 3, 1, 4, 1, 5.
  std::vector<int64_t> greedy() {
    const auto response =
        ask(cat(R"("kind":"correctness","prompt_tokens":[3,1,4,1,5],"steps":)", kSteps));
    close(0);
    return response.tokens.value_or(std::vector<int64_t>(kSteps));
  }

  EngineProcess engine_;
  protocol::Response hello_;
};

TEST_P(SdkEngine, SaysHelloAndEndsWithTheInput) {
  const auto checked = protocol::check_hello(hello_);
  ASSERT_TRUE(checked) << checked.refusal().text();
  EXPECT_TRUE(checked->has_capability(protocol::kFreeRunDecode));
  EXPECT_EQ(engine_.finish(), 0);
}

TEST_P(SdkEngine, TeacherForcingFollowsItsOwnFreeRun) {
  const std::vector<int64_t> tokens = greedy();
  EXPECT_EQ(ask(R"("kind":"prefill","prompt_tokens":[3,1,4,1,5])").token, tokens[0]);
  EXPECT_EQ(ask(R"("kind":"prefill","prompt_tokens":[3,1,4,1,5])").token, tokens[0]);
  close(0);

  EXPECT_EQ(ask(R"("kind":"decode_begin","seed_tokens":[3,1,4,1,5])").seed_token, tokens[0]);
  for (size_t i = 0; i + 1 < tokens.size(); ++i) {
    EXPECT_EQ(ask(cat(R"("kind":"decode_step","token":)", tokens[i])).token, tokens[i + 1]);
  }
  close(kSteps);

  auto answer = ask(R"("kind":"correctness_begin","prompt_tokens":[3,1,4,1,5])");
  for (size_t i = 0; i < tokens.size(); ++i) {
    EXPECT_EQ(answer.token, tokens[i]);
    ASSERT_TRUE(answer.top_logits);
    ASSERT_EQ(answer.top_logits->size(), 8u);
    EXPECT_EQ(answer.top_logits->front().token, answer.token);
    std::set<int64_t> ids;
    for (size_t k = 0; k < 8; ++k) {
      const auto& entry = (*answer.top_logits)[k];
      EXPECT_TRUE(std::isfinite(entry.logit));
      EXPECT_TRUE(ids.insert(entry.token).second);
      if (k == 0) continue;
      const auto& before = (*answer.top_logits)[k - 1];
      EXPECT_TRUE(before.logit > entry.logit ||
                  (before.logit == entry.logit && before.token < entry.token));
    }
    if (i + 1 < tokens.size()) {
      answer = ask(cat(R"("kind":"correctness_step","token":)", tokens[i]));
    }
  }
  close(kSteps);
}

TEST_P(SdkEngine, FreeRunsCommitTheSameTokensInEveryMode) {
  const std::vector<int64_t> tokens = greedy();
  for (const std::string& mode : *hello_.spec_modes) {
    const std::string spec =
        mode == "serial" ? R"({"mode":"serial"})" : R"({"mode":"mtp","mtp":{"depth":1}})";
    const auto begin =
        ask(cat(R"("kind":"free_decode_begin","seed_tokens":[3,1,4,1,5],"spec":)", spec));
    EXPECT_EQ(begin.seed_token, tokens[0]);
    EXPECT_EQ(begin.effective_spec->mode, mode);
    const auto run = ask(cat(R"("kind":"free_decode_run","count":)", kSteps - 1));
    EXPECT_EQ(run.tokens, std::vector<int64_t>(tokens.begin() + 1, tokens.end()));
    EXPECT_EQ(run.committed_total, static_cast<uint64_t>(kSteps - 1));
    EXPECT_GE(*run.drafted_total, *run.accepted_total);
    if (mode == "serial") {
      EXPECT_EQ(run.acceptance_lengths, std::vector<uint32_t>(kSteps - 1, 1));
      EXPECT_EQ(run.drafted_total, 0u);
    }
    uint64_t committed = 0;
    for (const uint32_t length : *run.acceptance_lengths) committed += length;
    EXPECT_EQ(committed, static_cast<uint64_t>(kSteps - 1));
    close(static_cast<int64_t>(run.acceptance_lengths->size()) + 1);
  }
}

TEST_P(SdkEngine, RefusesByNameAndGoesOn) {
  refused(R"("kind":"decode_step","token":1)", "WORKER-PHASE-NOT-OPEN");
  refused(R"("kind":"phase_diagnostics")", "WORKER-PHASE-NOT-OPEN");
  refused(R"("kind":"nonsense")", "WORKER-KIND-UNKNOWN");
  refused(R"("kind":"free_decode_begin","seed_tokens":[1],"spec":{"mode":"eagle"})",
          "WORKER-MODE-NOT-RUNNABLE");
  refused(R"("kind":"prefill","prompt_tokens":[-1])", "WORKER-TOKEN-OUT-OF-VOCABULARY");
  refused(R"("kind":"prefill","prompt_tokens":[9223372036854775807])",
          "WORKER-TOKEN-OUT-OF-VOCABULARY");
  ask(R"("kind":"prefill","prompt_tokens":[1])");
  refused(R"("kind":"decode_begin","seed_tokens":[1])", "WORKER-PHASE-ALREADY-OPEN");
  ask(R"("kind":"free_decode_begin","seed_tokens":[1])");
  refused(R"("kind":"free_decode_run","count":0)", "WORKER-COUNT-OUT-OF-RANGE");
  engine_.write("not a request\n");
  const auto malformed = engine_.response();
  EXPECT_EQ(malformed.id, -1);
  EXPECT_EQ(malformed.nonce, hello_.nonce);
  ask(R"("kind":"prefill","prompt_tokens":[1])");
  close(0);
  EXPECT_EQ(engine_.finish(), 0);
}

INSTANTIATE_TEST_SUITE_P(
    Programs, SdkEngine,
    ::testing::Values(Candidate{"context_mock",
                                {cat(ASSAY_BIN_DIR, "/assay-mock-engine"), "runtime-worker",
                                 "--mock", "context", "--vocab", "997"}},
                      Candidate{"minimal_engine",
                                {cat(ASSAY_BIN_DIR, "/minimal-engine"), "runtime-worker",
                                 "--weights", "/nowhere", "--speculative-protocol", "v1.1"}}),
    [](const auto& engine) { return engine.param.name; });

}  // namespace
}  // namespace assay::protocol_tests
