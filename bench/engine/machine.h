// The machine's name for the record.
#pragma once

#include <string>

namespace assay::bench {

/// "model name" of /proc/cpuinfo with family and model number: "AMD EPYC (family 25, model 1)".
[[nodiscard]] std::string cpu_name();

}  // namespace assay::bench
