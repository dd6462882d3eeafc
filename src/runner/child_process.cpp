#include "runner/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <optional>
#include <utility>

#include "base/text.h"
#include "protocol/line.h"
#include "runner/orphans.h"
#include "runner/post_mortem.h"
#include "runner/read_guard.h"
#include "runner/refusals.h"
#include "runner/spawn.h"
#include "runner/stderr_drain.h"
#include "runner/wait.h"

namespace assay::runner {
namespace {

constexpr Duration kExitGrace = std::chrono::milliseconds(kExitGraceMs);
constexpr Duration kTermGrace = std::chrono::seconds(1);
constexpr Duration kStderrPatience = std::chrono::milliseconds(500);

/// A child of ours and its end. has_ended may be called from the guard's thread while the owner is
/// in a read. The leader stays a zombie until its group was killed, so that the group's number
/// cannot have become somebody else's.
class Child {
 public:
  Child(pid_t pid, std::shared_ptr<LiveProcesses> live) : pid_(pid), live_(std::move(live)) {
    live_->insert(pid_);
    started_ = process_start(pid_);
  }
  Child(Child&& other) noexcept
      : pid_(std::exchange(other.pid_, -1)),
        live_(std::move(other.live_)),
        started_(other.started_),
        ending_(other.ending_) {}

  /// True when the process has ended (or cannot be waited for).
  [[nodiscard]] bool has_ended() const {
    if (ending_) return true;
    siginfo_t info{};
    if (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0) {
      return errno != EINTR;
    }
    return info.si_pid != 0;
  }

  /// Waits for the end; false after `patience`. Signals to the judge do not shorten it.
  [[nodiscard]] bool wait_for_end(Duration patience) const {
    const Instant deadline = monotonic_now() + patience;
    Duration pause = std::chrono::microseconds(200);
    while (!has_ended()) {
      const Duration left = deadline - monotonic_now();
      if (left <= Duration::zero()) return false;
      const auto nap = std::min({pause, left, Duration(std::chrono::milliseconds(20))});
      const timespec time{0, static_cast<long>(nap.count())};
      clock_nanosleep(CLOCK_MONOTONIC, 0, &time, nullptr);
      pause *= 2;
    }
    return true;
  }

  void signal_group(int number) const {
    if (!ending_) kill(-pid_, number);
  }

  /// Kills what is left of the group, reaps the leader and says how it ended.
  const Ending& reap(bool killed_by_us) {
    if (ending_) return *ending_;
    kill(-pid_, SIGKILL);
    int status = 0;
    pid_t got = 0;
    do got = waitpid(pid_, &status, 0);
    while (got < 0 && errno == EINTR);
    if (got < 0) {
      ending_ = Ending{Ending::Kind::unknown, 0, cat("waitpid: ", system_reason(errno))};
    } else if (killed_by_us) {
      ending_ = Ending{Ending::Kind::killed_by_us, 0, ""};
    } else if (WIFEXITED(status)) {
      ending_ = Ending{Ending::Kind::exited, WEXITSTATUS(status), ""};
    } else {
      ending_ = Ending{Ending::Kind::signalled, WTERMSIG(status), ""};
    }
    live_->erase(pid_);
    return *ending_;
  }

  /// After reap: whatever the engine started and left behind.
  void sweep_orphans() const {
    if (started_) end_orphans(*live_, *started_);
  }

  /// After reap, when what the process started is to stay (a serve script's resident).
  [[nodiscard]] int exit_code() const {
    return ending_->kind == Ending::Kind::exited ? ending_->number : 128 + ending_->number;
  }
  /// Reaps a process that has ended without touching its group.
  void reap_leader_only() {
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    ending_ = WIFEXITED(status) ? Ending{Ending::Kind::exited, WEXITSTATUS(status), ""}
                                : Ending{Ending::Kind::signalled, WTERMSIG(status), ""};
    live_->erase(pid_);
  }

 private:
  pid_t pid_;
  std::shared_ptr<LiveProcesses> live_;
  std::optional<uint64_t> started_;
  std::optional<Ending> ending_;
};

void make_non_blocking(const Descriptor& fd) {
  fcntl(fd.get(), F_SETFL, O_NONBLOCK);
}

class ChildTransport final : public LineTransport {
 public:
  ChildTransport(Child child, Descriptor to_engine, Descriptor from_engine, Descriptor stderr_fd,
                 std::function<void(std::string_view)> forward)
      : child_(std::move(child)),
        to_engine_(std::move(to_engine)),
        from_engine_(std::move(from_engine)),
        stderr_(std::move(stderr_fd), std::move(forward)) {
    make_non_blocking(to_engine_);  // a write must not outlast its deadline
  }
  ~ChildTransport() override { close(Ending::patient); }

