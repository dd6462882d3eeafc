#include "benchd/reference.h"

#include <unistd.h>

#include <algorithm>
#include <system_error>

#include "base/text.h"
#include "benchd/refusals.h"

namespace assay::benchd {

namespace {

namespace fs = std::filesystem;

bool has_parent_part(const fs::path& path) {
  return std::any_of(path.begin(), path.end(), [](const fs::path& part) { return part == ".."; });
}

// True when `path`, with every link followed, still lies in `folder`. Needs both to exist.
bool stays_inside(const fs::path& path, const fs::path& folder) {
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  if (error) return false;
  const fs::path real_folder = fs::canonical(folder, error);
  if (error) return false;
  const auto [end, mismatch] =
      std::mismatch(real_folder.begin(), real_folder.end(), real.begin(), real.end());
  return end == real_folder.end();
}

}  // namespace

Result<fs::path> resolve_workspace(const std::optional<std::string>& flag,
                                   EnvironmentReader& environment) {
  const auto named = environment.flag_or(flag, "MLXFAST_BASELINE_WORKSPACE");
  if (!named) {
    return Refusal(kBaselineWorkspaceMissing,
                   "neither --baseline-workspace nor MLXFAST_BASELINE_WORKSPACE is given");
  }
  std::error_code error;
  const fs::path workspace = fs::canonical(*named, error);
  if (error || !fs::is_directory(workspace, error)) {
    return Refusal(kBaselineWorkspaceMissing, cat("`", *named, "` is not a folder"));
  }
  return workspace;
}

fs::path below_root(const fs::path& path, const fs::path& root) {
  if (path.empty() || has_parent_part(path)) return {};
  if (path.is_relative()) return path.lexically_normal();
  for (const fs::path& base : {root, fs::weakly_canonical(root)}) {
    const fs::path relative = path.lexically_normal().lexically_relative(base.lexically_normal());
    if (!relative.empty() && relative != "." && !has_parent_part(relative)) return relative;
  }
  return {};
}

Result<fs::path> reference_engine(const fs::path& engine, const fs::path& root,
                                  const fs::path& workspace) {
  const fs::path relative = below_root(engine, root);
  if (relative.empty()) {
    return Refusal(
        kBaselineEngineNotRootRelative,
        cat("--engine `", engine.string(), "` does not lie below `", root.string(), "`"));
  }
  const fs::path there = workspace / relative;
  std::error_code error;
  if (!fs::is_regular_file(there, error) || ::access(there.c_str(), X_OK) != 0) {
    return Refusal(kBaselineWorkspaceNoEngine,
                   cat("`", there.string(), "` is not an executable file"));
  }
  if (!stays_inside(there, workspace)) {
    return Refusal(kBaselineEngineNotRootRelative,
                   cat("`", there.string(), "` is a link that leaves the reference workspace"));
  }
  return there;
}

Result<fs::path> reference_weights(const fs::path& weights, const fs::path& root,
                                   const fs::path& workspace) {
  if (has_parent_part(weights)) {
    return Refusal(kBaselineWeightsNotRootRelative,
                   cat("--weights `", weights.string(), "` has a `..` part"));
  }
  std::error_code error;
  const fs::path relative = below_root(weights, root);
  if (!relative.empty()) {
    const fs::path there = workspace / relative;
    if (!fs::exists(there, error)) {
      return Refusal(kBaselineWorkspaceNoWeights, cat("`", there.string(), "` does not exist"));
    }
    if (!stays_inside(there, workspace)) {
      return Refusal(kBaselineWeightsNotRootRelative,
                     cat("`", there.string(), "` is a link that leaves the reference workspace"));
    }
    return there;
  }
  if (fs::is_directory(workspace / "weights", error)) return workspace / "weights";
  return weights;
}

Result<std::string> resolve_box(const std::optional<std::string>& flag,
                                EnvironmentReader& environment) {
  if (auto named = environment.read("RUNNER_NAME")) return *std::move(named);
  if (flag && !trim(*flag).empty()) return std::string(trim(*flag));
  return Refusal(kBaselineBoxUnresolved, "neither RUNNER_NAME nor --box is given");
}

}  // namespace assay::benchd
