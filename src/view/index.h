// The index of a store as the page reads it: columns of runs and columns of rows (docs/view.md).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace assay::view {

/// One column. Every cell is a JSON text; equal cells share one value.
class Column {
 public:
  explicit Column(std::string name) : name_(std::move(name)) {}
  Column(Column&&) = default;  // not copied: values_ points into places_
  Column& operator=(Column&&) = default;

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
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  std::string name_;
  std::vector<const std::string*> values_{};  // keys of places_, in order of appearance
  std::unordered_map<std::string, int32_t, Hash, std::equal_to<>> places_{};
  std::vector<int32_t> codes_{};
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
