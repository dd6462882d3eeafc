// Where an s3:// store is, and who signs for it: from the URL and the environment.
//
// Environment   R2_BUCKET_ENDPOINT with R2_ACCESS_KEY_ID and R2_SECRET_ACCESS_KEY, or the names of
//               the AWS tools: AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, AWS_ACCESS_KEY_ID,
//               AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION, AWS_DEFAULT_REGION. The key
//               and its secret are always taken from the same family.
// Region        R2: auto. Elsewhere AWS_REGION, else AWS_DEFAULT_REGION, else us-east-1 (auto when
//               the endpoint came as R2_BUCKET_ENDPOINT).
// Style         a custom endpoint has the bucket in the path; AWS has it in the host's name, unless
//               the bucket's name has a dot.
#pragma once

#include "publish/remote_store.h"

namespace assay::publish {

struct S3Place {
  std::string bucket{};
  std::string prefix{};    // without slashes at its ends; may be empty
  std::string base_url{};  // up to and with the bucket, no slash at the end
  AwsSigner signer{};      // empty access_key: requests are not signed

  [[nodiscard]] std::string url() const;  // "s3://bucket/prefix"
  [[nodiscard]] std::string key_of(std::string_view path) const;
  /// The store's path of a key, or nothing when the key lies outside the prefix.
  [[nodiscard]] std::optional<std::string> path_of(std::string_view key) const;
  [[nodiscard]] std::string object_url(std::string_view path) const;
  [[nodiscard]] std::string bucket_url(std::string_view query) const;
};

/// Refuses STORE-URL, STORE-CREDENTIALS-MISSING (half a pair; none when writing).
[[nodiscard]] Result<S3Place> s3_place(std::string_view url, const Outside& outside);

}  // namespace assay::publish
