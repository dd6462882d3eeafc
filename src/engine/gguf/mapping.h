// Mapping: the bytes of one file, read-only, as long as somebody needs them.
//
// Errors   FILE-UNREADABLE (not there, not a regular file, not mappable).
// Threads  immutable. A file that another program cuts short while it is mapped ends this program
//          (SIGBUS): do not replace a model in place, rename a new file over it.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace assay::engine::gguf {

class Mapping {
 public:
  /// Maps a regular file, private and read-only.
  [[nodiscard]] static Result<Mapping> open(const std::filesystem::path& path);
  /// Holds a copy in a block of exactly that size.
  [[nodiscard]] static Mapping copy(std::string_view name, std::span<const std::byte> bytes);

  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();

  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  Mapping() = default;

  std::filesystem::path path_;
  std::unique_ptr<std::byte[]> owned_;  // of a copy; otherwise bytes_ is a mapping of the system
  std::span<const std::byte> bytes_;
};

}  // namespace assay::engine::gguf
