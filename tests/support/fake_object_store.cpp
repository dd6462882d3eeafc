#include "support/fake_object_store.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <set>

namespace assay::testing_support {

namespace {

std::string digest(const EVP_MD* kind, const std::string& bytes) {
  unsigned char out[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  EVP_Digest(bytes.data(), bytes.size(), out, &size, kind, nullptr);
  return std::string(reinterpret_cast<char*>(out), size);
}

std::string hmac(const std::string& key, const std::string& text) {
  unsigned char out[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(), out, &size);
  return std::string(reinterpret_cast<char*>(out), size);
}

std::string hex(const std::string& bytes) {
  std::string out;
  for (const char c : bytes) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(c));
    out += digits;
  }
  return out;
}

std::string base64_of(const std::string& bytes) {
  std::string out(4 * ((bytes.size() + 2) / 3) + 1, '\0');
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                   reinterpret_cast<const unsigned char*>(bytes.data()),
                                   static_cast<int>(bytes.size()));
  out.resize(static_cast<size_t>(size));
  return out;
}

// UriEncode of the algorithm's description.
std::string uri_encode(const std::string& text, bool keep_slash) {
  std::string out;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 ||
        std::string_view("-._~").find(c) != std::string_view::npos || (keep_slash && c == '/')) {
      out += c;
    } else {
      char digits[4];
      std::snprintf(digits, sizeof digits, "%%%02X", static_cast<unsigned char>(c));
      out += digits;
    }
  }
  return out;
}

std::vector<std::string> split_text(const std::string& text, char separator) {
  std::vector<std::string> parts;
  size_t begin = 0;
  for (;;) {
    const size_t end = text.find(separator, begin);
    parts.push_back(text.substr(begin, end - begin));
    if (end == std::string::npos) return parts;
    begin = end + 1;
  }
}

std::map<std::string, std::string> query_of(const WireRequest& request) {
  std::map<std::string, std::string> out;
  for (const std::string& pair : split_text(request.query(), '&')) {
    if (pair.empty()) continue;
    const size_t equals = pair.find('=');
    out[url_decode(pair.substr(0, equals))] =
        equals == std::string::npos ? "" : url_decode(pair.substr(equals + 1));
  }
  return out;
}

std::string canonical_query(const WireRequest& request) {
  std::string out;
  for (const auto& [name, value] : query_of(request))  // a map is sorted by name
    out += (out.empty() ? "" : "&") + uri_encode(name, false) + "=" + uri_encode(value, false);
  return out;
}

// Outer spaces are gone already; runs of spaces count as one.
std::string single_spaced(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c != ' ' || out.empty() || out.back() != ' ') out += c;
  }
  return out;
}

WireReply error(int status, const std::string& code, const std::string& message,
                const std::string& more = "") {
  return {.status = status,
          .headers = {{"content-type", "application/xml"}},
          .body = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>" + code +
                  "</Code><Message>" + message + "</Message>" + more +
                  "<RequestId>4442587FB7D0A2F9</RequestId></Error>"};
}

std::string value_of(const std::string& text, const std::string& name) {
  const size_t begin = text.find(name + "=");
  if (begin == std::string::npos) return "";
  const size_t start = begin + name.size() + 1;
  return text.substr(start, text.find_first_of(", ", start) - start);
}

}  // namespace

FakeObjectStore::FakeObjectStore(ObjectStoreRules rules)
    : rules_(std::move(rules)),
      server_([this](const WireRequest& request) { return handle(request); }) {}

std::optional<WireReply> FakeObjectStore::check_signature(const WireRequest& request) const {
  const std::string authorization = request.header("authorization").value_or("");
  if (!authorization.starts_with("AWS4-HMAC-SHA256 "))
    return error(403, "AccessDenied", "Anonymous access is forbidden for this operation");
  const auto scope = split_text(value_of(authorization, "Credential"), '/');
  const std::string signed_names = value_of(authorization, "SignedHeaders");
  if (scope.size() != 5 || scope[3] != "s3" || scope[4] != "aws4_request")
    return error(400, "AuthorizationHeaderMalformed", "bad credential scope");
  if (scope[0] != rules_.access_key)
    return error(403, "InvalidAccessKeyId",
                 "The AWS Access Key Id you provided does not exist in our records.",
                 "<AWSAccessKeyId>" + scope[0] + "</AWSAccessKeyId>");
  if (scope[2] != rules_.region)
    return error(400, "AuthorizationHeaderMalformed",
                 "The authorization header is malformed; the region '" + scope[2] +
                     "' is wrong; expecting '" + rules_.region + "'",
                 "<Region>" + rules_.region + "</Region>");

  const std::string date = request.header("x-amz-date").value_or("");
  std::tm utc{};
  if (date.size() != 16 || ::strptime(date.c_str(), "%Y%m%dT%H%M%SZ", &utc) == nullptr ||
      date.substr(0, 8) != scope[1])
    return error(403, "AccessDenied", "x-amz-date and the scope do not agree");
  if (std::llabs(static_cast<long long>(::timegm(&utc) - std::time(nullptr))) > 15 * 60)
    return error(403, "RequestTimeTooSkewed",
                 "The difference between the request time and the current time is too large.");

  const auto names = split_text(signed_names, ';');
  if (!std::is_sorted(names.begin(), names.end()))
    return error(403, "SignatureDoesNotMatch", "SignedHeaders are not sorted");
  for (const auto& [name, value] : request.headers) {
    const bool must = name == "host" || name.starts_with("x-amz-") || name == "content-md5" ||
                      name == "if-match" || name == "if-none-match";
    if (must && std::find(names.begin(), names.end(), name) == names.end())
      return error(403, "AccessDenied",
                   "There were headers present in the request which were not signed: " + name);
  }
  if (!rules_.session_token.empty() &&
      request.header("x-amz-security-token") != rules_.session_token)
    return error(403, "InvalidToken", "The provided token is malformed or otherwise invalid.");

  std::string headers;
  for (const std::string& name : names)
    headers += name + ":" + single_spaced(request.header(name).value_or("")) + "\n";
  const std::string payload = request.header("x-amz-content-sha256").value_or("");
  const std::string canonical =
      request.method + "\n" + uri_encode(url_decode(request.path()), true) + "\n" +
      canonical_query(request) + "\n" + headers + "\n" + signed_names + "\n" + payload;
  const std::string to_sign = "AWS4-HMAC-SHA256\n" + date + "\n" + scope[1] + "/" + scope[2] +
                              "/s3/aws4_request\n" + hex(digest(EVP_sha256(), canonical));
  const std::string key =
      hmac(hmac(hmac(hmac("AWS4" + rules_.secret_key, scope[1]), scope[2]), "s3"), "aws4_request");
  if (hex(hmac(key, to_sign)) != value_of(authorization, "Signature"))
    return error(403, "SignatureDoesNotMatch",
                 "The request signature we calculated does not match the signature you provided.",
                 "<StringToSign>" + to_sign + "</StringToSign>");
  if (payload != hex(digest(EVP_sha256(), request.body)))
    return error(400, "XAmzContentSHA256Mismatch",
                 "The provided 'x-amz-content-sha256' header does not match what was computed.");
  return std::nullopt;
}

