#include "bench/process/memory_map.h"

#include <string>

#include "base/files.h"
#include "base/text.h"

namespace assay::bench {
namespace {

// "Rss:               1234 kB" -> 1263616
uint64_t kilobytes(std::string_view line, size_t key_size) {
  std::string_view rest = trim(line.substr(key_size));
  rest = rest.substr(0, rest.find(' '));
  return parse_uint64(rest).value_or(0) * 1024;
}

// The first line of a mapping: "55d0c0a00000-55d0c0a21000 r--p 00000000 08:01 1234   /path".
bool is_mapping(std::string_view line) {
  const std::string_view first = line.substr(0, line.find(' '));
  return first.find('-') != std::string_view::npos && first.find(':') == std::string_view::npos;
}

}  // namespace

MemoryMap parse_smaps(std::string_view smaps, std::string_view model_name) {
  MemoryMap map;
  MemoryPart* part = &map.anonymous;
  for (const std::string_view line : split(smaps, '\n')) {
    if (is_mapping(line)) {
      const size_t slash = line.find('/');
      part = &map.anonymous;
      if (slash != std::string_view::npos) {
        part = line.substr(slash).ends_with(model_name) ? &map.weights : &map.code;
      }
    }
    if (line.starts_with("Rss:")) part->rss += kilobytes(line, 4);
    if (line.starts_with("Pss:")) part->pss += kilobytes(line, 4);
  }
  return map;
}

Result<MemoryMap> memory_map(pid_t pid, std::string_view model_name) {
  TRY(smaps, read_file(cat("/proc/", pid, "/smaps")));
  return parse_smaps(smaps, model_name);
}

}  // namespace assay::bench
