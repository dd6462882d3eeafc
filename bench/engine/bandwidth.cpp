#include "bench/engine/bandwidth.h"

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

namespace assay::bench {
namespace {

// Eight independent 32-byte sums (GCC and clang vector extension; two 16-byte loads without AVX):
// enough loads in flight for the hardware to be the limit.
using Lane = uint64_t __attribute__((vector_size(32)));

uint64_t sum(const Lane* data, size_t count) {
  Lane s[8] = {};
  for (size_t i = 0; i + 8 <= count; i += 8) {
    for (size_t k = 0; k < 8; ++k) s[k] += data[i + k];
  }
  uint64_t total = 0;
  for (const Lane& lane : s) total += lane[0] + lane[1] + lane[2] + lane[3];
  return total;
}

}  // namespace

double read_bandwidth(int threads, int size_mib, int passes) {
  using Clock = std::chrono::steady_clock;
  const size_t count = static_cast<size_t>(size_mib) * (1 << 20) / sizeof(Lane);
  const std::vector<Lane> buffer(count, Lane{1, 2, 3, 4});
  const size_t share = count / static_cast<size_t>(threads) / 8 * 8;
  std::vector<uint64_t> sums(static_cast<size_t>(threads));
  double best_seconds = 1e30;
  Clock::time_point start;
  // The completion step runs on one thread while all others wait: it is the clock.
  bool running = false;
  std::barrier sync(threads, [&]() noexcept {
    const Clock::time_point now = Clock::now();
    if (running) {
      best_seconds = std::min(best_seconds, std::chrono::duration<double>(now - start).count());
    }
    running = !running;
    start = now;
  });
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back([&, index = static_cast<size_t>(t)] {
      for (int pass = 0; pass < passes; ++pass) {
        sync.arrive_and_wait();
        sums[index] += sum(buffer.data() + index * share, share);
        sync.arrive_and_wait();
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  // The sums are used, so that no pass can be dropped: every lane holds 1 + 2 + 3 + 4.
  for (const uint64_t value : sums) {
    if (value != share * 10 * static_cast<uint64_t>(passes)) return 0;
  }
  return static_cast<double>(share * static_cast<size_t>(threads) * sizeof(Lane)) / best_seconds;
}

}  // namespace assay::bench
