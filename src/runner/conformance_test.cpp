#include "runner/conformance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocol/refusals.h"
#include "runner/refusals.h"
#include "support/fake_world.h"
#include "support/mock_replies.h"
#include "support/scripted_transport.h"

namespace assay::runner {
namespace {

using protocol::Request;
using support::MockReplies;
using support::ScriptedTransport;
using support::TransportLog;

class ConformanceTest : public ::testing::Test {
 protected:
  ConformanceTest() {
    golden.cases.push_back({"base", {1, 2}, {11, 12, 13, 14, 15, 16, 17, 18, 19, 20}});
    golden.correctness_gates.emplace();
    golden.correctness_gates->anchors.push_back(
        {"anchor", {1, 2, 3}, 30, std::nullopt, std::nullopt, std::nullopt});
    golden.correctness_gates->free_run.push_back(
        {"free", {1, 2}, {4000, 4001, 4002}, std::nullopt});
    plan.steps = 10;
    plan.vocab_size = 10000;
    replies.change = [this](const Request& request, protocol::Response& response) {
      // The base case asks with two tokens, the anchor with three.
      if (request.kind == "correctness_begin" && request.prompt_tokens->size() == 3) {
        set_prediction(response, 30);
      } else if (request.kind == "correctness_begin") {
        set_prediction(response, base_tokens[next = 0]);
      } else if (request.kind == "correctness_step") {
        set_prediction(response, base_tokens.at(++next));
      }
    };
  }
  static void set_prediction(protocol::Response& response, int64_t token) {
    response.token = token;
    for (size_t i = 0; i < response.top_logits->size(); ++i) {
      response.top_logits->at(i).token = token + static_cast<int64_t>(i);
    }
  }

  Result<scoring::ConformanceReport> run() {
    auto session = Session::open(
        world, std::make_unique<ScriptedTransport>(
                   std::vector<std::string>{replies.hello_line()},
                   [this](const std::string& line) { return replies.answer(line); }, log));
    EXPECT_TRUE(session);
    return run_conformance(*session, golden, plan);
  }

  support::FakeWorld world;
  MockReplies replies;
  std::shared_ptr<TransportLog> log = std::make_shared<TransportLog>();
  scoring::Golden golden;
  ConformancePlan plan;
  std::vector<int64_t> base_tokens = {11, 12, 13, 14, 15, 16, 17, 18, 19, 20};
  size_t next = 0;
};

TEST_F(ConformanceTest, RunsEachCaseAsAPhaseOfItsOwn) {
  auto report = run();
  ASSERT_TRUE(report) << report.refusal().detail;
  EXPECT_TRUE(report->passed) << report->error;
  EXPECT_EQ(report->case_count, 3U);
  EXPECT_EQ(report->checked_steps, 10U + 1U + 3U);
  std::vector<std::string> kinds;
  for (const auto& request : replies.requests) kinds.push_back(request.kind);
  std::vector<std::string> expected = {"correctness_begin"};
  expected.insert(expected.end(), 9, "correctness_step");
  for (const auto* kind : {"phase_diagnostics", "correctness_begin", "phase_diagnostics",
                           "correctness", "phase_diagnostics"}) {
    expected.emplace_back(kind);
  }
  EXPECT_EQ(kinds, expected);
}

TEST_F(ConformanceTest, FeedsTheGoldensTokens) {
  base_tokens[3] = 99;  // one of ten is within the tolerance
  auto report = run();
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->passed);
  for (size_t i = 1; i < 10; ++i) {
    EXPECT_EQ(replies.requests[i].token, golden.cases[0].expected_tokens[i - 1]);
  }
}

TEST_F(ConformanceTest, WalksAFailingCaseToItsEndAndGoesOn) {
  base_tokens[3] = base_tokens[4] = 99;  // two of ten
  auto report = run();
  ASSERT_TRUE(report);
  EXPECT_FALSE(report->passed);
  EXPECT_EQ(report->first_failing_case, "base");
  EXPECT_EQ(report->first_failing_step, 3U);
  EXPECT_EQ(report->checked_steps, 4U);
  EXPECT_EQ(replies.requests.size(), 15U);
  EXPECT_THAT(report->error, ::testing::Not(::testing::HasSubstr("99")));
}

TEST_F(ConformanceTest, BaseOnlyLeavesTheGatesOut) {
  plan.scope = ConformanceScope::base_cases_only;
  auto report = run();
  ASSERT_TRUE(report);
  EXPECT_EQ(report->case_count, 1U);
  EXPECT_EQ(replies.requests.size(), 11U);
}

TEST_F(ConformanceTest, BehaviorCasesAreCountedNotRun) {
  auto& chat = golden.correctness_gates->behavior.emplace_back();
  chat.name = "chat";
  chat.prompt_tokens = {1};
  auto report = run();
  ASSERT_TRUE(report);
  EXPECT_EQ(report->case_count, 4U);
  EXPECT_EQ(replies.requests.size(), 15U);
}

TEST_F(ConformanceTest, AFaultIsARefusalNotAWrongAnswer) {
  replies.change = [](const Request& request, protocol::Response& response) {
    if (request.kind == "phase_diagnostics") response.completed_work = 0;
  };
  EXPECT_EQ(run().refusal().code, kCompletedWorkMismatch.code);
}

TEST_F(ConformanceTest, AShortCaseIsRefused) {
  plan.steps = 11;
  EXPECT_EQ(run().refusal().code, "CONFORMANCE-CASE-TOO-SHORT");
  EXPECT_TRUE(log->written.empty());
}

}  // namespace
}  // namespace assay::runner
