#include "runner/windows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "protocol/refusals.h"
#include "protocol/spec.h"
#include "runner/refusals.h"
#include "scoring/refusals.h"
#include "support/fake_world.h"
#include "support/mock_replies.h"
#include "support/scripted_transport.h"

namespace assay::runner {
namespace {

using protocol::Request;
using protocol::Response;
using std::chrono::milliseconds;
using support::MockReplies;
using support::ScriptedTransport;
using support::TransportLog;

// Tokens that appear nowhere else, so that a refusal that names one is found.
constexpr int64_t kPrefillToken = 777001, kSeedToken = 777002;

/// A session whose engine gives the oracle's tokens, and whose answer to each verb takes a given
/// time on the fake clock.
class WindowsTest : public ::testing::Test {
 protected:
  WindowsTest() {
    replies.prefill_token = kPrefillToken;
    replies.seed_token = kSeedToken;
    replies.decode_tokens = {777010, 777011, 777012, 777013};
    prefill.prompt = {1, 2, 3, 4, 5};
    prefill.expected_token = kPrefillToken;
    decode.seed = {1, 2, 3};
    decode.expected_seed_token = kSeedToken;
    decode.expected_tokens = replies.decode_tokens;
    decode.steps = 4;
  }

  Session& session() {
    if (!session_) {
      auto transport = std::make_unique<ScriptedTransport>(
          std::vector<std::string>{replies.hello_line()},
          [this](const std::string& line) {
            auto lines = replies.answer(line);
            readings_at_request.push_back(world.readings);
            world.clock += cost(replies.requests.back());
            return lines;
          },
          log);
      transport_ = transport.get();
      auto opened = Session::open(world, std::move(transport));
      EXPECT_TRUE(opened);
      session_.emplace(*std::move(opened));
    }
    return *session_;
  }

  /// No refusal may name a token of the oracle.
  static void expect_no_token(const Refusal& refusal) {
    EXPECT_THAT(refusal.detail, ::testing::Not(::testing::HasSubstr("7770"))) << refusal.detail;
  }