  Status write_line(std::string_view line, Instant deadline) override {
    while (!line.empty()) {
      const ssize_t count = write(to_engine_.get(), line.data(), line.size());
      if (count >= 0) {
        line.remove_prefix(static_cast<size_t>(count));
        continue;
      }
      if (errno == EINTR) continue;
      if (errno == EPIPE) return Refusal(kIo, "the engine closed its input");
      if (errno != EAGAIN) return Refusal(kIo, cat("write: ", system_reason(errno)));
      switch (
          wait_for(to_engine_.get(), POLLOUT, deadline, [this] { return child_.has_ended(); })) {
        case Waited::ready: break;
        case Waited::interrupted: return check_interrupt_signal();
        case Waited::deadline_passed:
          return Refusal(kRunTimeout, "the engine did not read its request in time");
        case Waited::gave_up: return Refusal(kIo, "the engine ended before it read its request");
      }
    }
    return {};
  }

  LineRead read_line(Instant deadline) override {
    for (;;) {
      auto next = buffer_.next();
      if (!next) return {LineRead::Kind::too_long, {}, next.refusal().detail};
      if (*next) return {LineRead::Kind::line, **next, {}};
      if (ended_) {
        const auto rest = buffer_.rest();
        if (rest) return {LineRead::Kind::line, *rest, {}};
        return {LineRead::Kind::end_of_stream, {}, {}};
      }
      const bool far = deadline - monotonic_now() > ReadGuard::kNear;
      const LineRead::Kind got = far ? fill_guarded(deadline) : fill_polled(deadline);
      if (got != LineRead::Kind::line) {
        return {got, {}, got == LineRead::Kind::failed ? read_fault_ : std::string()};
      }
    }
  }

  bool has_unread_message() override {
    for (;;) {
      auto next = buffer_.next();
      if (!next) return true;  // an endless line
      if (*next) {
        if (!protocol::is_noise(**next)) return true;
        continue;
      }
      if (ended_ || !has_input() || !fill()) return buffer_.has_bytes();
    }
  }

  std::string post_mortem() override {
    const bool by_itself = child_.wait_for_end(kExitGrace);
    const runner::Ending ending = child_.reap(!by_itself);
    stderr_.finish(kStderrPatience);
    return post_mortem_text(ending, stderr_.tail());
  }

  void close(Ending ending) override {
    if (closed_) return;
    closed_ = true;
    to_engine_.reset();
    from_engine_.reset();
    bool dead = child_.has_ended();
    if (ending == Ending::patient && !dead) {
      dead = child_.wait_for_end(kExitGrace);
      if (!dead) {
        child_.signal_group(SIGTERM);
        dead = child_.wait_for_end(kTermGrace);
      }
    }
    child_.reap(!dead);
    child_.sweep_orphans();
    stderr_.finish(kStderrPatience);
  }

 private:
  /// True when a read would bring bytes at once.
  [[nodiscard]] bool has_input() const {
    pollfd entry{from_engine_.get(), POLLIN, 0};
    return poll(&entry, 1, 0) > 0 && (entry.revents & POLLIN) != 0;
  }

  /// One read into the buffer, which blocks when there is nothing. False when it failed, with
  /// read_fault_ set. Sets ended_ at the end of the stream.
  bool fill() {
    const auto room = buffer_.room();
    const ssize_t count = read(from_engine_.get(), room.data(), room.size());
    if (count > 0) {
      buffer_.filled(static_cast<size_t>(count));
    } else if (count == 0) {
      ended_ = true;
    } else if (errno != EINTR) {
      read_fault_ = cat("read: ", system_reason(errno));
      return false;
    }
    return true;
  }

  /// Waits in the read itself. `line` stands for "look at the buffer again".
  LineRead::Kind fill_guarded(Instant deadline) {
    if (!check_interrupt_signal()) return LineRead::Kind::interrupted;
    guard_.begin(deadline);
    const bool good = fill();
    const ReadGuard::Reason reason = guard_.end();
    if (!good) return LineRead::Kind::failed;
    switch (reason) {
      case ReadGuard::Reason::deadline_passed: return LineRead::Kind::deadline_passed;
      case ReadGuard::Reason::interrupted: return LineRead::Kind::interrupted;
      case ReadGuard::Reason::engine_ended:  // yet somebody holds the pipe open
        ended_ = ended_ || !has_input();
        break;
      case ReadGuard::Reason::none: break;
    }
    return LineRead::Kind::line;
  }

  /// Waits in poll, to the deadline exactly.
  LineRead::Kind fill_polled(Instant deadline) {
    switch (wait_for(from_engine_.get(), POLLIN, deadline, [this] { return child_.has_ended(); })) {
      case Waited::ready: return fill() ? LineRead::Kind::line : LineRead::Kind::failed;
      case Waited::interrupted: return LineRead::Kind::interrupted;
      case Waited::deadline_passed: return LineRead::Kind::deadline_passed;
      case Waited::gave_up:  // dead, nothing to read, yet somebody holds the pipe open
        ended_ = true;
        return LineRead::Kind::line;
    }
    return LineRead::Kind::failed;
  }

