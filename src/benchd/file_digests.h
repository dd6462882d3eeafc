// Digests of big files, remembered: a weights tree of many gigabytes is read once, not once a run.
//
// What is remembered is a line per file in `<cache root>/benchd/weights-file-digests`:
//   v1 <dev> <ino> <mtime_s> <mtime_ns> <size> <hex64> <tag>
// where the tag is the first 16 hex digits of the SHA-256 over everything before the last space. A
// damaged line is dropped, a file of more than 8 MiB is started anew; neither ever changes a
// digest, because a line counts only when all five facts of the file on disk are still the same.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

#include "base/files.h"
#include "base/result.h"
#include "base/sha256.h"

namespace assay::benchd {

/// What must be unchanged for a remembered digest to hold.
struct FileFacts {
  uint64_t device = 0;
  uint64_t inode = 0;
  int64_t mtime_s = 0;
  int64_t mtime_ns = 0;
  uint64_t size_bytes = 0;
  friend auto operator<=>(const FileFacts&, const FileFacts&) = default;
};

/// One line without its newline; and the reverse, empty for a line that is damaged in any way.
[[nodiscard]] std::string write_digest_line(const FileFacts& facts, std::string_view sha256);
[[nodiscard]] std::optional<std::pair<FileFacts, std::string>> read_digest_line(
    std::string_view line);

/// The 32 bytes that 64 hex digits name. Needs is_lower_hex(sha256, 64).
[[nodiscard]] Sha256Digest raw_digest(std::string_view sha256);

/// `$XDG_CACHE_HOME` if absolute, else `$HOME/.cache`; empty when neither is known.
[[nodiscard]] std::filesystem::path cache_root();

/// The store of the real programs; empty without a cache root.
[[nodiscard]] std::filesystem::path digest_store();

/// Digests files, through the memory where it has one. Thread-safe.
class FileDigests {
 public:
  /// `store` empty: remembers within the process only. `check_stop` is asked while reading.
  explicit FileDigests(std::filesystem::path store = {}, std::function<Status()> check_stop = {});

  /// Refuses FILE-UNREADABLE, and what `check_stop` refuses.
  [[nodiscard]] Result<FileDigest> digest(const std::filesystem::path& path);

  /// Writes what was learnt to the store. A store that cannot be written is not an error: the next
  /// run reads the files again.
  void save();

 private:
  std::filesystem::path store_;
  std::function<Status()> check_stop_;
  std::mutex mutex_;
  std::map<FileFacts, std::string> known_;
  bool learnt_ = false;
};

}  // namespace assay::benchd
