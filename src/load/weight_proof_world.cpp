// The processes and files of this machine, and the digests that are remembered about them.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "base/text.h"
#include "load/weight_proof.h"

namespace assay::load {

namespace {

constexpr uint64_t kProcFileMax = uint64_t{64} << 20;

class ThisProcessWorld final : public ProcessWorld {
 public:
  [[nodiscard]] machine::Platform platform() const override {
    return machine::this_host().platform();
  }

  [[nodiscard]] std::optional<std::string> file(const std::string& path) const override {
    auto bytes = read_file(path, kProcFileMax);
    if (!bytes) return std::nullopt;
    return *std::move(bytes);
  }

  [[nodiscard]] std::optional<std::string> head(const std::string& path,
                                                size_t count) const override {
    // Not blocking: a path may name a pipe.
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return std::nullopt;
    std::string bytes(count, '\0');
    const ssize_t got = ::pread(fd, bytes.data(), count, 0);
    ::close(fd);
    if (got < 0) return std::nullopt;
    bytes.resize(static_cast<size_t>(got));
    return bytes;
  }

  [[nodiscard]] std::vector<std::string> names(const std::string& folder) const override {
    std::vector<std::string> out;
    DIR* open = ::opendir(folder.c_str());
    if (open == nullptr) return out;
    while (const dirent* entry = ::readdir(open)) {
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..") out.emplace_back(name);
    }
    ::closedir(open);
    return out;
  }

  [[nodiscard]] std::optional<std::string> link(const std::string& path) const override {
    char target[4096];
    const ssize_t size = ::readlink(path.c_str(), target, sizeof target);
    if (size < 0) return std::nullopt;
    return std::string(target, static_cast<size_t>(size));
  }

  [[nodiscard]] std::optional<FileFacts> facts(const std::string& path) const override {
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0) return std::nullopt;
#if defined(__APPLE__)
    const timespec changed = info.st_mtimespec;
#else
    const timespec changed = info.st_mtim;
#endif
    return FileFacts{.device = static_cast<uint64_t>(info.st_dev),
                     .inode = static_cast<uint64_t>(info.st_ino),
                     .size_bytes = static_cast<uint64_t>(info.st_size),
                     .mtime_ns = int64_t{changed.tv_sec} * 1'000'000'000 + changed.tv_nsec,
                     .regular = S_ISREG(info.st_mode)};
  }

  [[nodiscard]] Result<FileDigest> digest(const std::string& path) const override {
    return digest_file(path);
  }

  [[nodiscard]] std::optional<std::string> run(
      const std::vector<std::string>& argv) const override {
    return machine::this_host().run(argv);
  }
};

}  // namespace

const ProcessWorld& this_process_world() {
  static const ThisProcessWorld world;
  return world;
}

std::filesystem::path default_digest_cache() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  if (cache != nullptr && *cache != '\0')
    return std::filesystem::path(cache) / "assay" / "weight_digests.json";
  if (home == nullptr || *home == '\0') return {};
  return std::filesystem::path(home) / ".cache" / "assay" / "weight_digests.json";
}

namespace {

std::optional<uint64_t> whole(const json::Value& entry, std::string_view key) {
  const json::Value* value = entry.find(key);
  if (value == nullptr || !value->is_integer()) return std::nullopt;
  return parse_uint64(value->literal());
}

}  // namespace

DigestCache::DigestCache(std::filesystem::path path) : path_(std::move(path)) {
  if (path_.empty()) return;
  const auto bytes = read_file(path_, uint64_t{64} << 20);
  if (!bytes) return;
  const auto root = json::parse(*bytes);
  if (!root || !root->is_object()) return;
  const json::Value* entries = root->find("files");
  if (entries == nullptr || !entries->is_array()) return;
  for (const json::Value& entry : entries->items()) {
    if (!entry.is_object()) continue;
    const auto device = whole(entry, "device"), inode = whole(entry, "inode");
    const auto mtime = whole(entry, "mtime_ns"), size = whole(entry, "bytes");
    const json::Value* sha = entry.find("sha256");
    if (!device || !inode || !mtime || !size || sha == nullptr || !sha->is_string() ||
        !is_lower_hex(sha->string(), 64)) {
      continue;
    }
    known_[Key(*device, *inode, static_cast<int64_t>(*mtime), *size)] = sha->string();
  }
}

Result<std::string> DigestCache::sha256(const std::string& path, const FileFacts& facts,
                                        const ProcessWorld& world) {
  const Key key(facts.device, facts.inode, facts.mtime_ns, facts.size_bytes);
  if (const auto known = known_.find(key); known != known_.end()) return known->second;
  TRY(digest, world.digest(path));
  ++computed_;
  known_[key] = digest.sha256;
  if (!path_.empty()) {
    std::vector<json::Value> files;
    for (const auto& [id, sha] : known_) {
      files.push_back(json::Value::object({{"device", std::get<0>(id)},
                                           {"inode", std::get<1>(id)},
                                           {"mtime_ns", std::get<2>(id)},
                                           {"bytes", std::get<3>(id)},
                                           {"sha256", sha}}));
    }
    // A cache that cannot be written costs time, nothing else.
    const auto written = write_file_atomic(
        path_, json::write(json::Value::object({{"files", json::Value::array(std::move(files))}}),
                           {.indent = 1}) +
                   "\n");
    static_cast<void>(written);
  }
  return digest.sha256;
}

}  // namespace assay::load
