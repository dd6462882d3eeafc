#include "benchd/stop.h"

#include <csignal>

#include "base/text.h"
#include "benchd/refusals.h"
#include "cli/program.h"
#include "runner/refusals.h"
#include "runner/world.h"

namespace assay::benchd {

namespace {

bool is_usage(std::string_view code) {
  return code.starts_with("USAGE-") || code == kGoldenPinIncomplete.code ||
         code == kCandidateSpecInvalid.code;
}

}  // namespace

Status check_stop() {
  const int signal = runner::InterruptGuard::signal_received();
  if (signal == 0) return {};
  return Refusal(runner::kRunInterrupted, cat("signal ", signal));
}

int exit_of(const Refusal& refusal, int code) {
  if (refusal.code == runner::kRunInterrupted.code) {
    const int signal = runner::InterruptGuard::signal_received();
    return 128 + (signal == 0 ? SIGINT : signal);
  }
  return is_usage(refusal.code) ? cli::kUsage : code;
}

}  // namespace assay::benchd
