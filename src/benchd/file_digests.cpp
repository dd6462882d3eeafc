#include "benchd/file_digests.h"

#include <sys/stat.h>

#include <cstdlib>
#include <vector>

#include "base/sha256.h"
#include "base/text.h"

namespace assay::benchd {

namespace {

constexpr uint64_t kStoreBytesMax = 8 << 20;
constexpr size_t kTagDigits = 16;

std::optional<FileFacts> facts_of(const std::filesystem::path& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return std::nullopt;
  return FileFacts{.device = static_cast<uint64_t>(info.st_dev),
                   .inode = static_cast<uint64_t>(info.st_ino),
                   .mtime_s = info.st_mtim.tv_sec,
                   .mtime_ns = info.st_mtim.tv_nsec,
                   .size_bytes = static_cast<uint64_t>(info.st_size)};
}

}  // namespace

std::string write_digest_line(const FileFacts& facts, std::string_view digest) {
  std::string line = cat("v1 ", facts.device, " ", facts.inode, " ", facts.mtime_s, " ",
                         facts.mtime_ns, " ", facts.size_bytes, " ", digest);
  const std::string tag = sha256_hex(line).substr(0, kTagDigits);
  return line + " " + tag;
}

std::optional<std::pair<FileFacts, std::string>> read_digest_line(std::string_view line) {
  const std::vector<std::string_view> words = split(line, ' ');
  if (words.size() != 8 || words[0] != "v1" || !is_lower_hex(words[6], 64)) return std::nullopt;
  const auto device = parse_uint64(words[1]);
  const auto inode = parse_uint64(words[2]);
  const auto mtime_s = parse_int64(words[3]);
  const auto mtime_ns = parse_int64(words[4]);
  const auto size_bytes = parse_uint64(words[5]);
  if (!device || !inode || !mtime_s || !mtime_ns || !size_bytes) return std::nullopt;
  const FileFacts facts{*device, *inode, *mtime_s, *mtime_ns, *size_bytes};
  if (write_digest_line(facts, words[6]) != line) return std::nullopt;
  return std::pair{facts, std::string(words[6])};
}

std::filesystem::path cache_root() {
  if (const char* xdg = std::getenv("XDG_CACHE_HOME"); xdg != nullptr && xdg[0] == '/') return xdg;
  if (const char* home = std::getenv("HOME"); home != nullptr && home[0] == '/') {
    return std::filesystem::path(home) / ".cache";
  }
  return {};
}

std::filesystem::path digest_store() {
  const std::filesystem::path root = cache_root();
  return root.empty() ? root : root / "benchd" / "weights-file-digests";
}

Sha256Digest raw_digest(std::string_view sha256) {
  ENSURE(is_lower_hex(sha256, 64));
  const auto value_of = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  Sha256Digest raw{};
  for (size_t i = 0; i < raw.size(); ++i) {
    raw[i] = static_cast<unsigned char>(value_of(sha256[2 * i]) * 16 + value_of(sha256[2 * i + 1]));
  }
  return raw;
}

FileDigests::FileDigests(std::filesystem::path store, std::function<Status()> check_stop)
    : store_(std::move(store)), check_stop_(std::move(check_stop)) {
  if (store_.empty()) return;
  const auto bytes = read_file(store_, kStoreBytesMax);
  if (!bytes) return;
  for (const std::string_view line : split(*bytes, '\n')) {
    if (auto entry = read_digest_line(line)) known_.insert(*std::move(entry));
  }
}

Result<FileDigest> FileDigests::digest(const std::filesystem::path& path) {
  const std::optional<FileFacts> before = facts_of(path);
  if (before) {
    const std::lock_guard lock(mutex_);
    if (const auto found = known_.find(*before); found != known_.end()) {
      return FileDigest{found->second, before->size_bytes};
    }
  }
  TRY(digest, digest_file(path, check_stop_));
  // Remembered only when the file did not move under the reader.
  if (before && before == facts_of(path) && digest.size_bytes == before->size_bytes) {
    const std::lock_guard lock(mutex_);
    known_[*before] = digest.sha256;
    learnt_ = true;
  }
  return digest;
}

void FileDigests::save() {
  const std::lock_guard lock(mutex_);
  if (store_.empty() || !learnt_) return;
  std::string text;
  for (const auto& [facts, digest] : known_) text += write_digest_line(facts, digest) + "\n";
  if (auto written = write_file_atomic(store_, text); written) learnt_ = false;
}

}  // namespace assay::benchd
