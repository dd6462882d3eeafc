#include "runner/wait.h"

#include <poll.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>

#include "base/text.h"
#include "runner/refusals.h"
#include "runner/world.h"

namespace assay::runner {
namespace {

std::atomic<int> received_signal{0};
static_assert(std::atomic<int>::is_always_lock_free);  // set inside a signal handler

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};
struct sigaction previous_actions[std::size(kSignals)];

constexpr Duration kSlice = std::chrono::milliseconds(250);

timespec to_timespec(Duration duration) {
  const auto count = std::max<Duration::rep>(duration.count(), 0);
  return {static_cast<time_t>(count / 1'000'000'000), static_cast<long>(count % 1'000'000'000)};
}

}  // namespace

Instant monotonic_now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return Instant(std::chrono::seconds(now.tv_sec) + Duration(now.tv_nsec));
}

Status check_interrupt_signal() {
  const int number = received_signal.load(std::memory_order_relaxed);
  if (number == 0) return {};
  return Refusal(kRunInterrupted, cat("signal ", number, " asked the judge to stop"));
}

Waited wait_for(int fd, short events, Instant deadline, const std::function<bool()>& give_up) {
  pollfd entry{fd, events, 0};
  for (;;) {
    if (received_signal.load(std::memory_order_relaxed) != 0) return Waited::interrupted;
    const Duration left = deadline - monotonic_now();
    if (left <= Duration::zero()) return Waited::deadline_passed;  // even when bytes are there
    const timespec slice = to_timespec(std::min(left, kSlice));
    const int count = ppoll(&entry, 1, &slice, nullptr);
    if (count > 0) return Waited::ready;
    if (count < 0) {
      if (errno == EINTR) continue;
      return Waited::ready;  // let the read or write that follows name the error
    }
    if (left <= kSlice) continue;
    if (give_up && give_up()) return Waited::gave_up;
  }
}

bool sleep_until(Instant deadline) {
  for (;;) {
    if (received_signal.load(std::memory_order_relaxed) != 0) return false;
    const Duration left = deadline - monotonic_now();
    if (left <= Duration::zero()) return true;
    const timespec slice = to_timespec(std::min(left, kSlice));
    clock_nanosleep(CLOCK_MONOTONIC, 0, &slice, nullptr);  // a signal ends it early
  }
}

InterruptGuard::InterruptGuard() {
  received_signal = 0;
  struct sigaction action {};
  action.sa_handler = [](int number) { received_signal.store(number, std::memory_order_relaxed); };
  // No SA_RESTART: the wait must wake up. SA_RESETHAND: a second signal ends the judge as usual,
  // and the kernel then ends the engine.
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < std::size(kSignals); ++i) {
    sigaction(kSignals[i], &action, &previous_actions[i]);
  }
}

InterruptGuard::~InterruptGuard() {
  for (size_t i = 0; i < std::size(kSignals); ++i) {
    sigaction(kSignals[i], &previous_actions[i], nullptr);
  }
  received_signal = 0;
}

int InterruptGuard::signal_received() {
  return received_signal.load(std::memory_order_relaxed);
}

}  // namespace assay::runner