  support::FakeWorld world;
  MockReplies replies;
  std::shared_ptr<TransportLog> log = std::make_shared<TransportLog>();
  std::function<Duration(const Request&)> cost = [](const Request&) { return Duration(0); };
  std::vector<int> readings_at_request;  // clock readings made when each request was sent
  PrefillPlan prefill;
  DecodePlan decode;
  ScriptedTransport* transport_ = nullptr;
  std::optional<Session> session_;
};

// --- prefill

TEST_F(WindowsTest, PrefillReadsTheClockTwiceARun) {
  prefill.warmup_runs = 1;
  prefill.timed_runs = 3;
  ASSERT_TRUE(measure_prefill(world, session(), prefill));
  EXPECT_EQ(world.readings, 8);
  EXPECT_EQ(readings_at_request, (std::vector<int>{1, 3, 5, 7, 8}));  // the last closes the phase
}

TEST_F(WindowsTest, PrefillTakesTheMedianOfTheTimedRunsOnly) {
  // One warm-up of 900 ms, then 30, 10, 20 ms: the median is 20 ms over 5 tokens = 4 ms a token.
  const std::vector<int> costs_ms = {900, 30, 10, 20};
  cost = [&](const Request& request) -> Duration {
    return request.kind == "prefill" ? milliseconds(costs_ms.at(replies.requests.size() - 1))
                                     : milliseconds(7777);
  };
  prefill.warmup_runs = 1;
  prefill.timed_runs = 3;
  auto window = measure_prefill(world, session(), prefill);
  ASSERT_TRUE(window);
  EXPECT_EQ(window->timed,
            (std::vector<Duration>{milliseconds(30), milliseconds(10), milliseconds(20)}));
  EXPECT_DOUBLE_EQ(window->seconds, 0.020);
  EXPECT_DOUBLE_EQ(window->seconds_per_token()->value, 0.004);
}

TEST_F(WindowsTest, AnEvenNumberOfRunsGivesTheMeanOfTheTwoMiddleOnes) {
  const std::vector<int> costs_ms = {30, 10, 20, 100};  // middle: 20 and 30
  cost = [&](const Request& request) -> Duration {
    return request.kind == "prefill" ? milliseconds(costs_ms.at(replies.requests.size() - 1))
                                     : milliseconds(0);
  };
  prefill.timed_runs = 4;
  auto window = measure_prefill(world, session(), prefill);
  ASSERT_TRUE(window);
  EXPECT_DOUBLE_EQ(window->seconds, 0.025);
}

TEST_F(WindowsTest, AWrongPrefillTokenEndsTheSessionExceptInTimeOnly) {
  replies.prefill_token = 777099;
  for (const auto verify : {VerifyMode::verify, VerifyMode::prefill_only}) {
    session_.reset();
    prefill.verify = verify;
    auto window = measure_prefill(world, session(), prefill);
    ASSERT_FALSE(window);
    EXPECT_EQ(window.refusal().code, kTokenMismatch.code);
    EXPECT_EQ(window.refusal().detail, "benchmark prefill token mismatch");
    EXPECT_TRUE(session().discarded());
  }
  session_.reset();
  prefill.verify = VerifyMode::time_only;
  auto window = measure_prefill(world, session(), prefill);
  ASSERT_TRUE(window);
  EXPECT_EQ(window->token_mismatches, 1U);
}

TEST_F(WindowsTest, PrefillIsArmedWithLengthTimesCeilingTimesMargin) {
  prefill.budget = {0.01, 4.0};  // 5 tokens: 0.2 s
  const Instant start = world.clock;
  ASSERT_TRUE(measure_prefill(world, session(), prefill));
  EXPECT_EQ(transport_->read_deadlines.at(1), start + milliseconds(200));
  EXPECT_EQ(transport_->read_deadlines.at(2), start + std::chrono::seconds(900));  // the barrier
}

TEST_F(WindowsTest, PrefillRefusesToTimeNothing) {
  PrefillPlan empty = prefill;
  empty.prompt.clear();
  PrefillPlan none = prefill;
  none.timed_runs = 0;
  for (const auto& plan : {empty, none}) {
    auto window = measure_prefill(world, session(), plan);
    ASSERT_FALSE(window);
    EXPECT_EQ(window.refusal().code, kWindowInputInvalid.code);
  }
  EXPECT_TRUE(log->written.empty());
  EXPECT_EQ(world.readings, 0);
}

// --- free run

TEST_F(WindowsTest, FreeRunReadsTheClockThreeTimes) {
  ASSERT_TRUE(measure_free_run(world, session(), decode));
  EXPECT_EQ(world.readings, 3);
  // begin after t0, run after t1, diagnostics after t2
  EXPECT_EQ(readings_at_request, (std::vector<int>{1, 2, 3}));
}

TEST_F(WindowsTest, SeedAndDecodeWindowsTouch) {
  cost = [](const Request& request) -> Duration {
    if (request.kind == "free_decode_begin") return milliseconds(300);
    if (request.kind == "free_decode_run") return milliseconds(80);
    return milliseconds(5000);
  };
  auto window = measure_free_run(world, session(), decode);
  ASSERT_TRUE(window);
  EXPECT_EQ(window->seed_prefill, milliseconds(300));
  EXPECT_EQ(window->decode, milliseconds(80));
  EXPECT_EQ(window->whole(), milliseconds(380));
  EXPECT_DOUBLE_EQ(window->seconds_per_token()->value, 0.020);  // 80 ms over 4 tokens
  EXPECT_EQ(window->tokens, replies.decode_tokens);
  EXPECT_EQ(window->metrics->rounds, 4U);
}

TEST_F(WindowsTest, TokensAreComparedAfterTheLastReading) {
  // Even the very first token is wrong: the clock is read three times before that is found.
  decode.expected_tokens[0] = 777055;
  auto window = measure_free_run(world, session(), decode);
  ASSERT_FALSE(window);
  EXPECT_EQ(world.readings, 3);
  EXPECT_EQ(window.refusal().detail, "benchmark free-run decode token mismatch at step 0");
  EXPECT_EQ(window.refusal().code, kTokenMismatch.code);
  expect_no_token(window.refusal());
  EXPECT_TRUE(session().discarded());
}

TEST_F(WindowsTest, AWrongSeedTokenEndsTheWindowBeforeTheRun) {
  replies.seed_token = 777099;
  auto window = measure_free_run(world, session(), decode);
  ASSERT_FALSE(window);
  EXPECT_EQ(window.refusal().detail, "benchmark free-run decode seed token mismatch");
  expect_no_token(window.refusal());
  EXPECT_EQ(replies.requests.size(), 1U);
}

TEST_F(WindowsTest, AnEngineThatEmitsTheSeedAgainFailsAtStepZero) {
  replies.decode_tokens.insert(replies.decode_tokens.begin(), kSeedToken);
  auto window = measure_free_run(world, session(), decode);
  ASSERT_FALSE(window);
  EXPECT_EQ(window.refusal().detail, "benchmark free-run decode token mismatch at step 0");
}

TEST_F(WindowsTest, PrefillOnlyAndTimeOnlyKeepWrongDecodeTokens) {
  decode.expected_tokens[2] = 777055;
  for (const auto verify : {VerifyMode::prefill_only, VerifyMode::time_only}) {
    session_.reset();
    replies.seed_token = 777099;  // the seed is a decode token: only exact mode ends on it
    decode.verify = verify;
    auto window = measure_free_run(world, session(), decode);
    ASSERT_TRUE(window) << window.refusal().detail;
    EXPECT_FALSE(window->seed_token_matches);
    EXPECT_EQ(window->token_mismatches, 1U);
    EXPECT_EQ(window->first_mismatch, 2U);
    EXPECT_EQ(window->tokens, replies.decode_tokens);
  }
}

TEST_F(WindowsTest, TimeOnlyChangesNothingButTheAbort) {
  // The same engine, the same costs: the same requests, readings and figures.
  cost = [](const Request&) { return milliseconds(10); };
  auto exact = measure_free_run(world, session(), decode);
  ASSERT_TRUE(exact);
  const auto requests = replies.requests;
  const int readings = std::exchange(world.readings, 0);
  session_.reset();
  replies.requests.clear();
  decode.verify = VerifyMode::time_only;
  auto timed = measure_free_run(world, session(), decode);
  ASSERT_TRUE(timed);
  EXPECT_EQ(replies.requests, requests);
  EXPECT_EQ(world.readings, readings);
  EXPECT_EQ(timed->decode, exact->decode);
  EXPECT_EQ(timed->seed_prefill, exact->seed_prefill);
}

TEST_F(WindowsTest, ATokenTooFewIsAnInconsistentAccountBeforeAnyComparison) {
  replies.change = [](const Request& request, Response& response) {
    if (request.kind == "free_decode_run") response.tokens->pop_back();
  };
  decode.expected_tokens[0] = 777055;  // would be a mismatch, were it compared
  auto window = measure_free_run(world, session(), decode);
  ASSERT_FALSE(window);
  EXPECT_EQ(window.refusal().code, scoring::kFreeRunConsistency.code);
  EXPECT_THAT(window.refusal().detail, ::testing::StartsWith("token count"));
}

TEST_F(WindowsTest, AWrongTokenIsNamedBeforeAMissingCounter) {
  replies.change = [](const Request& request, Response& response) {
    if (request.kind == "free_decode_run") response.drafted_total.reset();
  };
  auto right_tokens = measure_free_run(world, session(), decode);
  EXPECT_EQ(right_tokens.refusal().code, protocol::kProtocol.code);
  session_.reset();
  decode.expected_tokens[0] = 777055;
  auto wrong_tokens = measure_free_run(world, session(), decode);
  EXPECT_EQ(wrong_tokens.refusal().code, kTokenMismatch.code);
}

TEST_F(WindowsTest, OneDeadlineCoversBothRequestsAndNotTheBarrier) {
  cost = [](const Request&) { return milliseconds(100); };
  decode.budget = {0.05, 4.0};  // 4 tokens: 0.8 s
  const Instant start = world.clock;
  ASSERT_TRUE(measure_free_run(world, session(), decode));
  EXPECT_EQ(transport_->read_deadlines.at(1), start + milliseconds(800));
  EXPECT_EQ(transport_->read_deadlines.at(2), start + milliseconds(800));
  EXPECT_GT(transport_->read_deadlines.at(3), start + std::chrono::seconds(900));
}

TEST_F(WindowsTest, WithoutTheCapabilityNoClockIsReadAndNothingIsSent) {
  replies.hello.capabilities.reset();
  auto window = measure_free_run(world, session(), decode);
  ASSERT_FALSE(window);
  EXPECT_EQ(window.refusal().code, protocol::kCapabilityNotAdvertised.code);
  EXPECT_EQ(world.readings, 0);
  EXPECT_TRUE(log->written.empty());
}

TEST_F(WindowsTest, DecodeRefusesToTimeNothing) {
  std::vector<DecodePlan> plans(3, decode);
  plans[0].seed.clear();
  plans[1].steps = 0;
  plans[2].steps = 5;  // the oracle has 4
  for (const auto& plan : plans) {
    for (auto* measure : {&measure_free_run, &measure_teacher_forced}) {
      auto window = (*measure)(world, session(), plan);
      ASSERT_FALSE(window);
      EXPECT_EQ(window.refusal().code, kWindowInputInvalid.code);
    }
  }
  EXPECT_TRUE(log->written.empty());
}

// --- teacher forced

TEST_F(WindowsTest, TeacherForcingFeedsTheOracleNeverTheEngine) {
  replies.decode_tokens = {777090, 777091, 777092, 777093};  // all wrong
  decode.verify = VerifyMode::time_only;
  auto window = measure_teacher_forced(world, session(), decode);
  ASSERT_TRUE(window);
  ASSERT_EQ(replies.requests.size(), 6U);
  EXPECT_EQ(replies.requests[1].token, kSeedToken);
  for (size_t i = 1; i < 4; ++i) {
    EXPECT_EQ(replies.requests[1 + i].token, decode.expected_tokens[i - 1]);
  }
  EXPECT_EQ(window->token_mismatches, 4U);
  EXPECT_EQ(window->first_mismatch, 0U);
}

TEST_F(WindowsTest, TeacherForcedWindowHoldsSeedAndSteps) {
  cost = [](const Request& request) -> Duration {
    if (request.kind == "decode_begin") return milliseconds(100);
    if (request.kind == "decode_step") return milliseconds(25);
    return milliseconds(5000);
  };
  auto window = measure_teacher_forced(world, session(), decode);
  ASSERT_TRUE(window);
  EXPECT_EQ(world.readings, 2);
  EXPECT_EQ(window->decode, milliseconds(200));  // 100 + 4 x 25
  EXPECT_DOUBLE_EQ(window->seconds_per_token()->value, 0.050);
  EXPECT_EQ(window->close.completed_work, 5);
}

TEST_F(WindowsTest, TeacherForcedMismatchesAreNamed) {
  decode.expected_tokens[2] = 777055;
  auto token = measure_teacher_forced(world, session(), decode);
  EXPECT_EQ(token.refusal().detail, "benchmark decode token mismatch at step 2");
  expect_no_token(token.refusal());
  session_.reset();
  decode.expected_seed_token = 777056;
  auto seed = measure_teacher_forced(world, session(), decode);
  EXPECT_EQ(seed.refusal().detail, "benchmark decode seed token mismatch");
  expect_no_token(seed.refusal());
}

// --- budget

TEST(RunBudgetTest, IsTokensTimesCeilingTimesMargin) {
  // 128 x 0.1336139485703125 x 4 = 68.410341668 s
  EXPECT_EQ(*run_budget(128, {}), Duration(68410341668));
}

TEST(RunBudgetTest, DegenerateBudgetsAreRefused) {
  const double bad[] = {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(),
                        std::numeric_limits<double>::infinity()};
  EXPECT_EQ(run_budget(0, {}).refusal().code, "RUN_TIMEOUT_BUDGET_INVALID");
  for (const double value : bad) {
    EXPECT_EQ(run_budget(8, {value, 4.0}).refusal().code, "RUN_TIMEOUT_BUDGET_INVALID");
    EXPECT_EQ(run_budget(8, {0.1, value}).refusal().code, "RUN_TIMEOUT_BUDGET_INVALID");
  }
  EXPECT_EQ(run_budget(8, {1e308, 4.0}).refusal().code, "RUN_TIMEOUT_BUDGET_INVALID");
}

TEST_F(WindowsTest, ADegenerateBudgetRunsNothing) {
  decode.budget.seconds_per_token_max = 0;
  prefill.budget.margin = -1;
  EXPECT_FALSE(measure_free_run(world, session(), decode));
  EXPECT_FALSE(measure_teacher_forced(world, session(), decode));
  EXPECT_FALSE(measure_prefill(world, session(), prefill));
  EXPECT_TRUE(log->written.empty());
  EXPECT_EQ(world.readings, 0);
}

}  // namespace
}  // namespace assay::runner
