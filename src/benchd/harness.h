// The identity of the harness: one digest over the roster of files in the working folder.
//
// Rules   a root that is a file counts, also through a link; a folder is walked without following
// links; names
//         that start with a dot are skipped with all below them; only regular files count.
// Source  docs/formats/score.md, "Digests". One rule is stricter than the original: a file that is
// there
//         but cannot be read is refused instead of skipped, so that nobody can take a file out of
//         the digest.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace assay::benchd {

/// Absolute paths of the roster below `root`, unsorted. `on_absent` hears each root that is not
/// there. Refuses HARNESS-UNREADABLE (a folder that cannot be read).
[[nodiscard]] Result<std::vector<std::string>> list_harness(
    const std::filesystem::path& root, const std::function<void(std::string_view)>& on_absent);

/// 64 hex digits. Refuses HARNESS-UNREADABLE.
[[nodiscard]] Result<std::string> harness_hash(
    const std::filesystem::path& root, const std::function<void(std::string_view)>& on_absent);

}  // namespace assay::benchd
