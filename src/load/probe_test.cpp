// The probe against a made-up model over real sockets. Counts, order and verdicts are compared; how
// long anything takes is not.
#include "load/probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>

#include "base/text.h"
#include "load/prompt.h"
#include "load/refusals.h"
#include "load/tool_check.h"
#include "publish/convert.h"
#include "publish/validate.h"
#include "support/chat_model.h"

namespace assay::load {
namespace {

using namespace std::chrono_literals;
using json::Value;
using support::ChatAnswer;
using support::ChatModel;
using support::ChatQuestion;
using support::Reply;
using testing::HasSubstr;

ProbeOptions options_for(ChatModel& model) {
  ProbeOptions options;
  options.endpoint = *parse_endpoint(model.server().base_url());
  options.max_tokens = 8;
  options.repeats = 3;
  options.nonce = "test";
  options.system = Value::object({{"os", "test"}, {"chip", "test"}, {"memory_gb", 1}});
  options.retry_interval = 0ms;
  return options;
}

// Spaced answers: tokens that come within one read would have no decode rate.
ChatAnswer spaced() {
  return {.pause = 1ms};
}

std::string code_of(const ProbeResult& result) {
  return result.problem ? std::string(result.problem->code) : "";
}

const Value& at(const Value& value, std::initializer_list<std::string_view> path) {
  static const Value nothing;
  const Value* here = &value;
  for (const std::string_view key : path) {
    here = here->is_object() ? here->find(key) : nullptr;
    if (here == nullptr) return nothing;
  }
  return *here;
}

// An answer whose connection closes after its first pieces.
Reply cut_short(const ChatQuestion& question) {
  Reply cut = ChatModel::stream(question, {});
  cut.pieces.resize(4);
  cut.end = Reply::End::close;
  return cut;
}

TEST(Probe, MeasuresAndSaysUnderWhichConditions) {
  ChatModel model([](const ChatQuestion&) { return spaced(); });
  const ProbeResult result = run_probe(options_for(model));
  ASSERT_EQ(result.status, CellStatus::success) << result.problem->text();
  EXPECT_EQ(result.sequential.size(), 3u);
  EXPECT_TRUE(result.median("cumulative_tok_s"));
  EXPECT_TRUE(result.median("decode_tok_s"));
  EXPECT_EQ(result.answered_rate, 1.0);
  EXPECT_EQ(result.truncated_rate, 1.0);  // 8 of 8 tokens, finish_reason length
  const Value& doc = result.document;
  EXPECT_EQ(at(doc, {"cell_status"}).string(), "success");
  EXPECT_EQ(at(doc, {"model"}).string(), "fake");
  EXPECT_EQ(at(doc, {"sequential", "n_ok"}).literal(), "3");
  EXPECT_EQ(at(doc, {"regime", "repetitions"}).literal(), "3");
  EXPECT_EQ(at(doc, {"cache", "prefix_policy"}).string(), "unique_full_prompt");
  EXPECT_TRUE(at(doc, {"cache", "cached_tokens_observed"}).is_null());  // none was reported
  EXPECT_FALSE(at(doc, {"cache", "cached_tokens_asserted"}).boolean());
  EXPECT_EQ(at(doc, {"context", "actual_completion_tokens"}).literal(), "8");
  EXPECT_THAT(at(doc, {"window"}).string(), HasSubstr("tokenizing, prefill, decode"));
  EXPECT_EQ(at(doc, {"formulas", "ttft_s", "id"}).string(), "ttft_s/1");
}

TEST(Probe, TheFirstRequestIsArchivedAndNotScored) {
  ChatModel model([](const ChatQuestion& question) {
    return ChatAnswer{.answer_tokens = question.index == 0 ? 2 : 8, .pause = 1ms};
  });
  const ProbeResult result = run_probe(options_for(model));
  ASSERT_EQ(result.status, CellStatus::success);
  EXPECT_EQ(at(result.document, {"readiness", "first_request", "completion_tokens"}).literal(),
            "2");
  for (const MeasuredRun& run : result.sequential) EXPECT_EQ(run.figures.completion_tokens, 8);
  EXPECT_EQ(model.questions().size(), 5u);  // readiness, warm-up, three runs
}

TEST(Probe, PromptsAreUniqueFromTheFirstWordToTheLastAndOfEqualLength) {
  ChatModel model;
  ProbeOptions options = options_for(model);
  options.width = 3;
  EXPECT_EQ(run_probe(std::move(options)).status, CellStatus::success);
  std::set<std::string> units;
  std::set<int64_t> words;
  for (const ChatQuestion& question : model.questions()) {
    const std::string text = question.body.find("messages")->items()[0].find("content")->string();
    const std::string unit = text.substr(0, text.find('\n'));
    EXPECT_TRUE(units.insert(unit.substr(0, 15)).second) << "two prompts share a code";
    // Every line but the question is the unit, so every part of the prompt is unique.
    for (size_t start = 0, end; (end = text.find('\n', start)) != std::string::npos;
         start = end + 1) {
      EXPECT_EQ(text.substr(start, end - start), unit);
    }
    words.insert(question.words);
  }
  EXPECT_EQ(units.size(), 8u);
  EXPECT_EQ(words.size(), 1u);
}

TEST(Probe, ThePromptIsBroughtToTheLengthAskedFor) {
  ChatModel model;
  ProbeOptions options = options_for(model);
  options.prompt_tokens = 2000;
  const ProbeResult result = run_probe(std::move(options));
  ASSERT_EQ(result.status, CellStatus::success) << result.problem->text();
  const int64_t count = *result.sequential[0].figures.prompt_tokens;
  EXPECT_LE(std::abs(count - 2000), 20);  // half a unit of 32 words, and rounding
  const auto questions = model.questions();
  EXPECT_EQ(questions[1].max_tokens, 1);  // calibration costs a token each
  EXPECT_EQ(questions[2].max_tokens, 1);
  EXPECT_EQ(at(result.document, {"context", "requested_prompt_tokens"}).literal(), "2000");
}

TEST(Probe, APromptThatCannotBeSizedAborts) {
  ChatModel model([](const ChatQuestion&) { return ChatAnswer{.prompt_tokens = 40}; });
  ProbeOptions options = options_for(model);
  options.prompt_tokens = 2000;
  const ProbeResult result = run_probe(std::move(options));
  EXPECT_EQ(result.status, CellStatus::aborted);
  EXPECT_EQ(code_of(result), kCalibration.code);
}

TEST(Probe, ToleranceIsInclusive) {
  for (const int64_t off : {64, 65}) {
    ChatModel model([&](const ChatQuestion& question) {
      ChatAnswer answer;
      // Calibration counts 100 and 200, so the target is hit exactly; the runs count otherwise.
      if (question.index == 1)
        answer.prompt_tokens = 100;
      else if (question.index == 2)
        answer.prompt_tokens = 200;
      else
        answer.prompt_tokens = 1000 + off;
      return answer;
    });
    ProbeOptions options = options_for(model);
    options.prompt_tokens = 1000;
    const ProbeResult result = run_probe(std::move(options));
    EXPECT_EQ(result.status, off == 64 ? CellStatus::success : CellStatus::aborted);
    EXPECT_EQ(code_of(result), off == 64 ? "" : kPromptCount.code);
  }
}

TEST(Probe, RepetitionsOfUnequalPromptsAbort) {
  ChatModel model([](const ChatQuestion& question) {
    return ChatAnswer{.prompt_tokens = question.index == 3 ? 101 : 100};
  });
  const ProbeResult result = run_probe(options_for(model));
  EXPECT_EQ(result.status, CellStatus::aborted);
  EXPECT_EQ(code_of(result), kPromptCount.code);
}

TEST(Probe, AWindowTooSmallIsNotApplicableAndNothingIsSent) {
  for (const int64_t window : {1008, 1007}) {
    ChatModel model([](const ChatQuestion& question) {
      return ChatAnswer{.prompt_tokens = question.index == 1   ? 100
                                         : question.index == 2 ? 200
                                                               : 1000};
    });
    ProbeOptions options = options_for(model);
    options.prompt_tokens = 1000;
    options.configured_window_tokens = window;  // 1000 + 8 fits exactly, or is one over
    const ProbeResult result = run_probe(std::move(options));
    EXPECT_EQ(result.status, window == 1008 ? CellStatus::success : CellStatus::not_applicable);
    EXPECT_EQ(model.server().requests().empty(), window == 1007);
  }
}

TEST(Probe, AWindowThatTheCountedPromptDoesNotFitAborts) {
  ChatModel model([](const ChatQuestion&) { return ChatAnswer{.prompt_tokens = 1000}; });
  ProbeOptions options = options_for(model);
  options.configured_window_tokens = 1007;
  const ProbeResult result = run_probe(std::move(options));
  EXPECT_EQ(result.status, CellStatus::aborted);
  EXPECT_EQ(code_of(result), kAdmission.code);
}

TEST(Probe, CachedTokensInAScoredRunFail) {
  // The second scored run meets a warm cache: 8111 of 8112, or a single token.
  for (const int64_t cached : {8111, 1}) {
    ChatModel model([&](const ChatQuestion& question) {
      return ChatAnswer{.cached_tokens = question.index < 3 ? 0 : cached, .prompt_tokens = 8112};
    });
    const ProbeResult result = run_probe(options_for(model));
    EXPECT_EQ(result.status, CellStatus::failed);
    EXPECT_EQ(code_of(result), kCachedTokens.code);
    EXPECT_EQ(result.document.find("sequential")->find("cumulative_tok_s"), nullptr);
    EXPECT_FALSE(result.median("cumulative_tok_s"));
  }
}

TEST(Probe, ReportedZeroCachedTokensAreAsserted) {
  ChatModel model([](const ChatQuestion&) { return ChatAnswer{.cached_tokens = 0}; });
  const ProbeResult result = run_probe(options_for(model));
  EXPECT_EQ(result.status, CellStatus::success);
  EXPECT_EQ(at(result.document, {"cache", "cached_tokens_observed"}).literal(), "0");
  EXPECT_TRUE(at(result.document, {"cache", "cached_tokens_asserted"}).boolean());
}

TEST(Probe, ASharedPrefixIsAnotherRegimeAndSaysSo) {
  ChatModel model([](const ChatQuestion&) { return ChatAnswer{.cached_tokens = 90}; });
  ProbeOptions options = options_for(model);
  options.shared_prefix = true;
  const ProbeResult result = run_probe(std::move(options));
  EXPECT_EQ(result.status, CellStatus::success);
  EXPECT_EQ(at(result.document, {"cache", "prefix_policy"}).string(), "shared_prefix");
  EXPECT_FALSE(at(result.document, {"cache", "cached_tokens_asserted"}).boolean());
  std::set<std::string> prompts;
  for (const ChatQuestion& question : model.questions()) {
    prompts.insert(json::write(*question.body.find("messages")));
  }
  EXPECT_EQ(prompts.size(), 1u);
}

TEST(Probe, TenRepetitionsAreTenPrompts) {
  ChatModel model;
  ProbeOptions options = options_for(model);
  options.repeats = 10;
  EXPECT_EQ(run_probe(std::move(options)).status, CellStatus::success);
  std::set<std::string> prompts;
  for (const ChatQuestion& question : model.questions()) {
    prompts.insert(json::write(*question.body.find("messages")));
  }
  EXPECT_EQ(prompts.size(), 12u);
}

TEST(Probe, AServerOfLlamaCppIsAskedNotToReuseItsSlots) {
  ChatModel model([](const ChatQuestion& question) {
    return ChatAnswer{.timings = Value::object({{"prompt_n", question.words}, {"cache_n", 0}})};
  });
  const ProbeResult result = run_probe(options_for(model));
  EXPECT_EQ(result.status, CellStatus::success);
  const auto questions = model.questions();
  EXPECT_EQ(questions[0].body.find("cache_prompt"), nullptr);
  EXPECT_FALSE(questions[2].body.find("cache_prompt")->boolean());
  EXPECT_FALSE(at(result.document, {"extra_body", "cache_prompt"}).boolean());
}

TEST(Probe, AModelThatOnlyReasonsGaveNoAnswer) {
  ChatModel model([](const ChatQuestion&) {
    return ChatAnswer{.reasoning_tokens = 300, .answer_tokens = 5, .pause = 1ms};
  });
  const ProbeResult result = run_probe(options_for(model));
  ASSERT_EQ(result.status, CellStatus::success);
  EXPECT_EQ(result.answered_rate, 0.0);
  EXPECT_EQ(result.truncated_rate, 1.0);
  EXPECT_GT(result.sequential[0].record.reasoning_chars, 0);
  EXPECT_EQ(result.sequential[0].record.answer_chars, 0);
  EXPECT_TRUE(result.median("ttft_s"));
  EXPECT_FALSE(result.median("ttft_answer_s"));
}

TEST(Probe, EveryAttemptIsRecordedAndOnlyTheLastOneScored) {
  // The second scored run is refused twice with 503 before it is answered.
  ChatModel model([](const ChatQuestion&) { return spaced(); },
                  [](const ChatQuestion& question) -> std::optional<Reply> {
                    if (question.index == 3 || question.index == 4) {
                      return ChatModel::error(503, "loading");
                    }
                    return std::nullopt;
                  });
  ProbeOptions options = options_for(model);
  options.max_error_rate = 0.4;  // 2 of the 5 answers to measured requests
  const ProbeResult result = run_probe(std::move(options));
  ASSERT_EQ(result.status, CellStatus::success) << result.problem->text();
  ASSERT_EQ(result.sequential[1].attempts.size(), 3u);
  EXPECT_EQ(result.sequential[1].attempts[0].http_status, 503);
  EXPECT_EQ(result.sequential[1].attempts[2].http_status, 200);
  EXPECT_EQ(at(result.document, {"retries"}).literal(), "2");
  EXPECT_EQ(at(result.document, {"http_statuses", "503"}).literal(), "2");
  EXPECT_EQ(at(result.document, {"http_statuses", "200"}).literal(), "5");
  EXPECT_EQ(model.questions().size(), 7u);  // as many as were recorded
}

TEST(Probe, TooManyRequestsFailEvenWhenARetryIsAnswered) {
  ChatModel model({}, [](const ChatQuestion& question) -> std::optional<Reply> {
    if (question.index == 3) return ChatModel::error(429, "slow down");
    return std::nullopt;
  });
  const ProbeResult result = run_probe(options_for(model));
  EXPECT_EQ(result.status, CellStatus::failed);
  EXPECT_EQ(code_of(result), kTooManyRequests.code);
  EXPECT_EQ(at(result.document, {"sequential", "n_ok"}).literal(), "3");
  EXPECT_FALSE(result.median("cumulative_tok_s"));
}

// --- the declared allowance of 4xx and 5xx -----------------------------------------------------

// Requests from `first` on for which `bad` says so are answered with `status`; 0 and 1 are the
// readiness and the warm-up.
ProbeResult with_errors(int status, double allowed, int repeats,
                        const std::function<bool(int64_t)>& bad, int width = 0) {
  ChatModel model([](const ChatQuestion&) { return spaced(); },
                  [&](const ChatQuestion& question) -> std::optional<Reply> {
                    if (question.index < 2 || !bad(question.index)) return std::nullopt;
                    return ChatModel::error(status, "as told");
                  });
  ProbeOptions options = options_for(model);
  options.repeats = repeats;
  options.width = width;
  options.max_error_rate = allowed;
  return run_probe(std::move(options));
}

TEST(ProbeErrors, HalfOfThemRefusedIsNotUnderAHalfAllowedLess) {
  // Every other request is 429, so each of the four runs needs a second attempt: 4 of 8.
  const auto every_other = [](int64_t index) { return index % 2 == 0; };
  const ProbeResult over = with_errors(429, 0.49, 4, every_other);
  EXPECT_EQ(over.status, CellStatus::failed);
  EXPECT_EQ(exit_of(over.status), 1);
  EXPECT_EQ(code_of(over), kTooManyRequests.code);
  EXPECT_THAT(over.problem->detail, HasSubstr("4 of 8 measured requests"));
  EXPECT_THAT(over.problem->detail, HasSubstr("(429: 4)"));
  EXPECT_FALSE(over.median("cumulative_tok_s"));
  EXPECT_EQ(at(over.document, {"measured_answers", "http_statuses", "429"}).literal(), "4");
  EXPECT_EQ(at(over.document, {"measured_answers", "http_statuses", "200"}).literal(), "4");
  EXPECT_EQ(at(over.document, {"http_statuses", "200"}).literal(), "6");  // and the two before
  EXPECT_EQ(with_errors(429, 0.5, 4, every_other).status, CellStatus::success);
}

TEST(ProbeErrors, UnderTheAllowanceItPassesAndSaysHowMany) {
  const auto fifth = [](int64_t index) { return index == 6; };
  const ProbeResult result = with_errors(500, 0.1, 10, fifth);  // 1 of 10
  ASSERT_EQ(result.status, CellStatus::success) << result.problem->text();
  EXPECT_EQ(at(result.document, {"sequential", "n_ok"}).literal(), "9");
  EXPECT_EQ(at(result.document, {"sequential", "n_err"}).literal(), "1");
  EXPECT_EQ(at(result.document, {"sequential", "cumulative_tok_s", "count"}).literal(), "9");
  EXPECT_EQ(at(result.document, {"measured_answers", "errors"}).literal(), "1");
  EXPECT_EQ(at(result.document, {"measured_answers", "error_rate"}).literal(), "0.1");
  EXPECT_THAT(at(result.document, {"remarks"}).items().back().string(),
              HasSubstr("1 of 10 measured requests were answered with an error status (500: 1)"));
}

TEST(ProbeErrors, OneMoreThanAllowedRefusesByName) {
  const ProbeResult result = with_errors(500, 0.09, 10, [](int64_t index) { return index == 6; });
  EXPECT_EQ(result.status, CellStatus::failed);
  EXPECT_EQ(code_of(result), kErrorRate.code);
  EXPECT_THAT(result.problem->detail, HasSubstr("0.1000 of them; at most 0.09 is allowed"));
}

TEST(ProbeErrors, WithoutAnAllowanceAnAnsweredRetryRefusesToo) {
  const ProbeResult result = with_errors(503, 0, 3, [](int64_t index) { return index == 3; });
  EXPECT_EQ(result.status, CellStatus::failed);
  EXPECT_EQ(code_of(result), kErrorRate.code);  // 1 of 4
}

TEST(ProbeErrors, AnEndpointThatOnlyKnows404IsNeverFast) {
  const ProbeResult result = with_errors(404, 0.99, 4, [](int64_t) { return true; });
  EXPECT_EQ(result.status, CellStatus::failed);
  EXPECT_EQ(code_of(result), kErrorRate.code);
  EXPECT_THAT(result.problem->detail, HasSubstr("4 of 4 measured requests"));
  EXPECT_FALSE(result.median("cumulative_tok_s"));
  EXPECT_FALSE(result.median("total_s"));
  ChatModel model({}, [](const ChatQuestion&) -> std::optional<Reply> {
    return ChatModel::error(404, "no such page");
  });
  EXPECT_EQ(code_of(run_probe(options_for(model))), kPreflight.code);
}

TEST(ProbeErrors, ABatchHasTheSameAllowance) {
  // Three runs, four at once, of these one is refused: 1 of 7.
  const auto one = [](int64_t index) { return index == 7; };
  const ProbeResult result = with_errors(429, 0.15, 3, one, 4);
  ASSERT_EQ(result.status, CellStatus::success) << result.problem->text();
  EXPECT_EQ(at(result.document, {"concurrent", "n_ok"}).literal(), "3");
  EXPECT_EQ(at(result.document, {"concurrent", "n_err"}).literal(), "1");
  EXPECT_TRUE(at(result.document, {"concurrent", "aggregate_cumulative_tok_s"}).is_number());
  EXPECT_EQ(code_of(with_errors(429, 0.14, 3, one, 4)), kTooManyRequests.code);
  // All of the batch is 2 of 5, allowed, and still no batch was measured.
  const ProbeResult none = with_errors(
      500, 0.5, 3, [](int64_t index) { return index >= 5; }, 2);
  EXPECT_EQ(none.status, CellStatus::failed);
  EXPECT_EQ(code_of(none), kRunsFailed.code);
}

TEST(ProbeErrors, OtherFailuresAreNotAllowedForByIt) {
  ChatModel model({}, [](const ChatQuestion& question) -> std::optional<Reply> {
    if (question.index != 3) return std::nullopt;
    return cut_short(question);
  });
  ProbeOptions options = options_for(model);
  options.max_error_rate = 0.9;
  const ProbeResult result = run_probe(std::move(options));
  EXPECT_EQ(result.status, CellStatus::failed);
  EXPECT_EQ(code_of(result), kRunsFailed.code);
}

TEST(Probe, TooManyRequestsForeverFailAfterSixRetries) {
  ChatModel model({}, [](const ChatQuestion&) -> std::optional<Reply> {
    return ChatModel::error(429, "slow down");
  });
  const ProbeResult result = run_probe(options_for(model));
  EXPECT_EQ(result.status, CellStatus::failed);
  EXPECT_EQ(code_of(result), kTooManyRequests.code);
  EXPECT_EQ(model.questions().size(), 7u);
}

TEST(Probe, AServerThatDiesInTheMiddleAbortsWithItsLastWordsKept) {
  std::unique_ptr<ChatModel> model;
  model = std::make_unique<ChatModel>(ChatModel::Answer{},
                                      [](const ChatQuestion& question) -> std::optional<Reply> {
                                        if (question.index < 3) return std::nullopt;
                                        Reply cut = ChatModel::stream(question, {});
                                        cut.pieces.resize(4);
                                        cut.end = Reply::End::reset;
                                        return cut;
                                      });
  ProbeOptions options = options_for(*model);
  int saves = 0;
  options.save = [&](const Value& document) -> Status {
    ++saves;
    // The run that broke off is in the file before the next one starts.
    if (at(document, {"sequential", "n_err"}) == Value(1)) model->server().stop();
    return {};
  };
  const ProbeResult result = run_probe(std::move(options));
  EXPECT_EQ(result.status, CellStatus::aborted);
  EXPECT_EQ(code_of(result), kRetriesExhausted.code);
  ASSERT_EQ(result.sequential.size(), 3u);
  EXPECT_TRUE(result.sequential[0].ok());
  EXPECT_FALSE(result.sequential[1].ok());
  EXPECT_EQ(result.sequential[2].attempts.size(), 7u);
  EXPECT_GT(saves, 5);
}

TEST(Probe, OneRunOfManyIsNoResult) {
  ChatModel model({}, [](const ChatQuestion& question) -> std::optional<Reply> {
    if (question.index < 3) return std::nullopt;
    return cut_short(question);
  });
  ProbeOptions options = options_for(model);
  options.repeats = 20;
  const ProbeResult result = run_probe(std::move(options));
  EXPECT_EQ(result.status, CellStatus::failed);
  EXPECT_EQ(code_of(result), kRunsFailed.code);
  EXPECT_EQ(at(result.document, {"sequential", "n_ok"}).literal(), "1");
  EXPECT_EQ(at(result.document, {"sequential", "n_err"}).literal(), "19");
  EXPECT_EQ(at(result.document, {"sequential", "errors"}).items().size(), 19u);
}

TEST(Probe, AnErrorInsideAStreamIsAFailedRun) {
  ChatModel model({}, [](const ChatQuestion& question) -> std::optional<Reply> {
    if (question.index != 3) return std::nullopt;
    Reply reply = ChatModel::stream(question, {});
    reply.pieces[3] = {support::event(Value::object({{"error", "no memory"}}))};
    return reply;
  });
  const ProbeResult result = run_probe(options_for(model));
  EXPECT_EQ(result.status, CellStatus::failed);
  EXPECT_EQ(at(result.document, {"sequential", "n_err"}).literal(), "1");
  EXPECT_THAT(result.sequential[1].problem->text(), HasSubstr("no memory"));
}

TEST(Probe, AModelThatIsListedButDoesNotAnswerIsNotReady) {
  ChatModel model({}, [](const ChatQuestion&) -> std::optional<Reply> {
    return ChatModel::error(400, "model is not loaded");
  });
  const ProbeResult result = run_probe(options_for(model));
  EXPECT_EQ(result.status, CellStatus::unsupported);
  EXPECT_EQ(code_of(result), kPreflight.code);
  EXPECT_THAT(result.problem->detail, HasSubstr("model is not loaded"));
  EXPECT_EQ(model.questions().size(), 1u);
}

TEST(Probe, AKeyThatTheServerRepeatsIsInNoFile) {
  const std::string key = "sk-very-secret";
  for (const bool listed : {true, false}) {
    ChatModel model({}, [&](const ChatQuestion&) -> std::optional<Reply> {
      return ChatModel::error(503, cat("no such key: ", key));
    });
    if (!listed) model.listed = {key, "other"};
    ProbeOptions options = options_for(model);
    options.endpoint.headers.emplace_back("Authorization", cat("Bearer ", key));
    std::string written;
    options.save = [&](const Value& document) -> Status {
      written += json::write(document);
      return {};
    };
    options.progress = [&](std::string_view line) { written += line; };
    const ProbeResult result = run_probe(std::move(options));
    written += json::write(result.document) + result.problem->text();
    EXPECT_THAT(written, HasSubstr("***"));
    EXPECT_THAT(written, testing::Not(HasSubstr(key)));
  }
}

TEST(Probe, AnAnswerThatIsTooLargeIsTheLastOne) {
  ChatModel model;
  ProbeOptions options = options_for(model);
  options.warmups = 0;
  options.limits.events = 3;
  const ProbeResult result = run_probe(std::move(options));
  EXPECT_EQ(result.status, CellStatus::failed);
  EXPECT_EQ(code_of(result), kReplyTooLarge.code);
  EXPECT_EQ(model.questions().size(), 1u);
}

TEST(Probe, AModelThatIsNotListedIsUnsupported) {
  ChatModel model;
  ProbeOptions options = options_for(model);
  options.model = "other";
  const ProbeResult result = run_probe(std::move(options));
  EXPECT_EQ(result.status, CellStatus::unsupported);
  EXPECT_EQ(code_of(result), kModelNotServed.code);
  EXPECT_TRUE(model.questions().empty());
}

TEST(Probe, AnyOfSeveralModelsMustBeNamed) {
  ChatModel model;
  model.listed = {"fake", "other"};
  EXPECT_EQ(code_of(run_probe(options_for(model))), kModelAmbiguous.code);
  ProbeOptions options = options_for(model);
  options.model = "fake";
  EXPECT_EQ(run_probe(std::move(options)).status, CellStatus::success);
}

TEST(Probe, AnotherModelInTheAnswerFails) {
  ChatModel model([](const ChatQuestion&) { return ChatAnswer{.model = "fallback"}; });
  ProbeOptions options = options_for(model);
  options.model = "fake";
  const ProbeResult result = run_probe(std::move(options));
  EXPECT_EQ(result.status, CellStatus::failed);
  EXPECT_EQ(code_of(result), kModelMismatch.code);
}

// One more than was asked for, in the answer with this number: the first request, a prompt's
// calibration, a warm-up, a measured run, a batch.
TEST(Probe, MoreTokensThanWereAskedForAreNoSuccessWhereverTheyAreClaimed) {
  for (const int64_t lie : {0, 1, 3, 4, 7}) {
    ChatModel model([lie](const ChatQuestion& question) {
      ChatAnswer answer = spaced();
      if (question.index == lie) answer.completion_tokens = question.max_tokens + 1;
      return answer;
    });
    ProbeOptions options = options_for(model);
    options.prompt_tokens = 256;
    options.width = 2;
    const ProbeResult result = run_probe(std::move(options));
    EXPECT_EQ(result.status, CellStatus::failed) << lie;
    EXPECT_EQ(code_of(result), kImpossible.code) << lie;
    EXPECT_EQ(result.problem->detail,
              lie == 1 ? "the server claims 2 completion tokens, at most 1 were asked for"
                       : "the server claims 9 completion tokens, at most 8 were asked for")
        << lie;
    EXPECT_FALSE(result.median("cumulative_tok_s")) << lie;
    EXPECT_EQ(at(result.document, {"reason"}).string(), result.problem->text()) << lie;
  }
}

TEST(Probe, AllTheTokensThatWereAskedForAreNoClaimTooMany) {
  ChatModel model([](const ChatQuestion& question) {
    ChatAnswer answer = spaced();
    answer.answer_tokens = 3;  // chunks of several tokens
    answer.completion_tokens = question.max_tokens;
    return answer;
  });
  const ProbeResult result = run_probe(options_for(model));
  EXPECT_EQ(result.status, CellStatus::success) << code_of(result);
}

TEST(Probe, CachedTokensBeyondThePromptFailUnderASharedPrefixToo) {
  ChatModel model([](const ChatQuestion& question) {
    ChatAnswer answer = spaced();
    answer.cached_tokens = question.words + 1;
    return answer;
  });
  ProbeOptions options = options_for(model);
  options.shared_prefix = true;
  EXPECT_EQ(code_of(run_probe(std::move(options))), kImpossible.code);
}

TEST(Probe, TimesBelowZeroAreNoSuccess) {
  ChatModel model([](const ChatQuestion&) {
    ChatAnswer answer = spaced();
    answer.timings = Value::object({{"prompt_ms", 1.5}, {"predicted_ms", -2}});
    return answer;
  });
  const ProbeResult result = run_probe(options_for(model));
  EXPECT_EQ(result.status, CellStatus::failed);
  EXPECT_EQ(code_of(result), kImpossible.code);
}

TEST(Probe, AnotherModelInOneEventOfTheAnswerFails) {
  // The first event names another model, the last one the right one; and the other way round.
  for (const bool first : {true, false}) {
    ChatModel model({}, [first](const ChatQuestion& question) -> std::optional<Reply> {
      Reply reply = ChatModel::stream(question, {});
      const std::string event = support::event(Value::object({{"model", "fallback"}}));
      reply.pieces.insert(first ? reply.pieces.begin() : reply.pieces.end() - 1, {event});
      return reply;
    });
    const ProbeResult result = run_probe(options_for(model));
    EXPECT_EQ(result.status, CellStatus::failed);
    EXPECT_EQ(code_of(result), kModelMismatch.code);
    EXPECT_THAT(result.problem->detail, HasSubstr("the answer names `fallback`"));
  }
}

TEST(Probe, WithoutUsageItIsUnsupportedUnlessChunksAreAllowed) {
  ChatModel model([](const ChatQuestion&) { return ChatAnswer{.usage = false, .pause = 4ms}; });
  const ProbeResult strict = run_probe(options_for(model));
  EXPECT_EQ(strict.status, CellStatus::unsupported);
  EXPECT_EQ(code_of(strict), kNoUsage.code);
  ProbeOptions options = options_for(model);
  options.require_usage = false;
  const ProbeResult loose = run_probe(std::move(options));
  ASSERT_EQ(loose.status, CellStatus::success);
  EXPECT_EQ(loose.sequential[0].figures.completion_source, TokenSource::chunks);
  EXPECT_FALSE(loose.median("cumulative_tok_s"));  // the prompt's length is unknown
  EXPECT_TRUE(loose.median("decode_tok_s"));
}

TEST(Probe, AnEndpointThatDoesNotStreamIsUnsupported) {
  ChatModel model({}, [](const ChatQuestion&) -> std::optional<Reply> {
    return Reply{.headers = {{"Content-Type", "application/json"}},
                 .pieces = {{R"({"choices":[{"message":{"content":"hi"}}]})"}},
                 .framing = Reply::Framing::content_length};
  });
  const ProbeResult result = run_probe(options_for(model));
  EXPECT_EQ(result.status, CellStatus::unsupported);
  EXPECT_EQ(code_of(result), kNotStreamed.code);
}

TEST(Probe, AnAnswerWithoutTokensFails) {
  ChatModel model([](const ChatQuestion& question) {
    return ChatAnswer{.answer_tokens = question.index < 2 ? 8 : 0};
  });
  const ProbeResult result = run_probe(options_for(model));
  EXPECT_EQ(result.status, CellStatus::failed);
  EXPECT_THAT(result.problem->detail, HasSubstr(std::string(kNoTokens.code)));
}

TEST(Probe, ABatchIsSentAtOnceAndAddedUp) {
  ChatModel model([](const ChatQuestion&) { return spaced(); });
  ProbeOptions options = options_for(model);
  options.width = 4;
  const ProbeResult result = run_probe(std::move(options));
  ASSERT_EQ(result.status, CellStatus::success) << result.problem->text();
  EXPECT_EQ(result.concurrent.size(), 4u);
  EXPECT_EQ(at(result.document, {"concurrent", "n_ok"}).literal(), "4");
  EXPECT_TRUE(at(result.document, {"concurrent", "aggregate_cumulative_tok_s"}).is_number());
}

TEST(Probe, ABatchWiderThanTheServerFailsAndIsNotRepeated) {
  ChatModel model({}, [](const ChatQuestion& question) -> std::optional<Reply> {
    if (question.index == 7) return ChatModel::error(429, "slow down");
    return std::nullopt;
  });
  ProbeOptions options = options_for(model);
  options.width = 4;
  const ProbeResult result = run_probe(std::move(options));
  EXPECT_EQ(result.status, CellStatus::failed);
  EXPECT_EQ(code_of(result), kTooManyRequests.code);
  EXPECT_EQ(model.questions().size(), 9u);
  EXPECT_TRUE(at(result.document, {"concurrent", "aggregate_cumulative_tok_s"}).is_null());
}

TEST(Probe, ARequestThatTakesTooLongAbortsAsTransport) {
  ChatModel model({}, [](const ChatQuestion& question) -> std::optional<Reply> {
    if (question.index < 2) return std::nullopt;
    return Reply{.end = Reply::End::hang};
  });
  ProbeOptions options = options_for(model);
  options.limits.request = 200ms;
  const ProbeResult result = run_probe(std::move(options));
  EXPECT_EQ(result.status, CellStatus::aborted);
  EXPECT_EQ(code_of(result), kTimeout.code);
  EXPECT_THAT(result.problem->detail, HasSubstr("transport"));
}

TEST(Probe, TheGuardStopsItAndTheFileSaysWhere) {
  ChatModel model;
  ProbeOptions options = options_for(model);
  options.guard = [&]() -> Status {
    if (model.questions().size() < 4) return {};
    return Refusal(kStopped, "signal 2");
  };
  const ProbeResult result = run_probe(std::move(options));
  EXPECT_EQ(result.status, CellStatus::aborted);
  EXPECT_EQ(code_of(result), kStopped.code);
  EXPECT_EQ(at(result.document, {"phase"}).string(), "sequential");
  EXPECT_THAT(at(result.document, {"aborted"}).string(), HasSubstr("signal 2"));
}

TEST(Probe, TheFileIsTruthfulAtEveryMoment) {
  ChatModel model;
  ProbeOptions options = options_for(model);
  std::vector<std::string> phases;
  std::string last_status;
  options.save = [&](const Value& document) -> Status {
    const std::string status = at(document, {"cell_status"}).string();
    phases.push_back(at(document, {"phase"}).string());
    if (phases.back() != "finished") {
      EXPECT_EQ(status, "aborted");
      EXPECT_EQ(document.find("sequential")->find("cumulative_tok_s"), nullptr);
    }
    last_status = status;
    return {};
  };
  EXPECT_EQ(run_probe(std::move(options)).status, CellStatus::success);
  EXPECT_EQ(phases.front(), "starting");
  EXPECT_EQ(phases.back(), "finished");
  EXPECT_EQ(last_status, "success");
}

TEST(Probe, AFileThatCannotBeWrittenEndsIt) {
  ChatModel model;
  ProbeOptions options = options_for(model);
  options.save = [](const Value&) -> Status { return Refusal(kStopped, "disk full"); };
  const ProbeResult result = run_probe(std::move(options));
  EXPECT_EQ(result.status, CellStatus::aborted);
  EXPECT_TRUE(model.server().requests().empty());
}

TEST(Probe, StepsMayBeInterleavedByACaller) {
  ChatModel control_model, candidate_model;
  Probe control(options_for(control_model)), candidate(options_for(candidate_model));
  ASSERT_TRUE(control.prepare());
  ASSERT_TRUE(candidate.prepare());
  for (Probe* probe : {&control, &candidate, &candidate, &control, &control, &candidate}) {
    EXPECT_TRUE(probe->measure());
  }
  candidate.attach("control", Value::object({{"incumbent_model", "fake"}}));
  EXPECT_EQ(control.finish().status, CellStatus::success);
  const ProbeResult result = candidate.finish();
  EXPECT_EQ(result.status, CellStatus::success);
  EXPECT_EQ(at(result.document, {"control", "incumbent_model"}).string(), "fake");
}

TEST(Probe, ACallerMayStopIt) {
  ChatModel model;
  Probe probe(options_for(model));
  ASSERT_TRUE(probe.prepare());
  probe.stop(CellStatus::failed, Refusal(kModelMismatch, "the process serves another file"));
  EXPECT_FALSE(probe.measure());
  const ProbeResult result = probe.finish();
  EXPECT_EQ(result.status, CellStatus::failed);
  EXPECT_EQ(code_of(result), kModelMismatch.code);
}

TEST(Probe, EndedBeforeAllRunsIsNoSuccess) {
  ChatModel model;
  Probe probe(options_for(model));
  ASSERT_TRUE(probe.prepare());
  ASSERT_TRUE(probe.measure());
  EXPECT_EQ(probe.finish().status, CellStatus::aborted);
}

// --- the tool call -----------------------------------------------------------------------------

Reply tool_reply(const std::string& name, const std::string& arguments,
                 const std::string& finish = "tool_calls") {
  Reply reply;
  const auto piece = [](Value function) {
    return Value::object(
        {{"tool_calls",
          Value::array({Value::object({{"index", 0}, {"function", std::move(function)}})})}});
  };
  reply.pieces = {{support::delta_event(piece(Value::object({{"name", name}, {"arguments", ""}})))},
                  {support::delta_event(piece(Value::object({{"arguments", arguments}})))},
                  {support::delta_event(Value::object(), finish)},
                  {"data: [DONE]\n\n"}};
  return reply;
}

std::optional<double> tool_validity(const Reply& reply) {
  ChatModel model({}, [&](const ChatQuestion& question) -> std::optional<Reply> {
    if (question.body.find("tools") == nullptr) return std::nullopt;
    return reply;
  });
  ProbeOptions options = options_for(model);
  options.check_tool_call = true;
  const ProbeResult result = run_probe(std::move(options));
  EXPECT_EQ(result.status, CellStatus::success);  // beside the speed, never instead of it
  return result.tool_call_valid;
}

TEST(ToolCall, AUsableCallIsValid) {
  EXPECT_EQ(tool_validity(tool_reply("get_weather", R"({"city":"Lisbon"})")), 1.0);
}

TEST(ToolCall, WhatAProgramCouldNotUseIsNot) {
  EXPECT_EQ(tool_validity(tool_reply("get_wether", R"({"city":"Lisbon"})")), 0.0);
  EXPECT_EQ(tool_validity(tool_reply("get_weather", R"({"city":)")), 0.0);
  EXPECT_EQ(tool_validity(tool_reply("get_weather", R"({"town":"Lisbon"})")), 0.0);
  EXPECT_EQ(tool_validity(tool_reply("get_weather", R"({"city":7})")), 0.0);
  EXPECT_EQ(tool_validity(tool_reply("get_weather", R"({"city":"Lisbon","unit":"kelvin"})")), 0.0);
  EXPECT_EQ(tool_validity(tool_reply("get_weather", R"({"city":"Lisbon","x":1})")), 0.0);
  EXPECT_EQ(tool_validity(tool_reply("get_weather", R"({"city":"Lisbon"})", "stop")), 0.0);
  EXPECT_EQ(tool_validity(ChatModel::error(500, "tools are not supported")), 0.0);
}

TEST(ToolCall, AnAnswerInWordsIsNoCall) {
  ChatModel model;
  ProbeOptions options = options_for(model);
  options.check_tool_call = true;
  const ProbeResult result = run_probe(std::move(options));
  EXPECT_EQ(result.tool_call_valid, 0.0);
  EXPECT_THAT(at(result.document, {"tool_check", "problem"}).string(), HasSubstr("finish_reason"));
}

// --- prompts -----------------------------------------------------------------------------------

TEST(Prompt, CalibrationArithmetic) {
  // 40 and 72 tokens: 32 a unit, 8 around it; (1000 - 8) / 32 = 31.
  const auto size = size_prompt(40, 72, 1000);
  ASSERT_TRUE(size);
  EXPECT_EQ(size->per_unit, 32);
  EXPECT_EQ(size->fixed, 8);
  EXPECT_EQ(size->repetitions, 31);
  EXPECT_EQ(size_prompt(40, 72, 1008)->repetitions, 31);  // 31.25
  EXPECT_EQ(size_prompt(40, 72, 1024)->repetitions, 32);  // 31.75
}

TEST(Prompt, APromptThatDoesNotGrowOrIsTooShortIsRefused) {
  for (const auto& [one, two, target] : {std::tuple{40, 40, 1000}, {40, 30, 1000}, {40, 72, 8}}) {
    const auto size = size_prompt(one, two, target);
    ASSERT_FALSE(size);
    EXPECT_EQ(size.refusal().code, kCalibration.code);
  }
}

TEST(Prompt, CodesFollowFromNonceAndVariant) {
  EXPECT_EQ(prompt_code("n", 1), prompt_code("n", 1));
  EXPECT_NE(prompt_code("n", 1), prompt_code("n", 2));
  EXPECT_NE(prompt_code("n", 1), prompt_code("m", 1));
  EXPECT_EQ(prompt_code("n", 1).size(), 15u);  // eight letters, seven spaces
  EXPECT_NE(random_nonce(), random_nonce());
}

// --- into the record ---------------------------------------------------------------------------

std::vector<publish::Envelope> envelopes_of(const Value& document) {
  auto file = publish::parse_tool_file(json::write(document), "probe.json", "throughput-probe");
  EXPECT_TRUE(file) << file.refusal().text();
  if (!file) return {};
  const publish::RunContext context{.suite = "throughput", .git_sha = "0123456789abcdef"};
  const auto envelopes = publish::convert_file(*file, "auto", context);
  EXPECT_TRUE(envelopes) << envelopes.refusal().text();
  return envelopes ? *envelopes : std::vector<publish::Envelope>{};
}

TEST(Record, ASuccessIsAValidEnvelopeWithItsConditions) {
  ChatModel model([](const ChatQuestion&) { return ChatAnswer{.cached_tokens = 0, .pause = 4ms}; });
  ProbeOptions options = options_for(model);
  options.width = 2;
  const auto envelopes = envelopes_of(run_probe(std::move(options)).document);
  ASSERT_EQ(envelopes.size(), 1u);
  for (const auto& problem : publish::validate(publish::to_json(envelopes[0]), {})) {
    EXPECT_TRUE(problem.is_warning())
        << problem.code << " " << problem.path << " " << problem.message;
  }
  std::set<std::string> metrics;
  for (const auto& row : envelopes[0].results) metrics.insert(row.metric);
  EXPECT_THAT(metrics, testing::IsSupersetOf(
                           {"throughput_total_toks_per_s", "throughput_output_toks_per_s",
                            "throughput_prompt_toks_per_s", "ttft_p50_ms", "request_duration_p50_s",
                            "answered_rate", "throughput_aggregate_toks_per_s"}));
}

TEST(Record, TheFirstRequestHasRowsOfItsOwn) {
  // The first answer takes 50 ms longer to begin, as one that a model's loading is part of.
  ChatModel model([](const ChatQuestion& question) {
    return ChatAnswer{.first_pause = question.index == 0 ? 50ms : 0ms, .pause = 1ms};
  });
  ProbeOptions options = options_for(model);
  options.initial_model_state = "cold";
  const ProbeResult result = run_probe(std::move(options));
  const auto envelopes = envelopes_of(result.document);
  ASSERT_EQ(envelopes.size(), 1u);
  std::map<std::string, double> readiness;
  for (const auto& row : envelopes[0].results) {
    if (row.find_tag("phase") != "readiness") continue;
    EXPECT_EQ(*row.find_tag("initial_model_state"), "cold");
    EXPECT_EQ(*row.find_tag("scored"), "false");
    readiness[row.metric] = row.value;
  }
  const Value& first = at(result.document, {"readiness", "first_request"});
  EXPECT_EQ(readiness,
            (std::map<std::string, double>{
                {"readiness_ttft_ms", *first.find("ttft_s")->as_double("") * 1000},
                {"readiness_request_duration_s", *first.find("total_s")->as_double("")}}));
  EXPECT_GE(readiness["readiness_ttft_ms"], 50);
}

TEST(Record, AllowedErrorsAreNamedAndTheFiguresArePartial) {
  const ProbeResult result = with_errors(500, 0.25, 4, [](int64_t index) { return index == 3; });
  const auto envelopes = envelopes_of(result.document);
  ASSERT_EQ(envelopes.size(), 1u);
  const auto& errors = envelopes[0].find("errors")->items();
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_THAT(errors[0].string(), HasSubstr("1 of 4 measured requests"));
  EXPECT_THAT(errors[0].string(), HasSubstr(R"({"200":3,"500":1})"));
  for (const auto& row : envelopes[0].results) {
    if (*row.find_tag("phase") == "readiness") continue;
    EXPECT_EQ(*row.find_tag("partial"), "true") << row.metric;
    EXPECT_EQ(*row.find_tag("max_error_rate"), "0.25") << row.metric;
  }
}

TEST(Record, AFailureIsAStatusWithoutRates) {
  ChatModel model([](const ChatQuestion&) { return ChatAnswer{.cached_tokens = 5}; });
  const auto envelopes = envelopes_of(run_probe(options_for(model)).document);
  ASSERT_EQ(envelopes.size(), 1u);
  EXPECT_TRUE(envelopes[0].results.empty());
  EXPECT_EQ(envelopes[0].text("cell_status"), "failed");
  for (const auto& problem : publish::validate(publish::to_json(envelopes[0]), {})) {
    EXPECT_TRUE(problem.is_warning())
        << problem.code << " " << problem.path << " " << problem.message;
  }
}

}  // namespace
}  // namespace assay::load
