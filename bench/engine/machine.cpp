#include "bench/engine/machine.h"

#include <fstream>

#include "base/text.h"

namespace assay::bench {

std::string cpu_name() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  std::string name = "unknown CPU";
  std::string family;
  std::string model;
  for (std::string line; std::getline(cpuinfo, line) && !line.empty();) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::string_view key = trim(std::string_view(line).substr(0, colon));
    const std::string value(trim(std::string_view(line).substr(colon + 1)));
    if (key == "model name") name = value;
    if (key == "cpu family") family = value;
    if (key == "model") model = value;
  }
  return family.empty() ? name : cat(name, " (family ", family, ", model ", model, ")");
}

}  // namespace assay::bench
