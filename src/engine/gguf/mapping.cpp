#include "engine/gguf/mapping.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/refusals.h"
#include "base/text.h"

namespace assay::engine::gguf {

Result<Mapping> Mapping::open(const std::filesystem::path& path) {
  const auto refuse = [&](std::string_view what) {
    return Refusal(kFileUnreadable, cat(path.string(), ": ", what));
  };
  // O_NONBLOCK: opening a pipe must not wait for its writer; it is refused just below.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return refuse(std::strerror(errno));
  struct stat info {};
  if (::fstat(fd, &info) != 0) {
    const int error = errno;
    ::close(fd);
    return refuse(std::strerror(error));
  }
  if (!S_ISREG(info.st_mode)) {
    ::close(fd);
    return refuse("is not a regular file; a model is mapped, so it must be one");
  }
  Mapping mapping;
  mapping.path_ = path;
  const auto size = static_cast<size_t>(info.st_size);
  if (size != 0) {
    void* const at = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (at == MAP_FAILED) {
      const int error = errno;
      ::close(fd);
      return refuse(cat("cannot be mapped: ", std::strerror(error)));
    }
    mapping.bytes_ = {static_cast<const std::byte*>(at), size};
  }
  ::close(fd);
  return mapping;
}

Mapping Mapping::copy(std::string_view name, std::span<const std::byte> bytes) {
  Mapping mapping;
  mapping.path_ = name;
  mapping.owned_ = std::make_unique<std::byte[]>(bytes.size());
  if (!bytes.empty()) std::memcpy(mapping.owned_.get(), bytes.data(), bytes.size());
  mapping.bytes_ = {mapping.owned_.get(), bytes.size()};
  return mapping;
}

Mapping::Mapping(Mapping&& other) noexcept
    : path_(std::move(other.path_)),
      owned_(std::move(other.owned_)),
      bytes_(std::exchange(other.bytes_, {})) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(owned_, other.owned_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Mapping::~Mapping() {
  if (owned_ == nullptr && !bytes_.empty()) {
    ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  }
}

}  // namespace assay::engine::gguf
