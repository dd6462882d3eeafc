// One GGUF file, from bytes to a checked directory. A shard is such a file too; file.h puts sets
// together.
//
// Checks   every count against the bytes that are left, every length and extent in subtraction
//          form, before anything is allocated for it. Nothing here reads tensor data.
// Errors   GGUF-NOT-GGUF, -VERSION, -TRUNCATED, -COUNT, -KEY-NAME, -KEY-DUPLICATE, -VALUE-TYPE,
//          -NESTING, -ALIGNMENT, -TENSOR-NAME, -TENSOR-SHAPE, -TENSOR-OFFSET. Details name the
//          file, the key or tensor, and the byte.
// Cost     one pass over the header: about 2 ms for 100k strings.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/gguf/file.h"
#include "engine/gguf/mapping.h"
#include "engine/gguf/metadata.h"

namespace assay::engine::gguf {

struct ParsedFile {
  Mapping mapping;
  uint32_t version = 0;
  uint64_t alignment = 32;
  uint64_t data_start = 0;  // first byte of the data section
  uint64_t data_end = 0;    // end of the last tensor of a known type, or data_start
  Metadata metadata;
  std::vector<Tensor> tensors;  // shard = 0 in all
};

[[nodiscard]] Result<ParsedFile> parse_file(Mapping mapping);

}  // namespace assay::engine::gguf
