#include "benchd/harness.h"

#include <optional>
#include <system_error>

#include "base/files.h"
#include "base/text.h"
#include "benchd/refusals.h"
#include "scoring/digests.h"

namespace assay::benchd {

namespace {

namespace fs = std::filesystem;

Refusal unreadable(const fs::path& path, std::string_view why) {
  return Refusal(kHarnessUnreadable, cat("`", path.string(), "`: ", why));
}

Status add_folder(const fs::path& folder, std::vector<std::string>& paths) {
  std::error_code error;
  fs::recursive_directory_iterator it(folder, error);
  if (error) return unreadable(folder, error.message());
  while (it != fs::recursive_directory_iterator()) {
    const fs::file_status status = it->symlink_status(error);
    if (error) return unreadable(it->path(), error.message());
    if (it->path().filename().string().starts_with('.')) {
      it.disable_recursion_pending();
    } else if (fs::is_regular_file(status)) {
      paths.push_back(it->path().string());
    }
    it.increment(error);
    if (error) return unreadable(folder, error.message());
  }
  return {};
}

}  // namespace

Result<std::vector<std::string>> list_harness(
    const fs::path& root, const std::function<void(std::string_view)>& on_absent) {
  std::vector<std::string> paths;
  for (const std::string_view name : scoring::kHarnessRoots) {
    const fs::path path = root / name;
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (!fs::exists(status)) {
      if (on_absent) on_absent(name);
    } else if (fs::is_regular_file(status)) {
      paths.push_back(path.string());
    } else if (fs::is_directory(fs::symlink_status(path, error))) {
      TRY_DO(add_folder(path, paths));
    }
  }
  return paths;
}

Result<std::string> harness_hash(const fs::path& root,
                                 const std::function<void(std::string_view)>& on_absent) {
  TRY(paths, list_harness(root, on_absent));
  std::optional<Refusal> refusal;
  const auto read = [&refusal](const std::string& path) -> std::optional<std::string> {
    auto bytes = read_file(path);
    if (bytes) return *std::move(bytes);
    if (!refusal) refusal = unreadable(path, bytes.refusal().detail);
    return std::nullopt;
  };
  std::string hash = scoring::fold_harness(std::move(paths), read);
  if (refusal) return *std::move(refusal);
  return hash;
}

}  // namespace assay::benchd
