// Over real sockets against a server that does as it is told. Nothing here depends on how fast it
// is: counts and structure are compared, never durations.
#include "load/http_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <limits>
#include <thread>

#include "base/text.h"
#include "load/refusals.h"
#include "load/stream.h"
#include "support/chat_model.h"
#include "support/scripted_server.h"

namespace assay::load {
namespace {

using namespace std::chrono_literals;
using support::Piece;
using support::ReceivedRequest;
using support::Reply;
using support::ScriptedServer;

Endpoint endpoint_of(const ScriptedServer& server) {
  return *parse_endpoint(server.base_url());
}

ChatRequest question() {
  return {.model = "fake",
          .messages = json::Value::array(
              {json::Value::object({{"role", "user"}, {"content", "one two three"}})}),
          .max_tokens = 8};
}

StreamRecord ask(const ScriptedServer& server, const Limits& limits = {}, const Guard& guard = {}) {
  return stream_chat(endpoint_of(server), question(), limits, guard);
}

// Sends one event after the other as fast as the socket takes them, until the client goes. Gives up
// after a while, so that a client that never goes fails its test and does not hang it.
class FloodingServer {
 public:
  FloodingServer() {
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* any = reinterpret_cast<sockaddr*>(&address);
    if (bind(listener_, any, size) != 0 || listen(listener_, 1) != 0 ||
        getsockname(listener_, any, &size) != 0) {
      std::abort();  // a test without its server means nothing
    }
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~FloodingServer() {
    shutdown(listener_, SHUT_RDWR);
    thread_.join();
    close(listener_);
  }

  [[nodiscard]] Endpoint endpoint() const {
    return *parse_endpoint(cat("http://127.0.0.1:", port_, "/v1"));
  }
  [[nodiscard]] uint64_t sent() const { return sent_; }

 private:
  void serve() {
    const int fd = accept(listener_, nullptr, nullptr);
    if (fd < 0) return;
    std::array<char, 4096> request;
    std::string bytes = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
    if (recv(fd, request.data(), request.size(), 0) > 0) {
      std::string events;
      for (int i = 0; i < 1000; ++i) {
        events += support::delta_event(json::Value::object({{"content", "x"}}));
      }
      const Stamp give_up = now() + 60s;
      while (now() < give_up) {
        const ssize_t count = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (count <= 0) break;
        sent_ += static_cast<uint64_t>(count);
        bytes.erase(0, static_cast<size_t>(count));
        if (bytes.empty()) bytes = events;
      }
    }
    close(fd);
  }

  int listener_ = -1;
  uint16_t port_ = 0;
  std::atomic<uint64_t> sent_{0};
  std::thread thread_{};
};

constexpr int64_t kEndlessly = std::numeric_limits<int64_t>::max();

// The bytes of a plain answer of three tokens.
std::string plain_stream() {
  std::string bytes;
  for (const Piece& piece :
       support::ChatModel::stream({.words = 3, .max_tokens = 3}, {.answer_tokens = 3}).pieces) {
    bytes += piece.bytes;
  }
  return bytes;
}

void expect_plain(const StreamRecord& record) {
  EXPECT_TRUE(record.ok()) << record.problem->text();
  EXPECT_EQ(record.answer, " wörd wörd wörd");
  EXPECT_EQ(record.usage.prompt_tokens, 3);
  EXPECT_EQ(record.usage.completion_tokens, 3);
  EXPECT_EQ(record.deltas.size(), 5u);  // role, three words, the finish reason
  EXPECT_TRUE(record.done_seen);
}

TEST(HttpClient, OneConnectionOneRequestAsAsked) {
  support::ChatModel model;
  const StreamRecord record = ask(model.server());
  EXPECT_TRUE(record.ok());
  const auto requests = model.server().requests();
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_EQ(requests[0].method, "POST");
  EXPECT_EQ(requests[0].target, "/v1/chat/completions");
  EXPECT_THAT(requests[0].head, testing::HasSubstr("Accept-Encoding: identity\r\n"));
  const auto body = json::parse(requests[0].body);
  ASSERT_TRUE(body);
  EXPECT_TRUE(body->find("stream")->boolean());
  EXPECT_TRUE(body->find("stream_options")->find("include_usage")->boolean());
  EXPECT_EQ(body->find("max_tokens")->literal(), "8");
}

TEST(HttpClient, FurtherHeadersAndMembersAreSent) {
  support::ChatModel model;
  Endpoint endpoint = endpoint_of(model.server());
  endpoint.headers.emplace_back("Authorization", "Bearer k");
  ChatRequest request = question();
  request.extra = json::Value::object({{"cache_prompt", false}});
  request.chat_template_kwargs = json::Value::object({{"enable_thinking", true}});
  EXPECT_TRUE(stream_chat(endpoint, request, {}, {}).ok());
  EXPECT_THAT(model.server().requests()[0].head, testing::HasSubstr("Authorization: Bearer k\r\n"));
  EXPECT_THAT(
      model.server().requests()[0].body,
      testing::AllOf(testing::HasSubstr("\"cache_prompt\":false"),
                     testing::HasSubstr("\"chat_template_kwargs\":{\"enable_thinking\":true}")));
}

TEST(HttpClient, StampsComeInOrder) {
  support::ChatModel model;
  const StreamRecord record = ask(model.server());
  EXPECT_LE(record.started, *record.connected);
  EXPECT_LE(*record.connected, *record.sent);
  EXPECT_LE(*record.sent, *record.headers_at);
  Stamp last = *record.sent;
  for (const Delta& delta : record.deltas) {
    EXPECT_LE(last, delta.at);
    last = delta.at;
  }
  EXPECT_LE(last, record.ended);
}

TEST(HttpClient, AnEventIsStampedNotBeforeTheServerSentIt) {
  ScriptedServer server([](const ReceivedRequest&) {
    return support::ChatModel::stream({.words = 3, .max_tokens = 4},
                                      {.answer_tokens = 4, .pause = 2ms});
  });
  const StreamRecord record = ask(server);
  const auto sent_at = server.sent_at().at(0);
  ASSERT_GE(sent_at.size(), record.deltas.size());
  for (size_t i = 0; i < record.deltas.size(); ++i) EXPECT_GE(record.deltas[i].at, sent_at[i]);
}

TEST(HttpClient, EveryWayToFrameABodyGivesTheSameAnswer) {
  for (const auto framing :
       {Reply::Framing::chunked, Reply::Framing::content_length, Reply::Framing::until_close}) {
    ScriptedServer server([&](const ReceivedRequest&) {
      return Reply{.pieces = {{plain_stream()}}, .framing = framing};
    });
    expect_plain(ask(server));
  }
}

TEST(HttpClient, EverySplitOfTheStreamIntoTwoPiecesGivesTheSameAnswer) {
  const std::string bytes = plain_stream();
  size_t cut = 0;
  ScriptedServer server([&](const ReceivedRequest&) {
    return Reply{.pieces = {{bytes.substr(0, cut)}, {bytes.substr(cut)}}};
  });
  // Splits inside a character, inside "data:", between CR-less line ends.
  for (cut = 1; cut < bytes.size(); cut += 3) expect_plain(ask(server));
}

TEST(HttpClient, EveryByteOfTheMessageOnItsOwnGivesTheSameAnswer) {
  const std::string body = plain_stream();
  std::string message =
      "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
      "Transfer-Encoding: chunked\r\n\r\n";
  for (size_t i = 0; i < body.size(); i += 7) {
    const std::string piece = body.substr(i, 7);
    message += cat(piece.size(), ";ext=1\r\n", piece, "\r\n");  // sizes up to 7 are their hex form
  }
  message += "0\r\nTrailer: x\r\n\r\n";
  ScriptedServer server([&](const ReceivedRequest&) {
    Reply reply{.framing = Reply::Framing::raw};
    for (const char c : message) reply.pieces.push_back({std::string(1, c)});
    return reply;
  });
  expect_plain(ask(server));
}

TEST(HttpClient, KeepAliveCommentsAreNoTokens) {
  ScriptedServer server([&](const ReceivedRequest&) {
    Reply reply;
    for (int i = 0; i < 20; ++i) reply.pieces.push_back({": keep-alive\n\n"});
    reply.pieces.push_back({plain_stream()});
    return reply;
  });
  const StreamRecord record = ask(server);
  expect_plain(record);
  EXPECT_EQ(record.comments, 20);
}

TEST(HttpClient, EverySuccessStatusIsASuccess) {
  ScriptedServer server([&](const ReceivedRequest&) {
    return Reply{.status = 201, .reason = "Created", .pieces = {{plain_stream()}}};
  });
  expect_plain(ask(server));
}

TEST(HttpClient, AnErrorStatusIsAFailureWithItsMessage) {
  ScriptedServer server(
      [](const ReceivedRequest&) { return support::ChatModel::error(429, "slow down"); });
  const StreamRecord record = ask(server);
  ASSERT_FALSE(record.ok());
  EXPECT_EQ(record.problem->code, kStatus.code);
  EXPECT_EQ(record.problem->detail, "HTTP 429: slow down");
  EXPECT_EQ(record.http_status, 429);
  EXPECT_EQ(server.requests().size(), 1u);  // nothing is repeated behind our back
}

TEST(HttpClient, ARedirectIsNotFollowed) {
  ScriptedServer server([](const ReceivedRequest&) {
    return Reply{.status = 302, .reason = "Found", .headers = {{"Location", "/elsewhere"}}};
  });
  const StreamRecord record = ask(server);
  ASSERT_FALSE(record.ok());
  EXPECT_EQ(record.http_status, 302);
  EXPECT_EQ(server.requests().size(), 1u);
}

TEST(HttpClient, AnAnswerInOnePieceIsReadAndSaid) {
  ScriptedServer server([](const ReceivedRequest&) {
    return Reply{
        .headers = {{"Content-Type", "application/json"}},
        .pieces =
            {{R"({"model":"fake","choices":[{"message":{"content":"hi"},)"
              R"("finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":1}})"}},
        .framing = Reply::Framing::content_length};
  });
  const StreamRecord record = ask(server);
  ASSERT_FALSE(record.ok());
  EXPECT_EQ(record.problem->code, kNotStreamed.code);
  EXPECT_EQ(record.answer, "hi");
  EXPECT_EQ(record.usage.completion_tokens, 1);
  EXPECT_TRUE(record.deltas.empty());
}

TEST(HttpClient, AStreamCutShortIsNeverAWholeAnswer) {
  const std::string bytes = plain_stream();
  const size_t half = bytes.size() / 2;
  for (const auto end : {Reply::End::close, Reply::End::reset}) {
    for (const auto framing : {Reply::Framing::chunked, Reply::Framing::until_close}) {
      ScriptedServer server([&](const ReceivedRequest&) {
        return Reply{.pieces = {{bytes.substr(0, half)}}, .framing = framing, .end = end};
      });
      const StreamRecord record = ask(server);
      ASSERT_FALSE(record.ok());
      EXPECT_THAT(std::string(record.problem->code),
                  testing::AnyOf(std::string(kClosed.code), std::string(kStreamTruncated.code)));
    }
  }
}

TEST(HttpClient, AFinishReasonWithoutDoneIsAWholeAnswer) {
  const std::string bytes = plain_stream();
  ScriptedServer server([&](const ReceivedRequest&) {
    return Reply{.pieces = {{bytes.substr(0, bytes.find("data: [DONE]"))}}};
  });
  const StreamRecord record = ask(server);
  EXPECT_TRUE(record.ok());
  EXPECT_FALSE(record.done_seen);
}

// RFC 9110, 15.2: what comes before the answer itself is read over, in whatever pieces it comes.
TEST(HttpClient, InterimAnswersAreReadOver) {
  const std::string interim =
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n";
  const std::string answer =
      cat("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n", plain_stream());
  const std::string bytes = interim + answer;
  for (const size_t cut : {size_t{0}, size_t{3}, size_t{23}, size_t{25}, interim.size() - 1,
                           interim.size(), interim.size() + 5}) {
    ScriptedServer server([&](const ReceivedRequest&) {
      return Reply{.pieces = {{bytes.substr(0, cut)}, {bytes.substr(cut), 2ms}},
                   .framing = Reply::Framing::raw,
                   .end = Reply::End::close};
    });
    const StreamRecord record = ask(server);
    expect_plain(record);
    EXPECT_EQ(record.http_status, 200) << cut;
  }
}

TEST(HttpClient, InterimAnswersAloneAreNone) {
  const auto code_of = [](const std::string& bytes) {
    ScriptedServer server([&](const ReceivedRequest&) {
      return Reply{.pieces = {{bytes}}, .framing = Reply::Framing::raw, .end = Reply::End::close};
    });
    const StreamRecord record = ask(server);
    return record.problem ? std::string(record.problem->code) : "";
  };
  const std::string one = "HTTP/1.1 100 Continue\r\n\r\n";
  EXPECT_EQ(code_of(one), kClosed.code);
  std::string many;
  for (int i = 0; i < 17; ++i) many += one;
  EXPECT_EQ(code_of(many), kHttpMalformed.code);
  EXPECT_EQ(code_of("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"), kStatus.code);
}

TEST(HttpClient, WhatIsNoHttpIsRefusedByName) {
  for (const char* answer : {"hello\n\n\n\n", "HTTP/1.1 abc\r\n\r\n",
                             "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"}) {
    ScriptedServer server([&](const ReceivedRequest&) {
      return Reply{.pieces = {{answer}}, .framing = Reply::Framing::raw};
    });
    const StreamRecord record = ask(server);
    ASSERT_FALSE(record.ok()) << answer;
    EXPECT_EQ(record.problem->code, kHttpMalformed.code) << record.problem->text();
  }
}

TEST(HttpClient, ACloseWithoutAnAnswerIsRefusedByName) {
  ScriptedServer server([](const ReceivedRequest&) {
    return Reply{.framing = Reply::Framing::raw, .end = Reply::End::close};
  });
  const StreamRecord record = ask(server);
  ASSERT_FALSE(record.ok());
  EXPECT_EQ(record.problem->code, kClosed.code);
  EXPECT_EQ(record.http_status, 0);
}

TEST(HttpClient, ASilentServerRunsOutOfTime) {
  ScriptedServer server([](const ReceivedRequest&) { return Reply{.end = Reply::End::hang}; });
  const StreamRecord record = ask(server, {.request = 50ms});
  ASSERT_FALSE(record.ok());
  EXPECT_EQ(record.problem->code, kTimeout.code);
}

TEST(HttpClient, TheGuardEndsAWait) {
  ScriptedServer server([](const ReceivedRequest&) { return Reply{.end = Reply::End::hang}; });
  const StreamRecord record = ask(server, {}, [&]() -> Status {
    // Only once the request is there: the wait for its answer is what ends.
    if (server.requests().empty()) return {};
    return Refusal(kStopped, "enough");
  });
  ASSERT_FALSE(record.ok());
  EXPECT_EQ(record.problem->code, kStopped.code);
}

TEST(HttpClient, AStreamWithoutAPauseRunsOutOfTime) {
  FloodingServer server;
  const StreamRecord record =
      stream_chat(server.endpoint(), question(),
                  {.request = 300ms, .answer_bytes = kEndlessly, .events = kEndlessly}, {});
  ASSERT_FALSE(record.ok());
  EXPECT_EQ(record.problem->code, kTimeout.code) << record.problem->text();
  EXPECT_GT(record.events, 0);
}

TEST(HttpClient, TheGuardEndsAStreamWithoutAPause) {
  FloodingServer server;
  const StreamRecord record =
      stream_chat(server.endpoint(), question(), {.answer_bytes = kEndlessly, .events = kEndlessly},
                  [&]() -> Status {
                    if (server.sent() < 1 << 20) return {};
                    return Refusal(kStopped, "enough");
                  });
  ASSERT_FALSE(record.ok());
  EXPECT_EQ(record.problem->code, kStopped.code) << record.problem->text();
}

TEST(HttpClient, AnAnswerWithoutAnEndIsRefusedByName) {
  for (const Limits& limits : {Limits{.answer_bytes = 1 << 20, .events = kEndlessly},
                               Limits{.answer_bytes = kEndlessly, .events = 1000}}) {
    FloodingServer server;
    const StreamRecord record = stream_chat(server.endpoint(), question(), limits, {});
    ASSERT_FALSE(record.ok());
    EXPECT_EQ(record.problem->code, kReplyTooLarge.code) << record.problem->text();
  }
}

TEST(HttpClient, AKeyThatTheAnswerRepeatsIsHidden) {
  const std::string key = "sk-a/b\"c";
  const std::string long_start(290, 'x');  // the key stands where the message is cut
  const auto in_json = [](const std::string& text) { return json::write(json::Value(text)); };
  const auto error = [](std::string body) {
    return Reply{.status = 401, .reason = "Unauthorized", .pieces = {{std::move(body)}}};
  };
  const std::vector<Reply> replies = {
      support::ChatModel::error(401, cat("bad key ", key, ", ", key)),
      support::ChatModel::error(401, long_start + key),
      error(cat("bad key ", key)),
      error(cat(R"({"error":{"key":)", in_json(key), "}}")),
      error(R"({"key":"sk-a\/b\u0022c"})"),
      {.pieces = {{cat("data: {\"error\":{\"message\":", in_json(key), "}}\n\n")}}},
      {.pieces = {{cat("event: error\ndata: no ", key, "\n\n")}}},
      {.headers = {{"Content-Type", "application/json"}}, .pieces = {{key}}},
      {.headers = {{"Content-Type", "text/event-stream"}, {"Server", key}},
       .pieces = {{cat("data: {\"model\":", in_json(key), "}\n\n")},
                  {support::delta_event(json::Value::object({{"content", key.substr(0, 4)}}))},
                  {support::delta_event(json::Value::object({{"content", key.substr(4)}}), key)},
                  {"data: [DONE]\n\n"}}}};
  for (const Reply& reply : replies) {
    ScriptedServer server([&](const ReceivedRequest&) { return reply; });
    Endpoint endpoint = endpoint_of(server);
    endpoint.headers.emplace_back("Authorization", cat("Bearer ", key));
    const StreamRecord record = stream_chat(endpoint, question(), {}, {});
    const std::string kept =
        cat(record.problem ? record.problem->detail : "", "|", record.model.value_or(""), "|",
            record.server.value_or(""), "|", record.finish_reason.value_or(""), "|", record.answer);
    EXPECT_THAT(kept, testing::HasSubstr("***"));
    EXPECT_THAT(kept, testing::Not(testing::HasSubstr("sk-a")));
  }
}

TEST(HttpClient, AKeyOfThreeCharactersIsPartOfTooManyWords) {
  ScriptedServer server(
      [](const ReceivedRequest&) { return support::ChatModel::error(429, "abcd"); });
  Endpoint endpoint = endpoint_of(server);
  endpoint.headers.emplace_back("Authorization", "Bearer abc");
  EXPECT_EQ(stream_chat(endpoint, question(), {}, {}).problem->detail, "HTTP 429: abcd");
}

TEST(HttpClient, NobodyListeningIsRefusedByName) {
  Endpoint endpoint = *parse_endpoint(cat("http://127.0.0.1:", support::unused_port(), "/v1"));
  const StreamRecord record = stream_chat(endpoint, question(), {}, {});
  ASSERT_FALSE(record.ok());
  EXPECT_EQ(record.problem->code, kConnect.code);
  EXPECT_FALSE(record.sent);
}

TEST(HttpClient, LocalhostIsANameToo) {
  support::ChatModel model;
  const auto endpoint = parse_endpoint(cat("http://localhost:", model.server().port(), "/v1"));
  EXPECT_TRUE(stream_chat(*endpoint, question(), {}, {}).ok());
}

TEST(ModelList, ListsIds) {
  support::ChatModel model;
  model.listed = {"a", "b"};
  const auto models = list_models(endpoint_of(model.server()), {}, {});
  ASSERT_TRUE(models);
  EXPECT_THAT(*models, testing::ElementsAre("a", "b"));
}

TEST(ModelList, AnErrorAndANonListAreRefusedByName) {
  support::ChatModel model;
  model.list_status = 401;
  const auto refused = list_models(endpoint_of(model.server()), {}, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.refusal().code, kStatus.code);
  ScriptedServer odd([](const ReceivedRequest&) {
    return Reply{.pieces = {{"[]"}}, .framing = Reply::Framing::content_length};
  });
  const auto no_list = list_models(endpoint_of(odd), {}, {});
  ASSERT_FALSE(no_list);
  EXPECT_EQ(no_list.refusal().code, kStreamMalformed.code);
}

}  // namespace
}  // namespace assay::load