  Child child_;
  Descriptor to_engine_, from_engine_;
  StderrDrain stderr_;
  protocol::LineBuffer buffer_;
  std::string read_fault_;
  bool ended_ = false;
  bool closed_ = false;
  ReadGuard guard_{[this] { return child_.has_ended(); }};
};

struct Stdio {
  Pipe in, out, err;
};

Result<Stdio> make_stdio() {
  TRY(in, make_pipe());
  TRY(out, make_pipe());
  TRY(err, make_pipe());
  return Stdio{std::move(in), std::move(out), std::move(err)};
}

/// Appends what can be read now; false at the end of the stream.
bool take_available(const Descriptor& fd, std::string& out, size_t size_max) {
  char buffer[16384];
  for (;;) {
    const ssize_t count = read(fd.get(), buffer, sizeof buffer);
    if (count == 0) return false;
    if (count < 0) return errno == EAGAIN || errno == EINTR;
    const size_t kept = std::min(static_cast<size_t>(count), size_max - out.size());
    out.append(buffer, kept);
  }
}

/// A name without a slash is looked up in the request's PATH.
std::filesystem::path find_program(const std::string& name, const Environment& environment) {
  if (name.find('/') != std::string::npos) return name;
  const auto path = find_variable(environment, "PATH").value_or("/usr/bin:/bin");
  for (const auto folder : split(path, ':')) {
    if (folder.empty()) continue;
    auto candidate = std::filesystem::path(folder) / name;
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return name;
}

}  // namespace

Result<std::unique_ptr<LineTransport>> start_engine(const SpawnRequest& request,
                                                    std::shared_ptr<LiveProcesses> live) {
  TRY_DO(check_interrupt_signal());
  TRY(stdio, make_stdio());
  ChildSpec spec;
  spec.executable = request.argv.front();
  spec.argv = request.argv;
  spec.environment = request.environment;
  spec.working_directory = request.working_directory;
  spec.stdin_fd = stdio.in.read_end.get();
  spec.stdout_fd = stdio.out.write_end.get();
  spec.stderr_fd = stdio.err.write_end.get();
  TRY(pid, start_child(spec));
  stdio.in.read_end.reset();
  stdio.out.write_end.reset();
  stdio.err.write_end.reset();
  return std::unique_ptr<LineTransport>(std::make_unique<ChildTransport>(
      Child(pid, std::move(live)), std::move(stdio.in.write_end), std::move(stdio.out.read_end),
      std::move(stdio.err.read_end), request.on_stderr_line));
}

Result<CommandResult> run_to_end(const CommandRequest& request,
                                 const std::shared_ptr<LiveProcesses>& live) {
  if (!request.even_when_interrupted) TRY_DO(check_interrupt_signal());
  TRY(stdio, make_stdio());
  const Descriptor nothing(open("/dev/null", O_RDONLY | O_CLOEXEC));
  ChildSpec spec;
  spec.executable = find_program(request.argv.front(), request.environment);
  spec.argv = request.argv;
  spec.environment = request.environment;
  spec.working_directory = request.working_directory;
  spec.stdin_fd = nothing.get();
  spec.stdout_fd = stdio.out.write_end.get();
  spec.stderr_fd = stdio.err.write_end.get();
  auto pid = start_child(spec);
  if (!pid) return Refusal(kProcessNotStarted, std::move(pid).refusal().detail);
  Child child(*pid, live);
  stdio.out.write_end.reset();
  stdio.err.write_end.reset();
  make_non_blocking(stdio.out.read_end);
  make_non_blocking(stdio.err.read_end);

  // The end of the program counts, not the end of its streams: what it leaves running may hold
  // them.
  CommandResult result;
  constexpr size_t kErrSizeMax = 65536;
  const Instant deadline = monotonic_now() + request.timeout;
  for (;;) {
    const bool ended = child.has_ended();
    take_available(stdio.out.read_end, result.out, request.output_size_max);
    take_available(stdio.err.read_end, result.err, kErrSizeMax);
    if (ended) break;
    auto interrupt = request.even_when_interrupted ? Status() : check_interrupt_signal();
    if (!interrupt || monotonic_now() >= deadline) {
      child.reap(true);
      child.sweep_orphans();
      if (!interrupt) return std::move(interrupt).refusal();
      return Refusal(kProcessTimeout,
                     cat("`", request.argv.front(), "` ran longer than ",
                         format_fixed(to_seconds(request.timeout), 1), " s and was killed"));
    }
    pollfd entries[2] = {{stdio.out.read_end.get(), POLLIN, 0},
                         {stdio.err.read_end.get(), POLLIN, 0}};
    poll(entries, 2, 5);
  }
  child.reap_leader_only();
  result.exit_code = child.exit_code();
  return result;
}

}  // namespace assay::runner
