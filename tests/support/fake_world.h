// FakeWorld: a World that a test scripts, with a clock that only moves when told and that counts
// how often it was read.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <vector>

#include "runner/world.h"

namespace assay::support {

class FakeWorld final : public runner::World {
 public:
  // --- clock
  runner::Instant clock{std::chrono::hours(1)};
  int readings = 0;  // calls of now()
  std::function<void(int reading)>
      before_now;                         // may move the clock; gets the reading's number, from 1
  std::optional<int> interrupt_at_sleep;  // the n-th sleep (from 1) is interrupted
  std::vector<runner::Duration> sleeps;
  bool interrupted = false;

  // --- the rest of the world
  runner::Environment variables;
  std::map<std::string, std::string> files;
  std::function<Result<runner::CommandResult>(const runner::CommandRequest&)> command;
  std::vector<runner::CommandRequest> commands;                // as asked for
  std::queue<std::unique_ptr<runner::LineTransport>> engines;  // handed out by spawn, in order
  std::vector<runner::SpawnRequest> spawned;

  [[nodiscard]] runner::Instant now() override;
  [[nodiscard]] runner::Instant deadline_after(runner::Duration wait) override;
  [[nodiscard]] Status sleep(runner::Duration duration) override;
  [[nodiscard]] Status check_interrupt() override;
  [[nodiscard]] runner::Environment environment() override { return variables; }
  [[nodiscard]] Result<std::string> read_file(const std::filesystem::path& path) override;
  [[nodiscard]] Status write_file(const std::filesystem::path& path,
                                  std::string_view bytes) override;
  [[nodiscard]] Result<std::unique_ptr<runner::LineTransport>> spawn(
      const runner::SpawnRequest& request) override;
  [[nodiscard]] Result<runner::CommandResult> run_command(
      const runner::CommandRequest& request) override;
};

}  // namespace assay::support
