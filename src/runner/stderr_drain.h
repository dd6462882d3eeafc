// The thread that empties an engine's stderr, so that a talkative engine never stalls on it.
#pragma once

#include <functional>
#include <mutex>
#include <string_view>
#include <thread>

#include "runner/clock.h"
#include "runner/spawn.h"
#include "runner/stderr_tail.h"

namespace assay::runner {

class StderrDrain {
 public:
  /// Starts the thread, with all signals blocked. `forward` may be empty; it runs on the thread.
  StderrDrain(Descriptor stderr_fd, std::function<void(std::string_view)> forward);
  ~StderrDrain();

  /// Waits until the stream ended, at most `patience` (somebody may have inherited it), then ends
  /// the thread. What is in the pipe by then has been read. Idempotent.
  void finish(Duration patience);

  /// A copy of what was kept so far.
  [[nodiscard]] StderrTail tail() const;

 private:
  void run();
  void take(std::string_view line);

  Descriptor fd_;
  Pipe stop_, ended_;  // closing the first asks the thread to end; the second closes when it has
  std::function<void(std::string_view)> forward_;
  mutable std::mutex mutex_;
  StderrTail tail_;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace assay::runner
