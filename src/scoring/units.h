// Units: a time per token is not a ratio. Small wrappers at the edges of scoring.
#pragma once

#include <chrono>

namespace assay::scoring {

/// Seconds one token costs. 0 stands for "not measured" in sealed files and never gives a gain.
struct SecondsPerToken {
  double value = 0.0;

  friend bool operator==(SecondsPerToken, SecondsPerToken) = default;
};

/// Nanoseconds of the parent's monotonic clock as seconds: one correctly rounded division.
[[nodiscard]] constexpr double seconds_of(std::chrono::nanoseconds duration) {
  return static_cast<double>(duration.count()) / 1e9;
}

}  // namespace assay::scoring
