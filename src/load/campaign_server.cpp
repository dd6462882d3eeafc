#include "load/campaign_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/text.h"
#include "load/http_client.h"
#include "load/refusals.h"

extern char** environ;

namespace assay::load {

namespace {

constexpr int kGraceMs = 5000;  // between SIGTERM and SIGKILL

/// What the keeper tells: a whole report is one atomic write to a pipe.
struct Report {
  enum Kind : int { started, not_started, ended } kind;
  int value;  // process id, errno, wait status
};

// Everything the two children need, prepared before the forks: between fork and exec only
// async-signal-safe calls are allowed (the campaign has threads).
struct Prepared {
  char* const* argv;
  char* const* environment;
  int log_fd, null_fd, life_fd, report_fd;
};

int child_event_fd = -1;  // the keeper's own: its SIGCHLD handler writes here

void on_child(int) {
  const int saved = errno;
  const char byte = 0;
  const ssize_t written = write(child_event_fd, &byte, 1);
  static_cast<void>(written);
  errno = saved;
}

void send(int fd, Report report) {
  const ssize_t written = write(fd, &report, sizeof report);
  static_cast<void>(written);  // nobody is left to tell
}

void close_from(int first, int keep_a, int keep_b, int keep_c) {
  for (int fd = first; fd < 4096; ++fd) {
    if (fd != keep_a && fd != keep_b && fd != keep_c) close(fd);
  }
}

[[noreturn]] void run_server(const Prepared& prepared, pid_t keeper, int failure_fd) {
  setpgid(0, 0);
#if defined(__linux__)
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != keeper) _exit(127);
#else
  static_cast<void>(keeper);
#endif
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  for (int number = 1; number < NSIG; ++number) sigaction(number, &action, nullptr);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  dup2(prepared.null_fd, 0);
  dup2(prepared.log_fd, 1);
  dup2(prepared.log_fd, 2);
  environ = const_cast<char**>(prepared.environment);
  execvp(prepared.argv[0], prepared.argv);
  const int error = errno;
  const ssize_t written = write(failure_fd, &error, sizeof error);
  _exit(written == sizeof error ? 127 : 126);
}

// Waits for the server's end, at most `timeout_ms` (-1: for ever); also ends when the life pipe
// does, if it is watched. True when the server ended.
bool wait_for_end(pid_t server, int events_fd, int life_fd, int timeout_ms, int& status) {
  for (;;) {
    const pid_t got = waitpid(server, &status, WNOHANG);
    if (got == server || (got < 0 && errno == ECHILD)) return true;
    pollfd fds[2] = {{events_fd, POLLIN, 0}, {life_fd, POLLIN, 0}};
    const int ready = poll(fds, life_fd >= 0 ? 2 : 1, timeout_ms);
    if (ready == 0) return false;
    if (ready < 0) continue;  // a signal: most likely the server's end
    if ((fds[0].revents & POLLIN) != 0) {
      char bytes[64];
      const ssize_t drained = read(events_fd, bytes, sizeof bytes);
      static_cast<void>(drained);
    }
    if (life_fd >= 0 && fds[1].revents != 0) return false;
  }
}

[[noreturn]] void run_keeper(const Prepared& prepared) {
  setsid();  // away from the terminal: Ctrl-C is the campaign's to handle
#if defined(__linux__)
  prctl(PR_SET_NAME, "assay-keeper");
#endif
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) signal(number, SIG_IGN);
  close_from(3, prepared.log_fd, prepared.life_fd, prepared.report_fd);
  const int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int fd = 0; fd < 3; ++fd) dup2(null_fd, fd);
  Prepared own = prepared;
  own.null_fd = null_fd;

  int events[2], failure[2];
  if (pipe(events) != 0 || pipe(failure) != 0) {
    send(prepared.report_fd, {Report::not_started, errno});
    _exit(1);
  }
  for (const int fd : {events[0], events[1], failure[0], failure[1], prepared.log_fd,
                       prepared.life_fd, prepared.report_fd}) {
    fcntl(fd, F_SETFD, FD_CLOEXEC);
  }
  fcntl(events[1], F_SETFL, O_NONBLOCK);
  child_event_fd = events[1];
  struct sigaction action {};
  action.sa_handler = on_child;
  sigaction(SIGCHLD, &action, nullptr);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);

  const pid_t keeper = getpid();
  const pid_t server = fork();
  if (server == 0) run_server(own, keeper, failure[1]);
  close(failure[1]);
  close(prepared.log_fd);
  int error = server < 0 ? errno : 0;
  ssize_t got = 0;
  do got = server < 0 ? 0 : read(failure[0], &error, sizeof error);
  while (got < 0 && errno == EINTR);
  if (server < 0 || got == sizeof error) {
    send(prepared.report_fd, {Report::not_started, error});
    _exit(1);
  }
  setpgid(server, server);
  send(prepared.report_fd, {Report::started, server});

  int status = 0;
  bool ended = wait_for_end(server, events[0], prepared.life_fd, -1, status);
  if (!ended) {
    kill(-server, SIGTERM);
    ended = wait_for_end(server, events[0], -1, kGraceMs, status);
  }
  kill(-server, SIGKILL);  // what is left of the group
  if (!ended) wait_for_end(server, events[0], -1, -1, status);
  send(prepared.report_fd, {Report::ended, status});
  _exit(0);
}

