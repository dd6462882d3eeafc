// An engine program as a child process, spoken to line by line.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "protocol/line.h"
#include "protocol/message.h"

namespace assay::protocol_tests {

class EngineProcess {
 public:
  /// Starts argv with this environment only. A failure to start shows as an empty first line.
  explicit EngineProcess(std::vector<std::string> argv, std::vector<std::string> environment = {});
  ~EngineProcess();
  EngineProcess(const EngineProcess&) = delete;
  EngineProcess& operator=(const EngineProcess&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  void write(std::string_view bytes) const;
  void close_input();
  /// The next line; empty at the end of the stream. Fails the test after a minute of silence.
  [[nodiscard]] std::string read_line();
  /// Everything up to the end of the stream.
  [[nodiscard]] std::string read_all();

  /// Reads the next line as a response.
  [[nodiscard]] protocol::Response response();
  /// `fields` is what stands between the id and the closing brace of a request.
  [[nodiscard]] protocol::Response ask(std::string_view fields);
  /// Closes the input and waits: the exit status, or minus the signal.
  [[nodiscard]] int finish();

 private:
  bool read_more();

  pid_t pid_ = -1;
  int in_ = -1;   // the engine's stdin
  int out_ = -1;  // the engine's stdout
  int64_t id_ = 0;
  protocol::LineBuffer lines_;
};

}  // namespace assay::protocol_tests
