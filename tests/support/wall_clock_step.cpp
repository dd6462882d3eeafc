// A library to preload: the wall clock of a program jumps while it runs, and CLOCK_MONOTONIC does
// not. This is what a person, a suspend or a time server does to a machine in the middle of a
// measurement.
//
// In    ASSAY_STEP_FILE     the clock jumps as soon as this file exists: whoever makes it chooses
//                           the moment
//       ASSAY_STEP_SECONDS  by so much, 3600 or -3600
// Out   FILE.seen, at the program's end: by how many seconds its wall clock was then off
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

namespace {

long step() {
  const char* file = std::getenv("ASSAY_STEP_FILE");
  const char* seconds = std::getenv("ASSAY_STEP_SECONDS");
  if (file == nullptr || seconds == nullptr) return 0;
  const int before = errno;  // a clock that is read changes no errno
  const bool made = ::access(file, F_OK) == 0;
  errno = before;
  return made ? std::atol(seconds) : 0;
}

timespec true_time(clockid_t clock) {
  timespec out{};
  ::syscall(SYS_clock_gettime, clock, &out);
  return out;
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* out) noexcept {
  if (::syscall(SYS_clock_gettime, clock, out) != 0) return -1;
  if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) out->tv_sec += step();
  return 0;
}

int gettimeofday(timeval* __restrict out, void* __restrict) noexcept {
  const timespec now = true_time(CLOCK_REALTIME);
  *out = {now.tv_sec + step(), now.tv_nsec / 1000};
  return 0;
}

time_t time(time_t* out) noexcept {
  const time_t now = true_time(CLOCK_REALTIME).tv_sec + step();
  if (out != nullptr) *out = now;
  return now;
}

}  // extern "C"

namespace {

[[gnu::destructor]] void say_what_was_seen() {
  const char* file = std::getenv("ASSAY_STEP_FILE");
  if (file == nullptr) return;
  std::FILE* seen = std::fopen((std::string(file) + ".seen").c_str(), "w");
  if (seen == nullptr) return;
  const time_t before = true_time(CLOCK_REALTIME).tv_sec;
  std::fprintf(seen, "%ld", static_cast<long>(time(nullptr) - before));
  std::fclose(seen);
}

}  // namespace
