// The footer of a Parquet file as far as an index needs it: how many rows, and the key-value pairs.
//
// Arrow builds a schema tree and a statistics object for each of our 170 columns before it gives
// the pairs: 1 ms a shard. This reader walks over all of that without keeping it: 0.03 ms.
//
// Format    "PAR1" … FileMetaData (Thrift compact protocol), its length (4 bytes, little-endian),
//           "PAR1". FileMetaData: field 3 num_rows (i64), field 5 key_value_metadata (list of
//           structs with 1 = key, 2 = value), all others are walked over.
// Threads   safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace assay::view {

struct Footer {
  uint64_t rows = 0;
  std::vector<std::pair<std::string, std::string>> pairs{};

  /// "" when there is no such key.
  [[nodiscard]] std::string_view find(std::string_view key) const;
};

/// Refuses SHARD-UNREADABLE: no Parquet file, cut short, or a footer that this reader cannot walk
/// over (encrypted, nested too deep).
[[nodiscard]] Result<Footer> read_footer(std::string_view bytes);

}  // namespace assay::view
