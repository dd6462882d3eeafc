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
  running_.store(static_cast<int>(workers_.size()), std::memory_order_relaxed);
  epoch_.fetch_add(1);  // sequentially consistent, against the sleeper's check
  if (sleeping_.load() > 0) epoch_.notify_all();
  work_on_chunks(0);
  for (int spins = 0; running_.load(std::memory_order_acquire) > 0; ++spins) {
    if (spins < 20'000) {
      pause();
    } else {
      std::this_thread::yield();  // more threads than CPUs: let the worker have this one
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
    ++seen;
    if (stop_.load()) return;
    work_on_chunks(thread);
    running_.fetch_sub(1, std::memory_order_release);
  }
}

}  // namespace assay::engine::backend
