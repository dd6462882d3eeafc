#include "load/clock.h"

#include <ctime>
#include <thread>

#include "base/text.h"

namespace assay::load {

Stamp now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

WallAnchor WallAnchor::take() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  return {.utc_ms = int64_t{time.tv_sec} * 1000 + time.tv_nsec / 1'000'000, .at = now()};
}

std::string WallAnchor::utc(Stamp stamp) const {
  const int64_t ms =
      utc_ms + std::chrono::duration_cast<std::chrono::milliseconds>(stamp - at).count();
  int64_t second = ms / 1000;
  int64_t rest = ms % 1000;
  if (rest < 0) {
    rest += 1000;
    --second;
  }
  const std::time_t whole = second;
  std::tm parts{};
  gmtime_r(&whole, &parts);
  char text[32];
  const size_t size = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  const std::string digits = cat(rest);
  return cat(std::string_view(text, size), ".", std::string(3 - digits.size(), '0'), digits, "Z");
}

Status sleep_until(Stamp until, const Guard& guard) {
  constexpr Stamp kPiece = std::chrono::milliseconds(100);
  for (;;) {
    if (guard) TRY_DO(guard());
    const Stamp left = until - now();
    if (left <= Stamp::zero()) return {};
    std::this_thread::sleep_for(std::min(left, kPiece));
  }
}

}  // namespace assay::load
