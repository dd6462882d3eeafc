#include "worker/serve.h"

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <mutex>
#include <thread>

#include "base/text.h"
#include "protocol/line.h"
#include "worker/adapter.h"
#include "worker/refusals.h"

namespace assay::worker {

namespace {

Refusal io_refusal(std::string_view what) {
  return Refusal(kIo, cat(what, ": ", std::strerror(errno)));
}

Status write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n >= 0) {
      bytes.remove_prefix(static_cast<size_t>(n));
    } else if (errno != EINTR) {
      return io_refusal("writing to the judge");
    }
  }
  return {};
}

// Ends the process when its parent is gone: an orphan would keep the weights' memory for nobody.
// The thread sleeps, so it costs the timed path nothing, and it also works during a long forward.
class OrphanWatch {
 public:
  OrphanWatch() : parent_(getppid()), thread_([this](std::stop_token stop) { watch(stop); }) {}

 private:
  void watch(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (!stop.stop_requested()) {
      changed_.wait_for(lock, stop, std::chrono::seconds(2), [] { return false; });
      if (getppid() != parent_) _exit(0);
    }
  }

  const pid_t parent_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::jthread thread_;  // last: it uses the members above
};

}  // namespace

Result<WorkerCommand> parse_worker_command(int argc, const char* const* argv) {
  if (argc < 2 || std::string_view(argv[1]) != "runtime-worker") {
    return Refusal(kCommand, "the first argument must be `runtime-worker`");
  }
  WorkerCommand command;
  for (int i = 2; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (name != "--weights" && name != "--speculative-protocol") {
      command.rest.emplace_back(name);
      continue;
    }
    if (++i == argc) return Refusal(kCommand, cat(name, " needs a value"));
    const std::string_view value = argv[i];
    if (name == "--weights") {
      command.weights = value;
    } else if (value == "v1.1") {
      command.speculative = true;
    } else {
      return Refusal(kCommand, cat(name, " takes only v1.1, found `", value, "`"));
    }
  }
  return command;
}

Result<StdioChannel> StdioChannel::take() {
  const int in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
  if (in < 0) return io_refusal("duplicating descriptor 0");
  const int out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  if (out < 0) {
    const Refusal refusal = io_refusal("duplicating descriptor 1");
    ::close(in);
    return refusal;
  }
  StdioChannel channel(in, out);
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null < 0) return io_refusal("opening /dev/null");
  const bool pointed = dup2(null, STDIN_FILENO) >= 0 && dup2(null, STDOUT_FILENO) >= 0;
  if (null > STDOUT_FILENO) ::close(null);
  if (!pointed) return io_refusal("pointing descriptors 0 and 1 at /dev/null");
  return channel;
}

StdioChannel::StdioChannel(StdioChannel&& other) noexcept : in_(other.in_), out_(other.out_) {
  other.in_ = -1;
  other.out_ = -1;
}

StdioChannel::~StdioChannel() {
  if (in_ >= 0) ::close(in_);
  if (out_ >= 0) ::close(out_);
}

Status serve(Engine& engine, int in, int out, const ServeOptions& options) {
  ServeOptions session = options;
  if (session.nonce.empty()) session.nonce = fresh_nonce();
  Adapter adapter(engine, session);
  protocol::LineBuffer lines;
  std::string answer;
  adapter.hello(answer);
  TRY_DO(write_all(out, answer));

  const auto reply = [&](std::string_view line) -> Status {
    if (protocol::is_blank(line)) return {};
    answer.clear();
    adapter.answer(line, answer);
    return write_all(out, answer);
  };
  while (true) {
    auto line = lines.next();
    if (!line) {
      answer.clear();
      adapter.refuse_stream(line.refusal(), answer);
      TRY_DO(write_all(out, answer));
      return line.refusal();
    }
    if (*line) {
      TRY_DO(reply(**line));
      continue;
    }
    const std::span<char> room = lines.room();
    const ssize_t n = ::read(in, room.data(), room.size());
    if (n > 0) {
      lines.filled(static_cast<size_t>(n));
    } else if (n == 0) {
      if (const auto last = lines.rest()) TRY_DO(reply(*last));
      return {};
    } else if (errno != EINTR) {
      return io_refusal("reading from the judge");
    }
  }
}

Status serve_stdio(Engine& engine, const StdioChannel& channel, const ServeOptions& options) {
  std::signal(SIGPIPE, SIG_IGN);
  const OrphanWatch watch;
  return serve(engine, channel.in(), channel.out(), options);
}

std::string fresh_nonce() {
  char bytes[16];
  size_t have = 0;
  while (have < sizeof bytes) {
    const ssize_t n = getrandom(bytes + have, sizeof bytes - have, 0);
    if (n > 0) {
      have += static_cast<size_t>(n);
    } else {
      ENSURE(errno == EINTR);
    }
  }
  return to_hex(std::string_view(bytes, sizeof bytes));
}

}  // namespace assay::worker
