// What an engine process is given: its arguments and its environment, both from closed lists.
//
// The environment is built from empty, so that it has the same bytes in checked and in timed
// phases: a variable that differs would tell the engine when it is being timed.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "runner/world.h"

namespace assay::runner {

/// Local runs pass variables named ASSAY_… on and report them; official runs pass none.
enum class RunClass { local, official };

/// One engine to start: `<executable> runtime-worker --weights <weights> [extra…]`.
struct WorkerCommand {
  std::filesystem::path executable;
  std::filesystem::path weights;
  /// Pairs of --resource NAME=PATH, --mtp-head PATH, --dflash-head PATH, in the order to pass.
  std::vector<std::string> extra;
  /// Adds `--speculative-protocol v1.1`; off for the strict v1 wire of `correctness`.
  bool speculative_protocol = true;
  std::filesystem::path working_directory;
  RunClass run_class = RunClass::local;
  /// Set by the judge for this leg only: names of kOverrideNames, or ASSAY_….
  Environment overrides;
  /// Where redacted stderr lines go, as "mlxfast-worker: <line>"; ignored on official runs.
  std::function<void(std::string_view)> on_stderr_line;
};

/// Refuses ENGINE-ARGUMENT-REFUSED: an argument that is not on the list, a resource whose NAME is
/// not [A-Za-z0-9._-]+, whose PATH is empty, or whose name comes twice.
[[nodiscard]] Result<std::vector<std::string>> worker_argv(const WorkerCommand& command);

struct WorkerEnvironment {
  Environment entries;                 // sorted by name; MLXFAST_USE_RUNTIME_WORKER=0 among them
  std::vector<std::string> overrides;  // names that passed beyond the fixed list, sorted: sealed
};

/// Refuses ENGINE-ENVIRONMENT-REFUSED when an override is not on the list.
[[nodiscard]] Result<WorkerEnvironment> worker_environment(const Environment& own,
                                                           const WorkerCommand& command);

/// Names and prefixes copied from the judge's environment, and names the judge may set.
extern const std::vector<std::string_view> kInheritedNames;
extern const std::vector<std::string_view> kInheritedPrefixes;
extern const std::vector<std::string_view> kOverrideNames;

/// Starts the engine: argv, environment and World::spawn.
struct StartedWorker {
  std::unique_ptr<LineTransport> transport;
  std::vector<std::string> environment_overrides;  // as WorkerEnvironment::overrides
};
[[nodiscard]] Result<StartedWorker> start_worker(World& world, const WorkerCommand& command);

}  // namespace assay::runner
