#include "roundtrip/bare_pipe.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace assay::bench {

BarePipe::BarePipe(const std::string& program, size_t request_size, size_t answer_size)
    : request_(std::string(request_size - 1, 'x') + "\n"), answer_size_(answer_size) {
  int in[2], out[2];
  if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) return;
  const std::string size = std::to_string(answer_size);
  pid_ = fork();
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(in[0], 0);
    dup2(out[1], 1);
    execl(program.c_str(), program.c_str(), size.c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
  close(in[0]);
  close(out[1]);
  to_child_ = in[1];
  from_child_ = out[0];
}

BarePipe::~BarePipe() {
  close(to_child_);
  close(from_child_);
  if (pid_ > 0) waitpid(pid_, nullptr, 0);
}

bool BarePipe::round_trip() {
  if (write(to_child_, request_.data(), request_.size()) < 0) return false;
  char buffer[65536];
  size_t got = 0;
  while (got < answer_size_) {
    const ssize_t count = read(from_child_, buffer, sizeof buffer);
    if (count <= 0) return false;
    got += static_cast<size_t>(count);
  }
  return true;
}

}  // namespace assay::bench
