// Being stopped: a signal asked the judge to end, and how a verb then exits.
#pragma once

#include "base/result.h"

namespace assay::benchd {

/// RUN-INTERRUPTED once a signal came (runner::InterruptGuard), else success. From any thread.
[[nodiscard]] Status check_stop();

/// The exit code of a refusal that ended a verb: 128 + the signal for RUN-INTERRUPTED, 2 for a
/// wrong command line, else `code`.
[[nodiscard]] int exit_of(const Refusal& refusal, int code);

}  // namespace assay::benchd
