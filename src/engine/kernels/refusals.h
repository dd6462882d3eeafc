// Every refusal of the kernel tables.
#pragma once

#include "base/refusal.h"

namespace assay::engine::kernels {

inline constexpr RefusalInfo kIsaUnknown{
    "KERNEL-ISA-UNKNOWN", "The kernel table asked for has a name that does not exist.",
    "Set ASSAY_FORCE_ISA to scalar, avx2, avx512vnni or amx, or leave it unset."};
inline constexpr RefusalInfo kIsaNotBuilt{
    "KERNEL-ISA-NOT-BUILT", "The kernel table asked for is not part of this build.",
    "Choose a table that the message lists, or leave ASSAY_FORCE_ISA unset."};
inline constexpr RefusalInfo kIsaNotSupported{
    "KERNEL-ISA-NOT-SUPPORTED",
    "This CPU or its operating system cannot run the kernel table asked for.",
    "Choose a table that the message lists, or leave ASSAY_FORCE_ISA unset."};

inline constexpr const RefusalInfo* kKernelRefusals[] = {&kIsaUnknown, &kIsaNotBuilt,
                                                         &kIsaNotSupported};

}  // namespace assay::engine::kernels
