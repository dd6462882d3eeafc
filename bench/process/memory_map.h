// What a process holds in memory, by kind, from /proc/PID/smaps.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace assay::bench {

/// Bytes. rss counts shared pages in full, pss their share.
struct MemoryPart {
  uint64_t rss = 0;
  uint64_t pss = 0;
};

struct MemoryMap {
  MemoryPart weights;    // mappings of the model file
  MemoryPart code;       // mappings of every other file: program and libraries
  MemoryPart anonymous;  // heap, stacks, the KV cache, scratch
};

/// Reads smaps text. `model_name` is the model's file name.
[[nodiscard]] MemoryMap parse_smaps(std::string_view smaps, std::string_view model_name);
/// FILE-UNREADABLE when the process is gone.
[[nodiscard]] Result<MemoryMap> memory_map(pid_t pid, std::string_view model_name);

}  // namespace assay::bench
