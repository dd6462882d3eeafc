// What the viewer must know of one shard: its run and its rows as JSON texts, ready to be laid out
// in columns.
//
// Reading   an intact shard of ours is read from the envelope in its footer alone; any other one
//           (no envelope, columns that we do not know, the oldest layout, a digest that is wrong)
//           from its columns, and a problem says so.
// Cell      the JSON text of a value; "" = NULL. Texts that are no UTF-8 are mended with U+FFFD,
//           numbers that are not finite are NULL (named in the problem).
// Cost      about 0.3 ms a shard of ours of 50 KB.
// Threads   every function may be called from any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace assay::view {

/// More rows than this are not listed in an index: the page reads such a shard itself.
inline constexpr size_t kListedRowsMax = 10'000;

/// Names of the cells of a run, in order: the run-level Parquet columns (without host name), then
/// `envelope_sha256` and `tags_json`, the tags that most rows have with the same value.
[[nodiscard]] const std::vector<std::string>& run_cells();
/// Names of the cells of a row: name, metric, value, unit, the optional figures, `rate_basis` (the
/// row's own, else the run's) and `tags_json`: what differs from the run's, null = has not this
/// tag.
[[nodiscard]] const std::vector<std::string>& row_cells();

struct ShardFacts {
  std::string sha256{};   // of the file's bytes
  bool shown = false;     // false: `problem` says why the shard is left out
  bool foreign = false;   // read from its columns
  std::string problem{};  // "CODE: …" or ""
  uint64_t rows = 0;      // in the file
  uint64_t rows_listed = 0;
  /// The cells: run_cells(), then rows_listed times row_cells(); read with CellReader.
  std::string cells{};
};

/// `name` is the path in the store: when it ends in a digest of the bytes, that is checked.
[[nodiscard]] ShardFacts read_facts(std::string_view name, std::string_view bytes);

void append_cell(std::string& cells, std::string_view json);

/// Walks over cells. Reading past the end gives "" (NULL) and makes ok() false.
class CellReader {
 public:
  explicit CellReader(std::string_view cells) : rest_(cells) {}
  std::string_view next();
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

/// `text` with every byte that is no UTF-8 replaced by U+FFFD.
[[nodiscard]] std::string mended_utf8(std::string_view text);
/// JSON string of any bytes.
[[nodiscard]] std::string json_text(std::string_view text);

}  // namespace assay::view
