// How a process ended, in words that cannot be confused with one another.
#pragma once

#include <string>

#include "runner/stderr_tail.h"

namespace assay::runner {

/// The four endings. A kill by the judge is never told as the engine's own death.
struct Ending {
  enum class Kind {
    exited,        // by itself; `number` is the exit code
    signalled,     // by a signal that the judge did not send; `number` is the signal
    killed_by_us,  // it lived on after its output had ended, for longer than the grace
    unknown,       // waiting for it failed; `reason` says why
  };
  Kind kind = Kind::unknown;
  int number = 0;
  std::string reason;
};

/// Patience with a process whose output has ended, before the judge kills it.
inline constexpr int kExitGraceMs = 2000;

/// "the engine exited by itself with code 3", "the engine died of signal 9 (Killed)", …
[[nodiscard]] std::string describe(const Ending& ending);

/// Ending and stderr tail in one line, at most about 1.8 kB.
[[nodiscard]] std::string post_mortem_text(const Ending& ending, const StderrTail& tail);

}  // namespace assay::runner
