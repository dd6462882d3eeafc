// A store as files that need no server: a folder, or one HTML file that works offline.
//
// Folder    index.html and the page's files, api/index.json, shards/<name>. An existing folder must
//           be empty or an earlier export; it is replaced as a whole.
// File      an existing file must be an earlier export, unless `force`.
// Same      the same store and page give the same bytes: the time in the index is the newest run's.
// Errors    VIEW-EXPORT-TARGET, VIEW-EXPORT-LARGE, VIEW-SHARD-CHANGED, VIEW-PAGE, FILE-NOT-WRITTEN,
//           and what the store refuses.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "base/result.h"
#include "view/catalog.h"
#include "view/page.h"

namespace assay::view {

/// A file over this size is refused: browsers give up on it, or the reader's patience does.
inline constexpr uint64_t kExportFileMax = uint64_t{512} << 20;

struct ExportOptions {
  std::filesystem::path target{};  // NAME.html = one file, anything else = a folder
  std::string title{};
  bool force = false;                    // over a file that no export wrote
  std::optional<uint64_t> shards_max{};  // the newest ones; the index says how many were left out
};

struct Exported {
  size_t runs = 0, left_out = 0, problems = 0;
  uint64_t size_bytes = 0;
};

[[nodiscard]] Result<Exported> export_store(Catalog& catalog, const Page& page,
                                            const ExportOptions& options);

}  // namespace assay::view
