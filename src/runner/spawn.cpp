#include "runner/spawn.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <system_error>

#include "base/text.h"
#include "runner/refusals.h"

namespace assay::runner {
namespace {

std::vector<char*> pointers_to(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (auto& text : strings) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// What the child needs between fork and exec, prepared before it: only async-signal-safe calls
/// are allowed there.
struct Prepared {
  const char* executable;
  char* const* argv;
  char* const* envp;
  const char* working_directory;  // null: stay
  int stdio[3];
  int report_fd;  // gets errno when exec fails; closed by a successful exec
  pid_t parent;
};

[[noreturn]] void fail_child(int report_fd) {
  const int error = errno;
  const ssize_t written = write(report_fd, &error, sizeof error);
  _exit(written == sizeof error ? 127 : 126);
}

[[noreturn]] void run_child(const Prepared& prepared) {
  setsid();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != prepared.parent) _exit(127);  // our parent died before the line above

  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  for (int number = 1; number < NSIG; ++number) sigaction(number, &action, nullptr);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);

  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);

  for (int fd = 0; fd < 3; ++fd) {
    if (dup2(prepared.stdio[fd], fd) < 0) fail_child(prepared.report_fd);
  }
  // Everything of ours is close-on-exec already; this catches what we inherited ourselves.
  constexpr unsigned int kCloseOnExec = 4;  // CLOSE_RANGE_CLOEXEC
  if (syscall(SYS_close_range, 3U, ~0U, kCloseOnExec) != 0) {
    for (int fd = 3; fd < 65536; ++fd) fcntl(fd, F_SETFD, FD_CLOEXEC);
  }
  if (prepared.working_directory != nullptr && chdir(prepared.working_directory) != 0) {
    fail_child(prepared.report_fd);
  }
  execve(prepared.executable, prepared.argv, prepared.envp);
  fail_child(prepared.report_fd);
}

}  // namespace

void Descriptor::reset() {
  if (fd_ >= 0) close(std::exchange(fd_, -1));
}

std::string system_reason(int error) {
  return std::generic_category().message(error);
}

Result<Pipe> make_pipe() {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) {
    return Refusal(kProcessNotStarted, cat("no pipe: ", system_reason(errno)));
  }
  // Above the standard three, so that the child's dup2 never overwrites one it still needs.
  for (int& fd : fds) {
    if (fd > 2) continue;
    const int moved = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    if (moved < 0) return Refusal(kProcessNotStarted, cat("no pipe: ", system_reason(errno)));
    close(fd);
    fd = moved;
  }
  return Pipe{Descriptor(fds[0]), Descriptor(fds[1])};
}

Result<pid_t> start_child(const ChildSpec& spec) {
  std::error_code error;
  const auto executable = std::filesystem::absolute(spec.executable, error);
  struct stat status {};
  if (error || stat(executable.c_str(), &status) != 0) {
    return Refusal(kEngineNotExecutable, cat(spec.executable.string(), ": ",
                                             system_reason(error ? error.value() : errno)));
  }
  if (!S_ISREG(status.st_mode) || access(executable.c_str(), X_OK) != 0) {
    return Refusal(kEngineNotExecutable,
                   cat(spec.executable.string(), ": not a file that we may execute"));
  }
  std::vector<std::string> argv = spec.argv;
  std::vector<std::string> environment;
  for (const auto& [name, value] : spec.environment) environment.push_back(cat(name, "=", value));
  const auto argv_pointers = pointers_to(argv);
  const auto environment_pointers = pointers_to(environment);
  TRY(report, make_pipe());

  const Prepared prepared{executable.c_str(),
                          argv_pointers.data(),
                          environment_pointers.data(),
                          spec.working_directory.empty() ? nullptr : spec.working_directory.c_str(),
                          {spec.stdin_fd, spec.stdout_fd, spec.stderr_fd},
                          report.write_end.get(),
                          getpid()};
  // Signals stay blocked until the child has reset its handlers: one that arrived in between would
  // run the judge's handler in the child.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t pid = fork();
  if (pid == 0) run_child(prepared);
  const int fork_error = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0) return Refusal(kProcessNotStarted, cat("fork: ", system_reason(fork_error)));

  report.write_end.reset();
  int exec_error = 0;
  ssize_t got = 0;
  do got = read(report.read_end.get(), &exec_error, sizeof exec_error);
  while (got < 0 && errno == EINTR);
  if (got == sizeof exec_error) {
    int ignored = 0;
    while (waitpid(pid, &ignored, 0) < 0 && errno == EINTR) {
    }
    return Refusal(exec_error == ENOEXEC || exec_error == EACCES || exec_error == ENOENT
                       ? kEngineNotExecutable
                       : kProcessNotStarted,
                   cat(spec.executable.string(), ": ", system_reason(exec_error)));
  }
  return pid;
}

}  // namespace assay::runner