// Descriptors that close by themselves until they are handed on.
struct Fd {
  int fd = -1;
  ~Fd() {
    if (fd >= 0) ::close(fd);
  }
  Fd() = default;
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  int release() {
    const int out = fd;
    fd = -1;
    return out;
  }
};

// A close-on-exec pipe above the standard three, which the children overwrite.
bool make_pipe(Fd& read_end, Fd& write_end) {
  int fds[2];
  if (::pipe(fds) != 0) return false;
  read_end.fd = ::fcntl(fds[0], F_DUPFD_CLOEXEC, 3);
  write_end.fd = ::fcntl(fds[1], F_DUPFD_CLOEXEC, 3);
  ::close(fds[0]);
  ::close(fds[1]);
  return read_end.fd >= 0 && write_end.fd >= 0;
}

Refusal not_started(const ServerCommand& command, int error) {
  return Refusal(kServerNotStarted, cat("`", command.argv[0], "`: ", std::strerror(error)));
}

std::vector<std::string> environment_with(const std::map<std::string, std::string>& added) {
  std::vector<std::string> out;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (!added.contains(std::string(text.substr(0, text.find('='))))) out.emplace_back(text);
  }
  for (const auto& [name, value] : added) out.push_back(cat(name, "=", value));
  return out;
}

std::vector<char*> pointers_to(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& text : strings) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

Result<std::unique_ptr<ServerProcess>> ServerProcess::start(const ServerCommand& command) {
  std::vector<std::string> argv = command.argv;
  std::vector<std::string> environment = environment_with(command.environment);
  const auto argv_pointers = pointers_to(argv);
  const auto environment_pointers = pointers_to(environment);
  std::error_code ignored;
  if (command.log.has_parent_path())
    std::filesystem::create_directories(command.log.parent_path(), ignored);
  Fd log, life_read, life_write, report_read, report_write;
  const int opened = ::open(command.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (opened >= 0) {
    log.fd = ::fcntl(opened, F_DUPFD_CLOEXEC, 3);
    ::close(opened);
  }
  if (log.fd < 0) {
    return Refusal(kServerNotStarted,
                   cat("its log `", command.log.string(), "`: ", std::strerror(errno)));
  }
  if (!make_pipe(life_read, life_write) || !make_pipe(report_read, report_write))
    return not_started(command, errno);

  const Prepared prepared{
      argv_pointers.data(), environment_pointers.data(), log.fd, -1, life_read.fd, report_write.fd};
  // Signals stay blocked until the keeper has its own handling: one that arrived in between would
  // run the campaign's handler in it.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t keeper = ::fork();
  if (keeper == 0) run_keeper(prepared);
  const int fork_error = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (keeper < 0) return not_started(command, fork_error);

  auto server = std::unique_ptr<ServerProcess>(new ServerProcess);
  server->keeper_ = keeper;
  server->life_ = life_write.release();
  server->reports_ = report_read.release();
  ::close(report_write.release());  // so that the keeper's end is the end of the reports
  Report report{Report::not_started, ECHILD};
  ssize_t got = 0;
  do got = ::read(server->reports_, &report, sizeof report);
  while (got < 0 && errno == EINTR);
  if (got != sizeof report || report.kind != Report::started)
    return not_started(command, report.value);
  server->pid_ = report.value;
  return server;
}

ServerProcess::~ServerProcess() {
  stop();
}

void ServerProcess::take_reports(bool wait) {
  const std::lock_guard lock(mutex_);
  while (reports_ >= 0 && end_.empty()) {
    pollfd waiting{reports_, POLLIN, 0};
    const int ready = ::poll(&waiting, 1, wait ? -1 : 0);
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) return;
    Report report{};
    const ssize_t got = ::read(reports_, &report, sizeof report);
    if (got < 0 && errno == EINTR) continue;
    if (got != sizeof report) {
      end_ = "its keeper was killed";
    } else if (report.kind == Report::ended) {
      exit_ = WIFSIGNALED(report.value) ? 128 + WTERMSIG(report.value) : WEXITSTATUS(report.value);
      end_ = WIFSIGNALED(report.value) ? cat("signal ", WTERMSIG(report.value))
                                       : cat("exit code ", WEXITSTATUS(report.value));
    }
  }
}

