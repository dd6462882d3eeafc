// One shard: the rows of one envelope as an immutable Parquet file.
//
// File       one row group, the columns of columns.h in their order, all nullable, ZSTD; footer
// keys `envelope`
//            (canonical JSON without `raw`; of an envelope over kFooterEnvelopeMax bytes the part
//            without its results, which the rows hold), `envelope_sha256` (of the whole canonical
//            envelope) and `row_schema`.
// Path       data/run-<time>-<git_sha>-<suite>-<model slug>-<hash>.parquet, hash = first digits of
// the SHA-256 of
//            the file's bytes.
// Errors     SHARD-UNREADABLE, SHARD-NOT-WRITTEN.
// Cost       memory: the encoded pages beside the envelope; about 1 µs a row.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "publish/columns.h"
#include "publish/envelope.h"

namespace assay::publish {

inline constexpr size_t kFooterEnvelopeMax = size_t{4} << 20;

struct NewShard {
  std::string bytes{};
  std::string envelope_sha256{};  // as in its footer
};
[[nodiscard]] Result<NewShard> make_shard(const Envelope& envelope);
/// The bytes of the shard. The same envelope and the same Arrow version give the same bytes.
[[nodiscard]] Result<std::string> write_shard(const Envelope& envelope);

/// `hash_digits` of the digest in the name: 8, or 16 where two different shards would share 8.
[[nodiscard]] std::string shard_path(const Envelope& envelope, std::string_view shard_bytes,
                                     size_t hash_digits = 8);

/// "…-0123abcd.parquet": the digits of the digest, when there are 8 or 16; else empty.
[[nodiscard]] std::string_view digest_in_name(std::string_view name);

/// Every character outside [A-Za-z0-9-] becomes '-', lower case, '-' stripped at both ends, at most
/// 50 characters.
[[nodiscard]] std::string model_slug(std::string_view model);

/// A shard read back. Columns that the file lacks are NULL; columns that we do not know are kept
/// under their own name. The oldest layout (metric_name, metric_metric, metric_value, metric_unit)
/// is read as name … unit.
struct Shard {
  std::vector<std::string> names{};  // columns of the file, in order
  // [column][row]; a column with one value in all rows has one cell, one that is all NULL has none.
  std::vector<std::vector<Cell>> cells{};
  size_t rows = 0;
  std::string envelope_json{};    // footer, "" when there is none
  std::string envelope_sha256{};  // footer, "" when there is none

  [[nodiscard]] const Cell& at(size_t column, size_t row) const;
  /// NULL when there is no such column.
  [[nodiscard]] const Cell& at(std::string_view column, size_t row) const;
};
/// Reads what pyarrow, DuckDB and hyparquet write as well: any encoding, codec and page version of
/// Arrow's.
[[nodiscard]] Result<Shard> read_shard(std::string_view bytes);

}  // namespace assay::publish
