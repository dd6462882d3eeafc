// Sockets that cost nobody but their own client anything: every wait ends at a deadline, and when
// more connections wait for a thread than there are threads, those that have kept theirs waiting
// for longest are given up.
//
// Threads   a socket is read and written by one thread; Connections by any.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <set>
#include <string>

namespace assay::view {

class TimedSocket;

/// The connections that are being served, each by a thread of its own.
class Connections {
 public:
  void add(TimedSocket& socket);
  void remove(TimedSocket& socket);

  /// How many connections wait for a thread.
  void set_starving(size_t count) { starving_ = count; }
  [[nodiscard]] bool any_starving() const { return starving_ > 0; }
  /// Gives up as many connections as are starving, less those that are about to end already.
  void make_room();
  /// Ends all of them, and those that come after.
  void close_all();

 private:
  std::mutex mutex_;
  std::set<TimedSocket*> open_;
  std::atomic<size_t> starving_{0};
  bool stopping_ = false;
};

/// Reads requests and writes answers. The socket is the caller's to close.
class TimedSocket {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr size_t kBeginningMax = 80;

  TimedSocket(int socket, Connections& connections);
  ~TimedSocket();
  TimedSocket(const TimedSocket&) = delete;
  TimedSocket& operator=(const TimedSocket&) = delete;

  /// True when a request begins within the idle time.
  bool await_request();
  /// The deadlines of a request and its answer begin.
  void begin_request();
  /// The request's first line, as it came, or its first kBeginningMax bytes.
  [[nodiscard]] std::string beginning() const;
  [[nodiscard]] bool is_readable() const;
  [[nodiscard]] bool is_writable() const;
  /// As recv: 0 at the end, -1 when nothing came in time or the head grows too large.
  ssize_t read(char* to, size_t size);
  /// All of it, or -1.
  ssize_t write(const char* from, size_t size);
  /// Whatever the client still sends is read over for a moment: closing at once would reset the
  /// connection, and the answer with it.
  void drain();

  [[nodiscard]] int socket() const { return socket_; }

  // From other threads.
  /// Every wait and every call of the socket ends.
  void give_up();
  [[nodiscard]] bool given_up() const { return given_up_; }
  [[nodiscard]] bool is_waiting() const { return waiting_; }
  /// When its client last sent or took something.
  [[nodiscard]] Clock::time_point last_progress() const { return last_progress_; }

 private:
  [[nodiscard]] bool wait(int16_t events, Clock::time_point deadline) const;

  int socket_;
  Connections& connections_;
  std::atomic<bool> given_up_{false};
  mutable std::atomic<bool> waiting_{false};
  std::atomic<Clock::time_point> last_progress_{Clock::now()};
  std::string beginning_{};
  char buffer_[4096];
  size_t at_ = 0, filled_ = 0;
  Clock::time_point read_deadline_{};
  size_t read_bytes_ = 0;
  std::optional<Clock::time_point> write_deadline_{};
  size_t written_ = 0;
};

}  // namespace assay::view
