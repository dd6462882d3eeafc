// An object store for tests that checks what a strict one checks: the AWS Signature Version 4 of
// every request (written here from the published algorithm over libcrypto; nothing is shared with
// the client), the digests of the bytes, and the conditions of writes.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "support/loopback_server.h"

namespace assay::testing_support {

struct ObjectStoreRules {
  std::string bucket = "bench";
  std::string region = "eu-central-1";
  std::string access_key = "AKIDEXAMPLE";
  std::string secret_key = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
  std::string session_token{};  // when set, requests must carry it, signed
  size_t page_size = 1000;      // of listings
  bool conditional = true;      // false: conditions on writes are answered 501
};

class FakeObjectStore {
 public:
  explicit FakeObjectStore(ObjectStoreRules rules = {});

  [[nodiscard]] const ObjectStoreRules& rules() const { return rules_; }
  [[nodiscard]] LoopbackServer& server() { return server_; }

  /// Asked before each request, after the signature was checked; a reply it returns is sent instead
  /// of the real one. With `acted` set the request is carried out first, and only then the reply
  /// goes wrong.
  struct Intervention {
    std::optional<WireReply> reply{};
    bool acted = false;
  };
  std::function<Intervention(const WireRequest&)> intervene{};

  struct Object {
    std::string bytes;
    Headers metadata{};
  };
  std::map<std::string, Object> objects{};  // by key

 private:
  WireReply handle(const WireRequest& request);
  WireReply act(const WireRequest& request);
  WireReply put(const WireRequest& request, const std::string& key);
  WireReply list(const WireRequest& request) const;
  [[nodiscard]] std::optional<WireReply> check_signature(const WireRequest& request) const;

  ObjectStoreRules rules_;
  LoopbackServer server_;
};

}  // namespace assay::testing_support
