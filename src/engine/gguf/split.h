// Split sets: how the shards of one model are named, found and checked against one another.
//
// Form     STEM-00001-of-0000N.gguf (1-based, five digits). The metadata decides whether a file is
//          a shard (split.count > 1); the name only says where its siblings are.
// Errors   GGUF-SPLIT-NAME, -NOT-FIRST, -JOINED, -MISSING, -MISMATCH, GGUF-KEY-*.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/gguf/parse.h"

namespace assay::engine::gguf {

/// What a file's metadata says about its place in a set.
struct SplitPlace {
  uint64_t index = 0;  // split.no
  uint64_t count = 1;  // split.count; an absent key and 0 (llama-quantize's output) mean 1
};
[[nodiscard]] Result<SplitPlace> split_place(const ParsedFile& file);

struct SplitName {
  std::string stem;
  uint64_t number = 0;  // 1-based
  uint64_t count = 0;
};
/// Takes "STEM-00002-of-00003.gguf" apart.
[[nodiscard]] std::optional<SplitName> parse_split_name(const std::string& file_name);
/// "STEM-00002-of-00003.gguf".
[[nodiscard]] std::string split_file_name(const std::string& stem, uint64_t number, uint64_t count);

/// All files of the model whose first file this is: the file alone, or the complete, matching set.
/// Every missing sibling is listed before any is read.
[[nodiscard]] Result<std::vector<ParsedFile>> complete_set(ParsedFile first);

}  // namespace assay::engine::gguf
