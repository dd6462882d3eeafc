// Any bytes as a server's reply: an object store's listing and error, a hub's headers and
// addresses. Refused or read, never more, and what a message shows is one clean line.
#include <cstdint>
#include <string>

#include "base/ensure.h"
#include "base/text.h"
#include "publish/refusals.h"
#include "publish/s3_xml.h"

using namespace assay;
using namespace assay::publish;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto listing = parse_s3_listing(text);
  if (listing) {
    for (const S3Listing::Object& object : listing->objects) ENSURE(object.key.size() <= size);
  } else {
    ENSURE(listing.refusal().code == kStoreReply.code);
  }
  S3Place place;
  place.bucket = "bucket";
  place.base_url = "http://127.0.0.1:1/bucket";
  place.signer.region = "auto";
  for (const int status : {301, 400, 403, 404, 429, 501}) {
    const HttpReply reply{
        .status = status,
        .headers = {{"ratelimit", text}, {"retry-after", text}, {"x-amz-bucket-region", text}},
        .body = text};
    const Refusal refusal = s3_refusal(reply, place, "s3:PutObject", kStoreWrite);
    ENSURE(!refusal.detail.empty() && refusal.detail.find('\n') == std::string::npos);
    ENSURE(pause_before(1, &reply).count() >= 1);
  }
  ENSURE(!has_control_character(one_line(text)));
  (void)shown_url(text);
  (void)host_of(text);
  (void)absolute_url("https://hub/a/b", text);
  (void)check_secret_may_go(text);
  return 0;
}
