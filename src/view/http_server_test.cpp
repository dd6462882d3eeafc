// The server over real loopback sockets: what only the wire can show.
#include "view/http_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string>
#include <thread>

#include "base/files.h"
#include "base/text.h"
#include "view/test_store.h"

namespace assay::view {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class Connection {
 public:
  explicit Connection(int port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = ::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  ~Connection() { ::close(socket_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  [[nodiscard]] bool connected() const { return connected_; }
  bool send(std::string_view text) {
    while (!text.empty()) {
      const ssize_t sent = ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      text.remove_prefix(static_cast<size_t>(sent));
    }
    return true;
  }
  // Whether the server has not closed it, and sent nothing.
  [[nodiscard]] bool is_open() const {
    char byte = 0;
    return ::recv(socket_, &byte, 1, MSG_DONTWAIT | MSG_PEEK) < 0 && errno == EAGAIN;
  }
  // Everything until the server closes.
  std::string read_all() {
    std::string out;
    char buffer[4096];
    for (ssize_t got = 1; got > 0;) {
      got = ::recv(socket_, buffer, sizeof buffer, 0);
      if (got > 0) out.append(buffer, static_cast<size_t>(got));
    }
    return out;
  }
  // Until `mark` has come, or the end.
  std::string read_until(std::string_view mark) {
    std::string out;
    char byte = 0;
    while (out.find(mark) == std::string::npos && ::recv(socket_, &byte, 1, 0) == 1)
      out.push_back(byte);
    return out;
  }

 private:
  int socket_;
  bool connected_ = false;
};

class HttpServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = store_.add(test_run("2026-05-01T00:00:00Z"));
    auto site = Site::open(store_.open(), test_page(), {});
    ASSERT_TRUE(site) << site.refusal().text();
    site_ = *std::move(site);
    server_ = std::make_unique<HttpServer>(*site_);
    const auto listening = server_->listen("127.0.0.1", 0);
    ASSERT_TRUE(listening) << listening.refusal().text();
    thread_ = std::jthread([this] { server_->run(); });
  }
  void TearDown() override {
    if (server_ != nullptr) server_->stop();
  }
  // One request on a connection of its own.
  std::string exchange(std::string_view line, std::string_view headers = "",
                       std::string_view body = "") {
    Connection connection(server_->port());
    connection.send(
        cat(line, "\r\nHost: localhost\r\nConnection: close\r\n", headers, "\r\n", body));
    return connection.read_all();
  }

  TestStore store_{};
  std::string path_{};
  std::unique_ptr<Site> site_{};
  std::unique_ptr<HttpServer> server_{};
  std::jthread thread_{};
};

TEST_F(HttpServerTest, EveryAnswerHasTheHeadersThatProtect) {
  EXPECT_EQ(server_->url(), cat("http://127.0.0.1:", server_->port(), "/"));
  for (const char* line : {"GET / HTTP/1.1", "GET /nothing HTTP/1.1", "POST / HTTP/1.1",
                           "GET /api/index HTTP/1.1", "GET /healthz HTTP/1.1"}) {
    const std::string answer = exchange(line);
    EXPECT_THAT(answer, HasSubstr("Content-Security-Policy: default-src 'self'; base-uri 'none'"))
        << line;
    EXPECT_THAT(answer, Not(HasSubstr("unsafe"))) << line;
    EXPECT_THAT(answer, HasSubstr("X-Content-Type-Options: nosniff")) << line;
  }
}

TEST_F(HttpServerTest, GetAndHead) {
  const std::string get = exchange("GET /app.js HTTP/1.1");
  EXPECT_THAT(get, StartsWith("HTTP/1.1 200 OK\r\n"));
  const std::string_view file = test_page()[0].bytes;
  EXPECT_THAT(get, HasSubstr(cat("Content-Length: ", file.size(), "\r\n")));
  EXPECT_TRUE(get.ends_with(file));
  const std::string head = exchange("HEAD /app.js HTTP/1.1");
  EXPECT_THAT(head, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(head, HasSubstr(cat("Content-Length: ", file.size(), "\r\n")));
  EXPECT_TRUE(head.ends_with("\r\n\r\n"));
}

TEST_F(HttpServerTest, ShardsComeByteForByte) {
  const std::string bytes = *read_file(store_.store_folder() / path_);
  const std::string answer = exchange(cat("GET /api/shards/", path_.substr(5), " HTTP/1.1"));
  EXPECT_TRUE(answer.ends_with(cat("\r\n\r\n", bytes)));
  // No pieces: the whole file, and the header says so.
  const std::string piece =
      exchange(cat("GET /api/shards/", path_.substr(5), " HTTP/1.1"), "Range: bytes=0-3\r\n");
  EXPECT_THAT(piece, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(piece, HasSubstr("Accept-Ranges: none\r\n"));
  EXPECT_TRUE(piece.ends_with(bytes));
  // Not compressed anew for each request.
  EXPECT_THAT(exchange("GET /api/index HTTP/1.1", "Accept-Encoding: br, gzip\r\n"),
              Not(HasSubstr("Content-Encoding")));
}

TEST_F(HttpServerTest, NotModified) {
  const std::string first = exchange("GET /api/index HTTP/1.1");
  const size_t at = first.find("ETag: ") + 6;
  const std::string etag = first.substr(at, first.find('\r', at) - at);
  const std::string second =
      exchange("GET /api/index HTTP/1.1", cat("If-None-Match: ", etag, "\r\n"));
  EXPECT_THAT(second, StartsWith("HTTP/1.1 304 "));
  EXPECT_TRUE(second.ends_with("\r\n\r\n"));
}

TEST_F(HttpServerTest, RefusesOtherMethodsAndDoesNotTakeTheirBodyForARequest) {
  const std::string smuggled = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
  for (const std::string& headers : {cat("Content-Length: ", smuggled.size(), "\r\n"),
                                     std::string("Transfer-Encoding: chunked\r\n")}) {
    Connection connection(server_->port());
    connection.send(
        cat("POST /api/index HTTP/1.1\r\nHost: localhost\r\n", headers, "\r\n", smuggled));
    const std::string answer = connection.read_all();
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 405 "));
    EXPECT_THAT(answer, HasSubstr("Allow: GET, HEAD\r\n"));
    EXPECT_THAT(answer, Not(HasSubstr("\"status\""))) << answer;
  }
  EXPECT_THAT(exchange("BREW / HTTP/1.1"), StartsWith("HTTP/1.1 400 "));
}

TEST_F(HttpServerTest, TraversalIsRefusedHoweverItIsSpelled) {
  for (const char* path : {"/api/shards/../../x", "/api/shards/..%2f..%2fx",
                           "/api/shards/%2e%2e/%2e%2e/x", "/api/shards/%00", "/..%5c..%5cx",
                           "/%2e%2e/app.js", "/app.js%00.html", "/api/shards/%ff%fe"}) {
    EXPECT_THAT(exchange(cat("GET ", path, " HTTP/1.1")), StartsWith("HTTP/1.1 404 ")) << path;
  }
}

TEST_F(HttpServerTest, ForeignHostIsMisdirected) {
  Connection connection(server_->port());
  connection.send("GET / HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(connection.read_all(), StartsWith("HTTP/1.1 421 "));
}

TEST_F(HttpServerTest, QueriesAreDecoded) {
  EXPECT_THAT(exchange("GET /api/rows?unit=tok%2Fs&limit=1 HTTP/1.1"),
              HasSubstr("\"total\":1,\"count\":1"));
  EXPECT_THAT(exchange("GET /api/rows?color=red HTTP/1.1"), HasSubstr("unknown parameter `color`"));
  EXPECT_THAT(exchange("GET /api/index?refresh=1 HTTP/1.1"), StartsWith("HTTP/1.1 200 "));
}

TEST_F(HttpServerTest, AConnectionServesSeveralRequests) {
  Connection connection(server_->port());
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(connection.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    EXPECT_THAT(connection.read_until("}\n"), StartsWith("HTTP/1.1 200 "));
  }
}

TEST_F(HttpServerTest, OversizedRequestsEnd) {
  EXPECT_THAT(exchange(cat("GET /", std::string(9000, 'a'), " HTTP/1.1")),
              StartsWith("HTTP/1.1 414 "));
  // More headers than a request may have: answered or cut off, but ended.
  Connection connection(server_->port());
  connection.send("GET / HTTP/1.1\r\nHost: localhost\r\n");
  for (int i = 0; i < 200 && connection.send(cat("X-", i, ": ", std::string(1000, 'b'), "\r\n"));
       ++i) {
  }
  connection.send("\r\n");
  EXPECT_THAT(connection.read_all(), Not(HasSubstr("200 OK")));
}

TEST_F(HttpServerTest, GarbageEnds) {
  for (const std::string& text :
       {std::string("\r\n\r\n"), std::string("\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", 11),
        std::string("GET\r\n\r\n"), std::string("GET / HTTP/9.9\r\n\r\n"),
        std::string("GET / HTTP/1.1\r\nno colon\r\n\r\n")}) {
    Connection connection(server_->port());
    connection.send(text);
    EXPECT_THAT(connection.read_until("\r\n"), Not(HasSubstr("200 OK")));
  }
  EXPECT_THAT(exchange("GET /healthz HTTP/1.1"), HasSubstr("\"ok\""));
}

TEST_F(HttpServerTest, WhatIsNoRequestIsToldWhatCameAndWhatIsExpected) {
  const auto answer_to = [&](const std::string& bytes) {
    Connection connection(server_->port());
    connection.send(bytes);
    return connection.read_all();
  };
  const auto body = [](std::string_view came) {
    return cat("\r\n\r\n{\"refusal\":\"VIEW-HTTP-REQUEST\",\"detail\":\"it begins \\\"", came,
               "\\\"; expected GET PATH HTTP/1.1 and headers NAME: VALUE\"}\n");
  };
  for (const auto& [bytes, came] :
       {std::pair{"FOO\r\n\r\n", "FOO"},
        {"GET / HTTP/9.9\r\n\r\n", "GET / HTTP/9.9"},
        {"\x16\x03\x1b[2J\xff\r\n\r\n", "\\\\x16\\\\x03\\\\x1b[2J\uFFFD"}}) {
    const std::string answer = answer_to(bytes);
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 400 ")) << came;
    EXPECT_THAT(answer, HasSubstr("Content-Type: application/json\r\n")) << came;
    EXPECT_THAT(answer, HasSubstr("X-Content-Type-Options: nosniff\r\n")) << came;
    EXPECT_TRUE(answer.ends_with(body(came))) << answer;
  }
  const std::string large = answer_to(cat("GET /", std::string(9000, 'a'), " HTTP/1.1\r\n\r\n"));
  EXPECT_THAT(large, StartsWith("HTTP/1.1 414 "));
  EXPECT_THAT(large, HasSubstr("its first line has more than 8192 bytes"));
}

// RFC 9110, 14.2: a server may ignore Range, and must where it cannot be read.
TEST_F(HttpServerTest, RangesAreIgnoredHoweverTheyAreWritten) {
  const std::string whole = exchange("GET /app.js HTTP/1.1");
  const std::string_view file = test_page()[0].bytes;
  ASSERT_TRUE(whole.ends_with(cat("\r\n\r\n", file)));
  for (const char* range : {"bytes=0-3", "bytes=a", "bytes=3-0", "bytes=0-1,x", "bytes=99999999-",
                            "lines=1-2", "", "x"}) {
    const std::string header = cat("Range: ", range, "\r\n");
    const std::string answer = exchange("GET /app.js HTTP/1.1", header);
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n")) << range;
    EXPECT_THAT(answer, HasSubstr(cat("Content-Length: ", file.size(), "\r\n"))) << range;
    EXPECT_THAT(answer, Not(HasSubstr("Content-Range"))) << range;
    EXPECT_TRUE(answer.ends_with(cat("\r\n\r\n", file))) << range;
    EXPECT_THAT(exchange("HEAD /app.js HTTP/1.1", header), StartsWith("HTTP/1.1 200 OK\r\n"))
        << range;
    EXPECT_THAT(exchange("GET /nothing HTTP/1.1", header), HasSubstr("VIEW-HTTP-PATH")) << range;
  }
}

// More half-sent requests than the server has threads (256): those that have waited for longest are
// given up, as many as are needed, and a whole request is answered while the others still wait.
TEST_F(HttpServerTest, MoreHangingClientsThanThreadsDoNotHangTheOthers) {
  constexpr int kHanging = 320;
  std::vector<std::unique_ptr<Connection>> hanging;
  for (int i = 0; i < kHanging; ++i) {
    hanging.push_back(std::make_unique<Connection>(server_->port()));
    ASSERT_TRUE(hanging.back()->connected()) << i;
    ASSERT_TRUE(hanging.back()->send("GET / HT")) << i;
  }
  EXPECT_THAT(exchange("GET /healthz HTTP/1.1"), HasSubstr("\"ok\""));
  const auto open = std::count_if(hanging.begin(), hanging.end(),
                                  [](const auto& connection) { return connection->is_open(); });
  // Had the answer waited for a deadline, none of those that held a thread would be left.
  EXPECT_GT(open, 200);
  EXPECT_LT(open, 257);
  EXPECT_TRUE(hanging.back()->is_open());
  EXPECT_FALSE(hanging.front()->is_open());
}

TEST_F(HttpServerTest, ClientsThatHangDoNotHangTheOthers) {
  std::vector<std::unique_ptr<Connection>> hanging;
  for (int i = 0; i < 64; ++i) {
    hanging.push_back(std::make_unique<Connection>(server_->port()));
    ASSERT_TRUE(hanging.back()->connected());
    hanging.back()->send(i % 2 == 0 ? "GET / HT" : "");
  }
  EXPECT_THAT(exchange("GET /healthz HTTP/1.1"), HasSubstr("\"ok\""));
  // Stopping waits for none of them.
  server_->stop();
  thread_.join();
}

TEST_F(HttpServerTest, ATakenPortIsRefused) {
  HttpServer second(*site_);
  const auto taken = second.listen("127.0.0.1", server_->port());
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.refusal().code, "VIEW-LISTEN");
  EXPECT_THAT(taken.refusal().detail,
              HasSubstr(cat("127.0.0.1` port ", server_->port(), ": Address already in use")));
}

TEST_F(HttpServerTest, AForeignAddressIsRefused) {
  for (const char* host : {"192.0.2.1", "no such host"}) {  // TEST-NET: no machine has it
    HttpServer second(*site_);
    const auto refused = second.listen(host, 0);
    ASSERT_FALSE(refused) << host;
    EXPECT_EQ(refused.refusal().code, "VIEW-LISTEN");
  }
}

TEST_F(HttpServerTest, StoppingBeforeRunningEndsTheRun) {
  HttpServer second(*site_);
  ASSERT_TRUE(second.listen("127.0.0.1", 0));
  second.stop();
  second.run();
}

}  // namespace
}  // namespace assay::view
