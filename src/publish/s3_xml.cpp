#include "publish/s3_xml.h"

#include "base/text.h"
#include "publish/encoding.h"
#include "publish/refusals.h"

namespace assay::publish {

namespace {

// The text between <name> and </name> from `from` on; nothing when it is not there. S3's documents
// have no attributes, comments or nesting of equal names where this is used.
std::optional<std::string_view> element(std::string_view xml, std::string_view name,
                                        size_t* from = nullptr) {
  const std::string open = cat("<", name, ">"), close = cat("</", name, ">");
  const size_t begin = xml.find(open, from != nullptr ? *from : 0);
  if (begin == std::string_view::npos) return std::nullopt;
  const size_t end = xml.find(close, begin + open.size());
  if (end == std::string_view::npos) return std::nullopt;
  if (from != nullptr) *from = end + close.size();
  return xml.substr(begin + open.size(), end - begin - open.size());
}

std::string text_of(std::optional<std::string_view> raw) {
  static constexpr std::pair<std::string_view, char> kEntities[] = {
      {"&amp;", '&'},   {"&lt;", '<'},  {"&gt;", '>'},  {"&quot;", '"'},
      {"&apos;", '\''}, {"&#34;", '"'}, {"&#39;", '\''}};
  std::string out;
  const std::string_view text = raw.value_or("");
  for (size_t i = 0; i < text.size();) {
    bool replaced = false;
    for (const auto& [entity, character] : kEntities) {
      if (!text.substr(i).starts_with(entity)) continue;
      out += character;
      i += entity.size();
      replaced = true;
      break;
    }
    if (!replaced) out += text[i++];
  }
  return out;
}

}  // namespace

Result<S3Listing> parse_s3_listing(std::string_view xml) {
  const auto invalid = [](std::string_view what) {
    return Refusal(kStoreReply, cat("the bucket's listing ", what));
  };
  if (xml.find("<ListBucketResult") == std::string_view::npos ||
      xml.find("</ListBucketResult>") == std::string_view::npos) {
    return invalid("is no whole ListBucketResult");
  }
  const bool encoded = element(xml, "EncodingType") == "url";
  S3Listing listing;
  size_t at = 0;
  while (const auto contents = element(xml, "Contents", &at)) {
    const auto key = element(*contents, "Key");
    const auto size = parse_uint64(element(*contents, "Size").value_or(""));
    if (!key || !size) return invalid("has an entry without Key or Size");
    const std::string name = text_of(key);
    listing.objects.push_back({encoded ? percent_decode(name) : name, *size});
  }
  if (element(xml, "IsTruncated") == "true") {
    listing.next_token = text_of(element(xml, "NextContinuationToken"));
    if (listing.next_token.empty()) return invalid("is cut short without a continuation token");
  }
  return listing;
}

S3Error s3_error(const HttpReply& reply) {
  S3Error error{.code = text_of(element(reply.body, "Code")),
                .message = one_line(text_of(element(reply.body, "Message"))),
                .region = text_of(element(reply.body, "Region"))};
  if (error.region.empty()) error.region = reply.header("x-amz-bucket-region").value_or("");
  if (error.region.empty() && error.code == "AuthorizationHeaderMalformed") {
    // "The authorization header is malformed; the region 'x' is wrong; expecting 'y'"
    const size_t begin = error.message.find("expecting '");
    if (begin != std::string::npos) {
      error.region = error.message.substr(begin + 11);
      error.region.resize(std::min(error.region.size(), error.region.find('\'')));
    }
  }
  return error;
}

Refusal s3_refusal(const HttpReply& reply, const S3Place& place, std::string_view right,
                   const RefusalInfo& otherwise) {
  const S3Error error = s3_error(reply);
  const std::string where = cat("`", place.url(), "` at ", host_of(place.base_url));
  const std::string said =
      cat("HTTP ", reply.status, error.code.empty() ? "" : " ", one_line(error.code),
          error.message.empty() ? "" : ": ", error.message);
  const auto code_is = [&](std::initializer_list<std::string_view> codes) {
    for (const std::string_view code : codes) {
      if (error.code == code) return true;
    }
    return false;
  };
  const bool moved = reply.status >= 300 && reply.status < 400;
  const bool other_region = !error.region.empty() && error.region != place.signer.region;
  if (moved || code_is({"PermanentRedirect", "IllegalLocationConstraintException"}) ||
      (code_is({"AuthorizationHeaderMalformed", "InvalidRegion"}))) {
    return Refusal(kStoreRegion,
                   cat(where, ": signed for region `", place.signer.region, "`, ",
                       other_region ? cat("but it is in `", one_line(error.region),
                                          "`: set AWS_REGION=", one_line(error.region))
                                    : cat("which the server refuses (", said, ")")));
  }
  if (code_is({"InvalidAccessKeyId", "XAdminUserNotFound", "SignatureDoesNotMatch", "InvalidToken",
               "ExpiredToken", "TokenRefreshRequired", "InvalidSecurity", "NotSignedUp"})) {
    const std::string_view hint = code_is({"InvalidAccessKeyId", "XAdminUserNotFound"})
                                      ? "it does not know this access key id"
                                  : code_is({"SignatureDoesNotMatch"})
                                      ? "the secret key does not belong to the access key id"
                                      : "the session token is not valid, or no longer";
    return Refusal(kStoreCredentialsRefused,
                   cat(where, ": ", hint, " (HTTP ", reply.status, " ", error.code, ")"));
  }
  if (code_is({"RequestTimeTooSkewed", "RequestExpired"})) {
    return Refusal(kStoreCredentialsRefused,
                   cat(where,
                       ": this machine's clock is off, so its signatures are not accepted: "
                       "set the clock"));
  }
  if (code_is({"NoSuchBucket"})) {
    return Refusal(kStoreNotFound, cat(where, ": there is no bucket `", place.bucket, "`"));
  }
  if (code_is({"BadDigest", "InvalidDigest", "XAmzContentSHA256Mismatch",
               "XAmzContentChecksumMismatch", "IncompleteBody"})) {
    return Refusal(kStoreDamaged, cat(where, ": ", said));
  }
  if (code_is({"NotImplemented"}) || reply.status == 501) {
    return Refusal(kStoreNotConditional, cat(where, ": ", said));
  }
  if (reply.status == 401 || reply.status == 403) {
    return Refusal(kStoreCredentialsRefused,
                   cat(where, ": ",
                       place.signer.access_key.empty()
                           ? "it does not answer without a key; set the key's variables"
                           : cat("the key lacks the right ", right),
                       " (", said, ")"));
  }
  return Refusal(otherwise, cat(where, ": ", said));
}

}  // namespace assay::publish
