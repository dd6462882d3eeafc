// A GGUF model on disk: one file, or the shards of one set, checked and mapped read-only.
//
// In:      a path: a GGUF file, the first shard of a split set, or (open_model) a folder
// Out:     metadata of the first shard, one tensor directory over all shards, the list of files
// Checks   at open, before anything is used: magic, version 2 or 3, every count, length and offset
//          against the file's size (in subtraction form), alignment, unique keys and names, shapes,
//          every tensor's extent, the completeness of a split set. See docs/formats/gguf.md.
// Errors   GGUF-* of refusals.h, FILE-UNREADABLE; each names the file, and the key or tensor.
// Memory   weights are used where they lie: a tensor's `data` points into the private read-only
//          mapping. Views stay valid while the File lives; moving the File keeps them.
// Threads  immutable after open; any number of readers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/gguf/metadata.h"
#include "engine/gguf/types.h"

namespace assay::engine::gguf {

/// One entry of the tensor directory.
struct Tensor {
  std::string_view name;
  uint32_t type_id = 0;
  const TypeInfo* type = nullptr;            // null when this build does not know the id
  uint32_t n_dims = 0;                       // 0..4
  std::array<uint64_t, 4> dims{1, 1, 1, 1};  // dims[0] = row length = input dimension; unused are 1
  uint32_t shard = 0;
  uint64_t file_offset = 0;         // absolute, in that shard
  std::span<const std::byte> data;  // all of it; empty when the type is not known

  /// Weights; dims are checked not to overflow.
  [[nodiscard]] uint64_t element_count() const { return dims[0] * dims[1] * dims[2] * dims[3]; }
  /// Rows of dims[0] weights.
  [[nodiscard]] uint64_t row_count() const { return dims[1] * dims[2] * dims[3]; }
  /// Bytes of one row. Needs a known type.
  [[nodiscard]] uint64_t row_bytes() const {
    return dims[0] / type->block_elements * type->block_bytes;
  }
};

/// "[576, 49152]", for messages.
[[nodiscard]] std::string dims_text(const Tensor& tensor);

struct ShardFile {
  std::filesystem::path path;
  uint64_t size_bytes = 0;
};

class File {
 public:
  File();
  ~File();
  File(File&&) noexcept;
  File& operator=(File&&) noexcept;

  /// The path it was opened by; the first shard of a set.
  [[nodiscard]] const std::filesystem::path& path() const;
  /// All files of the model in shard order.
  [[nodiscard]] std::span<const ShardFile> shards() const;
  [[nodiscard]] uint32_t version() const;    // of the first shard
  [[nodiscard]] uint64_t alignment() const;  // of the first shard

  /// Metadata of the first shard, where models keep theirs.
  [[nodiscard]] const Metadata& metadata() const;
  /// Metadata of shard k < shards().size().
  [[nodiscard]] const Metadata& metadata_of(size_t shard) const;

  /// Shard 0's directory, then shard 1's, …
  [[nodiscard]] std::span<const Tensor> tensors() const;
  /// The tensor of that name, or null. One hash probe.
  [[nodiscard]] const Tensor* find(std::string_view name) const;
  /// The tensor of that name, ready to be bound. Refuses GGUF-TENSOR-MISSING, and GGUF-TYPE-UNKNOWN
  /// (with the list of types this build computes with) when its type is not one of them.
  [[nodiscard]] Result<const Tensor*> require(std::string_view name) const;

  /// Bytes of all tensors of known types.
  [[nodiscard]] uint64_t data_bytes() const;

 private:
  friend class FileBuilder;
  struct State;
  std::unique_ptr<State> state_;
};

/// Opens one model file, with its sibling shards when the metadata says that it is the first of a
/// split set. The name alone never makes a file a shard.
[[nodiscard]] Result<File> open_file(const std::filesystem::path& path);

/// Opens a file held in memory (copied); it must not be part of a split set. `name` stands in
/// messages.
[[nodiscard]] Result<File> open_bytes(std::string_view name, std::span<const std::byte> bytes);

/// A model, and the draft head that lies beside it in a folder.
struct ModelFiles {
  File model;
  std::optional<File> head;  // the file whose metadata has nextn layers
};

/// A file or first shard: that model alone. A folder: exactly one model and at most one draft head
/// among its *.gguf files; two candidates for either are refused by name
/// (GGUF-FOLDER-AMBIGUOUS), none is GGUF-FOLDER-EMPTY.
[[nodiscard]] Result<ModelFiles> open_model(const std::filesystem::path& path);

/// True when the metadata declares nextn (draft head) layers: `<arch>.nextn_predict_layers` > 0.
[[nodiscard]] Result<bool> is_draft_head(const File& file);

}  // namespace assay::engine::gguf
