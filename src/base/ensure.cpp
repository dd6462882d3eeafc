#include "base/ensure.h"

#include <cstdio>
#include <cstdlib>

namespace assay {

void ensure_failed(const char* condition, const char* file, int line,
                   const char* function) noexcept {
  std::fprintf(stderr, "assay: internal error: ENSURE(%s) at %s:%d in %s\n", condition, file, line,
               function);
  std::abort();
}

}  // namespace assay
