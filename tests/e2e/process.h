// Running one of our programs to its end, as a shell would, and keeping what it said.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace assay::e2e {

struct ProcessRequest {
  std::vector<std::string> argv;
  std::filesystem::path working_directory;
  std::map<std::string, std::string> environment;  // beside PATH, HOME and TMPDIR
  std::optional<unsigned long> file_bytes_max;     // RLIMIT_FSIZE: a full disk
};

struct ProcessResult {
  int exit_code = -1;  // 128 + signal number when a signal ended it
  std::string out;
  std::string err;
};

[[nodiscard]] ProcessResult run_process(const ProcessRequest& request);

/// A running program whose stderr a test follows line by line.
class Process {
 public:
  explicit Process(const ProcessRequest& request);
  ~Process();  // kills what still runs
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  /// Reads stderr until a line holds `text`, and returns that line; empty when stderr ended before.
  [[nodiscard]] std::string wait_for_line(const std::string& text);
  void signal(int number) const;
  /// Waits for the end; what wait_for_line read is part of the result.
  [[nodiscard]] ProcessResult wait();

 private:
  void read_some();
  pid_t pid_ = -1;
  int out_ = -1;
  int err_ = -1;
  ProcessResult result_;
  size_t err_searched_ = 0;
};

}  // namespace assay::e2e
