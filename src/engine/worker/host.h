// Host: what Linux says about this machine and this process.
#pragma once

#include <cstdint>
#include <string>

namespace assay::engine::worker {

/// The processor's model name, blanks squeezed; "unknown CPU" where the system does not say.
[[nodiscard]] std::string cpu_name();

/// Resident memory of this process in bytes, now and at its highest; 0 where the system does not
/// say.
struct ResidentBytes {
  uint64_t now = 0;
  uint64_t peak = 0;
};
[[nodiscard]] ResidentBytes resident_bytes();

}  // namespace assay::engine::worker
