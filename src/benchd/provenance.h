// Provenance: by whom and from what a figure was made. Best effort where nothing depends on it,
// never a guess: what is not known is "".
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"
#include "benchd/environment.h"
#include "benchd/file_digests.h"
#include "runner/world.h"

namespace assay::benchd {

/// One program as sealed: its path in the form that names nobody, and the digest of its bytes.
struct ProgramIdentity {
  std::string path;
  std::string sha256;
  bool resolved = false;  // links were followed to the file that was digested
};
/// `program` is absolute. Refuses FILE-UNREADABLE.
[[nodiscard]] Result<ProgramIdentity> identify_program(const std::filesystem::path& program,
                                                       FileDigests& digests);
/// This program.
[[nodiscard]] Result<ProgramIdentity> identify_self(FileDigests& digests);

/// A path as sealed: relative to the working folder or to $HOME where it lies below.
[[nodiscard]] std::string sealed_path(const std::filesystem::path& path);

/// MLXFAST_COMMIT_SHA when it is 7 to 40 hex digits, else git's short HEAD of the working folder,
/// else "".
[[nodiscard]] std::string run_commit(runner::World& world, EnvironmentReader& environment);
/// Full HEAD of `folder` by /usr/bin/git, else "".
[[nodiscard]] std::string head_commit(runner::World& world, const std::filesystem::path& folder);

/// Now, as UTC "YYYY-MM-DDThh:mm:ssZ".
[[nodiscard]] std::string utc_now();

}  // namespace assay::benchd
