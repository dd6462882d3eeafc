// The two XML documents of S3 that we read: a listing, and an error.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "publish/s3_place.h"

namespace assay::publish {

struct S3Listing {
  struct Object {
    std::string key;
    uint64_t size_bytes = 0;
  };
  std::vector<Object> objects{};
  std::string next_token{};  // empty on the last page
};
/// A ListBucketResult that was asked for with encoding-type=url. Refuses STORE-REPLY.
[[nodiscard]] Result<S3Listing> parse_s3_listing(std::string_view xml);

struct S3Error {
  std::string code{}, message{}, region{};
};
/// What the reply's body says; empty texts where it says nothing.
[[nodiscard]] S3Error s3_error(const HttpReply& reply);

/// What a reply that is no success means, and what to do. `right` is the permission that the
/// request needed; `otherwise` is the refusal for what has no name of its own.
[[nodiscard]] Refusal s3_refusal(const HttpReply& reply, const S3Place& place,
                                 std::string_view right, const RefusalInfo& otherwise);

}  // namespace assay::publish
