// A leg's resident: the workspace's own serve script loads the engine before the leg and ends it
// after.
//
//   <script> --boot --spec serial|mtp --draft-len N --socket-out FILE    FILE, line 1: the socket's
//   path <script> --stop --socket PATH                                       always, also after a
//   failure
//
// The script runs in its workspace. A workspace without one is fine on a cpu track: the leg's
// worker then loads the model itself. Source  docs/run.md, step 9.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/result.h"
#include "protocol/message.h"
#include "runner/world.h"
#include "scoring/contract.h"

namespace assay::benchd {

class LegServer {
 public:
  /// Boots the resident of `workspace` for `spec` (serial when absent). Without a script: nothing
  /// on cpu. Refuses LEG-SERVE-SCRIPT-MISSING (mlx, cuda), LEG-SERVE-BOOT-FAILED, RUN-INTERRUPTED.
  [[nodiscard]] static Result<std::optional<LegServer>> boot(
      runner::World& world, scoring::Platform platform, const std::filesystem::path& workspace,
      const std::optional<protocol::SpecConfig>& spec);

  LegServer(LegServer&& other) noexcept;
  LegServer& operator=(LegServer&& other) noexcept;
  ~LegServer();  // stops the resident

  /// What the leg's worker gets in its environment, and only there.
  [[nodiscard]] runner::Environment worker_overrides() const;

 private:
  LegServer(runner::World& world, scoring::Platform platform, std::filesystem::path script,
            std::filesystem::path workspace, std::string socket);
  void stop() noexcept;
  runner::World* world_ = nullptr;  // null: moved from, or stopped
  scoring::Platform platform_;
  std::filesystem::path script_;
  std::filesystem::path workspace_;
  std::string socket_;
};

/// Refuses LEG-SERVE-INHERITED-SOCKET when the judge's own environment names a resident's socket.
[[nodiscard]] Status refuse_inherited_socket(const runner::Environment& environment);

}  // namespace assay::benchd
