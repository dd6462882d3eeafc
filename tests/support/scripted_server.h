// An HTTP server on a free loopback port that sends exactly the bytes it is told to, in the pieces
// and after the delays it is told, and keeps what it received and when it sent what: the truth that
// a measuring client is held against.
//
// Threads   one a connection, each waiting for it before it comes, so that no connection pays for
// the
//           start of one; the script is called from them.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace assay::support {

using Nanoseconds = std::chrono::nanoseconds;  // of CLOCK_MONOTONIC when a point in time

struct ReceivedRequest {
  int64_t index = 0;  // 0 for the first request of the server's life
  std::string method{}, target{};
  std::string head{};  // request line and headers, as received
  std::string body{};
  Nanoseconds received_at{};  // its last byte was read
};

/// One write: its bytes, after a pause.
struct Piece {
  std::string bytes{};
  Nanoseconds pause{};
};

struct Reply {
  int status = 200;
  std::string reason = "OK";
  std::vector<std::pair<std::string, std::string>> headers{{"Content-Type", "text/event-stream"}};
  std::vector<Piece> pieces{};
  /// How the body's end is told. raw: nothing is added, the pieces are the whole answer.
  enum class Framing { chunked, content_length, until_close, raw } framing = Framing::chunked;
  /// What follows the pieces: the proper end, a close without it, a reset, or nothing at all until
  /// the client gives up.
  enum class End { whole, close, reset, hang } end = End::whole;
};

using Script = std::function<Reply(const ReceivedRequest&)>;

class ScriptedServer {
 public:
  /// On a free port, or on the one given.
  explicit ScriptedServer(Script script, uint16_t port = 0);
  ~ScriptedServer();  // closes every connection
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;

  [[nodiscard]] uint16_t port() const { return port_; }
  [[nodiscard]] std::string base_url() const;  // "http://127.0.0.1:PORT/v1"
  [[nodiscard]] std::vector<ReceivedRequest> requests() const;
  /// When each piece of each request's answer was handed to the system, by request index.
  [[nodiscard]] std::vector<std::vector<Nanoseconds>> sent_at() const;
  void stop();

 private:
  void add_worker();
  void work();
  void serve(int fd);
  void send_reply(int fd, int64_t index, const Reply& reply);

  Script script_;
  int listener_ = -1;
  uint16_t port_ = 0;
  std::atomic<bool> stopping_{false};
  std::atomic<int> idle_{0};
  mutable std::mutex mutex_;
  std::vector<std::thread> workers_;
  std::vector<int> open_;
  std::vector<ReceivedRequest> requests_;
  std::vector<std::vector<Nanoseconds>> sent_at_;
};

/// A loopback port that nobody listens on now.
[[nodiscard]] uint16_t unused_port();

}  // namespace assay::support
