#include "support/fake_world.h"

#include <utility>

#include "base/refusals.h"
#include "runner/refusals.h"

namespace assay::support {

runner::Instant FakeWorld::now() {
  ++readings;
  if (before_now) before_now(readings);
  return clock;
}

runner::Instant FakeWorld::deadline_after(runner::Duration wait) {
  return clock + wait;
}

Status FakeWorld::sleep(runner::Duration duration) {
  sleeps.push_back(duration);
  if (interrupt_at_sleep && static_cast<int>(sleeps.size()) >= *interrupt_at_sleep) {
    interrupted = true;
  }
  clock += duration;
  return check_interrupt();
}

Status FakeWorld::check_interrupt() {
  if (!interrupted) return {};
  return Refusal(runner::kRunInterrupted, "the test's signal");
}

Result<std::string> FakeWorld::read_file(const std::filesystem::path& path) {
  const auto file = files.find(path.string());
  if (file == files.end()) return Refusal(kFileUnreadable, path.string());
  return file->second;
}

Status FakeWorld::write_file(const std::filesystem::path& path, std::string_view bytes) {
  files[path.string()] = bytes;
  return {};
}

Result<std::unique_ptr<runner::LineTransport>> FakeWorld::spawn(
    const runner::SpawnRequest& request) {
  spawned.push_back(request);
  if (engines.empty()) return Refusal(runner::kEngineNotExecutable, request.argv.front());
  auto engine = std::move(engines.front());
  engines.pop();
  return engine;
}

Result<runner::CommandResult> FakeWorld::run_command(const runner::CommandRequest& request) {
  commands.push_back(request);
  if (!command) return Refusal(runner::kProcessNotStarted, request.argv.front());
  return command(request);
}

}  // namespace assay::support
