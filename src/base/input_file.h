// Opening a file that is to be read, without ever waiting for somebody to write it.
#pragma once

#include <cstdio>
#include <filesystem>
#include <memory>

#include "base/result.h"

namespace assay {

/// A descriptor of a regular file, for reading, closed on exec; the caller closes it. Whatever else
/// stands there (a folder, a pipe, a device) is refused by name at once: a pipe that nobody writes
/// to would be waited for without end. What this process was given open may be a pipe: /dev/stdin,
/// /dev/fd/N (a shell's `<(command)`). Refuses FILE-UNREADABLE.
[[nodiscard]] Result<int> open_input(const std::filesystem::path& path);

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using InputStream = std::unique_ptr<std::FILE, CloseFile>;
/// The same as a stream.
[[nodiscard]] Result<InputStream> open_input_stream(const std::filesystem::path& path);

}  // namespace assay
