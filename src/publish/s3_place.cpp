#include "publish/s3_place.h"

#include <algorithm>

#include "base/text.h"
#include "publish/encoding.h"
#include "publish/refusals.h"

namespace assay::publish {

namespace {

bool is_bucket_name(std::string_view name) {
  if (name.size() < 3 || name.size() > 63 || name.find("..") != std::string_view::npos)
    return false;
  const auto alphanumeric = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z');
  };
  return alphanumeric(name.front()) && alphanumeric(name.back()) &&
         std::all_of(name.begin(), name.end(),
                     [&](char c) { return alphanumeric(c) || c == '-' || c == '.' || c == '_'; });
}

std::string_view without_slashes(std::string_view text) {
  while (text.ends_with('/')) text.remove_suffix(1);
  return text;
}

// Both halves of one family, nothing when the family is not set at all.
Result<std::optional<AwsSigner>> keys_of(const Outside& outside, const std::string& family) {
  const std::string id_name = family + "_ACCESS_KEY_ID";
  const std::string secret_name = family + "_SECRET_ACCESS_KEY";
  const auto id = outside.variable(id_name);
  const auto secret = outside.variable(secret_name);
  if (!id && !secret) return std::optional<AwsSigner>();
  if (!id || !secret) {
    return Refusal(kStoreCredentialsMissing,
                   cat(id ? id_name : secret_name, " is set, ", id ? secret_name : id_name,
                       " is not; both belong together"));
  }
  AwsSigner signer{.access_key = *id, .secret_key = *secret, .session_token = {}, .region = {}};
  if (family == "AWS") signer.session_token = outside.variable("AWS_SESSION_TOKEN").value_or("");
  for (const std::string& part : {signer.access_key, signer.secret_key, signer.session_token}) {
    if (has_control_character(part))
      return Refusal(kStoreCredentialsMissing,
                     cat(id_name, " or ", secret_name, " holds a control character"));
  }
  return std::optional<AwsSigner>(std::move(signer));
}

struct Endpoint {
  std::string url;  // "" = AWS
  bool from_r2 = false;
  bool is_r2 = false;
};
Result<Endpoint> endpoint_of(const Outside& outside) {
  for (const char* name : {"R2_BUCKET_ENDPOINT", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"}) {
    const auto value = outside.variable(name);
    if (!value) continue;
    const bool address = value->starts_with("https://") || value->starts_with("http://");
    if (!address || value->find_first_of("?#@ ") != std::string::npos ||
        has_control_character(*value)) {
      return Refusal(kStoreUrl, cat(name, " is no plain http:// or https:// address"));
    }
    const std::string host = host_of(*value);
    return Endpoint{std::string(without_slashes(*value)), std::string_view(name).starts_with("R2"),
                    host.find(".r2.cloudflarestorage.com:") != std::string::npos};
  }
  return Endpoint{};
}

}  // namespace

std::string S3Place::url() const {
  return cat("s3://", bucket, prefix.empty() ? "" : "/", prefix);
}

std::string S3Place::key_of(std::string_view path) const {
  return prefix.empty() ? std::string(path) : cat(prefix, "/", path);
}

std::optional<std::string> S3Place::path_of(std::string_view key) const {
  if (prefix.empty()) return std::string(key);
  if (!key.starts_with(cat(prefix, "/"))) return std::nullopt;
  return std::string(key.substr(prefix.size() + 1));
}

std::string S3Place::object_url(std::string_view path) const {
  return cat(base_url, "/", percent_encode(key_of(path), true));
}

std::string S3Place::bucket_url(std::string_view query) const {
  return cat(base_url, "/?", query);
}

Result<S3Place> s3_place(std::string_view url, const Outside& outside) {
  std::string_view rest = url;
  rest.remove_prefix(std::min<size_t>(rest.size(), std::string_view("s3://").size()));
  rest = without_slashes(rest);
  const size_t slash = std::min(rest.size(), rest.find('/'));
  S3Place place;
  place.bucket = std::string(rest.substr(0, slash));
  if (slash < rest.size()) place.prefix = std::string(rest.substr(slash + 1));
  if (!is_bucket_name(place.bucket) || (!place.prefix.empty() && !is_plain_path(place.prefix)))
    return Refusal(kStoreUrl, cat("`", url, "`, expected s3://BUCKET or s3://BUCKET/PREFIX"));

  TRY(endpoint, endpoint_of(outside));
  std::optional<AwsSigner> signer;
  for (const char* family : {"R2", "AWS"}) {
    // R2's keys mean nothing to an endpoint that was not given as R2's.
    if (signer || (std::string_view(family) == "R2" && !endpoint.from_r2)) continue;
    TRY(keys, keys_of(outside, family));
    signer = std::move(keys);
  }
  if (!signer && outside.options.for_writing) {
    return Refusal(kStoreCredentialsMissing,
                   endpoint.from_r2
                       ? "set R2_ACCESS_KEY_ID and R2_SECRET_ACCESS_KEY for R2_BUCKET_ENDPOINT"
                       : "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or R2_BUCKET_ENDPOINT "
                         "with R2_ACCESS_KEY_ID and R2_SECRET_ACCESS_KEY");
  }
  if (signer) place.signer = *std::move(signer);

  auto region = outside.variable("AWS_REGION");
  if (!region) region = outside.variable("AWS_DEFAULT_REGION");
  if (endpoint.is_r2) region = "auto";
  place.signer.region = region.value_or(endpoint.from_r2 ? "auto" : "us-east-1");
  for (const char c : place.signer.region) {
    if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'))
      return Refusal(kStoreUrl, "AWS_REGION is no region's name (like eu-central-1)");
  }

  if (endpoint.url.empty()) {
    const std::string host = cat("s3.", place.signer.region, ".amazonaws.com");
    place.base_url = place.bucket.find('.') == std::string::npos
                         ? cat("https://", place.bucket, ".", host)
                         : cat("https://", host, "/", place.bucket);
    return place;
  }
  // Some give the bucket's own address as its endpoint: then the name is there already.
  const size_t authority = endpoint.url.find("://") + 3;
  const size_t path = endpoint.url.find('/', authority);
  if (path == std::string::npos) {
    place.base_url = cat(endpoint.url, "/", place.bucket);
  } else if (endpoint.url.substr(path + 1) == place.bucket) {
    place.base_url = endpoint.url;
  } else {
    return Refusal(kStoreUrl,
                   cat("the endpoint's path is `", endpoint.url.substr(path),
                       "`, which is not the bucket `", place.bucket, "` of `", url, "`"));
  }
  return place;
}

}  // namespace assay::publish
