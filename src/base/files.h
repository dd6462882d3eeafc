// Files: whole reads, writes that are there completely or not at all, digests.
//
// Errors    FILE-UNREADABLE, FILE-TOO-LARGE, FILE-NOT-WRITTEN; each names the path and the system's
// reason. Threads   every function may be called from any thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace assay {

/// The bytes of a regular file, or of a pipe that this process was given open (input_file.h), of at
/// most `size_max` bytes, checked while reading.
[[nodiscard]] Result<std::string> read_file(const std::filesystem::path& path,
                                            uint64_t size_max = uint64_t{1} << 30);

/// Writes `bytes` under a temporary name beside `path`, flushes them to the device, then renames: a
/// reader sees the old file or the whole new one. Makes missing parent folders. On a refusal the
/// temporary file is gone and `path` is as it was.
[[nodiscard]] Status write_file_atomic(const std::filesystem::path& path, std::string_view bytes);

struct FileContent {
  std::filesystem::path path;
  std::string bytes;
};
/// The same for files that belong together: all are written and flushed under temporary names
/// before the first is renamed, so a full disk leaves every path as it was. A crash between two
/// renames can leave some new and some old files.
[[nodiscard]] Status write_files_together(std::span<const FileContent> files);

struct FileDigest {
  std::string sha256;       // 64 lower-case hex digits
  uint64_t size_bytes = 0;  // bytes read
};
/// Streams the file once, in 1 MiB pieces. `between_pieces` is asked before each piece and may
/// refuse (a stop request); its refusal is then the result.
[[nodiscard]] Result<FileDigest> digest_file(const std::filesystem::path& path,
                                             const std::function<Status()>& between_pieces = {});

}  // namespace assay