bool ServerProcess::alive() {
  if (pid_ == 0) return false;
  take_reports(false);
  return end().empty();
}

std::string ServerProcess::end() const {
  const std::lock_guard lock(mutex_);
  return end_;
}

int ServerProcess::wait_for_exit() {
  take_reports(true);
  const std::lock_guard lock(mutex_);
  return exit_;
}

void ServerProcess::stop() {
  if (keeper_ < 0) return;
  ::close(life_);
  life_ = -1;
  take_reports(true);
  int status = 0;
  while (::waitpid(keeper_, &status, 0) < 0 && errno == EINTR) {
  }
  keeper_ = -1;
  const std::lock_guard lock(mutex_);
  ::close(reports_);
  reports_ = -1;
}

namespace {

// A stream socket bound to the loopback address and `port`; -1 with errno otherwise.
int bound_socket(int port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  if (fd < 0) return -1;
  ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  const int yes = 1;  // a connection that waits out its end does not keep the port from us
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return fd;
  const int error = errno;
  ::close(fd);
  errno = error;
  return -1;
}

}  // namespace

Result<int> free_port() {
  Fd fd;
  fd.fd = bound_socket(0);
  sockaddr_in address{};
  socklen_t size = sizeof address;
  if (fd.fd < 0 || ::getsockname(fd.fd, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    return Refusal(kServerNotStarted, cat("no free port: ", std::strerror(errno)));
  return int{ntohs(address.sin_port)};
}

Status expect_port_free(int port) {
  Fd fd;
  fd.fd = bound_socket(port);
  if (fd.fd < 0) {
    return Refusal(kPortTaken,
                   cat("port ", port, " of the loopback address: ", std::strerror(errno)));
  }
  return {};
}

namespace {

constexpr auto kReadyPoll = std::chrono::milliseconds(25);
constexpr Limits kReadyLimits{.connect = std::chrono::milliseconds(1000),
                              .request = std::chrono::milliseconds(5000)};

class StatusOnly final : public HttpSink {
 public:
  void head(HttpHead head, Stamp) override { status = head.status; }
  bool body(std::string_view, Stamp) override { return false; }
  int status = 0;
};

}  // namespace

Status wait_until_ready(ServerProcess& server, const std::string& url, std::chrono::seconds timeout,
                        const Guard& guard) {
  TRY(endpoint, parse_endpoint(url));
  const Stamp deadline = now() + timeout;
  std::string last = "no answer yet";
  while (now() < deadline) {
    if (!server.alive()) return Refusal(kServerDied, cat(server.end(), " before it was ready"));
    StatusOnly answer;
    const HttpOutcome outcome =
        exchange(endpoint, {.target = endpoint.path.empty() ? "/" : endpoint.path}, kReadyLimits,
                 guard, answer);
    if (answer.status >= 200 && answer.status < 300) return {};
    last = answer.status != 0 ? cat("status ", answer.status)
           : outcome.problem  ? outcome.problem->text()
                              : last;
    TRY_DO(sleep_until(now() + kReadyPoll, guard));
  }
  return Refusal(kServerNotReady, cat("`", url, "` in ", timeout.count(), " s: ", last));
}

}  // namespace assay::load
