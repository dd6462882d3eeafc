#include "benchd/weights.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <system_error>
#include <thread>

#include "base/text.h"
#include "benchd/refusals.h"

namespace assay::benchd {

namespace {

namespace fs = std::filesystem;

constexpr unsigned kThreadsMax = 8;
constexpr std::string_view kTransformSource = ".benchmark-source.sha256";

Refusal unreadable(const fs::path& path, const std::error_code& error) {
  return Refusal(kWeightsMissing, cat("`", path.string(), "`: ", error.message()));
}

Result<std::vector<WeightsEntry>> list_folder(const fs::path& root) {
  std::vector<WeightsEntry> entries;
  std::error_code error;
  for (fs::recursive_directory_iterator it(root, error), end; it != end; it.increment(error)) {
    if (error) return unreadable(root, error);
    const std::string key = it->path().lexically_relative(root).generic_string();
    if (scoring::is_ignored_weights_key(key)) continue;
    const fs::file_status status = it->symlink_status(error);
    if (error) return unreadable(it->path(), error);
    if (fs::is_directory(status)) continue;
    if (!fs::is_regular_file(status)) {
      return Refusal(kWeightsNotRegular,
                     cat("`", it->path().string(), "` is ",
                         fs::is_symlink(status) ? "a symbolic link" : "a special file"));
    }
    entries.push_back({key, it->path()});
  }
  if (error) return unreadable(root, error);
  if (entries.empty()) {
    return Refusal(kWeightsMissing, cat("folder `", root.string(), "` holds no file"));
  }
  return entries;
}

// A symlink given by the operator is followed; only what lies inside a folder must be regular.
Result<std::vector<WeightsEntry>> list_file(const fs::path& file) {
  TRY(names, scoring::weights_file_set(file.filename().string()));
  std::vector<WeightsEntry> entries;
  for (const std::string& name : names) {
    const fs::path path = file.parent_path() / name;
    std::error_code error;
    if (!fs::is_regular_file(path, error)) {
      return Refusal(kWeightsMissing, cat("`", path.string(), "` is not a file",
                                          names.size() > 1 ? "; the set needs every shard" : ""));
    }
    entries.push_back({name, path});
  }
  return entries;
}

}  // namespace

Result<std::vector<WeightsEntry>> list_weights(const fs::path& weights) {
  std::error_code error;
  const fs::file_status status = fs::status(weights, error);
  if (error || !fs::exists(status)) {
    return Refusal(kWeightsMissing, cat("`", weights.string(), "` does not exist"));
  }
  auto entries = fs::is_directory(status) ? list_folder(weights) : list_file(weights);
  if (!entries) return entries;
  std::sort(entries->begin(), entries->end(),
            [](const WeightsEntry& a, const WeightsEntry& b) { return a.key < b.key; });
  return entries;
}

Result<scoring::WeightsDigest> digest_weights(const std::vector<WeightsEntry>& entries,
                                              FileDigests& digests, unsigned threads) {
  std::vector<std::optional<Result<FileDigest>>> results(entries.size());
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t i = next++; i < entries.size(); i = next++) {
      results[i] = digests.digest(entries[i].path);
      if (!*results[i]) next = entries.size();
    }
  };
  {
    std::vector<std::jthread> helpers;
    for (unsigned i = 1; i < threads; ++i) helpers.emplace_back(work);
    work();
  }
  std::vector<scoring::WeightsFile> files;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (!results[i]) continue;  // another file was refused first
    TRY(digest, *std::move(results[i]));
    files.push_back({entries[i].key, raw_digest(digest.sha256), digest.size_bytes});
  }
  digests.save();
  return scoring::fold_weights(std::move(files));
}

Result<std::string> transform_source(const fs::path& weights) {
  const fs::path path = weights / kTransformSource;
  std::error_code error;
  if (!fs::exists(path, error)) return std::string();
  TRY(bytes, read_file(path, 4096));
  return std::string(trim(bytes));
}

unsigned digest_threads(size_t files) {
  const unsigned machine = std::max(1U, std::thread::hardware_concurrency());
  return std::min({machine, kThreadsMax, static_cast<unsigned>(std::max<size_t>(1, files))});
}

}  // namespace assay::benchd
