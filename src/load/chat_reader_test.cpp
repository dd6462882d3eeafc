#include "load/chat_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "load/refusals.h"
#include "support/chat_model.h"

namespace assay::load {
namespace {

using json::Value;
using std::chrono::milliseconds;
using support::delta_event;
using support::event;

// Reads a whole stream, one event a millisecond.
StreamRecord read_stream(const std::string& bytes) {
  StreamRecord record;
  record.streamed = true;
  ChatReader chat(record);
  Stamp at{};
  SseReader sse([&](SseEvent&& item) { return chat.take(item, at += milliseconds(1)); });
  EXPECT_TRUE(sse.feed(bytes));
  chat.finish();
  return record;
}

std::string kinds(const StreamRecord& record) {
  std::string out;
  for (const Delta& delta : record.deltas) out += name_of(delta.kind).substr(0, 1);
  return out;
}

std::string content(const std::string& text) {
  return delta_event(Value::object({{"content", text}}));
}

TEST(ChatReader, TellsRolesReasoningContentAndToolsApart) {
  const StreamRecord record = read_stream(
      delta_event(Value::object({{"role", "assistant"}, {"content", ""}})) +
      delta_event(Value::object({{"reasoning_content", "hm"}})) +
      delta_event(Value::object({{"reasoning", "hm"}})) + content("hi") +
      delta_event(Value::object({{"tool_calls", Value::array({Value::object({{"index", 0}})})}})) +
      delta_event(Value::object(), "stop") + "data: [DONE]\n\n");
  EXPECT_EQ(kinds(record), "rrrcte");  // role, reasoning, reasoning, content, tool, empty
  EXPECT_EQ(record.deltas[0].kind, DeltaKind::role);
  EXPECT_EQ(record.deltas[1].kind, DeltaKind::reasoning);
  EXPECT_EQ(record.answer, "hi");
  EXPECT_EQ(record.reasoning, "hmhm");
  EXPECT_EQ(record.finish_reason, "stop");
  EXPECT_TRUE(record.done_seen);
  EXPECT_TRUE(record.ok());
}

TEST(ChatReader, SpacesAndCharactersOfSeveralBytesStayAsTheyAre) {
  const StreamRecord record = read_stream(content("  a ") + content(" \xf0\x9f\x98\x80 ") +
                                          content("\n") + "data: [DONE]\n\n");
  EXPECT_EQ(record.answer, "  a  \xf0\x9f\x98\x80 \n");
  EXPECT_EQ(record.answer_chars, 8);  // code points: 4 + 3 + 1
}

TEST(ChatReader, UsageIsReadFromAnEventWithoutChoicesAndFromOneWithEmptyText) {
  const std::string usage_only = event(
      Value::object({{"choices", Value::array()},
                     {"usage", Value::object({{"prompt_tokens", 9}, {"completion_tokens", 57}})}}));
  EXPECT_EQ(read_stream(content("x") + usage_only).usage.completion_tokens, 57);
  const std::string with_empty_text = event(Value::object(
      {{"choices", Value::array({Value::object(
                       {{"delta", Value::object({{"content", ""}})}, {"finish_reason", "stop"}})})},
       {"usage", Value::object({{"prompt_tokens", 9}, {"completion_tokens", 58}})}}));
  const StreamRecord record = read_stream(content("x") + with_empty_text);
  EXPECT_EQ(record.usage.completion_tokens, 58);
  EXPECT_EQ(record.finish_reason, "stop");
}

TEST(ChatReader, CountsThatAreNotThereStayAbsent) {
  const StreamRecord record = read_stream(
      content("x") +
      event(Value::object({{"usage", Value::object({{"completion_tokens", 1},
                                                    {"prompt_tokens_details", Value()}})}})) +
      "data: [DONE]\n\n");
  EXPECT_EQ(record.usage.completion_tokens, 1);
  EXPECT_FALSE(record.usage.prompt_tokens);
  EXPECT_FALSE(record.usage.cached_tokens);
  EXPECT_FALSE(record.timings);
}

TEST(ChatReader, CountsThatNobodyCanHaveCountedAreNoCounts) {
  const StreamRecord record = read_stream(
      event(Value::object({{"usage", Value::object({{"prompt_tokens", INT64_MAX},
                                                    {"completion_tokens", INT64_MAX}})}})));
  EXPECT_FALSE(record.usage.prompt_tokens);
  EXPECT_FALSE(record.usage.completion_tokens);
  EXPECT_EQ(record.impossible, "`usage.prompt_tokens` is 9223372036854775807, which is no count");
}

TEST(ChatReader, NegativeOrFractionalCountsAreNoCounts) {
  const auto impossible = [](const char* body) {
    const StreamRecord record = read_stream(event(*json::parse(body)));
    EXPECT_FALSE(record.usage.prompt_tokens) << body;
    EXPECT_FALSE(record.usage.completion_tokens) << body;
    return record.impossible.value_or("");
  };
  // The first one is named.
  EXPECT_EQ(impossible(R"({"usage":{"prompt_tokens":-3,"completion_tokens":1.5}})"),
            "`usage.prompt_tokens` is -3, which is no count");
  EXPECT_EQ(impossible(R"({"usage":{"completion_tokens":1.5}})"),
            "`usage.completion_tokens` is 1.5, which is no count");
  EXPECT_EQ(impossible(R"({"timings":{"predicted_n":-1}})"),
            "`timings.predicted_n` is -1, which is no count");
  // Not to be counted with, and nothing that could not be.
  for (const char* body : {R"({"usage":{"completion_tokens":"8"}})", R"({"usage":null})",
                           R"({"usage":{"completion_tokens":null,"prompt_tokens":[]}})"}) {
    EXPECT_EQ(impossible(body), "") << body;
  }
}

TEST(ChatReader, TimesAndRatesBelowZeroCannotBe) {
  const auto impossible = [](const char* timings) {
    const StreamRecord record =
        read_stream(event(Value::object({{"timings", *json::parse(timings)}})));
    return record.impossible.value_or("");
  };
  EXPECT_EQ(impossible(R"({"predicted_ms":-5.25})"),
            "`timings.predicted_ms` is -5.25, at least 0 is possible");
  for (const char* key : {"prompt_ms", "prompt_per_second", "predicted_per_second"}) {
    EXPECT_EQ(impossible(cat("{\"", key, "\":-1}").c_str()),
              cat("`timings.", key, "` is -1, at least 0 is possible"));
    EXPECT_EQ(impossible(cat("{\"", key, "\":0}").c_str()), "");
    EXPECT_EQ(impossible(cat("{\"", key, "\":null}").c_str()), "");
  }
}

std::string counted(const std::string& text, int64_t running) {
  return event(Value::object(
      {{"choices", Value::array({Value::object({{"delta", Value::object({{"content", text}})}})})},
       {"usage", Value::object({{"completion_tokens", running}})}}));
}

std::vector<int64_t> tokens_of(const StreamRecord& record) {
  std::vector<int64_t> out;
  for (const Delta& delta : record.deltas) out.push_back(delta.tokens.value_or(-1));
  return out;
}

TEST(ChatReader, ARunningCountTellsTheTokensOfEachChunk) {
  EXPECT_THAT(tokens_of(read_stream(counted("a", 4) + counted("b", 5) + counted("c", 9))),
              testing::ElementsAre(4, 1, 4));
}

TEST(ChatReader, AFinalCountOnTheLastChunkSaysNothingAboutTheOthers) {
  EXPECT_THAT(tokens_of(read_stream(content("a") + content("b") + counted("c", 9))),
              testing::ElementsAre(-1, -1, -1));
}

TEST(ChatReader, ARunningCountThatFallsIsNotUsed) {
  EXPECT_THAT(tokens_of(read_stream(counted("a", 4) + counted("b", 2))),
              testing::ElementsAre(-1, -1));
}

TEST(ChatReader, AWholeNumberIsACountHoweverItIsWritten) {
  const StreamRecord record = read_stream(
      event(*json::parse(R"({"usage":{"prompt_tokens":10.0,"completion_tokens":8e0}})")));
  EXPECT_EQ(record.usage.prompt_tokens, 10);
  EXPECT_EQ(record.usage.completion_tokens, 8);
  EXPECT_FALSE(record.impossible);
}

TEST(ChatReader, CountsThatFallCannotBe) {
  const auto impossible = [](const std::string& stream) {
    return read_stream(stream).impossible.value_or("");
  };
  const auto prompt = [](int64_t tokens) {
    return event(Value::object({{"usage", Value::object({{"prompt_tokens", tokens}})}}));
  };
  EXPECT_EQ(impossible(counted("a", 4) + counted("b", 4) + counted("c", 9)), "");
  EXPECT_EQ(impossible(counted("a", 4) + counted("b", 3)),
            "`usage.completion_tokens` is 3, and was 4 before");
  EXPECT_EQ(impossible(prompt(0) + prompt(11) + prompt(11)), "");  // 0: not counted yet
  EXPECT_EQ(impossible(prompt(11) + prompt(10)), "`usage.prompt_tokens` is 10, and was 11 before");
}

TEST(ChatReader, EveryModelThatAnAnswerNamesIsKept) {
  const auto named = [](const char* model) { return event(Value::object({{"model", model}})); };
  const StreamRecord one = read_stream(named("a") + named("a"));
  EXPECT_EQ(one.model, "a");
  EXPECT_FALSE(one.other_model);
  const StreamRecord two = read_stream(named("a") + named("b") + named("a"));
  EXPECT_EQ(two.model, "a");
  EXPECT_EQ(two.other_model, "b");
}

TEST(ChatReader, TokenIdsAndLogProbabilitiesAreCountedPerChunk) {
  const auto with = [](const std::string& key, Value value) {
    return event(Value::object(
        {{"choices", Value::array({Value::object({{"delta", Value::object({{"content", "x"}})},
                                                  {key, std::move(value)}})})}}));
  };
  const Value two = Value::array({Value(1), Value(2)});
  EXPECT_THAT(tokens_of(read_stream(with("token_ids", two) +
                                    with("logprobs", Value::object({{"content", two}})))),
              testing::ElementsAre(2, 2));
}

TEST(ChatReader, ToolCallsAreAssembledByIndex) {
  const auto piece = [](int index, Value call) {
    call.set("index", index);
    return delta_event(Value::object({{"tool_calls", Value::array({std::move(call)})}}));
  };
  const auto arguments = [](const std::string& text) {
    return Value::object({{"function", Value::object({{"arguments", text}})}});
  };
  const StreamRecord record = read_stream(
      piece(0, Value::object({{"id", "a"},
                              {"function", Value::object({{"name", "get"}, {"arguments", ""}})}})) +
      piece(1, Value::object({{"id", "b"}, {"function", Value::object({{"name", "put"}})}})) +
      piece(0, arguments("{\"x\":")) + piece(1, arguments("{}")) + piece(0, arguments("1}")) +
      delta_event(Value::object(), "tool_calls"));
  ASSERT_EQ(record.tool_calls.size(), 2u);
  EXPECT_EQ(record.tool_calls[0].name, "get");
  EXPECT_EQ(record.tool_calls[0].arguments, "{\"x\":1}");
  EXPECT_EQ(record.tool_calls[1].id, "b");
  EXPECT_EQ(record.tool_calls[1].arguments, "{}");
}

TEST(ChatReader, AnErrorEventIsAFailureWhateverCameBefore) {
  for (const std::string& error :
       {event(Value::object({{"error", Value::object({{"message", "out of memory"}})}})),
        std::string("event: error\ndata: {\"message\":\"out of memory\"}\n\n"),
        std::string("event: error\ndata: out of memory\n\n")}) {
    const StreamRecord record = read_stream(content("x") + error + content("y"));
    ASSERT_TRUE(record.problem) << error;
    EXPECT_EQ(record.problem->code, kStreamError.code);
    EXPECT_EQ(record.problem->detail, "out of memory");
    EXPECT_EQ(record.answer, "x");  // nothing after the error is read
  }
}

TEST(ChatReader, WhatIsNoChunkIsRefusedByName) {
  for (const char* data : {"data: {\"choices\":[\n\n", "data: 7\n\n", "data: hello\n\n",
                           "data: \xff\n\n", "data:\n\n"}) {
    const StreamRecord record = read_stream(data);
    ASSERT_TRUE(record.problem) << data;
    EXPECT_EQ(record.problem->code, kStreamMalformed.code);
  }
}

TEST(ChatReader, UnknownShapesInsideAreIgnored) {
  const StreamRecord record = read_stream(
      "data: {}\n\ndata: {\"choices\":null}\n\ndata: {\"choices\":[7]}\n\n"
      "data: {\"choices\":[{\"delta\":null}]}\n\ndata: "
      "{\"choices\":[{\"delta\":{\"content\":7}}]}\n\n"
      "data: "
      "{\"usage\":null,\"timings\":[],\"model\":3,\"choices\":[{\"delta\":{\"tool_calls\":[3]}}]}"
      "\n\n");
  EXPECT_TRUE(record.ok());
  EXPECT_EQ(record.answer, "");
}

TEST(ErrorMessage, TakesTheMessageFromTheShapesThatServersUse) {
  EXPECT_EQ(error_message(R"({"error":{"message":"a"}})"), "a");
  EXPECT_EQ(error_message(R"({"error":"b"})"), "b");
  EXPECT_EQ(error_message(R"({"message":"c"})"), "c");
  EXPECT_EQ(error_message(R"({"detail":[{"msg":"d"}]})"), R"([{"msg":"d"}])");
  EXPECT_EQ(error_message("<html>e\nf</html>"), "<html>e f</html>");
  EXPECT_EQ(error_message("\xff\xfe"), "(not text)");
  EXPECT_LT(error_message(std::string(10'000, 'x')).size(), 400u);
}

}  // namespace
}  // namespace assay::load
