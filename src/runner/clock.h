// The judge's time: readings of the monotonic clock, as a type of their own.
#pragma once

#include <chrono>

namespace assay::runner {

using Duration = std::chrono::nanoseconds;

/// CLOCK_MONOTONIC as a type. It has no now(): readings come from World::now(), so that tests can
/// count them.
struct MonotonicClock {
  using duration = Duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<MonotonicClock>;
  static constexpr bool is_steady = true;
};

using Instant = MonotonicClock::time_point;

/// Seconds as sealed files write them.
[[nodiscard]] inline double to_seconds(Duration duration) {
  return static_cast<double>(duration.count()) / 1e9;
}

}  // namespace assay::runner
