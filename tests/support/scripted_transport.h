// ScriptedTransport: a LineTransport whose answers a function gives, and whose n-th read or write
// can be made to fail.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runner/transport.h"

namespace assay::support {

/// What the test sees of a transport that a session owns.
struct TransportLog {
  std::vector<std::string> written;  // lines as sent, LF included
  int reads = 0;
  int post_mortems = 0;
  std::optional<runner::LineTransport::Ending> closed;  // the first close
  /// Runs when the n-th line (from 1) was written, and when the n-th read begins.
  std::function<void(size_t line)> on_write;
  std::function<void(int read)> on_read;
};

class ScriptedTransport final : public runner::LineTransport {
 public:
  /// Gets each request line without LF; returns the lines that then can be read (none = silence).
  using Responder = std::function<std::vector<std::string>(const std::string& line)>;

  ScriptedTransport(std::vector<std::string> first_lines, Responder responder,
                    std::shared_ptr<TransportLog> log);

  /// The n-th read (from 1) brings this instead; the n-th write refuses with this.
  std::optional<std::pair<int, runner::LineRead::Kind>> failing_read;
  std::optional<std::pair<int, Refusal>> failing_write;
  /// What a read brings when no line is left.
  runner::LineRead::Kind when_empty = runner::LineRead::Kind::deadline_passed;
  std::string last_words = "the engine exited by itself with code 3; stderr was empty";

  [[nodiscard]] Status write_line(std::string_view line, runner::Instant deadline) override;
  [[nodiscard]] runner::LineRead read_line(runner::Instant deadline) override;
  [[nodiscard]] bool has_unread_message() override;
  [[nodiscard]] std::string post_mortem() override;
  void close(Ending ending) override;

  /// Deadlines that the session gave, in order of its reads.
  std::vector<runner::Instant> read_deadlines;

 private:
  std::deque<std::string> lines_;
  std::string current_;
  Responder responder_;
  std::shared_ptr<TransportLog> log_;
};

}  // namespace assay::support
