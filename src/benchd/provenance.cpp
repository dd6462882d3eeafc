#include "benchd/provenance.h"

#include <chrono>
#include <cstdlib>
#include <system_error>

#include "base/text.h"
#include "scoring/seal.h"

namespace assay::benchd {

namespace {

namespace fs = std::filesystem;

constexpr const char* kGit = "/usr/bin/git";

bool is_commit(std::string_view text, size_t digits_min) {
  return text.size() >= digits_min && text.size() <= 40 && is_lower_hex(text, text.size());
}

std::string git_head(runner::World& world, const fs::path& folder, bool abbreviate) {
  std::vector<std::string> argv = {kGit, "rev-parse"};
  if (abbreviate) argv.emplace_back("--short");
  argv.emplace_back("HEAD");
  const auto result = world.run_command(
      {.argv = argv, .environment = world.environment(), .working_directory = folder});
  if (!result || result->exit_code != 0) return "";
  const std::string commit(trim(result->out));
  return is_commit(commit, abbreviate ? 4 : 40) ? commit : "";
}

}  // namespace

Result<ProgramIdentity> identify_program(const fs::path& program, FileDigests& digests) {
  std::error_code error;
  const fs::path real = fs::canonical(program, error);
  const bool resolved = !error;
  TRY(digest, digests.digest(resolved ? real : program));
  return ProgramIdentity{sealed_path(program), digest.sha256, resolved};
}

Result<ProgramIdentity> identify_self(FileDigests& digests) {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  return identify_program(error ? fs::path("/proc/self/exe") : self, digests);
}

std::string sealed_path(const fs::path& path) {
  std::error_code error;
  const char* home = std::getenv("HOME");
  return scoring::redact_path(path.string(), fs::current_path(error).string(),
                              home == nullptr ? "" : home);
}

std::string run_commit(runner::World& world, EnvironmentReader& environment) {
  if (const auto named = environment.read("MLXFAST_COMMIT_SHA"); named && is_commit(*named, 7)) {
    return *named;
  }
  std::error_code error;
  return git_head(world, fs::current_path(error), true);
}

std::string head_commit(runner::World& world, const fs::path& folder) {
  return git_head(world, folder, false);
}

std::string utc_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return format_utc(std::chrono::duration_cast<std::chrono::seconds>(now).count());
}

}  // namespace assay::benchd
