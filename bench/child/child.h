// A child process whose stdout is read here: enough to time its first byte and look at its memory.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"

namespace assay::bench {

class Child {
 public:
  /// Starts argv[0] (a path) with the caller's environment; stderr goes to /dev/null.
  /// BENCH-CHILD-FAILED when it cannot be started.
  [[nodiscard]] static Result<Child> start(const std::vector<std::string>& argv);
  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;
  /// Kills the child when it was not waited for.
  ~Child();

  [[nodiscard]] pid_t pid() const { return pid_; }
  /// Blocks until at least one more byte came or stdout ended; false at the end.
  [[nodiscard]] bool read_some();
  /// All of stdout so far.
  [[nodiscard]] const std::string& output() const { return output_; }
  /// Reads stdout to its end, then waits. BENCH-CHILD-FAILED unless it exits 0.
  [[nodiscard]] Status finish();

 private:
  Child() = default;
  pid_t pid_ = -1;
  int fd_ = -1;
  std::string output_;
};

}  // namespace assay::bench
