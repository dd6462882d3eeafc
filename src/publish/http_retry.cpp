// When to try again, and addresses as text: the part of the HTTP client that needs no network.
#include <algorithm>

#include "base/text.h"
#include "publish/http_client.h"
#include "publish/refusals.h"

namespace assay::publish {

namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

// scheme, authority, and the rest from the path on.
struct Parts {
  std::string scheme, authority, rest;
};
Parts parts_of(std::string_view url) {
  Parts parts;
  const size_t colon = url.find("://");
  if (colon == std::string_view::npos) return parts;
  parts.scheme = lower(url.substr(0, colon));
  url.remove_prefix(colon + 3);
  const size_t end = std::min(url.size(), url.find_first_of("/?#"));
  parts.authority = std::string(url.substr(0, end));
  parts.rest = std::string(url.substr(end));
  const size_t at_sign = parts.authority.rfind('@');
  if (at_sign != std::string::npos) parts.authority.erase(0, at_sign + 1);
  return parts;
}

std::string host_name(const std::string& authority) {
  if (authority.starts_with('[')) return authority.substr(0, authority.find(']') + 1);
  return authority.substr(0, authority.find(':'));
}

bool is_loopback(const std::string& host) {
  if (host == "localhost" || host == "[::1]") return true;
  const auto numbers = split(host, '.');
  return numbers.size() == 4 && numbers[0] == "127" &&
         std::all_of(numbers.begin(), numbers.end(),
                     [](std::string_view n) { return parse_uint64(n).value_or(256) < 256; });
}

// `"api";r=0;t=55`: the value of one parameter.
std::optional<uint64_t> parameter(std::string_view header, std::string_view name) {
  for (const std::string_view part : split(header, ';')) {
    const std::string_view text = trim(part);
    if (text.size() > name.size() && text.starts_with(name) && text[name.size()] == '=')
      return parse_uint64(text.substr(name.size() + 1));
  }
  return std::nullopt;
}

// Seconds that the server asks us to stay away.
std::optional<uint64_t> asked_pause(const HttpReply& reply) {
  if (reply.status == 429) {
    if (const auto limit = reply.header("ratelimit"); limit && parameter(*limit, "r") == 0) {
      if (const auto reset = parameter(*limit, "t")) return reset;
    }
  }
  if (const auto after = reply.header("retry-after")) return parse_uint64(trim(*after));
  return std::nullopt;
}

}  // namespace

std::optional<std::string> HttpReply::header(std::string_view name) const {
  for (auto it = headers.rbegin(); it != headers.rend(); ++it) {
    if (it->first == name) return it->second;
  }
  return std::nullopt;
}

bool is_transient(int status) {
  return status == 408 || status == 429 || status == 500 || status == 502 || status == 503 ||
         status == 504;
}

std::chrono::seconds pause_before(int retry, const HttpReply* reply) {
  constexpr uint64_t kForever = 1'000'000'000;
  if (reply != nullptr) {
    if (const auto asked = asked_pause(*reply))
      return std::chrono::seconds(std::min(*asked, kForever) + 1);
  }
  return std::chrono::seconds(std::min(8, 1 << std::min(retry, 3)));
}

Result<PatientReply> send_patiently(HttpClient& client, const HttpRequest& request,
                                    const Patience& patience) {
  const std::string what = cat(request.method, " ", shown_url(request.url));
  bool repeated = false;
  for (int retry = 0;; ++retry) {
    auto reply = client.send(request);
    std::string problem;
    if (reply) {
      if (!is_transient(reply->status)) return PatientReply{*std::move(reply), repeated};
      problem = cat(what, ": HTTP ", reply->status);
      // A server that counts requests has not acted on the one it turned away.
      repeated = repeated || reply->status != 429;
    } else {
      if (reply.refusal().code != kStoreUnreachable.code) return reply.refusal();
      problem = reply.refusal().detail;
      repeated = true;
    }
    const std::chrono::seconds pause = pause_before(retry, reply ? &*reply : nullptr);
    if (retry == patience.retries_max || pause > patience.wait_max) {
      if (!reply) return Refusal(kStoreUnreachable, cat(problem, " (", retry + 1, " attempts)"));
      return Refusal(kStoreBusy,
                     cat(problem, " after ", retry + 1, " attempts; the next one makes sense in ",
                         pause.count(), " s"));
    }
    patience.say(cat(problem, "; trying again in ", pause.count(), " s"));
    patience.sleep(pause);
  }
}

std::string shown_url(std::string_view url) {
  const Parts parts = parts_of(url);
  return cat(parts.scheme, "://", parts.authority,
             parts.rest.substr(0, parts.rest.find_first_of("?#")));
}

std::string host_of(std::string_view url) {
  const Parts parts = parts_of(url);
  const std::string host = lower(host_name(parts.authority));
  const std::string port = parts.authority.substr(std::min(parts.authority.size(), host.size()));
  return cat(host, port.size() > 1 ? port : parts.scheme == "http" ? ":80" : ":443");
}

std::string absolute_url(std::string_view base, std::string_view location) {
  if (location.find("://") != std::string_view::npos) return std::string(location);
  const Parts parts = parts_of(base);
  if (location.starts_with("//")) return cat(parts.scheme, ":", location);
  if (location.starts_with('/')) return cat(parts.scheme, "://", parts.authority, location);
  const std::string path = parts.rest.substr(0, parts.rest.find_first_of("?#"));
  return cat(parts.scheme, "://", parts.authority, path.substr(0, path.rfind('/') + 1), location);
}

bool is_loopback_url(std::string_view url) {
  return is_loopback(lower(host_name(parts_of(url).authority)));
}

Status check_secret_may_go(std::string_view url) {
  const Parts parts = parts_of(url);
  if (parts.authority.empty() || (parts.scheme != "http" && parts.scheme != "https")) {
    return Refusal(kStoreUrl, cat("`", shown_url(url), "` is no http:// or https:// address"));
  }
  if (parts.scheme == "https" || is_loopback_url(url)) return {};
  return Refusal(kStoreInsecure, cat("`", shown_url(url), "` is http:// and not on this machine"));
}

}  // namespace assay::publish
