// An engine as a child process: its pipes as a LineTransport, its life and its end.
//
// The measuring thread itself reads (a reader thread would add a scheduling hop to every timed
// round trip), in one blocking system call that a ReadGuard bounds, or after poll when the deadline
// is near. After teardown nothing the engine started is left: its process group is killed, and so
// is every orphan that came to us since the engine began.
#pragma once

#include <memory>
#include <set>

#include "base/result.h"
#include "runner/world.h"

namespace assay::runner {

/// Processes of this World that are alive; never taken for an engine's orphans.
using LiveProcesses = std::set<int>;

/// Refuses ENGINE-NOT-EXECUTABLE, PROCESS-NOT-STARTED, RUN-INTERRUPTED.
[[nodiscard]] Result<std::unique_ptr<LineTransport>> start_engine(
    const SpawnRequest& request, std::shared_ptr<LiveProcesses> live);

/// Refuses PROCESS-NOT-STARTED, PROCESS-TIMEOUT, RUN-INTERRUPTED.
[[nodiscard]] Result<CommandResult> run_to_end(const CommandRequest& request,
                                               const std::shared_ptr<LiveProcesses>& live);

}  // namespace assay::runner
