#include "publish/hub_folder.h"

#include <algorithm>

#include "base/files.h"
#include "base/refusals.h"
#include "base/text.h"
#include "publish/hub_api.h"
#include "publish/refusals.h"

namespace assay::publish {

namespace {

namespace fs = std::filesystem;

constexpr uint64_t kFolderMax = uint64_t{1} << 30;
constexpr size_t kPreuploadMax = 256;  // files a call
constexpr int kAttemptsMax = 6;

struct LocalFile {
  std::string path, bytes;
};

Result<std::vector<LocalFile>> read_folder(const fs::path& folder) {
  std::vector<LocalFile> files;
  uint64_t total = 0;
  std::error_code error;
  fs::recursive_directory_iterator it(folder, error);
  for (; !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    const std::string path = it->path().lexically_relative(folder).generic_string();
    if (it->is_symlink() || !is_plain_path(path))
      return Refusal(kStoreWrite, cat("`", it->path().string(), "` is no plain file or folder"));
    if (!it->is_regular_file()) continue;
    TRY(bytes, read_file(it->path(), kFolderMax));
    total += bytes.size();
    if (total > kFolderMax)
      return Refusal(kStoreWrite, cat("`", folder.string(), "` holds over ", kFolderMax, " bytes"));
    files.push_back({path, std::move(bytes)});
  }
  if (error) return Refusal(kFileUnreadable, cat("`", folder.string(), "`: ", error.message()));
  if (files.empty()) return Refusal(kStoreWrite, cat("`", folder.string(), "` holds no file"));
  std::sort(files.begin(), files.end(),
            [](const auto& a, const auto& b) { return a.path < b.path; });
  return files;
}

}  // namespace

Result<FolderUpload> upload_folder(std::string_view url, const fs::path& folder,
                                   std::string_view summary, const StoreOptions& options,
                                   std::unique_ptr<HttpClient> client) {
  const Outside outside = outside_of(options);
  TRY(place, hub_place(url, outside));
  TRY(local, read_folder(folder));
  if (client == nullptr) client = curl_client();
  HubApi api(place, outside.patience, std::move(client));
  FolderUpload done{.files = local.size()};
  for (const LocalFile& file : local) done.size_bytes += file.bytes.size();

  for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
    // Asked anew each time: what an earlier attempt brought there is not sent again.
    std::vector<HubFile> wanted;
    for (size_t begin = 0; begin < local.size(); begin += kPreuploadMax) {
      std::vector<HubFile> some;
      for (size_t i = begin; i < std::min(local.size(), begin + kPreuploadMax); ++i)
        some.push_back({.path = local[i].path, .bytes = local[i].bytes});
      TRY_DO(api.preupload(place.revision, options.create_pr, some));
      for (HubFile& file : some) {
        if (!file.already_there()) wanted.push_back(std::move(file));
      }
    }
    if (attempt == 0) done.changed = wanted.size();
    if (wanted.empty()) return done;
    for (const HubFile& file : wanted) {
      if (file.large) TRY_DO(api.upload(place.revision, file));
    }
    TRY(tried, api.commit(place.revision, options.create_pr, "", summary, wanted));
    if (tried.outcome == CommitAttempt::done) {
      done.commit = tried.commit;
      done.pull_request = one_line(tried.pull_request);
      return done;
    }
    if (tried.outcome == CommitAttempt::uncertain && options.create_pr)
      return Refusal(kStoreUnreachable,
                     cat(tried.problem, "; a pull request may have been opened"));
    const auto pause = tried.pause.count() > 0 ? tried.pause : pause_before(attempt, nullptr);
    outside.patience.say(cat(tried.problem, "; looking again in ", pause.count(), " s"));
    outside.patience.sleep(pause);
  }
  return Refusal(kStoreBusy, cat("`", place.url(), "` did not take the commit"));
}

}  // namespace assay::publish
