// Every refusal of the child runner.
#pragma once

#include "base/refusal.h"

namespace assay::bench {

inline constexpr RefusalInfo kChildFailed{
    "BENCH-CHILD-FAILED", "A measured program could not be started, or did not end with success.",
    "Run the command that the message names by hand and look at what it says."};
inline constexpr RefusalInfo kChildAnswer{
    "BENCH-CHILD-ANSWER", "A measured program did not print what the measurement needs.",
    "Check that program and measurement come from the same build."};

inline constexpr const RefusalInfo* kChildRefusals[] = {&kChildFailed, &kChildAnswer};

}  // namespace assay::bench
