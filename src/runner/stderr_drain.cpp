#include "runner/stderr_drain.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <utility>

#include "base/text.h"
#include "runner/wait.h"

namespace assay::runner {

StderrDrain::StderrDrain(Descriptor stderr_fd, std::function<void(std::string_view)> forward)
    : fd_(std::move(stderr_fd)), forward_(std::move(forward)) {
  auto stop = make_pipe();
  auto ended = make_pipe();
  if (!stop || !ended) {
    take(cat("stderr is not read: ", (stop ? ended : stop).refusal().detail));
    return;
  }
  stop_ = std::move(*stop);
  ended_ = std::move(*ended);
  fcntl(fd_.get(), F_SETFL, O_NONBLOCK);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

StderrDrain::~StderrDrain() {
  finish(Duration::zero());
}

void StderrDrain::take(std::string_view line) {
  if (forward_) forward_(line);
  const std::lock_guard lock(mutex_);
  tail_.add(line);
}

void StderrDrain::run() {
  StderrLines lines([this](std::string_view line) { take(line); });
  char buffer[16384];
  for (;;) {
    pollfd entries[2] = {{fd_.get(), POLLIN, 0}, {stop_.read_end.get(), POLLIN, 0}};
    const bool waited = poll(entries, 2, -1) > 0;
    const ssize_t count = read(fd_.get(), buffer, sizeof buffer);
    if (count > 0) {
      lines.feed({buffer, static_cast<size_t>(count)});
      continue;
    }
    if (count < 0 && errno != EAGAIN && errno != EINTR) {
      take(cat("stderr could not be read: ", system_reason(errno)));
      break;
    }
    if (count == 0) break;
    if (waited && entries[1].revents != 0) break;  // asked to end, and nothing is left to read
  }
  lines.finish();
  ended_.write_end.reset();
}

void StderrDrain::finish(Duration patience) {
  if (!thread_.joinable()) return;
  pollfd entry{ended_.read_end.get(), POLLIN, 0};
  const auto patience_ms = std::chrono::duration_cast<std::chrono::milliseconds>(patience).count();
  const Instant deadline = monotonic_now() + patience;
  while (poll(&entry, 1, static_cast<int>(patience_ms)) < 0 && errno == EINTR &&
         monotonic_now() < deadline) {
  }
  stop_.write_end.reset();
  thread_.join();
}

StderrTail StderrDrain::tail() const {
  const std::lock_guard lock(mutex_);
  return tail_;
}

}  // namespace assay::runner
