#include "benchd/leg_server.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <system_error>

#include "base/files.h"
#include "base/text.h"
#include "benchd/refusals.h"
#include "runner/refusals.h"

namespace assay::benchd {

namespace {

namespace fs = std::filesystem;

constexpr auto kBootTimeout = std::chrono::seconds(5400);
constexpr auto kStopTimeout = std::chrono::seconds(60);
constexpr std::string_view kSocketNames[] = {"BENCH_WORKER_RESIDENT_SOCKET", "DS4_RESIDENT_SOCKET"};

fs::path script_of(scoring::Platform platform, const fs::path& workspace) {
  return workspace / "tools" /
         (platform == scoring::Platform::mlx ? "resident-up.sh" : "serve-up.sh");
}

bool is_executable_file(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && ::access(path.c_str(), X_OK) == 0;
}

bool is_socket(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISSOCK(info.st_mode);
}

// The draft length that a request names; an open mtp depth leaves it to the engine (1).
uint32_t draft_length(const std::optional<protocol::SpecConfig>& spec) {
  if (!spec || !spec->mtp) return 0;
  return spec->mtp->depth.value_or(1);
}

// The last words of a script, in one line.
std::string last_words(const runner::CommandResult& result) {
  std::string text(trim(result.err.empty() ? result.out : result.err));
  if (text.size() > 300) text = text.substr(text.size() - 300);
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text.empty() ? "it said nothing" : cat("it said: ", text);
}

fs::path private_file_name() {
  static std::atomic<unsigned> counter{0};
  return fs::temp_directory_path() / cat("benchd-socket-", ::getpid(), "-", counter++);
}

// Removes the file that a script wrote its socket's path to.
class ScratchFile {
 public:
  ScratchFile() : path_(private_file_name()) {}
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  ~ScratchFile() {
    std::error_code error;
    fs::remove(path_, error);
  }
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

}  // namespace

Result<std::optional<LegServer>> LegServer::boot(runner::World& world, scoring::Platform platform,
                                                 const fs::path& workspace,
                                                 const std::optional<protocol::SpecConfig>& spec) {
  const fs::path script = script_of(platform, workspace);
  if (!is_executable_file(script)) {
    if (platform == scoring::Platform::cpu) return std::optional<LegServer>();
    return Refusal(kLegServeScriptMissing,
                   cat("`", script.string(), "` is not an executable file, and a ",
                       scoring::name_of(platform), " track needs it"));
  }
  const ScratchFile socket_file;
  const std::string mode = spec ? spec->mode : "serial";
  const auto result = world.run_command(
      {.argv = {script.string(), "--boot", "--spec", mode, "--draft-len", cat(draft_length(spec)),
                "--socket-out", socket_file.path().string()},
       .environment = world.environment(),
       .working_directory = workspace,
       .timeout = kBootTimeout});
  const auto failed = [&script](std::string_view what) {
    return Refusal(kLegServeBootFailed, cat("`", script.string(), "`: ", what));
  };
  if (!result) {
    if (result.refusal().code == runner::kRunInterrupted.code) return result.refusal();
    return failed(result.refusal().text());
  }
  const auto socket_text = read_file(socket_file.path(), 65536);
  const std::string socket(
      socket_text ? trim(std::string_view(*socket_text).substr(0, socket_text->find('\n'))) : "");
  std::optional<LegServer> server;
  if (!socket.empty()) server = LegServer(world, platform, script, workspace, socket);
  if (result->exit_code != 0) {
    return failed(cat("exit ", result->exit_code, "; ", last_words(*result)));
  }
  if (socket.empty()) return failed("it wrote no socket path");
  if (!is_socket(socket)) return failed(cat("there is no socket at `", socket, "`"));
  return server;
}

LegServer::LegServer(runner::World& world, scoring::Platform platform, fs::path script,
                     fs::path workspace, std::string socket)
    : world_(&world),
      platform_(platform),
      script_(std::move(script)),
      workspace_(std::move(workspace)),
      socket_(std::move(socket)) {}

LegServer::LegServer(LegServer&& other) noexcept
    : world_(std::exchange(other.world_, nullptr)),
      platform_(other.platform_),
      script_(std::move(other.script_)),
      workspace_(std::move(other.workspace_)),
      socket_(std::move(other.socket_)) {}

LegServer& LegServer::operator=(LegServer&& other) noexcept {
  if (this != &other) {
    stop();
    world_ = std::exchange(other.world_, nullptr);
    platform_ = other.platform_;
    script_ = std::move(other.script_);
    workspace_ = std::move(other.workspace_);
    socket_ = std::move(other.socket_);
  }
  return *this;
}

LegServer::~LegServer() {
  stop();
}

void LegServer::stop() noexcept {
  if (world_ == nullptr) return;
  runner::World* world = std::exchange(world_, nullptr);
  // A failed stop has nobody to tell: the next boot on this box reports what is in its way.
  static_cast<void>(world->run_command({.argv = {script_.string(), "--stop", "--socket", socket_},
                                        .environment = world->environment(),
                                        .working_directory = workspace_,
                                        .timeout = kStopTimeout,
                                        .even_when_interrupted = true}));
}

runner::Environment LegServer::worker_overrides() const {
  runner::Environment overrides;
  for (const std::string_view name : kSocketNames) {
    if (name == "DS4_RESIDENT_SOCKET" && platform_ == scoring::Platform::mlx) continue;
    overrides.emplace_back(name, socket_);
  }
  return overrides;
}

Status refuse_inherited_socket(const runner::Environment& environment) {
  for (const std::string_view name : kSocketNames) {
    const auto value = runner::find_variable(environment, name);
    if (value && !trim(*value).empty()) {
      return Refusal(kLegServeInheritedSocket, cat("`", name, "` is set"));
    }
  }
  return {};
}

}  // namespace assay::benchd
