// Reading shards, ours and those of other writers, through Apache Arrow.
#include "publish/shard.h"

#include <arrow/api.h>
#include <arrow/io/api.h>
#include <parquet/arrow/reader.h>
#include <parquet/exception.h>

#include <bit>
#include <map>

#include "base/text.h"
#include "publish/refusals.h"

namespace assay::publish {

namespace {

Refusal unreadable(const std::string& why) {
  return Refusal(kShardUnreadable, why);
}

// Equal to the bit: -0.0 is not 0.0.
bool same_cell(const Cell& a, const Cell& b) {
  const auto* x = std::get_if<double>(&a);
  const auto* y = std::get_if<double>(&b);
  if (x != nullptr && y != nullptr)
    return std::bit_cast<uint64_t>(*x) == std::bit_cast<uint64_t>(*y);
  return a == b;
}

// Cells of one column; as long as all are equal only the first is kept.
class ColumnCells {
 public:
  void add(Cell cell) {
    if (same_ && count_ > 0 && !same_cell(cell, cells_[0])) {
      same_ = false;
      cells_.resize(count_, cells_[0]);
    }
    if (!same_ || count_ == 0) cells_.push_back(std::move(cell));
    ++count_;
  }
  std::vector<Cell> take() {
    if (same_ && count_ > 0 && std::holds_alternative<std::monostate>(cells_[0])) cells_.clear();
    return std::move(cells_);
  }

 private:
  std::vector<Cell> cells_;
  size_t count_ = 0;
  bool same_ = true;
};

// One cell of an array; a foreign type that we have no cell for becomes its text.
arrow::Result<Cell> cell_of(const arrow::Array& array, int64_t i) {
  if (array.IsNull(i)) return Cell();
  switch (array.type_id()) {
    case arrow::Type::STRING:
      return Cell(static_cast<const arrow::StringArray&>(array).GetString(i));
    case arrow::Type::LARGE_STRING:
      return Cell(static_cast<const arrow::LargeStringArray&>(array).GetString(i));
    case arrow::Type::INT64: return Cell(static_cast<const arrow::Int64Array&>(array).Value(i));
    case arrow::Type::INT32:
      return Cell(int64_t{static_cast<const arrow::Int32Array&>(array).Value(i)});
    case arrow::Type::DOUBLE: return Cell(static_cast<const arrow::DoubleArray&>(array).Value(i));
    case arrow::Type::FLOAT:
      return Cell(double{static_cast<const arrow::FloatArray&>(array).Value(i)});
    case arrow::Type::BOOL: return Cell(static_cast<const arrow::BooleanArray&>(array).Value(i));
    case arrow::Type::DICTIONARY: {
      const auto& coded = static_cast<const arrow::DictionaryArray&>(array);
      return cell_of(*coded.dictionary(), coded.GetValueIndex(i));
    }
    default: {
      ARROW_ASSIGN_OR_RAISE(const auto scalar, array.GetScalar(i));
      return Cell(scalar->ToString());
    }
  }
}

arrow::Result<std::vector<Cell>> cells_of(const arrow::ChunkedArray& chunks) {
  ColumnCells cells;
  for (const auto& array : chunks.chunks()) {
    for (int64_t i = 0; i < array->length(); ++i) {
      ARROW_ASSIGN_OR_RAISE(auto cell, cell_of(*array, i));
      cells.add(std::move(cell));
    }
  }
  return cells.take();
}

std::string current_name(const std::string& name) {
  static const std::map<std::string, std::string> oldest = {{"metric_name", "name"},
                                                            {"metric_metric", "metric"},
                                                            {"metric_value", "value"},
                                                            {"metric_unit", "unit"}};
  const auto found = oldest.find(name);
  return found == oldest.end() ? name : found->second;
}

arrow::Result<Shard> read(std::string_view bytes) {
  const auto buffer = std::make_shared<arrow::Buffer>(
      reinterpret_cast<const uint8_t*>(bytes.data()), static_cast<int64_t>(bytes.size()));
  const auto input = std::make_shared<arrow::io::BufferReader>(buffer);
  ARROW_ASSIGN_OR_RAISE(auto reader, parquet::arrow::OpenFile(input, arrow::default_memory_pool()));
  Shard shard;
  shard.rows = static_cast<size_t>(reader->parquet_reader()->metadata()->num_rows());
  std::shared_ptr<arrow::Schema> schema;
  ARROW_RETURN_NOT_OK(reader->GetSchema(&schema));
  // Column by column: the cells of one and the file's own buffers are all that is held.
  for (int i = 0; i < schema->num_fields(); ++i) {
    std::shared_ptr<arrow::ChunkedArray> column;
    ARROW_RETURN_NOT_OK(reader->ReadColumn(i, &column));
    if (column->length() != static_cast<int64_t>(shard.rows))
      return arrow::Status::Invalid("columns of different lengths");
    shard.names.push_back(current_name(schema->field(i)->name()));
    ARROW_ASSIGN_OR_RAISE(auto cells, cells_of(*column));
    shard.cells.push_back(std::move(cells));
  }
  const auto metadata = reader->parquet_reader()->metadata()->key_value_metadata();
  if (metadata != nullptr) {
    for (const auto& [key, target] : {std::pair{"envelope", &shard.envelope_json},
                                      {"envelope_sha256", &shard.envelope_sha256}}) {
      const auto value = metadata->Get(key);
      if (value.ok()) *target = *value;
    }
  }
  return shard;
}

}  // namespace

Result<Shard> read_shard(std::string_view bytes) {
  try {
    auto shard = read(bytes);
    if (!shard.ok()) return unreadable(shard.status().ToString());
    return *std::move(shard);
  } catch (const std::exception& error) {
    return unreadable(error.what());
  }
}

}  // namespace assay::publish
