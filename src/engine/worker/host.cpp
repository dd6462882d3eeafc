#include "engine/worker/host.h"

#include <string_view>

#include "base/files.h"
#include "base/text.h"

namespace assay::engine::worker {

namespace {

// The text after "name…:" of the first such line, or empty.
std::string_view value_of(std::string_view text, std::string_view name) {
  for (const std::string_view line : split(text, '\n')) {
    if (!line.starts_with(name)) continue;
    const size_t colon = line.find(':');
    if (colon != std::string_view::npos) return trim(line.substr(colon + 1));
  }
  return {};
}

// "123456 kB" in bytes.
uint64_t kib(std::string_view text) {
  const auto number = parse_uint64(text.substr(0, text.find(' ')));
  return number ? *number * 1024 : 0;
}

}  // namespace

std::string cpu_name() {
  const auto info = read_file("/proc/cpuinfo");
  const std::string_view name = info ? value_of(*info, "model name") : std::string_view();
  std::string squeezed;
  for (const char c : name) {
    if (c != ' ' || !squeezed.ends_with(' ')) squeezed += c;
  }
  return squeezed.empty() ? "unknown CPU" : squeezed;
}

ResidentBytes resident_bytes() {
  const auto status = read_file("/proc/self/status");
  if (!status) return {};
  return {kib(value_of(*status, "VmRSS")), kib(value_of(*status, "VmHWM"))};
}

}  // namespace assay::engine::worker
