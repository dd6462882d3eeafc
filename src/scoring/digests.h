// Digests: folds of many files into one name. Files are read by the caller.
//
// harness   sorted absolute paths, H(path ‖ bytes ‖ path ‖ bytes …): no separators, no lengths
// weights   sorted keys, H(key ‖ 0 ‖ raw digest ‖ 0 …), with byte and file counts
// Format    docs/formats/score.md, "Digests"
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/sha256.h"

namespace assay::scoring {

/// The roots of the harness identity, under the working folder. An absent root contributes nothing.
inline constexpr std::string_view kHarnessRoots[] = {
    "Package.swift", "Sources",   "Tests",   "benchmark.json", "benchmark.sh", "setup.sh",
    "tools",         "README.md", "TASK.md", "harness",        "vllm",         "llama.cpp"};

/// The bytes of a file, or none when it cannot be read: then neither path nor bytes count.
using FileReader = std::function<std::optional<std::string>(const std::string& path)>;
/// `paths` in any order. Returns hex64.
[[nodiscard]] std::string fold_harness(std::vector<std::string> paths, const FileReader& read);

struct WeightsFile {
  std::string key;  // relative path with '/', or the base name when one file was named
  Sha256Digest digest{};
  uint64_t size_bytes = 0;
};
struct WeightsDigest {
  std::string sha256;  // hex64
  uint64_t byte_count = 0;
  uint64_t file_count = 0;

  friend bool operator==(const WeightsDigest&, const WeightsDigest&) = default;
};
/// Root-level entries that are not weights.
[[nodiscard]] bool is_ignored_weights_key(std::string_view key);
/// `files` in any order; ignored keys are dropped here.
[[nodiscard]] WeightsDigest fold_weights(std::vector<WeightsFile> files);
/// "hex64:bytes:files".
[[nodiscard]] std::string to_text(const WeightsDigest& digest);
/// Refuses WEIGHTS-DIGEST-TEXT-INVALID.
[[nodiscard]] Result<WeightsDigest> parse_weights_digest(std::string_view text);

/// Base names of the file set that one named weights file stands for: itself, or with a name
/// `x-00002-of-00003.gguf` all three shards in order. Refuses WEIGHTS-SHARD-NAME-INVALID (number 0,
/// above the count, or a count above 99999).
[[nodiscard]] Result<std::vector<std::string>> weights_file_set(std::string_view base_name);

}  // namespace assay::scoring
