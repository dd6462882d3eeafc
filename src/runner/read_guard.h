// ReadGuard: lets a thread read a pipe with one blocking system call and still keep a deadline.
//
// poll before read costs the timed path a second system call and a second wake-up (1.3 us of a 9 us
// round trip). Instead, a thread of its own looks 4 times a second, and at the deadline, whether
// the read may go on. When it may not, it sends the reading thread SIGURG, whose handler does
// nothing, until the read has returned with EINTR. (SIGURG is ignored by default, so a late one
// does no harm.) A deadline nearer than kNear is left to poll. Threads   constructor, begin, end
// and reason belong to the reading thread.
#pragma once

#include <pthread.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "runner/clock.h"

namespace assay::runner {

class ReadGuard {
 public:
  static constexpr Duration kTick = std::chrono::milliseconds(250);
  static constexpr Duration kNear = std::chrono::milliseconds(300);  // more than a tick

  enum class Reason { none, deadline_passed, interrupted, engine_ended };

  /// `engine_ended` runs on the guard's thread, only between begin and end.
  explicit ReadGuard(std::function<bool()> engine_ended);
  ~ReadGuard();

  void begin(Instant deadline) {
    reason_.store(Reason::none, std::memory_order_relaxed);
    deadline_.store(deadline.time_since_epoch().count(), std::memory_order_release);
  }
  /// Returns when the guard's thread is not acting, and says why the read was cut short.
  [[nodiscard]] Reason end();

 private:
  void run();
  [[nodiscard]] Reason judge(Duration::rep deadline) const;

  static constexpr Duration::rep kNobodyReads = 0;
  std::function<bool()> engine_ended_;
  const pthread_t reader_;
  std::atomic<Duration::rep> deadline_{kNobodyReads};  // monotonic ns
  std::atomic<Reason> reason_{Reason::none};
  std::atomic<bool> acting_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;  // guarded by mutex_
  std::thread thread_;     // last: it uses the members above
};

}  // namespace assay::runner
