#include "runner/post_mortem.h"

#include <csignal>
#include <cstring>

#include "base/text.h"

namespace assay::runner {
namespace {

// Leaves room in a sealed reason (2,048 bytes) for the clause in front and the ending.
constexpr size_t kTailSizeMax = 1536;

/// "SIGKILL"; a fixed word, whatever the locale.
std::string signal_name(int number) {
  const char* name = sigabbrev_np(number);
  return name == nullptr ? "unknown" : cat("SIG", std::string_view(name));
}

}  // namespace

std::string describe(const Ending& ending) {
  switch (ending.kind) {
    case Ending::Kind::exited: return cat("the engine exited by itself with code ", ending.number);
    case Ending::Kind::signalled:
      return cat("the engine died of signal ", ending.number, " (", signal_name(ending.number),
                 ") that the harness did not send");
    case Ending::Kind::killed_by_us:
      return cat("the engine outlived its output stream and was killed by the harness after ",
                 kExitGraceMs, " ms");
    case Ending::Kind::unknown: break;
  }
  return cat("how the engine ended is unknown: ", ending.reason);
}

std::string post_mortem_text(const Ending& ending, const StderrTail& tail) {
  return cat(describe(ending), "; ", tail.report(kTailSizeMax));
}

}  // namespace assay::runner
