// Descendants that lost their parent and came to us (we are their subreaper).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <set>

namespace assay::runner {

/// A process's start, in clock ticks since boot (field 22 of /proc/<pid>/stat), or nothing when
/// there is no such process.
[[nodiscard]] std::optional<uint64_t> process_start(pid_t pid);

/// Kills and reaps every child of ours that is not in `ours` and started at `since` or later:
/// orphans of an engine that started at `since`. Returns how many.
int end_orphans(const std::set<int>& ours, uint64_t since);

}  // namespace assay::runner
