// Writer: GGUF v3 files, for synthetic models and for tests.
//
// In:      keys and tensors in the order they shall stand; tensor data comes from a callback, a few
//          MiB at a time, so that a model larger than memory can be written
// Out:     a file that this folder's reader accepts, the same bytes for the same calls
// Errors   FILE-NOT-WRITTEN; the target path is then as it was.
// Threads  one writer, one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/gguf/metadata.h"

namespace assay::engine::gguf {

/// Fills `rows` with the encoded rows from `first_row` on (a whole number of them).
using RowSource = std::function<void(uint64_t first_row, std::span<std::byte> rows)>;

class Writer {
 public:
  /// An alignment other than 32 is written as `general.alignment`.
  explicit Writer(uint32_t alignment = 32);

  // Metadata. The name tells the stored type. Needs keys that are unique and not empty.
  void add_u16(std::string_view key, uint16_t value);
  void add_u32(std::string_view key, uint32_t value);
  void add_i32(std::string_view key, int32_t value);
  void add_f32(std::string_view key, float value);
  void add_bool(std::string_view key, bool value);
  void add_string(std::string_view key, std::string_view value);
  void add_strings(std::string_view key, std::span<const std::string> values);
  void add_i32s(std::string_view key, std::span<const int32_t> values);
  void add_f32s(std::string_view key, std::span<const float> values);

  /// Needs a known type, 1 to 4 dims, all at least 1, and rows of whole blocks.
  void add_tensor(std::string_view name, uint32_t type_id, std::vector<uint64_t> dims,
                  RowSource source);

  [[nodiscard]] size_t tensor_count() const { return tensors_.size(); }
  /// Bytes of all tensors, without padding.
  [[nodiscard]] uint64_t data_bytes() const;

  /// The whole file in memory: for small ones.
  [[nodiscard]] std::string bytes() const;
  /// Writes under a temporary name, flushes, renames.
  [[nodiscard]] Status write(const std::filesystem::path& path) const;

 private:
  struct TensorPlan {
    std::string name;
    uint32_t type_id;
    std::vector<uint64_t> dims;
    RowSource source;
    uint64_t row_bytes;
    uint64_t n_rows;
  };
  using Sink = std::function<Status(std::string_view)>;

  void begin_entry(std::string_view key, ValueType type);
  [[nodiscard]] std::string header() const;
  [[nodiscard]] Status emit(const Sink& sink) const;

  uint32_t alignment_;
  uint64_t n_entries_ = 0;
  std::string entries_;  // encoded
  std::vector<TensorPlan> tensors_;
};

}  // namespace assay::engine::gguf
