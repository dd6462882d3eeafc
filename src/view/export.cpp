#include "view/export.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <system_error>

#include "base/files.h"
#include "base/refusals.h"
#include "base/sha256.h"
#include "base/text.h"
#include "publish/store.h"
#include "view/refusals.h"

namespace assay::view {

namespace {

namespace fs = std::filesystem;

// What marks a folder as an export of ours.
constexpr const char* kMark = "api/index.json";
constexpr std::string_view kShardPrefix = "data/";

// A home folder names a person; an export is there to be passed on.
std::string without_home(std::string url) {
  const char* home = std::getenv("HOME");
  const std::string prefix =
      home != nullptr && std::strlen(home) > 1 ? cat("file://", home, "/") : "";
  if (!prefix.empty() && url.starts_with(prefix))
    return cat("file://~/", url.substr(prefix.size()));
  return url;
}

Result<std::string> shard_bytes(publish::Store& store, const ShardFile& file) {
  TRY(bytes, store.get(file.path));
  if (!bytes || sha256_hex(*bytes) != file.sha256)
    return Refusal(kShardChanged, cat("`", file.path, "` changed while the store was exported"));
  return *std::move(bytes);
}

std::string name_of(const ShardFile& file) {
  return file.path.substr(kShardPrefix.size());
}

Refusal wrong_target(const fs::path& target, std::string_view why) {
  return Refusal(kExportTarget, cat("`", target.string(), "` ", why));
}

// An earlier export may be replaced, and nothing else that is there.
Status check_replaceable(const fs::path& target) {
  std::error_code error;
  if (!fs::is_regular_file(target, error)) return {};
  std::string top(1024, '\0');
  std::ifstream file(target, std::ios::binary);
  file.read(top.data(), static_cast<std::streamsize>(top.size()));
  if (top.find(kExportMark) != std::string::npos) return {};
  return wrong_target(target, "is there and no export wrote it; --force writes over it");
}

Result<Exported> one_file(publish::Store& store, const Index& index, const Page& page,
                          const ExportOptions& options) {
  if (!options.force) TRY_DO(check_replaceable(options.target));
  Inline content;
  content.title = options.title;
  content.index_json = index_json(index);
  uint64_t size = content.index_json.size();
  for (const ShardFile& file : index.files) size += file.size_bytes / 3 * 4;
  if (size > kExportFileMax) {
    return Refusal(kExportLarge,
                   cat(index.files.size(), " runs would be about ", size >> 20,
                       " MiB in one file, at most ", kExportFileMax >> 20, " are written"));
  }
  for (const ShardFile& file : index.files) {
    TRY(bytes, shard_bytes(store, file));
    content.shards.push_back({name_of(file), std::move(bytes)});
  }
  TRY(html, page_in_one_file(page, content));
  TRY_DO(write_file_atomic(options.target, html));
  Exported done;
  done.size_bytes = html.size();
  return done;
}

// Removes a half-made folder unless it became the export.
class Temporary {
 public:
  explicit Temporary(fs::path path) : path_(std::move(path)) {}
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  ~Temporary() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

Result<Exported> folder(publish::Store& store, const Index& index, const Page& page,
                        const ExportOptions& options) {
  std::error_code error;
  fs::path target = options.target.lexically_normal();
  if (!target.has_filename()) target = target.parent_path();
  if (target.empty() || target.filename() == ".." || target.filename() == ".")
    return wrong_target(options.target, "names no folder that can be replaced");
  const auto status = fs::symlink_status(target, error);
  const bool there = status.type() != fs::file_type::not_found;
  if (there && status.type() != fs::file_type::directory)
    return wrong_target(target, "is there and is no folder");
  if (there && !fs::is_empty(target, error) && !fs::exists(target / kMark, error))
    return wrong_target(target, "holds files that no export wrote");

  Temporary fresh(target.parent_path() /
                  cat(".", target.filename().string(), ".", ::getpid(), ".new"));
  Temporary old(target.parent_path() /
                cat(".", target.filename().string(), ".", ::getpid(), ".old"));
  Exported done;
  const auto write = [&](const fs::path& name, std::string_view bytes) {
    done.size_bytes += bytes.size();
    return write_file_atomic(fresh.path() / name, bytes);
  };
  for (const PageFile& file : page) TRY_DO(write(file.name, file.bytes));
  TRY_DO(write(kMark, index_json(index)));
  for (const ShardFile& file : index.files) {
    TRY(bytes, shard_bytes(store, file));
    TRY_DO(write(fs::path("shards") / name_of(file), bytes));
  }
  if (there) {
    fs::rename(target, old.path(), error);
    if (error) return wrong_target(target, error.message());
  }
  fs::rename(fresh.path(), target, error);
  if (error) {
    const std::string why = error.message();
    if (there) fs::rename(old.path(), target, error);
    return wrong_target(target, why);
  }
  return done;
}

}  // namespace

Result<Exported> export_store(Catalog& catalog, const Page& page, const ExportOptions& options) {
  TRY(index, catalog.list());
  if (options.shards_max) keep_newest(index, *options.shards_max);
  index.store = mended_utf8(without_home(index.store));
  index.built_at = newest_timestamp(index);
  index.title = mended_utf8(options.title);
  TRY(store, publish::open_store(catalog.url()));
  const bool single = options.target.extension() == ".html";
  TRY(done, single ? one_file(*store, index, page, options) : folder(*store, index, page, options));
  done.runs = index.files.size();
  done.left_out = index.left_out;
  done.problems = index.problems.size();
  return std::move(done);
}

}  // namespace assay::view
