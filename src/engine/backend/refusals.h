// Every refusal of the backends.
#pragma once

#include "base/refusal.h"

namespace assay::engine::backend {

inline constexpr RefusalInfo kBackendThreads{
    "BACKEND-THREADS", "The number of threads asked for is out of range.",
    "Ask for 1 to 1024 threads, or 0 for one on every CPU that the process may run on."};
inline constexpr RefusalInfo kBackendKvMemory{
    "BACKEND-KV-MEMORY", "There is no room for the keys and values of the context asked for.",
    "Ask for a shorter context, or free memory."};

inline constexpr const RefusalInfo* kBackendRefusals[] = {&kBackendThreads, &kBackendKvMemory};

}  // namespace assay::engine::backend
