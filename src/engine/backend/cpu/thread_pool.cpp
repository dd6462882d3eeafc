#include "engine/backend/cpu/thread_pool.h"

#include <chrono>

namespace assay::engine::backend {
namespace {

// Long enough for the gaps between regions of one token, and between tokens of a busy session.
constexpr auto kSpin = std::chrono::microseconds(200);

void pause() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::atomic_signal_fence(std::memory_order_seq_cst);
#endif
}

}  // namespace

ThreadPool::ThreadPool(int n_threads) {
  for (int thread = 1; thread < n_threads; ++thread) {
    workers_.emplace_back([this, thread] { worker(thread); });
  }
}

ThreadPool::~ThreadPool() {
  stop_.store(true);
  epoch_.fetch_add(1);
  epoch_.notify_all();
  for (std::thread& thread : workers_) thread.join();
}

void ThreadPool::run_region(Function function, void* context, int64_t n_chunks) {
  function_ = function;
  context_ = context;
  n_chunks_ = n_chunks;
  next_chunk_.store(0, std::memory_order_relaxed);
  const uint32_t number = epoch_.load(std::memory_order_relaxed) + 1;
  gate_.store((uint64_t{number} << kNumberShift) | kOpen, std::memory_order_release);
  epoch_.store(number);  // sequentially consistent, against the sleeper's check
  if (sleeping_.load() > 0) epoch_.notify_all();
  work_on_chunks(0);
  // Nobody joins any more; those inside finish the chunks that they hold.
  gate_.fetch_and(~kOpen, std::memory_order_acq_rel);
  for (int spins = 0; (gate_.load(std::memory_order_acquire) & kJoined) != 0; ++spins) {
    if (spins < 2'000) {
      pause();
    } else {
      std::this_thread::yield();  // the worker inside has lost its CPU: let it have this one
    }
  }
}

void ThreadPool::work_on_chunks(int thread) {
  const int64_t n = n_chunks_;
  for (int64_t chunk = next_chunk_.fetch_add(1, std::memory_order_relaxed); chunk < n;
       chunk = next_chunk_.fetch_add(1, std::memory_order_relaxed)) {
    function_(context_, chunk, thread);
  }
}

void ThreadPool::worker(int thread) {
  uint32_t seen = 0;
  while (true) {
    const auto start = std::chrono::steady_clock::now();
    for (int spins = 0; epoch_.load(std::memory_order_acquire) == seen; ++spins) {
      pause();
      if (spins % 64 == 63 && std::chrono::steady_clock::now() - start > kSpin) {
        sleeping_.fetch_add(1);
        epoch_.wait(seen);
        sleeping_.fetch_sub(1);
      }
    }
    if (stop_.load()) return;
    // Join the region that is open now, which may be a later one than the one that woke this
    // worker.
    uint64_t gate = gate_.load(std::memory_order_acquire);
    while ((gate & kOpen) != 0 &&
           !gate_.compare_exchange_weak(gate, gate + 1, std::memory_order_acq_rel,
                                        std::memory_order_acquire)) {
    }
    seen = static_cast<uint32_t>(gate >> kNumberShift);
    if ((gate & kOpen) == 0) continue;
    work_on_chunks(thread);
    gate_.fetch_sub(1, std::memory_order_release);
  }
}

}  // namespace assay::engine::backend
