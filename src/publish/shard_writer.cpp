// Writing shards through the column writers of Apache Arrow's Parquet library.
//
// Cells go from the envelope to the encoder in batches, without a table in between: a column of a
// million rows costs its encoded pages and no copy. A column that is NULL everywhere is only
// levels; one that has the same text everywhere is a dictionary of one entry.
//
// Three things go on at once, and none reads what another writes: the digest of the canonical
// envelope, and two encoders that share the columns.
#include <arrow/api.h>
#include <arrow/io/api.h>
#include <parquet/arrow/writer.h>
#include <parquet/column_writer.h>
#include <parquet/exception.h>
#include <parquet/file_writer.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <future>

#include "base/text.h"
#include "publish/refusals.h"
#include "publish/shard.h"

namespace assay::publish {

namespace {

constexpr size_t kBatchRows = 16384;

parquet::schema::NodePtr node_of(const Column& column) {
  using parquet::Repetition;
  using parquet::schema::PrimitiveNode;
  switch (column.type) {
    case ColumnType::text:
      return PrimitiveNode::Make(column.name, Repetition::OPTIONAL, parquet::LogicalType::String(),
                                 parquet::Type::BYTE_ARRAY);
    case ColumnType::integer:
      return PrimitiveNode::Make(column.name, Repetition::OPTIONAL, parquet::Type::INT64);
    case ColumnType::real:
      return PrimitiveNode::Make(column.name, Repetition::OPTIONAL, parquet::Type::DOUBLE);
    case ColumnType::boolean: break;
  }
  return PrimitiveNode::Make(column.name, Repetition::OPTIONAL, parquet::Type::BOOLEAN);
}

// What the encoders of one row group share.
struct Work {
  explicit Work(const RowSource& rows) {
    for (size_t column = 0; column < columns().size(); ++column)
      (rows.is_constant(column) ? constant : varying).push_back(column);
  }

  std::vector<size_t> constant, varying;
  std::atomic<size_t> taken = 0;  // of the constant ones
};

// Encodes columns of one row group; one of these a thread.
class Encoder {
 public:
  Encoder(const RowSource& source, parquet::RowGroupWriter& group)
      : source_(source), group_(group), rows_(source.rows()) {
    const size_t batch = std::min(rows_, kBatchRows);
    there_.assign(batch, 1);
    absent_.assign(batch, 0);
  }

  // Columns that say one thing, as long as there are any that no other encoder has taken. None is
  // closed here: that moves its chunk into the file, whose order must not depend on who is first.
  void write_constants(Work& work) {
    for (size_t i = work.taken++; i < work.constant.size(); i = work.taken++) {
      write_constant(work.constant[i], *writer_of(work.constant[i]));
    }
  }

  // Batches of rows over all the columns, so that a row is in the processor's cache while its cells
  // are taken.
  void write_varying(const std::vector<size_t>& varying) {
    each_batch([&](size_t begin, int64_t count) {
      for (const size_t column : varying) {
        parquet::ColumnWriter* const writer = writer_of(column);
        if (columns()[column].type == ColumnType::real) {
          write_numbers(column, begin, count, static_cast<parquet::DoubleWriter&>(*writer));
        } else {
          write_texts(column, begin, count, static_cast<parquet::ByteArrayWriter&>(*writer));
        }
      }
    });
  }

 private:
  [[nodiscard]] parquet::ColumnWriter* writer_of(size_t column) const {
    return group_.column(static_cast<int>(column));
  }

  // Calls `batch` with the number of rows of each batch.
  template <class Batch>
  void each_batch(Batch&& batch) const {
    for (size_t done = 0; done < rows_; done += kBatchRows)
      batch(done, static_cast<int64_t>(std::min(kBatchRows, rows_ - done)));
  }

  void write_constant(size_t column, parquet::ColumnWriter& writer) {
    const ColumnType type = columns()[column].type;
    const Cell cell = source_.cell(column, 0);
    if (std::holds_alternative<std::monostate>(cell)) return write_absent(type, writer);
    switch (type) {
      case ColumnType::text: return write_text(std::get<std::string>(cell), writer);
      case ColumnType::integer:
        return write_same(std::get<int64_t>(cell), static_cast<parquet::Int64Writer&>(writer));
      case ColumnType::real:
        return write_same(std::get<double>(cell), static_cast<parquet::DoubleWriter&>(writer));
      case ColumnType::boolean:
        return write_same(std::get<bool>(cell), static_cast<parquet::BoolWriter&>(writer));
    }
  }

