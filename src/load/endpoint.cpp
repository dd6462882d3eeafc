#include "load/endpoint.h"

#include "base/secrets.h"
#include "base/text.h"
#include "load/refusals.h"

namespace assay::load {

namespace {

// A user's name and password are not repeated, nor is a key in a query; where an "@" stands
// anywhere, nothing is.
Refusal refuse(std::string_view url, std::string_view why) {
  if (url.find('@') != std::string_view::npos) return Refusal(kUrl, cat("the base URL: ", why));
  return Refusal(kUrl, cat("`", mask_text(url).value_or(std::string(url)), "`: ", why));
}

// Between the scheme, if there is one, and the path.
std::string_view authority_of(std::string_view url) {
  const size_t scheme = url.find("://");
  if (scheme != std::string_view::npos) url.remove_prefix(scheme + 3);
  return url.substr(0, url.find_first_of("/?#"));
}

bool is_plain(std::string_view text) {
  for (const char c : text) {
    if (c <= ' ' || c >= 0x7f) return false;  // char may be signed: bytes from 0x80 on are negative
  }
  return true;
}

}  // namespace

Result<Endpoint> parse_endpoint(std::string_view base_url) {
  constexpr std::string_view kScheme = "http://";
  std::string_view rest = base_url;
  if (authority_of(base_url).find('@') != std::string_view::npos) {
    return Refusal(kUrl, "the base URL holds a user name; give a key with --api-key-env");
  }
  if (rest.starts_with("https://")) {
    return refuse(base_url, "https is not measured; give the http address of the server itself");
  }
  if (!rest.starts_with(kScheme)) return refuse(base_url, "expected http://HOST[:PORT]/PATH");
  if (!is_plain(rest)) return refuse(base_url, "it holds white space or characters beyond ASCII");
  rest.remove_prefix(kScheme.size());
  if (rest.find_first_of("?#") != std::string_view::npos) {
    return refuse(base_url, "it holds a query or a fragment");
  }
  const size_t slash = rest.find('/');
  std::string_view authority = rest.substr(0, slash);
  std::string_view path = slash == std::string_view::npos ? "" : rest.substr(slash);
  while (path.ends_with('/')) path.remove_suffix(1);
  Endpoint endpoint;
  std::string_view port;
  if (authority.starts_with('[')) {
    const size_t end = authority.find(']');
    if (end == std::string_view::npos) return refuse(base_url, "`[` without `]`");
    endpoint.host = std::string(authority.substr(1, end - 1));
    port = authority.substr(end + 1);
    if (!port.empty() && port[0] != ':') return refuse(base_url, "expected :PORT after `]`");
    if (endpoint.host.find_first_not_of("0123456789abcdefABCDEF:.%") != std::string::npos) {
      return refuse(base_url, "not an IPv6 address in brackets");
    }
  } else {
    const size_t colon = authority.find(':');
    endpoint.host = std::string(authority.substr(0, colon));
    if (colon != std::string_view::npos) port = authority.substr(colon);
  }
  if (endpoint.host.empty()) return refuse(base_url, "no host");
  if (!port.empty()) {
    const auto number = parse_uint64(port.substr(1));
    if (!number || *number == 0 || *number > 65535) {
      return refuse(base_url, "the port is not a number from 1 to 65535");
    }
    endpoint.port = static_cast<uint16_t>(*number);
  }
  endpoint.path = std::string(path);
  endpoint.base_url = std::string(base_url.substr(0, base_url.find_last_not_of('/') + 1));
  return endpoint;
}

}  // namespace assay::load
