// How not to measure: seconds between two readings of each wall clock, with whatever happens to it
// in between (this program makes the file named by its argument, which wall_clock_step waits for),
// and of the monotonic one. One number a line: system_clock, gettimeofday, time, steady_clock.
#include <sys/time.h>

#include <chrono>
#include <cstdio>
#include <ctime>

namespace {

struct Reading {
  std::chrono::system_clock::time_point system = std::chrono::system_clock::now();
  timeval of_day = [] {
    timeval value{};
    ::gettimeofday(&value, nullptr);
    return value;
  }();
  std::time_t seconds = std::time(nullptr);
  std::chrono::steady_clock::time_point steady = std::chrono::steady_clock::now();
};

double seconds(auto duration) {
  return std::chrono::duration<double>(duration).count();
}
double seconds(const timeval& value) {
  return static_cast<double>(value.tv_sec) + static_cast<double>(value.tv_usec) / 1e6;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const Reading before;
  std::FILE* file = std::fopen(argv[1], "w");
  if (file == nullptr) return 3;
  std::fclose(file);
  const Reading after;
  std::printf("%.6f\n%.6f\n%.6f\n%.6f\n", seconds(after.system - before.system),
              seconds(after.of_day) - seconds(before.of_day),
              static_cast<double>(after.seconds - before.seconds),
              seconds(after.steady - before.steady));
  return 0;
}
