// The host that this process runs on.
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "base/files.h"
#include "machine/detect.h"

extern char** environ;

namespace assay::machine {

namespace {

constexpr auto kCommandTimeout = std::chrono::seconds(3);
constexpr size_t kOutputMax = size_t{1} << 20;

// Reads until end of file, the deadline or too much output; true when the end was reached.
bool drain(int fd, std::string& out) {
  const auto deadline = std::chrono::steady_clock::now() + kCommandTimeout;
  char buffer[4096];
  while (out.size() < kOutputMax) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    pollfd waiting{fd, POLLIN, 0};
    const int ready = ::poll(&waiting, 1, left.count() > 0 ? static_cast<int>(left.count()) : 0);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    const ssize_t got = ::read(fd, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got == 0;
    out.append(buffer, static_cast<size_t>(got));
  }
  return false;
}

class ThisHost final : public Host {
 public:
  [[nodiscard]] Platform platform() const override {
#if defined(__APPLE__)
    return Platform::macos;
#else
    return Platform::linux_;
#endif
  }

  [[nodiscard]] std::optional<std::string> file(const std::string& path) const override {
    auto bytes = read_file(path, kOutputMax);
    if (!bytes) return std::nullopt;
    return *std::move(bytes);
  }

  [[nodiscard]] std::optional<std::string> environment(const std::string& name) const override {
    const char* value = std::getenv(name.c_str());
    if (value == nullptr) return std::nullopt;
    return std::string(value);
  }

  [[nodiscard]] std::optional<std::string> run(
      const std::vector<std::string>& argv) const override {
    int pipe_ends[2];
    if (::pipe2(pipe_ends, O_CLOEXEC) != 0) return std::nullopt;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    std::vector<char*> arguments;
    for (const std::string& argument : argv)
      arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    pid_t pid = 0;
    const int failure =
        ::posix_spawnp(&pid, arguments[0], &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    ::close(pipe_ends[1]);
    std::string out;
    const bool whole = failure == 0 && drain(pipe_ends[0], out);
    ::close(pipe_ends[0]);
    if (failure != 0) return std::nullopt;
    if (!whole) ::kill(pid, SIGKILL);
    int status = 0;
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (!whole || !WIFEXITED(status) || WEXITSTATUS(status) != 0) return std::nullopt;
    return out;
  }

  [[nodiscard]] Kernel kernel() const override {
    utsname name{};
    if (::uname(&name) != 0) return {};
    return {name.nodename, name.release, name.machine};
  }
};

}  // namespace

const Host& this_host() {
  static const ThisHost host;
  return host;
}

}  // namespace assay::machine
