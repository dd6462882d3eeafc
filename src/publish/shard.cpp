// Shards through Apache Arrow.
#include "publish/shard.h"

#include <arrow/api.h>
#include <arrow/compute/api.h>
#include <arrow/io/api.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/writer.h>
#include <parquet/exception.h>

#include <map>

#include "base/sha256.h"
#include "base/text.h"
#include "publish/refusals.h"

namespace assay::publish {

namespace {

Refusal not_written(const arrow::Status& status) {
  return Refusal(kShardNotWritten, status.ToString());
}
Refusal unreadable(const std::string& why) {
  return Refusal(kShardUnreadable, why);
}

std::shared_ptr<arrow::DataType> arrow_type(ColumnType type) {
  switch (type) {
    case ColumnType::text: return arrow::utf8();
    case ColumnType::integer: return arrow::int64();
    case ColumnType::real: return arrow::float64();
    case ColumnType::boolean: return arrow::boolean();
  }
  return arrow::utf8();
}

std::shared_ptr<arrow::Scalar> scalar_of(const Cell& cell, ColumnType type) {
  if (const auto* text = std::get_if<std::string>(&cell)) return arrow::MakeScalar(*text);
  if (const auto* integer = std::get_if<int64_t>(&cell)) return arrow::MakeScalar(*integer);
  if (const auto* real = std::get_if<double>(&cell)) return arrow::MakeScalar(*real);
  if (const auto* boolean = std::get_if<bool>(&cell)) return arrow::MakeScalar(*boolean);
  return arrow::MakeNullScalar(arrow_type(type));
}

template <class Builder, class T>
arrow::Result<std::shared_ptr<arrow::Array>> build(const RowSource& source, size_t column) {
  Builder builder;
  const size_t rows = source.rows();
  ARROW_RETURN_NOT_OK(builder.Reserve(static_cast<int64_t>(rows)));
  for (size_t row = 0; row < rows; ++row) {
    const Cell cell = source.cell(column, row);
    const T* value = std::get_if<T>(&cell);
    ARROW_RETURN_NOT_OK(value != nullptr ? builder.Append(*value) : builder.AppendNull());
  }
  return builder.Finish();
}

// A column in pieces of at most this many rows, so that a constant column of a million rows costs
// one piece.
constexpr size_t kPieceRows = 16384;

arrow::Result<std::shared_ptr<arrow::ChunkedArray>> column_array(const RowSource& source,
                                                                 size_t column) {
  const ColumnType type = columns()[column].type;
  const size_t rows = source.rows();
  if (source.is_constant(column)) {
    const auto scalar = scalar_of(source.cell(column, 0), type);
    ARROW_ASSIGN_OR_RAISE(
        auto piece,
        arrow::MakeArrayFromScalar(*scalar, static_cast<int64_t>(std::min(rows, kPieceRows))));
    arrow::ArrayVector pieces;
    for (size_t done = 0; done < rows; done += kPieceRows) {
      pieces.push_back(piece->Slice(0, static_cast<int64_t>(std::min(kPieceRows, rows - done))));
    }
    return std::make_shared<arrow::ChunkedArray>(std::move(pieces), arrow_type(type));
  }
  std::shared_ptr<arrow::Array> array;
  switch (type) {
    case ColumnType::text: {
      ARROW_ASSIGN_OR_RAISE(array, (build<arrow::StringBuilder, std::string>(source, column)));
      break;
    }
    case ColumnType::integer: {
      ARROW_ASSIGN_OR_RAISE(array, (build<arrow::Int64Builder, int64_t>(source, column)));
      break;
    }
    case ColumnType::real: {
      ARROW_ASSIGN_OR_RAISE(array, (build<arrow::DoubleBuilder, double>(source, column)));
      break;
    }
    case ColumnType::boolean: {
      ARROW_ASSIGN_OR_RAISE(array, (build<arrow::BooleanBuilder, bool>(source, column)));
      break;
    }
  }
  return std::make_shared<arrow::ChunkedArray>(std::move(array));
}

arrow::Result<std::string> write(const Envelope& envelope, bool publish_hostname) {
  const RowSource source(envelope, publish_hostname);
  arrow::FieldVector fields;
  for (const Column& column : columns())
    fields.push_back(arrow::field(column.name, arrow_type(column.type)));
  const auto schema = arrow::schema(fields);
  const auto properties = parquet::WriterProperties::Builder()
                              .compression(parquet::Compression::ZSTD)
                              ->version(parquet::ParquetVersion::PARQUET_2_6)
                              ->created_by("assay-publish")
                              ->build();
  ARROW_ASSIGN_OR_RAISE(auto sink, arrow::io::BufferOutputStream::Create());
  ARROW_ASSIGN_OR_RAISE(auto writer, parquet::arrow::FileWriter::Open(
                                         *schema, arrow::default_memory_pool(), sink, properties));
  const auto rows = static_cast<int64_t>(source.rows());
  ARROW_RETURN_NOT_OK(writer->NewRowGroup());
  for (size_t column = 0; column < columns().size(); ++column) {
    ARROW_ASSIGN_OR_RAISE(const auto array, column_array(source, column));
    ARROW_RETURN_NOT_OK(writer->WriteColumnChunk(array, 0, rows));
  }
  std::string canonical = canonical_json(envelope);
  const std::string digest = sha256_hex(canonical);
  if (canonical.size() > kFooterEnvelopeMax) {
    Envelope head;
    head.head = envelope.head;
    canonical = canonical_json(head);
  }
  ARROW_RETURN_NOT_OK(writer->AddKeyValueMetadata(arrow::key_value_metadata(
      {"envelope", "envelope_sha256", "row_schema"}, {std::move(canonical), digest, "1"})));
  ARROW_RETURN_NOT_OK(writer->Close());
  ARROW_ASSIGN_OR_RAISE(const auto buffer, sink->Finish());
  return buffer->ToString();
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

Result<std::string> write_shard(const Envelope& envelope, bool publish_hostname) {
  try {
    auto bytes = write(envelope, publish_hostname);
    if (!bytes.ok()) return not_written(bytes.status());
    return *std::move(bytes);
  } catch (const std::exception& error) {
    return Refusal(kShardNotWritten, error.what());
  }
}

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
