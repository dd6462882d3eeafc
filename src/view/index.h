// The index of a store as the page reads it: columns of runs and columns of rows (docs/view.md).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace assay::view {

/// One column. Every cell is a JSON text; equal cells share one value.
class Column {
 public:
  explicit Column(std::string name) : name_(std::move(name)) {}

  /// "" = NULL.
  void add(std::string_view json);
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] size_t size() const { return codes_.size(); }
  [[nodiscard]] bool all_null() const { return values_.empty(); }
  /// "" = NULL.
  [[nodiscard]] std::string_view at(size_t row) const;
  /// Index among the distinct values, -1 = NULL.
  [[nodiscard]] int32_t code(size_t row) const { return codes_[row]; }
  /// Code of a value, or -2 when no cell has it.
  [[nodiscard]] int32_t find(std::string_view json) const;
  /// A plain array, or {"values":…,"codes":…}, whichever is shorter.
  void append_json(std::string& out) const;

 private:
  [[nodiscard]] size_t slot_of(std::string_view json, size_t hash) const;
  void grow();

  std::string name_;
  std::vector<int32_t> codes_{};
  std::vector<std::string> values_{};  // distinct, in order of appearance
  // Open addressing: 60,000 distinct tags are too many for a node each. A power of two of slots,
  // each a code or -1.
  std::vector<int32_t> slots_{};
  std::vector<size_t> hashes_{};  // of values_
  int32_t last_ = -1;             // of the value added last
};

struct IndexProblem {
  std::string path{};     // in the store
  std::string problem{};  // "CODE: …"
  bool shown = false;     // the shard is among the runs all the same
};

/// Where the bytes of a shown shard are.
struct ShardFile {
  std::string path{};  // "data/run-….parquet"
  std::string sha256{};
  uint64_t size_bytes = 0;
};

struct Index {
  std::string store{};       // URL
  std::string built_at{};    // UTC
  std::string title{};       // of an export, "" = none
  std::string state = "ok";  // of the run index: ok | missing | unreadable
  std::string state_problem{};
  std::string historical_scored_before{}, policy{};
  std::vector<IndexProblem> problems{};
  std::vector<ShardFile> files{};  // of the runs, in order
  size_t left_out = 0;             // runs that an export was told to leave out
  std::vector<Column> shards{};
  std::vector<Column> rows{};

  [[nodiscard]] const Column* shard_column(std::string_view name) const;
  [[nodiscard]] const Column* row_column(std::string_view name) const;
};

/// The JSON of /api/index. `built_at` is left out when empty.
[[nodiscard]] std::string index_json(const Index& index);

}  // namespace assay::view
