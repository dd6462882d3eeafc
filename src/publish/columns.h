// The columns of every shard: fixed names, types and order, so that any reader can take the union
// of shards.
//
// A column that a run has nothing to say about is NULL, never 0 or "". Tag keys that a converter of
// ours writes are columns of their own (`tag_<key>`, sorted); all tags are in `tags_json` as well.
// Adding a column is additive; readers take a missing column as NULL.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "publish/envelope.h"

namespace assay::publish {

enum class ColumnType { text, integer, real, boolean };

/// One cell: nothing (NULL) or a value of its column's type.
using Cell = std::variant<std::monostate, std::string, int64_t, double, bool>;

struct Column {
  std::string name;
  ColumnType type;
};

/// All columns in order. The same object for the life of the program.
[[nodiscard]] const std::vector<Column>& columns();
/// Index in columns(), or nothing.
[[nodiscard]] std::optional<size_t> column_index(std::string_view name);

/// Tag keys with a column of their own, sorted.
[[nodiscard]] const std::vector<std::string>& registered_tags();

/// How an envelope becomes rows: cells that are equal for the whole run are computed once.
///
/// rows()     one per result; a run without results is exactly one row named `cell` with metric
/// `cell_status`,
///            unit `status` and a NULL value (a status is not a zero)
/// Threads    a column belongs to one thread at a time; the envelope must outlive it.
class RowSource {
 public:
  explicit RowSource(const Envelope& envelope);

  [[nodiscard]] size_t rows() const;
  /// True when the column has one value for all rows; then cell(column, 0) is it.
  [[nodiscard]] bool is_constant(size_t column) const;
  [[nodiscard]] Cell cell(size_t column, size_t row) const;
  /// A cell of a column of type real, or text, that is not constant; nothing is NULL. The text is
  /// the envelope's own or stands in `space`.
  [[nodiscard]] std::optional<double> number_at(size_t column, size_t row) const;
  [[nodiscard]] std::optional<std::string_view> text_at(size_t column, size_t row,
                                                        std::string& space) const;

 private:
  enum class Source {
    run,
    result_name,
    result_metric,
    result_value,
    result_unit,
    figure,
    tag,
    tags_json
  };
  struct Plan {
    Source source = Source::run;
    Cell constant{};
    std::optional<double> ResultRow::*figure = nullptr;
    std::string tag{};
    mutable size_t tag_at = 0;  // where the key stood in the row before
  };

  const Envelope& envelope_;
  std::vector<Plan> plans_;
  mutable std::vector<Tags::Tag> order_;  // working space of tags_json
};

}  // namespace assay::publish
