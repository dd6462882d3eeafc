#include "engine/gguf/writer.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/ensure.h"
#include "base/refusals.h"
#include "base/text.h"
#include "engine/gguf/types.h"

namespace assay::engine::gguf {
namespace {

constexpr uint64_t kChunkBytes = uint64_t{4} << 20;

template <class T>
void append_number(std::string& out, T value) {
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  out.append(bytes, sizeof value);
}

void append_string(std::string& out, std::string_view text) {
  append_number<uint64_t>(out, text.size());
  out += text;
}

uint64_t padding(uint64_t size, uint64_t alignment) {
  return (alignment - size % alignment) % alignment;
}

}  // namespace

Writer::Writer(uint32_t alignment) : alignment_(alignment) {
  if (alignment != 32) add_u32("general.alignment", alignment);
}

void Writer::begin_entry(std::string_view key, ValueType type) {
  ++n_entries_;
  append_string(entries_, key);
  append_number(entries_, static_cast<uint32_t>(type));
}

void Writer::add_u16(std::string_view key, uint16_t value) {
  begin_entry(key, ValueType::u16);
  append_number(entries_, value);
}
void Writer::add_u32(std::string_view key, uint32_t value) {
  begin_entry(key, ValueType::u32);
  append_number(entries_, value);
}
void Writer::add_i32(std::string_view key, int32_t value) {
  begin_entry(key, ValueType::i32);
  append_number(entries_, value);
}
void Writer::add_f32(std::string_view key, float value) {
  begin_entry(key, ValueType::f32);
  append_number(entries_, value);
}
void Writer::add_bool(std::string_view key, bool value) {
  begin_entry(key, ValueType::boolean);
  append_number<uint8_t>(entries_, value ? 1 : 0);
}
void Writer::add_string(std::string_view key, std::string_view value) {
  begin_entry(key, ValueType::string);
  append_string(entries_, value);
}
void Writer::add_strings(std::string_view key, std::span<const std::string> values) {
  begin_entry(key, ValueType::array);
  append_number(entries_, static_cast<uint32_t>(ValueType::string));
  append_number<uint64_t>(entries_, values.size());
  for (const std::string& value : values) append_string(entries_, value);
}
void Writer::add_i32s(std::string_view key, std::span<const int32_t> values) {
  begin_entry(key, ValueType::array);
  append_number(entries_, static_cast<uint32_t>(ValueType::i32));
  append_number<uint64_t>(entries_, values.size());
  for (const int32_t value : values) append_number(entries_, value);
}
void Writer::add_f32s(std::string_view key, std::span<const float> values) {
  begin_entry(key, ValueType::array);
  append_number(entries_, static_cast<uint32_t>(ValueType::f32));
  append_number<uint64_t>(entries_, values.size());
  for (const float value : values) append_number(entries_, value);
}

void Writer::add_tensor(std::string_view name, uint32_t type_id, std::vector<uint64_t> dims,
                        RowSource source) {
  const TypeInfo* const type = find_type(type_id);
  ENSURE(type != nullptr && !dims.empty() && dims.size() <= 4);
  ENSURE(dims[0] % type->block_elements == 0);
  uint64_t n_rows = 1;
  for (size_t d = 1; d < dims.size(); ++d) n_rows *= dims[d];
  ENSURE(dims[0] * n_rows > 0);
  const uint64_t row_bytes = dims[0] / type->block_elements * type->block_bytes;
  tensors_.push_back(
      {std::string(name), type_id, std::move(dims), std::move(source), row_bytes, n_rows});
}

uint64_t Writer::data_bytes() const {
  uint64_t total = 0;
  for (const TensorPlan& tensor : tensors_) total += tensor.row_bytes * tensor.n_rows;
  return total;
}

std::string Writer::header() const {
  std::string out = "GGUF";
  append_number<uint32_t>(out, 3);
  append_number<uint64_t>(out, tensors_.size());
  append_number(out, n_entries_);
  out += entries_;
  uint64_t offset = 0;
  for (const TensorPlan& tensor : tensors_) {
    append_string(out, tensor.name);
    append_number(out, static_cast<uint32_t>(tensor.dims.size()));
    for (const uint64_t dim : tensor.dims) append_number(out, dim);
    append_number(out, tensor.type_id);
    append_number(out, offset);
    const uint64_t size = tensor.row_bytes * tensor.n_rows;
    offset += size + padding(size, alignment_);
  }
  out.append(padding(out.size(), alignment_), '\0');
  return out;
}

Status Writer::emit(const Sink& sink) const {
  TRY_DO(sink(header()));
  std::vector<std::byte> chunk;
  for (const TensorPlan& tensor : tensors_) {
    const uint64_t rows_at_once =
        std::max<uint64_t>(1, kChunkBytes / std::max<uint64_t>(1, tensor.row_bytes));
    for (uint64_t row = 0; row < tensor.n_rows; row += rows_at_once) {
      const uint64_t n_rows = std::min(rows_at_once, tensor.n_rows - row);
      chunk.resize(n_rows * tensor.row_bytes);
      tensor.source(row, chunk);
      TRY_DO(sink({reinterpret_cast<const char*>(chunk.data()), chunk.size()}));
    }
    const uint64_t size = tensor.row_bytes * tensor.n_rows;
    TRY_DO(sink(std::string(padding(size, alignment_), '\0')));
  }
  return {};
}

std::string Writer::bytes() const {
  std::string out;
  const Status status = emit([&](std::string_view piece) -> Status {
    out += piece;
    return {};
  });
  ENSURE(static_cast<bool>(status));
  return out;
}

Status Writer::write(const std::filesystem::path& path) const {
  const std::filesystem::path temporary = path.string() + cat(".", ::getpid(), ".tmp");
  std::error_code error;
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), error);
  const auto refuse = [&](std::string_view reason) {
    return Refusal(kFileNotWritten, cat(path.string(), ": ", reason));
  };
  std::FILE* const file = std::fopen(temporary.c_str(), "wbx");
  if (file == nullptr) return refuse(std::strerror(errno));
  Status status = emit([&](std::string_view piece) -> Status {
    if (piece.size() == std::fwrite(piece.data(), 1, piece.size(), file)) return {};
    return refuse(std::strerror(errno));
  });
  if (status && (std::fflush(file) != 0 || ::fsync(::fileno(file)) != 0)) {
    status = refuse(std::strerror(errno));
  }
  if (std::fclose(file) != 0 && status) status = refuse(std::strerror(errno));
  if (status && std::rename(temporary.c_str(), path.c_str()) != 0) {
    status = refuse(std::strerror(errno));
  }
  if (!status) std::remove(temporary.c_str());
  return status;
}

}  // namespace assay::engine::gguf
