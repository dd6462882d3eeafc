// An OpenAI-compatible endpoint: where it is, and what every request to it carries.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace assay::load {

using Header = std::pair<std::string, std::string>;

struct Endpoint {
  std::string base_url{};  // as given, without a final slash
  std::string host{};      // name or address, without brackets
  uint16_t port = 80;
  std::string path{};             // "/v1", or ""; requests append "/chat/completions"
  std::vector<Header> headers{};  // further ones, for example Authorization; never written to files
};

/// "http://127.0.0.1:8080/v1", "http://[::1]:8080". Refuses LOAD-URL: another scheme, user names,
/// a query, a port outside 1 to 65535. https is refused: what it costs is not the server's, and a
/// TLS endpoint is most often a proxy.
[[nodiscard]] Result<Endpoint> parse_endpoint(std::string_view base_url);

}  // namespace assay::load
