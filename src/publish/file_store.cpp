// file://DIR: a store in a folder.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "base/files.h"
#include "base/text.h"
#include "publish/refusals.h"
#include "publish/store.h"

namespace assay::publish {

namespace {

namespace fs = std::filesystem;

constexpr uint64_t kFileMax = uint64_t{4} << 30;

class FileStore final : public Store {
 public:
  explicit FileStore(fs::path folder) : folder_(std::move(folder)) {}

  Result<PutOutcome> put_once(std::string_view path, std::string_view bytes) override {
    TRY_DO(check(path));
    const fs::path target = folder_ / path;
    TRY(existing, get(path));
    if (existing) return compare(path, *existing, bytes);
    TRY(temporary, write_beside(target, bytes));
    // link(2) fails when the name exists, which rename(2) does not: nobody's file is ever replaced.
    const int linked = ::link(temporary.c_str(), target.c_str());
    const int failure = errno;
    ::unlink(temporary.c_str());
    if (linked == 0) return PutOutcome::created;
    if (failure != EEXIST) return write_refusal(target, failure);
    TRY(winner, get(path));
    if (!winner) return write_refusal(target, ENOENT);
    return compare(path, *winner, bytes);
  }

  Result<bool> replace(std::string_view path, const std::optional<std::string>& expected,
                       std::string_view bytes) override {
    TRY_DO(check(path));
    const fs::path target = folder_ / path;
    std::error_code error;
    fs::create_directories(target.parent_path(), error);
    if (error) return write_refusal(target, error.value());
    // One writer at a time: the lock is a file of its own, because the target itself is replaced.
    const fs::path lock_path = target.parent_path() / cat(".", target.filename().string(), ".lock");
    const int lock = ::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (lock < 0) return write_refusal(lock_path, errno);
    if (::flock(lock, LOCK_EX) != 0) {
      const int failure = errno;
      ::close(lock);
      return write_refusal(lock_path, failure);
    }
    auto outcome = replace_locked(path, target, expected, bytes);
    ::close(lock);
    return outcome;
  }

  Result<std::optional<std::string>> get(std::string_view path) override {
    TRY_DO(check(path));
    const fs::path target = folder_ / path;
    struct stat info {};
    if (::lstat(target.c_str(), &info) != 0) {
      if (errno == ENOENT || errno == ENOTDIR) return std::optional<std::string>();
      return Refusal(kStoreRead, cat("`", target.string(), "`: ", std::strerror(errno)));
    }
    if (!S_ISREG(info.st_mode)) {
      return Refusal(kStoreRead, cat("`", target.string(), "` is not a regular file"));
    }
    auto bytes = read_file(target, kFileMax);
    if (!bytes) return Refusal(kStoreRead, bytes.refusal().detail);
    return std::optional<std::string>(*std::move(bytes));
  }

  Result<std::vector<StoredFile>> list(std::string_view folder) override {
    TRY_DO(check(folder));
    TRY_DO(check_folder(folder_ / folder));
    std::vector<StoredFile> files;
    std::error_code error;
    fs::recursive_directory_iterator it(folder_ / folder, error);
    if (error == std::errc::no_such_file_or_directory) return files;
    for (; !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
      const auto status = it->symlink_status(error);
      if (error) break;
      if (status.type() != fs::file_type::regular) continue;
      const std::string name = it->path().filename().string();
      if (name.starts_with('.')) continue;  // half-written or lock files
      files.push_back(
          {it->path().lexically_relative(folder_).generic_string(), it->file_size(error)});
    }
    if (error)
      return Refusal(kStoreRead, cat("`", (folder_ / folder).string(), "`: ", error.message()));
    std::sort(files.begin(), files.end(),
              [](const auto& a, const auto& b) { return a.path < b.path; });
    return files;
  }

  [[nodiscard]] std::string url() const override { return cat("file://", folder_.string()); }

 private:
  // Of a plain path every folder inside the store is a real one: a link could lead out of it.
  [[nodiscard]] Status check(std::string_view path) const {
    if (!is_plain_path(path))
      return Refusal(kStoreUrl, cat("`", path, "` is no plain relative path"));
    for (size_t slash = path.find('/'); slash != std::string_view::npos;
         slash = path.find('/', slash + 1)) {
      TRY_DO(check_folder(folder_ / path.substr(0, slash)));
    }
    return {};
  }
  static Status check_folder(const fs::path& folder) {
    struct stat info {};
    if (::lstat(folder.c_str(), &info) != 0 || S_ISDIR(info.st_mode)) return {};
    return Refusal(kStoreUrl, cat("`", folder.string(), "` is in the way: it is no folder"));
  }
  static Refusal write_refusal(const fs::path& path, int error) {
    return Refusal(kStoreWrite, cat("`", path.string(), "`: ", std::strerror(error)));
  }
  static Result<PutOutcome> compare(std::string_view path, std::string_view stored,
                                    std::string_view bytes) {
    if (stored == bytes) return PutOutcome::already_there;
    return Refusal(kStoreDifferentBytes,
                   cat("`", path, "` is stored with ", stored.size(),
                       " bytes that differ from the ", bytes.size(), " to publish"));
  }

  // A read-only file with these bytes on disk, beside `target`. Nothing is left behind on a
  // refusal.
  static Result<fs::path> write_beside(const fs::path& target, std::string_view bytes) {
    static std::atomic<unsigned> counter{0};
    const fs::path temporary = target.parent_path() / cat(".", target.filename().string(), ".",
                                                          ::getpid(), ".", counter++, ".tmp");
    auto written = write_file_atomic(temporary, bytes);
    if (!written) return Refusal(kStoreWrite, written.refusal().detail);
    ::chmod(temporary.c_str(), 0444);
    return temporary;
  }

  Result<bool> replace_locked(std::string_view path, const fs::path& target,
                              const std::optional<std::string>& expected, std::string_view bytes) {
    TRY(current, get(path));
    if (current != expected) return false;
    auto written = write_file_atomic(target, bytes);
    if (!written) return Refusal(kStoreWrite, written.refusal().detail);
    return true;
  }

  fs::path folder_;
};

}  // namespace

Result<Stored> Store::put_and_replace(const NewFile& file,
                                      const std::optional<Replacement>& replacement,
                                      std::string_view /*description*/) {
  TRY(outcome, put_once(file.path, file.bytes));
  Stored stored{.outcome = outcome};
  if (replacement) {
    TRY(replaced, replace(replacement->path, replacement->expected, replacement->bytes));
    stored.replaced = replaced;
  }
  return stored;
}

bool is_plain_path(std::string_view path) {
  if (path.empty() || has_control_character(path) || path.find('\\') != std::string_view::npos)
    return false;
  for (const std::string_view part : split(path, '/')) {
    if (part.empty() || part == "." || part == "..") return false;
  }
  return true;
}

std::unique_ptr<Store> open_file_store(fs::path folder) {
  return std::make_unique<FileStore>(std::move(folder));
}

}  // namespace assay::publish
