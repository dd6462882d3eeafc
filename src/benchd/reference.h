// The reference of a paired run: the organizer's tree, in which the candidate's own relative paths
// are followed, so that both legs run "the same file" of two workspaces.
//
// Source  docs/run.md, step 5.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/result.h"
#include "benchd/environment.h"

namespace assay::benchd {

/// The folder given by flag or MLXFAST_BASELINE_WORKSPACE, absolute. Refuses
/// BASELINE-WORKSPACE-MISSING.
[[nodiscard]] Result<std::filesystem::path> resolve_workspace(
    const std::optional<std::string>& flag, EnvironmentReader& environment);

/// The engine of the reference: `engine` relative to `root` (the candidate's workspace), followed
/// inside `workspace`. An absolute `engine` below `root` counts as relative. Refuses
/// BASELINE-ENGINE-NOT-ROOT-RELATIVE (`..`, outside `root`, or a link that leaves the tree),
///          BASELINE-WORKSPACE-NO-ENGINE (not there, or not executable).
[[nodiscard]] Result<std::filesystem::path> reference_engine(
    const std::filesystem::path& engine, const std::filesystem::path& root,
    const std::filesystem::path& workspace);

/// The weights of the reference: below `root`, the same relative path in `workspace`; else the
/// `weights/` folder of `workspace` if there is one; else the shared weights.
/// Refuses  BASELINE-WEIGHTS-NOT-ROOT-RELATIVE, BASELINE-WORKSPACE-NO-WEIGHTS.
[[nodiscard]] Result<std::filesystem::path> reference_weights(
    const std::filesystem::path& weights, const std::filesystem::path& root,
    const std::filesystem::path& workspace);

/// The name of this box: RUNNER_NAME wins over the flag. Refuses BASELINE-BOX-UNRESOLVED.
[[nodiscard]] Result<std::string> resolve_box(const std::optional<std::string>& flag,
                                              EnvironmentReader& environment);

/// The path as one below `root`: unchanged when relative, shortened when absolute and below; empty
/// when it is neither, or has a `..` part.
[[nodiscard]] std::filesystem::path below_root(const std::filesystem::path& path,
                                               const std::filesystem::path& root);

}  // namespace assay::benchd
