// One HTTP/1.1 exchange over a socket of our own: every read is stamped when it returns, before a
// byte of it is parsed.
//
// A connection a request, never reused and never repeated: nothing that happens is hidden. The
// answer is asked for uncompressed. Redirects are answers like any other.
// Waits     each has a deadline and asks the guard at least every 100 ms.
// Errors    LOAD-CONNECT, LOAD-TIMEOUT, LOAD-CLOSED, LOAD-HTTP-MALFORMED, LOAD-REPLY-TOO-LARGE,
//           and what the guard refuses with.
// Threads   independent exchanges may run in parallel.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "load/clock.h"
#include "load/endpoint.h"
#include "load/stream.h"

namespace assay::load {

struct HttpRequest {
  std::string method = "GET";
  std::string target = "/";
  std::vector<Header> headers{};
  std::string body{};
};

struct HttpHead {
  int status = 0;
  std::vector<Header> headers{};
  /// The first value under `name`, compared without case.
  [[nodiscard]] std::optional<std::string> find(std::string_view name) const;
};

/// Takes an answer as it comes. `at` is the stamp of the read that brought the bytes.
class HttpSink {
 public:
  virtual ~HttpSink() = default;
  virtual void head(HttpHead head, Stamp at) = 0;
  /// False: nothing more is wanted, the connection is closed.
  virtual bool body(std::string_view bytes, Stamp at) = 0;
};

struct HttpOutcome {
  Stamp started{};
  std::optional<Stamp> connected{};
  std::optional<Stamp> sent{};  // before the first write
  Stamp ended{};
  std::optional<Refusal> problem{};
};

[[nodiscard]] HttpOutcome exchange(const Endpoint& endpoint, const HttpRequest& request,
                                   const Limits& limits, const Guard& guard, HttpSink& sink);

}  // namespace assay::load
