// A folder of files onto a hub, in one commit: how the exported viewer becomes a page there.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "publish/remote_store.h"

namespace assay::publish {

struct FolderUpload {
  size_t files = 0;         // in the folder
  size_t changed = 0;       // of them sent
  size_t removed = 0;       // of an earlier upload's; with `changed` 0 too there was no commit
  uint64_t size_bytes = 0;  // of all
  std::string commit{};
  std::string pull_request{};
};

/// Makes hf://spaces/OWNER/NAME (or hf://datasets/…) hold every file of the folder. Files with the
/// same bytes are not sent. `assay-site.json` there lists what an upload brought: what an earlier
/// one brought, the folder lacks, and nobody changed since is removed in the same commit; every
/// other file stays, and README.md and .gitattributes always. `client` null means libcurl.
/// Refuses what a store does, and FILE-UNREADABLE; a symbolic link in the folder, and more than
/// 1 GiB, are STORE-WRITE.
[[nodiscard]] Result<FolderUpload> upload_folder(std::string_view url,
                                                 const std::filesystem::path& folder,
                                                 std::string_view summary,
                                                 const StoreOptions& options,
                                                 std::unique_ptr<HttpClient> client = nullptr);

}  // namespace assay::publish
