// Any bytes as a shard: refused by name, or columns that all have the same number of rows.
#include "publish/shard.h"

#include <cstdint>
#include <string_view>

#include "base/ensure.h"

using namespace assay::publish;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto shard = read_shard(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!shard) {
    ENSURE(shard.refusal().code == "SHARD-UNREADABLE");
    return 0;
  }
  ENSURE(shard->names.size() == shard->cells.size());
  for (const auto& column : shard->cells)
    ENSURE(column.size() <= 1 || column.size() == shard->rows);
  for (size_t row = 0; row < shard->rows; ++row) (void)shard->at("value", row);
  return 0;
}
