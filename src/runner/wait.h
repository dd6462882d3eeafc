// Waiting on the operating system: the monotonic clock, interrupts, and a bounded wait for a
// descriptor. (The one wait that does not go through here is the read under a ReadGuard.)
#pragma once

#include <functional>

#include "base/result.h"
#include "runner/clock.h"

namespace assay::runner {

/// CLOCK_MONOTONIC, from the kernel's shared page (about 25 ns).
[[nodiscard]] Instant monotonic_now();

/// RUN-INTERRUPTED once a signal asked the judge to stop (InterruptGuard), else success.
[[nodiscard]] Status check_interrupt_signal();

enum class Waited { ready, deadline_passed, interrupted, gave_up };

/// Waits until `fd` has one of `events` (POLLIN, POLLOUT) or has failed or been closed by its peer.
/// A wait is cut into slices of at most 250 ms, so that a signal that arrives just before the
/// system call is seen soon; after a slice without news `gave_up` is returned when `give_up` says
/// so. `give_up` may be empty.
[[nodiscard]] Waited wait_for(int fd, short events, Instant deadline,
                              const std::function<bool()>& give_up);

/// Sleeps on the monotonic clock; false when a signal asked the judge to stop.
bool sleep_until(Instant deadline);

}  // namespace assay::runner
