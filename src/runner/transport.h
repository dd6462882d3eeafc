// A line transport: how request lines reach an engine and response lines come back.
//
// Users     Session. Implementations: a child process (child_process.h), scripts in tests.
// Threads   one thread uses a transport; it reads on that thread (no hand-off inside timed
// windows).
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "runner/clock.h"

namespace assay::runner {

/// What one wait for a line brought.
struct LineRead {
  enum class Kind {
    line,             // `line` holds it, without LF and without one CR before the LF
    end_of_stream,    // the engine closed its output, or is dead and nothing is left to read
    deadline_passed,  // no complete line before the deadline
    too_long,         // more than protocol::kLineSizeMax bytes without an LF
    interrupted,      // a signal asked the judge to stop
    failed,           // the system refused; `reason` says why
  };
  Kind kind = Kind::failed;
  std::string_view line;  // valid until the next call on the transport
  std::string reason;
};

class LineTransport {
 public:
  virtual ~LineTransport() = default;

  /// Sends `line`, which ends with its LF, in one write where the system takes it whole.
  /// Refuses  IO (the engine closed its input, or the system's reason), RUN_TIMEOUT when the engine
  ///          does not take the bytes before `deadline`, RUN-INTERRUPTED.
  [[nodiscard]] virtual Status write_line(std::string_view line, Instant deadline) = 0;

  /// The next line, noise included. A last line without LF counts as a line.
  [[nodiscard]] virtual LineRead read_line(Instant deadline) = 0;

  /// True when the engine has already sent a message, or a part of a line, that nobody asked for.
  /// Whole noise lines are read and dropped. Does not wait.
  [[nodiscard]] virtual bool has_unread_message() = 0;

  /// Ends the peer if it has not ended (up to 2 s of patience), and tells how it ended and what it
  /// last said on stderr, in one line. "" when the transport has no process behind it.
  [[nodiscard]] virtual std::string post_mortem() = 0;

  /// Ends the peer: patiently (close its input, 2 s, SIGTERM, 1 s, SIGKILL), or at once.
  /// Idempotent.
  enum class Ending { patient, at_once };
  virtual void close(Ending ending) = 0;
};

}  // namespace assay::runner
