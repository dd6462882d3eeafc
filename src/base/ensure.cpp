#include "base/ensure.h"

#include <cstdio>
#include <cstdlib>

namespace assay {

void ensure_failed(const char* condition, std::source_location where) noexcept {
  std::fprintf(stderr, "assay: internal error: ENSURE(%s) at %s:%u in %s\n", condition,
               where.file_name(), static_cast<unsigned>(where.line()), where.function_name());
  std::abort();
}

}  // namespace assay
