// RealWorld: the operating system behind the World interface.
#include <sys/prctl.h>

#include <csignal>

#include "base/files.h"
#include "base/text.h"
#include "runner/child_process.h"
#include "runner/refusals.h"
#include "runner/wait.h"
#include "runner/world.h"

extern "C" char** environ;  // NOLINT: the C library's name

namespace assay::runner {
namespace {

class RealWorld final : public World {
 public:
  RealWorld() {
    std::signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
  }

  Instant now() override { return monotonic_now(); }
  Instant deadline_after(Duration wait) override { return monotonic_now() + wait; }

  Status sleep(Duration duration) override {
    sleep_until(monotonic_now() + duration);
    return check_interrupt_signal();
  }
  Status check_interrupt() override { return check_interrupt_signal(); }

  Environment environment() override {
    Environment entries;
    for (char** entry = environ; *entry != nullptr; ++entry) {
      const std::string_view text(*entry);
      const size_t equals = text.find('=');
      if (equals == std::string_view::npos || equals == 0 || !is_utf8(text)) continue;
      entries.emplace_back(text.substr(0, equals), text.substr(equals + 1));
    }
    return entries;
  }

  Result<std::string> read_file(const std::filesystem::path& path) override {
    return assay::read_file(path);
  }
  Status write_file(const std::filesystem::path& path, std::string_view bytes) override {
    return write_file_atomic(path, bytes);
  }

  Result<std::unique_ptr<LineTransport>> spawn(const SpawnRequest& request) override {
    return start_engine(request, live_);
  }
  Result<CommandResult> run_command(const CommandRequest& request) override {
    return run_to_end(request, live_);
  }

 private:
  std::shared_ptr<LiveProcesses> live_ = std::make_shared<LiveProcesses>();
};

}  // namespace

std::optional<std::string_view> find_variable(const Environment& environment,
                                              std::string_view name) {
  for (const auto& [key, value] : environment) {
    if (key == name) return value;
  }
  return std::nullopt;
}

std::unique_ptr<World> make_real_world() {
  return std::make_unique<RealWorld>();
}

}  // namespace assay::runner