  void write_absent(ColumnType type, parquet::ColumnWriter& writer) const {
    each_batch([&](size_t, int64_t count) {
      const auto levels = [&](auto& typed) {
        typed.WriteBatch(count, absent_.data(), nullptr, nullptr);
      };
      switch (type) {
        case ColumnType::text: return levels(static_cast<parquet::ByteArrayWriter&>(writer));
        case ColumnType::integer: return levels(static_cast<parquet::Int64Writer&>(writer));
        case ColumnType::real: return levels(static_cast<parquet::DoubleWriter&>(writer));
        case ColumnType::boolean: return levels(static_cast<parquet::BoolWriter&>(writer));
      }
    });
  }

  template <class T, class Writer>
  void write_same(T value, Writer& writer) const {
    const size_t batch = std::min(rows_, kBatchRows);
    const auto values = std::make_unique_for_overwrite<T[]>(batch);
    std::fill_n(values.get(), batch, value);
    each_batch([&](size_t, int64_t count) {
      writer.WriteBatch(count, there_.data(), nullptr, values.get());
    });
  }

  // Indices into a dictionary of one: the text is looked at once, not once a row.
  void write_text(const std::string& text, parquet::ColumnWriter& writer) {
    arrow::StringBuilder dictionary;
    PARQUET_THROW_NOT_OK(dictionary.Append(text));
    PARQUET_ASSIGN_OR_THROW(const auto entries, dictionary.Finish());
    const auto type = arrow::dictionary(arrow::int32(), arrow::utf8());
    const size_t batch = std::min(rows_, kBatchRows);
    PARQUET_ASSIGN_OR_THROW(
        const auto zero,
        arrow::MakeArrayFromScalar(arrow::Int32Scalar(0), static_cast<int64_t>(batch)));
    const auto same = std::make_shared<arrow::DictionaryArray>(type, zero, entries);
    parquet::ArrowWriterProperties* const plain = arrow_properties_.get();
    parquet::ArrowWriteContext context(arrow::default_memory_pool(), plain);
    each_batch([&](size_t, int64_t count) {
      const auto piece = same->Slice(0, count);
      PARQUET_THROW_NOT_OK(
          writer.WriteArrow(there_.data(), nullptr, count, *piece, &context, true));
    });
  }

  void write_numbers(size_t column, size_t begin, int64_t count, parquet::DoubleWriter& writer) {
    numbers_.clear();
    levels_.clear();
    for (int64_t i = 0; i < count; ++i) {
      const auto value = source_.number_at(column, begin + static_cast<size_t>(i));
      levels_.push_back(value ? 1 : 0);
      if (value) numbers_.push_back(*value);
    }
    writer.WriteBatch(count, levels_.data(), nullptr, numbers_.data());
  }

  void write_texts(size_t column, size_t begin, int64_t count, parquet::ByteArrayWriter& writer) {
    texts_.clear();
    levels_.clear();
    offsets_.clear();
    made_.clear();
    for (int64_t i = 0; i < count; ++i) {
      const auto text = source_.text_at(column, begin + static_cast<size_t>(i), space_);
      levels_.push_back(text ? 1 : 0);
      if (!text) continue;
      const bool made = text->data() == space_.data();
      offsets_.push_back(made ? made_.size() : std::string::npos);
      if (made) made_ += *text;
      texts_.emplace_back(static_cast<uint32_t>(text->size()),
                          reinterpret_cast<const uint8_t*>(text->data()));
    }
    for (size_t i = 0; i < texts_.size(); ++i) {  // made_ stays where it is from here on
      if (offsets_[i] != std::string::npos)
        texts_[i].ptr = reinterpret_cast<const uint8_t*>(made_.data()) + offsets_[i];
    }
    writer.WriteBatch(count, levels_.data(), nullptr, texts_.data());
  }

