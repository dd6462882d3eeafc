#include "bench/answers/smollm2.h"

#include <cstdlib>

namespace assay::bench {

std::filesystem::path smollm2_path() {
  if (const char* path = std::getenv("ASSAY_SMOLLM2")) return path;
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  const std::filesystem::path base = cache && *cache
                                         ? std::filesystem::path(cache)
                                         : std::filesystem::path(home ? home : "/") / ".cache";
  return base / "assay" / "SmolLM2-135M-Instruct.Q4_1.gguf";
}

}  // namespace assay::bench
