// What computer this is. Always `os`, `chip`, `memory_gb` ("unknown", 0 when not found); everything
// else only when found or declared in the environment.
//
// Environment   MLX_BENCH_SYSTEM_OS, _SYSTEM_CHIP, _SYSTEM_MEMORY_GB; MLX_BENCH_GPU_MODEL,
// _GPU_VRAM_GB, _GPU_DRIVER,
//               _GPU_CUDA; MLX_BENCH_ENGINE_NAME, _ENGINE_VERSION; MLX_BENCH_POWER_LIMIT_W,
//               MLX_BENCH_CONTAINER; MLX_BENCH_WORLD_SIZE, _PARALLELISM, _INTERCONNECT, _NODES;
//               RUNNER_NAME, GITHUB_RUNNER_LABEL. A number that does not parse is dropped with a
//               warning.
// Threads       safe as far as the Host is.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace assay::machine {

enum class Platform { linux_, macos };

/// The part of the outside that detection looks at.
class Host {
 public:
  virtual ~Host() = default;
  [[nodiscard]] virtual Platform platform() const = 0;
  /// The file's bytes, or nothing.
  [[nodiscard]] virtual std::optional<std::string> file(const std::string& path) const = 0;
  [[nodiscard]] virtual std::optional<std::string> environment(const std::string& name) const = 0;
  /// Standard output of a command that ended with 0 within a few seconds, or nothing. No shell.
  [[nodiscard]] virtual std::optional<std::string> run(
      const std::vector<std::string>& argv) const = 0;
  /// uname(2): nodename, release, machine.
  struct Kernel {
    std::string node, release, machine;
  };
  [[nodiscard]] virtual Kernel kernel() const = 0;
};

/// The host that this process runs on.
[[nodiscard]] const Host& this_host();

struct Detected {
  json::Value system;  // the envelope's `system`
  std::vector<std::string> warnings{};
};
[[nodiscard]] Detected detect_system(const Host& host);

}  // namespace assay::machine