  const RowSource& source_;
  parquet::RowGroupWriter& group_;
  size_t rows_;
  std::shared_ptr<parquet::ArrowWriterProperties> arrow_properties_ =
      parquet::default_arrow_writer_properties();
  std::vector<int16_t> there_, absent_;  // definition levels: all values, no value
  // Working space of one batch of one column.
  std::vector<int16_t> levels_;
  std::vector<double> numbers_;
  std::vector<parquet::ByteArray> texts_;
  std::vector<size_t> offsets_;  // of texts that were made: where they stand in made_
  std::string space_, made_;
};

// The varying columns in two lists of about equal work: the heaviest first, each to the list that
// has less.
std::array<std::vector<size_t>, 2> halves(std::vector<size_t> varying) {
  const auto weight = [](size_t column) {  // of taking and encoding a cell, a number's being 1
    if (columns()[column].name == "tags_json") return 4;
    return columns()[column].type == ColumnType::real ? 1 : 2;
  };
  std::stable_sort(varying.begin(), varying.end(),
                   [&](size_t a, size_t b) { return weight(a) > weight(b); });
  std::array<std::vector<size_t>, 2> out;
  std::array<int, 2> load{};
  for (const size_t column : varying) {
    const size_t half = load[1] < load[0] ? 1 : 0;
    out[half].push_back(column);
    load[half] += weight(column);
  }
  return out;
}

void encode(const RowSource& source, parquet::RowGroupWriter& group) {
  Work work(source);
  const auto lists = halves(work.varying);
  const auto half = [&](size_t i) {
    Encoder encoder(source, group);
    encoder.write_varying(lists[i]);
    encoder.write_constants(work);
  };
  auto second = std::async(std::launch::async, half, 1);
  half(0);
  second.get();
}

NewShard write(const Envelope& envelope) {
  auto canonical_later = std::async(
      std::launch::async, [&] { return canonical_envelope(envelope, kFooterEnvelopeMax); });
  const RowSource source(envelope);
  parquet::schema::NodeVector nodes;
  for (const Column& column : columns()) nodes.push_back(node_of(column));
  const auto schema = std::static_pointer_cast<parquet::schema::GroupNode>(
      parquet::schema::GroupNode::Make("schema", parquet::Repetition::REQUIRED, nodes));
  // The C library's heap gives back what it is given back; Arrow's own keeps it a while.
  arrow::MemoryPool* const pool = arrow::system_memory_pool();
  const auto properties = parquet::WriterProperties::Builder()
                              .memory_pool(pool)
                              ->compression(parquet::Compression::ZSTD)
                              ->version(parquet::ParquetVersion::PARQUET_2_6)
                              ->set_size_statistics_level(parquet::SizeStatisticsLevel::None)
                              ->disable_statistics("tags_json")
                              ->created_by("assay-publish")
                              ->build();
  PARQUET_ASSIGN_OR_THROW(const auto sink, arrow::io::BufferOutputStream::Create(4096, pool));
  const auto file = parquet::ParquetFileWriter::Open(sink, schema, properties);
  parquet::RowGroupWriter* const group = file->AppendBufferedRowGroup();
  encode(source, *group);
  group->Close();
  CanonicalEnvelope canonical = canonical_later.get();
  if (!canonical.text) {
    Envelope head;
    head.head = envelope.head;
    canonical.text = canonical_json(head);
  }
  file->AddKeyValueMetadata(
      arrow::key_value_metadata({"envelope", "envelope_sha256", "row_schema"},
                                {*std::move(canonical.text), canonical.sha256, "1"}));
  file->Close();
  PARQUET_ASSIGN_OR_THROW(const auto buffer, sink->Finish());
  return {.bytes = buffer->ToString(), .envelope_sha256 = std::move(canonical.sha256)};
}

}  // namespace

Result<NewShard> make_shard(const Envelope& envelope) {
  for (const ResultRow& row : envelope.results) {
    if (!std::isfinite(row.value))
      return Refusal(kShardNotWritten, cat(row.name, " ", row.metric, " is not a finite number"));
  }
  try {
    return write(envelope);
  } catch (const std::exception& error) {
    return Refusal(kShardNotWritten, error.what());
  }
}

Result<std::string> write_shard(const Envelope& envelope) {
  TRY(shard, make_shard(envelope));
  return std::move(shard.bytes);
}

}  // namespace assay::publish