WireReply FakeObjectStore::handle(const WireRequest& request) {
  if (auto refused = check_signature(request)) return *refused;
  const Intervention what = intervene ? intervene(request) : Intervention{};
  if (what.reply && !what.acted) return *what.reply;
  WireReply real = act(request);
  return what.reply ? *what.reply : real;
}

WireReply FakeObjectStore::act(const WireRequest& request) {
  const std::string path = url_decode(request.path());
  const std::string root = "/" + rules_.bucket;
  if (path != root && !path.starts_with(root + "/"))
    return error(404, "NoSuchBucket", "The specified bucket does not exist");
  const std::string key = path.size() > root.size() + 1 ? path.substr(root.size() + 1) : "";
  if (key.empty()) return list(request);
  if (request.method == "PUT") return put(request, key);
  const auto found = objects.find(key);
  if (found == objects.end()) return error(404, "NoSuchKey", "The specified key does not exist.");
  WireReply reply{.headers = found->second.metadata, .body = found->second.bytes};
  reply.headers.emplace_back("etag", "\"" + hex(digest(EVP_md5(), found->second.bytes)) + "\"");
  return reply;
}

WireReply FakeObjectStore::put(const WireRequest& request, const std::string& key) {
  if (const auto md5 = request.header("content-md5");
      md5 && *md5 != base64_of(digest(EVP_md5(), request.body)))
    return error(400, "BadDigest", "The Content-MD5 you specified did not match what we received.");
  const auto found = objects.find(key);
  const auto none_match = request.header("if-none-match");
  const auto match = request.header("if-match");
  if (!rules_.conditional && (none_match || match))
    return error(501, "NotImplemented",
                 "A header you provided implies functionality that is not implemented");
  if (none_match == "*" && found != objects.end())
    return error(412, "PreconditionFailed",
                 "At least one of the pre-conditions you specified did not hold");
  if (match && found == objects.end())
    return error(404, "NoSuchKey", "The specified key does not exist.");
  if (match && *match != "\"" + hex(digest(EVP_md5(), found->second.bytes)) + "\"")
    return error(412, "PreconditionFailed",
                 "At least one of the pre-conditions you specified did not hold");
  Object object{.bytes = request.body};
  for (const auto& [name, value] : request.headers) {
    if (name.starts_with("x-amz-meta-")) object.metadata.emplace_back(name, value);
  }
  objects[key] = std::move(object);
  return {.headers = {{"etag", "\"" + hex(digest(EVP_md5(), request.body)) + "\""}}};
}

WireReply FakeObjectStore::list(const WireRequest& request) const {
  const auto query = query_of(request);
  const auto at = [&](const std::string& name) {
    const auto found = query.find(name);
    return found == query.end() ? std::string() : found->second;
  };
  if (at("list-type") != "2") return error(400, "InvalidArgument", "only ListObjectsV2");
  std::string contents, next;
  size_t count = 0;
  for (const auto& [key, object] : objects) {
    if (!key.starts_with(at("prefix")) || key <= at("continuation-token")) continue;
    if (count == rules_.page_size) {
      next = "<NextContinuationToken>" + contents.substr(contents.rfind("<Key>") + 5);
      next = next.substr(0, next.find("</Key>")) + "</NextContinuationToken>";
      break;
    }
    contents += "<Contents><Key>" + uri_encode(key, true) + "</Key><Size>" +
                std::to_string(object.bytes.size()) + "</Size></Contents>";
    ++count;
  }
  // The token of this store is the last key; it goes out as it is, so keys in tests are plain.
  return {.headers = {{"content-type", "application/xml"}},
          .body =
              "<?xml version=\"1.0\"?><ListBucketResult "
              "xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><EncodingType>url</EncodingType>"
              "<IsTruncated>" +
              std::string(next.empty() ? "false" : "true") + "</IsTruncated>" + contents + next +
              "</ListBucketResult>"};
}

}  // namespace assay::testing_support
