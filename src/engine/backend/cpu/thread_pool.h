// A pool for short parallel regions: the calling thread works too, waiting is by spinning first.
//
// Decoding one token is some hundred regions of a few microseconds. A worker therefore spins for a
// while after a region before it sleeps, so that the next region starts without a system call.
// Chunks are handed out by a counter, and the caller waits only for workers that have joined the
// region: on a busy machine a worker that has no CPU holds up nothing, the others do its share.
// Which thread does which chunk never changes a result.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace assay::engine::backend {

class ThreadPool {
 public:
  /// n_threads >= 1 counts the calling thread.
  explicit ThreadPool(int n_threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  [[nodiscard]] int size() const noexcept { return static_cast<int>(workers_.size()) + 1; }

  /// Calls work(chunk, thread) for each chunk in [0, n_chunks), thread in [0, size()); returns when
  /// all are done. One caller at a time; `work` must not call run.
  template <class Work>
  void run(int64_t n_chunks, Work&& work) {
    if (n_chunks <= 1 || workers_.empty()) {
      for (int64_t chunk = 0; chunk < n_chunks; ++chunk) work(chunk, 0);
      return;
    }
    run_region(
        [](void* context, int64_t chunk, int thread) {
          (*static_cast<std::remove_reference_t<Work>*>(context))(chunk, thread);
        },
        &work, n_chunks);
  }

 private:
  using Function = void (*)(void* context, int64_t chunk, int thread);

  void run_region(Function function, void* context, int64_t n_chunks);
  void work_on_chunks(int thread);
  void worker(int thread);

  // gate_ is the state of the current region: its number, whether it may still be joined, how many
  // workers are in.
  static constexpr uint64_t kOpen = uint64_t{1} << 31;
  static constexpr uint64_t kJoined = kOpen - 1;  // mask of the count of workers inside
  static constexpr int kNumberShift = 32;

  // Written by the caller while no worker is inside, read by workers after they joined.
  Function function_ = nullptr;
  void* context_ = nullptr;
  int64_t n_chunks_ = 0;

  alignas(64) std::atomic<uint64_t> gate_{0};
  alignas(64) std::atomic<int64_t> next_chunk_{0};
  alignas(64) std::atomic<uint32_t> epoch_{0};  // the region's number again, for sleeping on it
  std::atomic<int> sleeping_{0};
  std::atomic<bool> stop_{false};
  std::vector<std::thread> workers_;
};

}  // namespace assay::engine::backend
