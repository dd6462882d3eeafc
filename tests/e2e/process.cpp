#include "process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>

namespace assay::e2e {

namespace {

std::vector<std::string> environment_of(const ProcessRequest& request) {
  std::map<std::string, std::string> entries = request.environment;
  for (const char* name : {"PATH", "HOME", "TMPDIR"}) {
    if (const char* value = std::getenv(name)) entries.emplace(name, value);
  }
  std::vector<std::string> texts;
  for (const auto& [name, value] : entries) texts.push_back(name + "=" + value);
  return texts;
}

std::vector<char*> pointers_of(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Appends what is there; false at the end of the stream.
bool take(int fd, std::string& text) {
  char buffer[65536];
  const ssize_t count = ::read(fd, buffer, sizeof buffer);
  if (count > 0) text.append(buffer, static_cast<size_t>(count));
  return count > 0 || (count < 0 && errno == EINTR);
}

}  // namespace

Process::Process(const ProcessRequest& request) {
  int out[2], err[2];
  if (::pipe2(out, O_CLOEXEC) != 0 || ::pipe2(err, O_CLOEXEC) != 0) std::abort();
  std::vector<std::string> argv = request.argv;
  std::vector<std::string> environment = environment_of(request);
  const std::vector<char*> argv_pointers = pointers_of(argv);
  const std::vector<char*> environment_pointers = pointers_of(environment);
  pid_ = ::fork();
  if (pid_ == 0) {
    if (!request.working_directory.empty() && ::chdir(request.working_directory.c_str()) != 0) {
      _exit(126);
    }
    if (request.file_bytes_max) {
      const rlimit limit{*request.file_bytes_max, *request.file_bytes_max};
      ::setrlimit(RLIMIT_FSIZE, &limit);
    }
    const int nothing = ::open("/dev/null", O_RDONLY);
    ::dup2(nothing, STDIN_FILENO);
    ::dup2(out[1], STDOUT_FILENO);
    ::dup2(err[1], STDERR_FILENO);
    ::execve(argv_pointers[0], argv_pointers.data(), environment_pointers.data());
    _exit(127);
  }
  ::close(out[1]);
  ::close(err[1]);
  out_ = out[0];
  err_ = err[0];
}

Process::~Process() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  if (out_ >= 0) ::close(out_);
  if (err_ >= 0) ::close(err_);
}

void Process::read_some() {
  pollfd entries[2] = {{out_, POLLIN, 0}, {err_, POLLIN, 0}};
  if (::poll(entries, 2, -1) < 0) return;
  if (entries[0].revents != 0 && !take(out_, result_.out)) {
    ::close(out_);
    out_ = -1;
  }
  if (entries[1].revents != 0 && !take(err_, result_.err)) {
    ::close(err_);
    err_ = -1;
  }
}

std::string Process::wait_for_line(const std::string& text) {
  for (;;) {
    for (size_t end = result_.err.find('\n', err_searched_); end != std::string::npos;
         end = result_.err.find('\n', err_searched_)) {
      const std::string line = result_.err.substr(err_searched_, end - err_searched_);
      err_searched_ = end + 1;
      if (line.find(text) != std::string::npos) return line;
    }
    if (err_ < 0) return "";
    read_some();
  }
}

void Process::signal(int number) const {
  ::kill(pid_, number);
}

ProcessResult Process::wait() {
  while (out_ >= 0 || err_ >= 0) read_some();
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  result_.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result_;
}

ProcessResult run_process(const ProcessRequest& request) {
  return Process(request).wait();
}

}  // namespace assay::e2e
