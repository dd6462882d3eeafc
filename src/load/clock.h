// The one clock of the measuring client: CLOCK_MONOTONIC. Wall-clock time is read once, at the
// start, only to say when a run took place; no duration is ever made from it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"

namespace assay::load {

/// Nanoseconds of CLOCK_MONOTONIC since its own zero.
using Stamp = std::chrono::nanoseconds;

[[nodiscard]] Stamp now();

[[nodiscard]] inline double seconds(Stamp duration) {
  return std::chrono::duration<double>(duration).count();
}

/// One pairing of both clocks. Every date of a file follows from it and a stamp, so that a clock
/// that is set in the middle of a run moves nothing.
struct WallAnchor {
  int64_t utc_ms = 0;  // since 1970
  Stamp at{};

  [[nodiscard]] static WallAnchor take();
  /// "2026-04-24T18:30:00.250Z"
  [[nodiscard]] std::string utc(Stamp stamp) const;
};

/// Asked before every request and at least every 100 ms of waiting; its refusal ends the
/// measurement (a signal, a memory guard). May be empty. Called from several threads.
using Guard = std::function<Status()>;

/// Waits until `until`, asking the guard.
[[nodiscard]] Status sleep_until(Stamp until, const Guard& guard);

}  // namespace assay::load
