#include "runner/leg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "protocol/refusals.h"
#include "protocol/spec.h"
#include "runner/refusals.h"
#include "support/fake_world.h"
#include "support/mock_replies.h"
#include "support/scripted_transport.h"

namespace assay::runner {
namespace {

using protocol::Request;
using std::chrono::milliseconds;
using support::MockReplies;
using support::ScriptedTransport;
using support::TransportLog;

class LegTest : public ::testing::Test {
 protected:
  LegTest() {
    replies.prefill_token = 500;
    replies.seed_token = 500;
    replies.decode_tokens = {501, 502, 503};
    scoring::TimedOracle oracle;
    oracle.prefill_prompt_tokens = {10, 20, 30, 40, 50, 60};
    oracle.expected_prefill_token = 500;
    oracle.decode_seed_tokens = oracle.prefill_prompt_tokens;
    oracle.expected_decode_seed_token = 500;
    oracle.expected_decode_tokens = {501, 502, 503};
    set_oracle(plan, oracle);
    command.executable = "e";
    command.weights = "w";
    plan.vocab_size = 1000;
    plan.pair = 2;
    plan.gates.operator_off = true;
    plan.prefill.timed_runs = 2;
    plan.prefill.warmup_runs = 1;
  }

  Result<MeasuredLeg> measure(const std::function<void(ScriptedTransport&)>& adjust = {}) {
    auto transport = std::make_unique<ScriptedTransport>(
        std::vector<std::string>{replies.hello_line()},
        [this](const std::string& line) {
          auto lines = replies.answer(line);
          world.clock += cost(replies.requests.back());
          return lines;
        },
        log);
    if (adjust) adjust(*transport);
    world.engines.push(std::move(transport));
    return measure_leg(world, command, plan);
  }

