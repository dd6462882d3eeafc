// Any bytes as a run index: refused by name, or an index that reads back as written and is a lawful
// continuation of itself.
#include "publish/run_index.h"

#include <cstdint>
#include <string_view>

#include "base/ensure.h"

using namespace assay::publish;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto index = parse_run_index(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!index) {
    ENSURE(index.refusal().code == "INDEX-INVALID");
    return 0;
  }
  const std::string text = write_run_index(*index);
  const auto again = parse_run_index(text);
  ENSURE(again && write_run_index(*again) == text);
  ENSURE(check_append(*index, *again));
  return 0;
}
