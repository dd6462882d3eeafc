#include "protocol/hello.h"

#include <algorithm>

#include "base/text.h"
#include "protocol/refusals.h"
#include "protocol/verb.h"

namespace assay::protocol {

std::string batched_series(uint32_t width) {
  return cat("batched_free_run_v1_2_b", width);
}

bool Hello::has_capability(std::string_view capability) const {
  return std::find(capabilities.begin(), capabilities.end(), capability) != capabilities.end();
}

namespace {
std::string error_text(const Response& response) {
  return response.error.value_or("unknown error");
}
}  // namespace

Result<Hello> check_hello(const Response& response) {
  if (response.id != 0) {
    // An engine that could not start says so with id -1; its own words matter more than the id.
    if (response.id == kUnparsedId && !response.ok) {
      return Refusal(kEngine, cat("hello: ", error_text(response)));
    }
    return Refusal(kProtocol, cat("the hello has id ", response.id, ", expected 0"));
  }
  if (!response.ok) return Refusal(kProtocol, cat("the hello is not ok: ", error_text(response)));
  if (!response.nonce || response.nonce->empty()) {
    return Refusal(kProtocol, "the hello has no nonce, or an empty one");
  }
  const bool printable = std::all_of(response.nonce->begin(), response.nonce->end(),
                                     [](char c) { return c >= 0x20 && c <= 0x7e; });
  if (!printable || response.nonce->size() > kNonceSizeMax) {
    return Refusal(kProtocol,
                   cat("the hello's nonce is not 1 to ", kNonceSizeMax, " printable characters"));
  }
  if (response.protocol_version != kProtocolVersion) {
    return Refusal(kProtocol, cat("the hello has protocol_version ",
                                  response.protocol_version ? cat(*response.protocol_version)
                                                            : std::string("absent"),
                                  ", expected ", kProtocolVersion));
  }
  return Hello{.nonce = *response.nonce,
               .backend = response.backend,
               .device = response.device,
               .capabilities = response.capabilities.value_or(std::vector<std::string>()),
               .spec_modes = response.spec_modes.value_or(std::vector<std::string>()),
               .head_provenance = response.head_provenance,
               .max_batch_size = response.max_batch_size,
               .runner = response.runner,
               .resident = response.resident,
               .expert_stats = response.expert_stats};
}

Status check_reply(const Response& response, int64_t id, std::string_view nonce,
                   std::string_view kind) {
  if (response.id == kUnparsedId && !response.ok) {
    return Refusal(kEngine, cat(kind, ": ", error_text(response)));
  }
  if (response.nonce != nonce) {
    return Refusal(kNonceMismatch,
                   cat(kind, ": the response carries ",
                       response.nonce ? "another nonce than" : "no nonce, unlike", " the hello"));
  }
  if (response.id != id) {
    return Refusal(kProtocol, cat(kind, ": the response has id ", response.id, ", expected ", id));
  }
  if (!response.ok) return Refusal(kEngine, cat(kind, ": ", error_text(response)));
  return {};
}

Status check_capability(const Hello& hello, std::string_view capability) {
  if (hello.has_capability(capability)) return {};
  return Refusal(kCapabilityNotAdvertised, cat("the hello lacks `", capability, "`, it lists [",
                                               join(hello.capabilities, ", "), "]"));
}

Status check_batch_width(const Hello& hello, uint32_t batch_size) {
  if (!hello.max_batch_size || batch_size <= *hello.max_batch_size) return {};
  return Refusal(kBatchWidthExceedsEngineMax,
                 cat("width ", batch_size, " was asked for, the hello ", "states max_batch_size ",
                     *hello.max_batch_size));
}

}  // namespace assay::protocol
