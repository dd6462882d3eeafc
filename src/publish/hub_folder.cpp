#include "publish/hub_folder.h"

#include <algorithm>

#include "base/files.h"
#include "base/json.h"
#include "base/refusals.h"
#include "base/sha256.h"
#include "base/text.h"
#include "publish/hub_api.h"
#include "publish/refusals.h"

namespace assay::publish {

namespace {

namespace fs = std::filesystem;

constexpr uint64_t kFolderMax = uint64_t{1} << 30;
constexpr size_t kPreuploadMax = 256;  // files a call
constexpr int kAttemptsMax = 6;

// What an upload leaves beside its files: which they are. The next upload may remove just these.
constexpr std::string_view kList = "assay-site.json";
constexpr std::string_view kListFormat = "assay-site-1";
// What a repository is configured by: never removed, whatever a list says.
constexpr std::string_view kKept[] = {"README.md", ".gitattributes"};

struct LocalFile {
  std::string path, bytes;
};

std::string list_of(const std::vector<LocalFile>& files) {
  std::vector<json::Value> items;
  for (const LocalFile& file : files) {
    items.push_back(json::Value::object({{"path", file.path}, {"sha256", sha256_hex(file.bytes)}}));
  }
  return json::write(json::Value::object({{"format", kListFormat},
                                          {"files", json::Value::array(std::move(items))}}),
                     {.indent = 1}) +
         "\n";
}

struct ListedFile {
  std::string path, sha256;
};
// The files of an earlier upload's list; none when it is not ours to the letter.
std::vector<ListedFile> read_list(std::string_view bytes) {
  const auto list = json::parse(bytes);
  if (!list || !list->is_object()) return {};
  const json::Value* format = list->find("format");
  const json::Value* items = list->find("files");
  if (format == nullptr || !format->is_string() || format->string() != kListFormat ||
      items == nullptr || !items->is_array()) {
    return {};
  }
  std::vector<ListedFile> files;
  for (const json::Value& item : items->items()) {
    const json::Value* path = item.is_object() ? item.find("path") : nullptr;
    const json::Value* sha256 = item.is_object() ? item.find("sha256") : nullptr;
    if (path == nullptr || !path->is_string() || sha256 == nullptr || !sha256->is_string())
      return {};
    files.push_back({path->string(), sha256->string()});
  }
  return files;
}

// What the hub has from earlier uploads, at one commit.
struct Stale {
  std::string commit{};              // that this was seen at; empty when the hub does not say
  std::vector<std::string> paths{};  // to remove
};

// Files of the earlier upload that the folder lacks and that still are what was uploaded.
Result<Stale> find_stale(HubApi& api, const std::vector<LocalFile>& local,
                         const Patience& patience) {
  const std::string& revision = api.place().revision;
  Stale stale;
  TRY(list, api.read(revision, kList));
  if (!list) return stale;
  stale.commit = list->commit;
  for (const ListedFile& file : read_list(list->bytes)) {
    const bool wanted = std::any_of(local.begin(), local.end(),
                                    [&](const LocalFile& own) { return own.path == file.path; });
    const bool kept = std::find(std::begin(kKept), std::end(kKept), file.path) != std::end(kKept);
    if (wanted || kept || !is_plain_path(file.path)) continue;
    TRY(there, api.read(revision, file.path));
    if (!there) continue;
    if (sha256_hex(there->bytes) == file.sha256) {
      stale.paths.push_back(file.path);
    } else {
      patience.say(cat("`", one_line(file.path), "` stays: somebody changed it since"));
    }
  }
  return stale;
}

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
  for (const LocalFile& file : files) {
    if (file.path == kList)
      return Refusal(kStoreWrite, cat("`", folder.string(), "` holds ", kList,
                                      ", the name of the list that an upload leaves there"));
  }
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
  local.push_back({std::string(kList), list_of(local)});

  for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
    // Asked anew each time: what an earlier attempt brought there is not sent again.
    TRY(stale, find_stale(api, local, outside.patience));
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
    if (attempt == 0) {
      done.changed = static_cast<size_t>(std::count_if(
          wanted.begin(), wanted.end(), [](const HubFile& file) { return file.path != kList; }));
      done.removed = stale.paths.size();
    }
    if (wanted.empty() && stale.paths.empty()) return done;
    for (const HubFile& file : wanted) {
      if (file.large) TRY_DO(api.upload(place.revision, file));
    }
    // A removal holds for what was looked at only: somebody's change since is looked at first.
    const std::string parent = stale.paths.empty() ? "" : stale.commit;
    TRY(tried, api.commit(place.revision, options.create_pr, parent, summary, wanted, stale.paths));
    if (tried.outcome == CommitAttempt::done) {
      done.commit = tried.commit;
      done.pull_request = one_line(tried.pull_request);
      return done;
    }
    if (tried.outcome == CommitAttempt::uncertain && options.create_pr)
      return Refusal(kStoreUnreachable,
                     cat(tried.problem, "; a pull request may have been opened"));
    if (tried.outcome == CommitAttempt::moved) tried.problem = "somebody else committed meanwhile";
    const auto pause = tried.pause.count() > 0 ? tried.pause : pause_before(attempt, nullptr);
    outside.patience.say(cat(tried.problem, "; looking again in ", pause.count(), " s"));
    outside.patience.sleep(pause);
  }
  return Refusal(kStoreBusy, cat("`", place.url(), "` did not take the commit"));
}

}  // namespace assay::publish
