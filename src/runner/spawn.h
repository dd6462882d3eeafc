// Starting one child process, with nothing of ours in it but what the request says.
//
// The child leads its own session and process group, is killed by the kernel when our thread ends,
// inherits no descriptor but 0, 1 and 2, has default signal handling, and writes no core file.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "runner/world.h"

namespace assay::runner {

/// An owned file descriptor.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  ~Descriptor() { reset(); }
  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool is_open() const { return fd_ >= 0; }
  void reset();

 private:
  int fd_ = -1;
};

struct Pipe {
  Descriptor read_end, write_end;  // both close-on-exec
};
/// Refuses PROCESS-NOT-STARTED.
[[nodiscard]] Result<Pipe> make_pipe();

struct ChildSpec {
  std::filesystem::path executable;  // absolute, or relative to our folder
  std::vector<std::string> argv;
  Environment environment;
  std::filesystem::path working_directory;            // empty: ours
  int stdin_fd = -1, stdout_fd = -1, stderr_fd = -1;  // become 0, 1, 2
};

/// Refuses ENGINE-NOT-EXECUTABLE (no such file, not a file, no permission), PROCESS-NOT-STARTED.
[[nodiscard]] Result<pid_t> start_child(const ChildSpec& spec);

/// The system's words for an error number.
[[nodiscard]] std::string system_reason(int error);

}  // namespace assay::runner
