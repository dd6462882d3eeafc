#include "base/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/input_file.h"
#include "base/refusals.h"
#include "base/sha256.h"
#include "base/text.h"

namespace assay {

namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close_now(); }
  [[nodiscard]] int get() const { return fd_; }
  int close_now() {
    const int fd = fd_;
    fd_ = -1;
    return fd < 0 ? 0 : ::close(fd);
  }

 private:
  int fd_;
};

Refusal unreadable(const std::filesystem::path& path, int error) {
  return Refusal(kFileUnreadable, cat("`", path.string(), "`: ", std::strerror(error)));
}

// read(2) that goes on after a signal.
ssize_t read_some(int fd, char* buffer, size_t size) {
  ssize_t got = 0;
  do {
    got = ::read(fd, buffer, size);
  } while (got < 0 && errno == EINTR);
  return got;
}

// Of a file that is none, what it is.
const char* kind_of(mode_t mode) {
  return S_ISFIFO(mode)   ? "a pipe"
         : S_ISSOCK(mode) ? "a socket"
         : S_ISBLK(mode)  ? "a block device"
                          : "a device";
}

bool was_given_open(const std::filesystem::path& path) {
  const std::string& text = path.native();
  return text == "/dev/stdin" || text.starts_with("/dev/fd/") || text.starts_with("/proc/self/fd/");
}

}  // namespace

Result<int> open_input(const std::filesystem::path& path) {
  // Not blocking: a pipe would be waited for until somebody opens its other end.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return unreadable(path, errno);
  struct stat info {};
  const auto refused = [fd](Refusal why) {
    ::close(fd);
    return why;
  };
  if (::fstat(fd, &info) != 0) return refused(unreadable(path, errno));
  if (S_ISDIR(info.st_mode)) return refused(unreadable(path, EISDIR));
  if (!S_ISREG(info.st_mode) && !was_given_open(path)) {
    return refused(Refusal(kFileUnreadable, cat("`", path.string(), "` is ", kind_of(info.st_mode),
                                                ", expected a regular file")));
  }
  if (::fcntl(fd, F_SETFL, 0) != 0) return refused(unreadable(path, errno));
  return fd;
}

Result<InputStream> open_input_stream(const std::filesystem::path& path) {
  TRY(fd, open_input(path));
  InputStream stream(::fdopen(fd, "rb"));
  if (stream == nullptr) {
    const int error = errno;
    ::close(fd);
    return unreadable(path, error);
  }
  return stream;
}

Result<std::string> read_file(const std::filesystem::path& path, uint64_t size_max) {
  TRY(fd, open_input(path));
  const Descriptor file(fd);
  struct stat info {};
  std::string bytes;
  if (::fstat(file.get(), &info) == 0 && S_ISREG(info.st_mode)) {
    const auto size = static_cast<uint64_t>(info.st_size);
    if (size > size_max) {
      return Refusal(kFileTooLarge, cat("`", path.string(), "` has ", size, " bytes, at most ",
                                        size_max, " are read"));
    }
    bytes.reserve(size);
  }
  char piece[1 << 16];
  for (;;) {
    const ssize_t got = read_some(file.get(), piece, sizeof piece);
    if (got < 0) return unreadable(path, errno);
    if (got == 0) return bytes;
    bytes.append(piece, static_cast<size_t>(got));
    if (bytes.size() > size_max) {
      return Refusal(kFileTooLarge,
                     cat("`", path.string(), "` has more than ", size_max, " bytes"));
    }
  }
}

namespace {

Refusal not_written(const std::filesystem::path& path, int error) {
  return Refusal(kFileNotWritten, cat("`", path.string(), "`: ", std::strerror(error)));
}

// A whole file under a temporary name beside its final one; gone with the object unless renamed.
class StagedFile {
 public:
  StagedFile() = default;
  StagedFile(const StagedFile&) = delete;
  StagedFile& operator=(const StagedFile&) = delete;
  ~StagedFile() {
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
  }

  Status write(const std::filesystem::path& path, std::string_view bytes) {
    static std::atomic<unsigned> counter{0};
    const std::filesystem::path folder = path.parent_path().empty() ? "." : path.parent_path();
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) return not_written(path, error.value());
    // A rename would replace a device or a pipe by a file. (Behind a link, only the link.)
    const auto there = std::filesystem::status(path, error);
    if (std::filesystem::exists(there) && !std::filesystem::is_regular_file(there)) {
      return Refusal(kFileNotWritten, cat("`", path.string(),
                                          "` is there and is no file (a folder, device or pipe)"));
    }
    const std::filesystem::path temporary =
        folder / cat(".", path.filename().string(), ".", ::getpid(), ".", counter++, ".tmp");
    Descriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
    if (file.get() < 0) return not_written(path, errno);
    temporary_ = temporary;
    path_ = path;
    int failure = 0;
    for (size_t done = 0; done < bytes.size() && failure == 0;) {
      const ssize_t put = ::write(file.get(), bytes.data() + done, bytes.size() - done);
      if (put >= 0) {
        done += static_cast<size_t>(put);
      } else if (errno != EINTR) {
        failure = errno;
      }
    }
    if (failure == 0 && ::fsync(file.get()) != 0 && errno != EINVAL && errno != EROFS)
      failure = errno;
    if (file.close_now() != 0 && failure == 0) failure = errno;
    if (failure != 0) return not_written(path, failure);
    return {};
  }

  Status rename() {
    if (::rename(temporary_.c_str(), path_.c_str()) != 0) return not_written(path_, errno);
    temporary_.clear();
    return {};
  }

 private:
  std::filesystem::path temporary_;  // empty: nothing to remove
  std::filesystem::path path_;
};

}  // namespace

Status write_file_atomic(const std::filesystem::path& path, std::string_view bytes) {
  StagedFile file;
  TRY_DO(file.write(path, bytes));
  return file.rename();
}

Status write_files_together(std::span<const FileContent> files) {
  std::vector<StagedFile> staged(files.size());
  for (size_t i = 0; i < files.size(); ++i) TRY_DO(staged[i].write(files[i].path, files[i].bytes));
  for (StagedFile& file : staged) TRY_DO(file.rename());
  return {};
}

Result<FileDigest> digest_file(const std::filesystem::path& path,
                               const std::function<Status()>& between_pieces) {
  TRY(fd, open_input(path));
  const Descriptor file(fd);
  Sha256 hash;
  FileDigest digest;
  std::vector<char> piece(1 << 20);
  for (;;) {
    if (between_pieces) TRY_DO(between_pieces());
    const ssize_t got = read_some(file.get(), piece.data(), piece.size());
    if (got < 0) return unreadable(path, errno);
    if (got == 0) break;
    hash.update(std::string_view(piece.data(), static_cast<size_t>(got)));
    digest.size_bytes += static_cast<uint64_t>(got);
  }
  digest.sha256 = to_hex(hash.finish());
  return digest;
}

}  // namespace assay
