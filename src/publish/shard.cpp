// Reading shards, ours and those of other writers, through Apache Arrow.
#include "publish/shard.h"

#include <arrow/api.h>
#include <arrow/io/api.h>
#include <parquet/arrow/reader.h>
#include <parquet/exception.h>

#include <map>

#include "base/text.h"
#include "publish/refusals.h"

namespace assay::publish {

namespace {

Refusal unreadable(const std::string& why) {
  return Refusal(kShardUnreadable, why);
}

// The cells of one column of the file; foreign types that we have no cell for become their text.
arrow::Status read_column(const arrow::ChunkedArray& chunks, std::vector<Cell>& out) {
  for (const auto& original : chunks.chunks()) {
    std::shared_ptr<arrow::Array> array = original;
    if (array->type_id() == arrow::Type::DICTIONARY) {
      const auto& dictionary = static_cast<const arrow::DictionaryArray&>(*array);
      for (int64_t i = 0; i < array->length(); ++i) {
        if (array->IsNull(i)) {
          out.emplace_back();
          continue;
        }
        ARROW_ASSIGN_OR_RAISE(const auto scalar,
                              dictionary.dictionary()->GetScalar(dictionary.GetValueIndex(i)));
        out.emplace_back(scalar->ToString());
      }
      continue;
    }
    for (int64_t i = 0; i < array->length(); ++i) {
      if (array->IsNull(i)) {
        out.emplace_back();
        continue;
      }
      switch (array->type_id()) {
        case arrow::Type::STRING:
          out.emplace_back(static_cast<const arrow::StringArray&>(*array).GetString(i));
          break;
        case arrow::Type::LARGE_STRING:
          out.emplace_back(static_cast<const arrow::LargeStringArray&>(*array).GetString(i));
          break;
        case arrow::Type::INT64:
          out.emplace_back(static_cast<const arrow::Int64Array&>(*array).Value(i));
          break;
        case arrow::Type::INT32:
          out.emplace_back(
              static_cast<int64_t>(static_cast<const arrow::Int32Array&>(*array).Value(i)));
          break;
        case arrow::Type::DOUBLE:
          out.emplace_back(static_cast<const arrow::DoubleArray&>(*array).Value(i));
          break;
        case arrow::Type::FLOAT:
          out.emplace_back(
              static_cast<double>(static_cast<const arrow::FloatArray&>(*array).Value(i)));
          break;
        case arrow::Type::BOOL:
          out.emplace_back(static_cast<const arrow::BooleanArray&>(*array).Value(i));
          break;
        default: {
          ARROW_ASSIGN_OR_RAISE(const auto scalar, array->GetScalar(i));
          out.emplace_back(scalar->ToString());
        }
      }
    }
  }
  return arrow::Status::OK();
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
  ARROW_ASSIGN_OR_RAISE(const auto table, reader->ReadTable());
  Shard shard;
  shard.rows = static_cast<size_t>(table->num_rows());
  for (int i = 0; i < table->num_columns(); ++i) {
    shard.names.push_back(current_name(table->schema()->field(i)->name()));
    shard.cells.emplace_back();
    ARROW_RETURN_NOT_OK(read_column(*table->column(i), shard.cells.back()));
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
