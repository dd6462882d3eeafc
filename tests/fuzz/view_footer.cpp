// Any bytes as a shard's footer: refused by name, or rows and pairs that the bytes hold.
#include "view/footer.h"

#include <cstdint>
#include <string_view>

#include "base/ensure.h"

using namespace assay::view;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto footer = read_footer(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!footer) {
    ENSURE(footer.refusal().code == "SHARD-UNREADABLE");
    ENSURE(!footer.refusal().detail.empty());
    return 0;
  }
  // Every text is a piece of the input, and no piece is given twice. Of equal keys the first
  // counts.
  size_t held = 0;
  for (const auto& [key, value] : footer->pairs) {
    held += key.size() + value.size() + 1;
    bool first = true;
    for (const auto& pair : footer->pairs) {
      if (&pair.second == &value) break;
      first = first && pair.first != key;
    }
    if (first) ENSURE(footer->find(key) == value);
    if (footer->pairs.size() > 1000) break;  // the check above is quadratic
  }
  ENSURE(held <= size);
  return 0;
}
