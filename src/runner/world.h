// World: everything outside that a run touches, behind one interface.
//
// Code above (sessions, windows, gates, legs, benchd) reads clock, files, environment and processes
// only through a World, so that a test can script it and make any part of it fail. RealWorld is the
// operating system; tests/support has the scripted one.
// Threads   a World is used by one thread, and that thread must outlive the processes it starts:
//           the kernel ends them when it ends (PR_SET_PDEATHSIG).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "runner/clock.h"
#include "runner/transport.h"

namespace assay::runner {

/// Environment entries, name and value, in the order they are passed on.
using Environment = std::vector<std::pair<std::string, std::string>>;

/// The value of `name`, or nothing.
[[nodiscard]] std::optional<std::string_view> find_variable(const Environment& environment,
                                                            std::string_view name);

/// A program to start with its stdio connected to us.
struct SpawnRequest {
  std::vector<std::string> argv;            // argv[0] is the executable's path
  Environment environment;                  // complete; nothing is inherited
  std::filesystem::path working_directory;  // empty: ours
  /// Called on the stderr thread for each line, redacted and without LF. Empty on official runs.
  std::function<void(std::string_view)> on_stderr_line;
};

/// A helper program run to its end (temperature readers, serve scripts).
struct CommandRequest {
  std::vector<std::string> argv;
  Environment environment;
  std::filesystem::path working_directory;
  Duration timeout = std::chrono::seconds(30);
  uint64_t output_size_max = 1 << 20;  // stdout beyond this is dropped
  bool even_when_interrupted = false;  // a helper that undoes what an earlier one did
};

struct CommandResult {
  int exit_code = 0;  // 128 + signal number when a signal ended it
  std::string out;
  std::string err;  // last 64 KiB at most
};

class World {
 public:
  virtual ~World() = default;

  /// One reading of CLOCK_MONOTONIC. Every call counts as a reading of a measurement.
  [[nodiscard]] virtual Instant now() = 0;
  /// The instant `wait` from now, for bounding a wait; not a measurement, never in a figure.
  [[nodiscard]] virtual Instant deadline_after(Duration wait) = 0;
  /// Sleeps. Refuses RUN-INTERRUPTED as soon as a signal asks the judge to stop.
  [[nodiscard]] virtual Status sleep(Duration duration) = 0;
  /// RUN-INTERRUPTED when a signal asked the judge to stop, else success.
  [[nodiscard]] virtual Status check_interrupt() = 0;

  /// The judge's own environment. Entries that are not UTF-8 are left out.
  [[nodiscard]] virtual Environment environment() = 0;
  [[nodiscard]] virtual Result<std::string> read_file(const std::filesystem::path& path) = 0;
  [[nodiscard]] virtual Status write_file(const std::filesystem::path& path,
                                          std::string_view bytes) = 0;

  /// Starts an engine. Refuses ENGINE-NOT-EXECUTABLE, PROCESS-NOT-STARTED, RUN-INTERRUPTED.
  [[nodiscard]] virtual Result<std::unique_ptr<LineTransport>> spawn(
      const SpawnRequest& request) = 0;
  /// Runs a helper to its end; its stdin is /dev/null. Refuses PROCESS-NOT-STARTED, PROCESS-TIMEOUT
  /// (it was killed), RUN-INTERRUPTED (it was killed).
  [[nodiscard]] virtual Result<CommandResult> run_command(const CommandRequest& request) = 0;
};

/// The operating system. Making one ignores SIGPIPE and makes this process the reaper of orphaned
/// descendants, so that nothing an engine started outlives its teardown.
[[nodiscard]] std::unique_ptr<World> make_real_world();

/// Turns SIGINT, SIGTERM and SIGHUP into RUN-INTERRUPTED at the next wait, at most 250 ms later,
/// for as long as the object lives. A second signal has its usual effect. One at a time.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
  /// The signal that came, or 0. A program that was stopped by SIGINT exits with 128 + 2.
  [[nodiscard]] static int signal_received();
};

}  // namespace assay::runner
