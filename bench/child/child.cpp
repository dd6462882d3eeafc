#include "bench/child/child.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <utility>

#include "base/text.h"
#include "bench/child/refusals.h"

extern char** environ;

namespace assay::bench {

Result<Child> Child::start(const std::vector<std::string>& argv) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return Refusal(kChildFailed, "no pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::vector<char*> arguments;
  for (const std::string& argument : argv) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  Child child;
  const int error =
      posix_spawn(&child.pid_, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  child.fd_ = ends[0];
  if (error != 0) {
    child.pid_ = -1;
    return Refusal(kChildFailed, cat(argv[0], ": ", std::strerror(error)));
  }
  return child;
}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      fd_(std::exchange(other.fd_, -1)),
      output_(std::move(other.output_)) {}

Child::~Child() {
  if (fd_ >= 0) close(fd_);
  if (pid_ < 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

bool Child::read_some() {
  char buffer[65536];
  const ssize_t count = read(fd_, buffer, sizeof buffer);
  if (count <= 0) return false;
  output_.append(buffer, static_cast<size_t>(count));
  return true;
}

Status Child::finish() {
  while (read_some()) {
  }
  int status = 0;
  waitpid(std::exchange(pid_, -1), &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  return Refusal(kChildFailed, WIFEXITED(status) ? cat("exit code ", WEXITSTATUS(status))
                                                 : cat("signal ", WTERMSIG(status)));
}

}  // namespace assay::bench
