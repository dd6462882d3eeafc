// Any bytes as a request line: refused by name, or read so that the canonical form is a fixed
// point.
#include <cstdint>
#include <string_view>

#include "base/ensure.h"
#include "protocol/codec.h"

using namespace assay::protocol;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto read = read_request(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!read) {
    ENSURE(!read.refusal().detail.empty());
    return 0;
  }
  const std::string canonical = write_request(*read);
  const auto again = read_request(canonical);
  ENSURE(again && *again == *read);
  ENSURE(write_request(*again) == canonical);
  return 0;
}
