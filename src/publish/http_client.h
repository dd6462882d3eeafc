// HTTP requests to a store's server: one attempt, or as many as the server's state deserves.
//
// Time      each attempt has deadlines for connecting, for a silent line and for the whole.
// Size      a reply larger than the request allows is refused while it comes in.
// Redirects are never followed here: a redirect is a reply like any other, and whoever follows it
//           decides which secret goes along.
// Secrets   (token, key, the query of a signed address) stand in no message. Certificates are
//           always checked. A secret goes over http:// to the loopback only.
// Errors    STORE-UNREACHABLE, STORE-BUSY, STORE-REPLY, STORE-INSECURE.
// Threads   one request at a time for each client.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace assay::publish {

/// Who signs a request, for AWS Signature Version 4 (libcurl signs).
struct AwsSigner {
  std::string access_key, secret_key, session_token, region;
};

struct HttpRequest {
  std::string method = "GET";
  std::string url{};  // http or https; path and query already percent-encoded
  std::vector<std::pair<std::string, std::string>> headers{};
  std::string_view body{};            // must outlive the call
  std::string bearer{};               // token for `authorization: Bearer …`; empty = none
  const AwsSigner* signer = nullptr;  // must outlive the call
  uint64_t reply_bytes_max = uint64_t{16} << 20;
};

struct HttpReply {
  int status = 0;
  std::vector<std::pair<std::string, std::string>> headers{};  // names in lower case
  std::string body{};

  /// Value of the last header of that (lower-case) name.
  [[nodiscard]] std::optional<std::string> header(std::string_view name) const;
  [[nodiscard]] bool ok() const { return status >= 200 && status < 300; }
};

struct HttpDeadlines {
  std::chrono::milliseconds connect{10'000};
  std::chrono::seconds silence{60};  // no byte in either direction
  std::chrono::milliseconds whole{15 * 60'000};
};

class HttpClient {
 public:
  virtual ~HttpClient() = default;
  /// One attempt. Any status is a reply; a refusal means that no whole reply came, and that the
  /// server may or may not have acted.
  virtual Result<HttpReply> send(const HttpRequest& request) = 0;
};
[[nodiscard]] std::unique_ptr<HttpClient> curl_client(const HttpDeadlines& deadlines = {});

/// How to wait between attempts; both functions must be set.
struct Patience {
  std::function<void(std::chrono::milliseconds)> sleep{};
  std::function<void(std::string_view)> say{};
  int retries_max = 5;
  std::chrono::seconds wait_max{600};  // a longer pause asked for by the server is refused
};

/// 408, 429, 500, 502, 503, 504.
[[nodiscard]] bool is_transient(int status);

/// Pause before attempt `retry` (0 = the first one after a failure): 1 s doubling to 8 s. On 429,
/// and where a reply carries Retry-After, the server's own figure and one second: the `t` of
/// `ratelimit: "api";r=0;t=55` when r is 0, else an integer Retry-After.
[[nodiscard]] std::chrono::seconds pause_before(int retry, const HttpReply* reply);

struct PatientReply {
  HttpReply reply;
  bool repeated = false;  // an earlier attempt may have acted before its reply was lost
};
/// Repeats the request while it fails in a way that passes; for requests that may arrive twice.
/// A transient status that stays is STORE-BUSY.
[[nodiscard]] Result<PatientReply> send_patiently(HttpClient& client, const HttpRequest& request,
                                                  const Patience& patience);

/// scheme://host[:port]/path: an address as it may be shown.
[[nodiscard]] std::string shown_url(std::string_view url);
/// "host:port" in lower case, with the scheme's port where none is written.
[[nodiscard]] std::string host_of(std::string_view url);
/// `location` of a redirect, made absolute against the address that gave it.
[[nodiscard]] std::string absolute_url(std::string_view base, std::string_view location);
/// True for localhost, 127.x.x.x and [::1].
[[nodiscard]] bool is_loopback_url(std::string_view url);
/// STORE-INSECURE unless the address is https, or http on the loopback; STORE-URL if it is neither.
[[nodiscard]] Status check_secret_may_go(std::string_view url);

}  // namespace assay::publish