  support::FakeWorld world;
  MockReplies replies;
  std::shared_ptr<TransportLog> log = std::make_shared<TransportLog>();
  WorkerCommand command;
  std::function<Duration(const Request&)> cost = [](const Request& request) -> Duration {
    if (request.kind == "prefill" || request.kind == "free_decode_begin") return milliseconds(100);
    return milliseconds(30);
  };
  LegPlan plan;
};

TEST_F(LegTest, RunsTheWholeWindowInItsOrder) {
  auto leg = measure();
  ASSERT_TRUE(leg) << leg.refusal().detail;
  std::vector<std::string> kinds;
  for (const auto& request : replies.requests) kinds.push_back(request.kind);
  EXPECT_THAT(kinds, ::testing::ElementsAre(
                         "prefill", "phase_diagnostics", "free_decode_begin", "free_decode_run",
                         "phase_diagnostics",                                            // warm-up
                         "prefill", "prefill", "prefill", "phase_diagnostics",           // timed
                         "free_decode_begin", "free_decode_run", "phase_diagnostics"));  // decode
  EXPECT_DOUBLE_EQ(leg->prefill.seconds, 0.1);
  EXPECT_EQ(leg->decode.decode, milliseconds(30));
  EXPECT_DOUBLE_EQ(leg->seed_to_prefill_ratio, 1.0);
  EXPECT_FALSE(leg->drain_reported());
  EXPECT_TRUE(log->closed.has_value());  // the engine of a leg of its own is ended
}

TEST_F(LegTest, TheWarmUpSeesOtherPromptsOfTheSameLength) {
  ASSERT_TRUE(measure());
  const auto& warm = *replies.requests[0].prompt_tokens;
  const auto& timed = *replies.requests[5].prompt_tokens;
  EXPECT_EQ(warm.size(), timed.size());
  EXPECT_NE(warm, timed);
  EXPECT_NE(*replies.requests[2].seed_tokens, *replies.requests[9].seed_tokens);
  EXPECT_EQ(replies.requests[3].count, replies.requests[10].count);
}

TEST_F(LegTest, WrongTokensInTheWarmUpDoNotMatter) {
  size_t answered = 0;
  replies.change = [&](const Request& request, protocol::Response& response) {
    if (++answered > 5) return;
    if (response.token) response.token = 1;
    if (response.seed_token) response.seed_token = 1;
    if (request.kind == "free_decode_run") response.tokens = {{1, 1, 1}};
  };
  EXPECT_TRUE(measure());
}

TEST_F(LegTest, AFaultInTheWarmUpFailsTheLegAndSaysSo) {
  replies.change = [](const Request&, protocol::Response& response) { response.ok = false; };
  auto official = measure();
  ASSERT_FALSE(official);
  EXPECT_EQ(official.refusal().code, protocol::kEngine.code);
  EXPECT_THAT(official.refusal().detail, ::testing::StartsWith("official warmup leg failed: "));
  plan.warmup_label = "reference";
  EXPECT_THAT(measure().refusal().detail, ::testing::StartsWith("reference warmup leg failed: "));
}

TEST_F(LegTest, AFaultOfAnyReadOrWriteEndsTheLegByName) {
  ASSERT_TRUE(measure());
  const int reads = log->reads;
  const int writes = static_cast<int>(log->written.size());
  ASSERT_EQ(reads, writes + 1);  // the hello
  for (int n = 1; n <= reads + writes; ++n) {
    log = std::make_shared<TransportLog>();
    replies.requests.clear();
    auto leg = measure([&](ScriptedTransport& transport) {
      if (n <= reads) transport.failing_read = {n, LineRead::Kind::end_of_stream};
      if (n > reads) transport.failing_write.emplace(n - reads, Refusal(kIo, "the test's fault"));
    });
    ASSERT_FALSE(leg) << n;
    EXPECT_EQ(leg.refusal().code, n <= reads ? protocol::kProtocol.code : kIo.code) << n;
    EXPECT_EQ(log->post_mortems, 1) << n;
    EXPECT_TRUE(log->closed.has_value()) << n;
  }
}

TEST_F(LegTest, GateRecordsNamePairLegAndPhase) {
  plan.leg = "control";
  auto leg = measure();
  ASSERT_TRUE(leg);
  ASSERT_EQ(leg->gates.size(), 2U);
  EXPECT_EQ(leg->gates[0].pair, 2U);
  EXPECT_EQ(leg->gates[0].leg, "control");
  EXPECT_EQ(leg->gates[0].phase, "prefill");
  EXPECT_EQ(leg->gates[1].phase, "decode");
  EXPECT_EQ(leg->gates[1].quiescence.skip_reason, "operator");
}

TEST_F(LegTest, GatesStandBetweenTheWarmUpAndEachTimedPhase) {
  plan.gates.operator_off = false;
  std::vector<size_t> requests_at_gate;
  plan.readers.load_1min = [&]() -> std::optional<double> {
    requests_at_gate.push_back(replies.requests.size());
    return 0.1;
  };
  ASSERT_TRUE(measure());
  EXPECT_THAT(requests_at_gate, ::testing::ElementsAre(5, 9));
}

TEST_F(LegTest, WhatTheEngineCannotDoIsRefusedBeforeTheGates) {
  plan.gates.operator_off = false;  // without readers a gate would refuse
  replies.hello.capabilities.reset();
  auto leg = measure();
  EXPECT_EQ(leg.refusal().code, protocol::kCapabilityNotAdvertised.code);
  replies.hello.capabilities = {{"free_run_decode"}};
  replies.hello.spec_modes = {{"serial"}};
  plan.decode.spec = protocol::mtp_spec(2);
  EXPECT_EQ(measure().refusal().code, protocol::kSpecModeNotRunnable.code);
  EXPECT_TRUE(log->written.empty());
  EXPECT_EQ(world.readings, 0);
}

TEST_F(LegTest, FrontLoadingIsRefusedByName) {
  // Seed 100 + 200 ms, decode 10 ms: the excess could hold the decode work.
  cost = [](const Request& request) -> Duration {
    if (request.kind == "prefill") return milliseconds(100);
    if (request.kind == "free_decode_begin") return milliseconds(300);
    return milliseconds(10);
  };
  EXPECT_EQ(measure().refusal().code, "FRONT-LOADED-DECODE");
}

TEST_F(LegTest, DeferredPrefillIsRefusedByName) {
  cost = [](const Request& request) -> Duration {
    if (request.kind == "prefill") return milliseconds(20);
    if (request.kind == "free_decode_begin") return milliseconds(100);
    return milliseconds(300);
  };
  EXPECT_EQ(measure().refusal().code, "DEFERRED-PREFILL");
}

TEST_F(LegTest, SeedsOfAnotherLengthAreNotCompared) {
  plan.decode.seed.resize(3);
  cost = [](const Request& request) -> Duration {
    return request.kind == "free_decode_begin" ? milliseconds(900) : milliseconds(20);
  };
  EXPECT_TRUE(measure());
}

TEST(SeedPrefill, ToleranceAndSlack) {
  EXPECT_TRUE(check_seed_prefill(1.0, 2.0, 0.1));   // one stall to twice the time is honest
  EXPECT_TRUE(check_seed_prefill(1.0, 2.25, 0.1));  // the limit, inclusive
  EXPECT_FALSE(check_seed_prefill(1.0, 2.2501, 0.1));
  EXPECT_TRUE(check_seed_prefill(1.0, 0.1, 0.1));         // a fast seed prefill gains nothing
  EXPECT_TRUE(check_seed_prefill(0.001, 0.006, 0.0001));  // 5 ms more: scheduling noise
  EXPECT_FALSE(check_seed_prefill(0.001, 0.0061, 0.0001));
  EXPECT_FALSE(check_seed_prefill(1.0, 1.2, 0.1, 0.1));  // a tighter tolerance, by the caller
  EXPECT_EQ(check_seed_prefill(1.0, 3.0, 1.9).refusal().code, "FRONT-LOADED-DECODE");
  EXPECT_EQ(check_seed_prefill(1.0, 3.0, 2.1).refusal().code, "DEFERRED-PREFILL");
}

// A pair of legs whose prefill takes 1 s for 100 tokens; the seed prefill takes these seconds.
scoring::MeasuredPair pair_with_seeds(double control_seed, double candidate_seed) {
  const auto leg = [](double seed) {
    return scoring::LegFigures{{0.01}, {0.02}, scoring::SecondsPerToken{seed / 100}};
  };
  return {1, "", leg(control_seed), leg(candidate_seed)};
}

TEST(SeedPrefill, MediansOverPairsAreHeldTighter) {
  const auto verdict = [](const std::vector<scoring::MeasuredPair>& pairs, size_t decode_tokens) {
    const Status status = check_seed_prefill_medians(pairs, 100, decode_tokens);
    return status ? std::string() : std::string(status.refusal().code);
  };
  const auto honest = pair_with_seeds(1.0, 1.05);
  const auto stalled = pair_with_seeds(1.0, 2.2);
  const auto ahead = pair_with_seeds(1.0, 1.3);  // 0.3 s of decode work in every seed prefill
  EXPECT_EQ(verdict({honest, honest, honest}, 50), "");
  EXPECT_EQ(verdict({honest, stalled, honest, honest}, 50), "");  // one stall is no pattern
  // Decode runs of 10 tokens take 0.2 s, less than the excess; of 50 tokens 1 s.
  EXPECT_EQ(verdict({ahead, ahead, ahead}, 10), "FRONT-LOADED-DECODE");
  EXPECT_EQ(verdict({ahead, ahead, ahead}, 50), "DEFERRED-PREFILL");
  EXPECT_EQ(verdict({ahead, ahead}, 10), "");  // too few for a median: each leg's own check stands
  // Where the control leg's seed prefill is as slow, it is the machine.
  const auto both = pair_with_seeds(1.3, 1.3);
  EXPECT_EQ(verdict({both, both, both}, 10), "");
  // The limit is inclusive: 1.25 s pass, more does not.
  const auto limit = pair_with_seeds(1.0, 1.25);
  EXPECT_EQ(verdict({limit, limit, limit}, 50), "");
}

TEST(WarmUpPrompt, IsAPermutationThatKeepsTheFirstToken) {
  std::vector<int64_t> prompt;
  for (int64_t i = 0; i < 512; ++i) prompt.push_back(i * 7 % 1000);
  auto warm = warm_up_prompt(prompt, 1000);
  EXPECT_EQ(warm, warm_up_prompt(prompt, 1000));  // the same every time
  EXPECT_NE(warm, prompt);
  EXPECT_EQ(warm.front(), prompt.front());
  size_t unmoved = 0;
  for (size_t i = 0; i < prompt.size(); ++i) unmoved += warm[i] == prompt[i];
  EXPECT_LT(unmoved, 20U);  // a random permutation leaves about one in place
  EXPECT_TRUE(std::is_permutation(warm.begin(), warm.end(), prompt.begin()));
}

TEST(WarmUpPrompt, DiffersAlsoWhereNoOrderDoes) {
  EXPECT_EQ(warm_up_prompt({5}, 10), (std::vector<int64_t>{6}));
  EXPECT_EQ(warm_up_prompt({9, 9, 9}, 10), (std::vector<int64_t>{0, 0, 0}));
  EXPECT_EQ(warm_up_prompt({3, 4}, 10), (std::vector<int64_t>{4, 5}));
}

}  // namespace
}  // namespace assay::runner
