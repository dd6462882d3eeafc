// An HTTP/1.1 server on the loopback for tests: one handler, one request a connection, and the
// faults that real servers and networks have.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace assay::testing_support {

using Headers = std::vector<std::pair<std::string, std::string>>;

struct WireRequest {
  std::string method;
  std::string target;  // as it came: path and query, still percent-encoded
  Headers headers{};   // names in lower case, values as they came without outer spaces
  std::string body{};

  [[nodiscard]] std::optional<std::string> header(std::string_view name) const;
  [[nodiscard]] std::string path() const;   // the target up to '?'
  [[nodiscard]] std::string query() const;  // behind it
};

struct WireReply {
  int status = 200;
  Headers headers{};
  std::string body{};
  enum Fault {
    none,
    lost,       // the connection closes where the reply should come
    cut_short,  // half of the body, then the connection closes
    silent,     // nothing at all; the connection stays open until the server ends
  } fault = none;
};

class LoopbackServer {
 public:
  using Handler = std::function<WireReply(const WireRequest&)>;
  /// Listens on a free port of 127.0.0.1. The handler runs in the server's thread, one call at a
  /// time.
  explicit LoopbackServer(Handler handler);
  ~LoopbackServer();
  LoopbackServer(const LoopbackServer&) = delete;
  LoopbackServer& operator=(const LoopbackServer&) = delete;

  [[nodiscard]] int port() const { return port_; }
  [[nodiscard]] std::string url() const;  // "http://127.0.0.1:port"

  /// Everything that was asked so far, in order.
  [[nodiscard]] std::vector<WireRequest> requests() const;
  /// How many requests have this method and `part` in their target.
  [[nodiscard]] size_t count(std::string_view method, std::string_view part = "") const;

 private:
  void serve();
  bool answer(int connection);

  Handler handler_;
  int listener_ = -1;
  int wake_[2] = {-1, -1};
  int port_ = 0;
  std::vector<int> silent_{};
  mutable std::mutex mutex_{};
  std::vector<WireRequest> requests_{};
  std::thread thread_{};
};

/// Percent-decoding, written again here: the servers share nothing with the client they check.
[[nodiscard]] std::string url_decode(std::string_view text);

}  // namespace assay::testing_support
