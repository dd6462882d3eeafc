#include "runner/worker_command.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/text.h"
#include "runner/refusals.h"

namespace assay::runner {

// A change of these lists changes what an engine can learn about its judge: the test pins them.
const std::vector<std::string_view> kInheritedNames = {
    "HF_HUB_OFFLINE",       "HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR",
    "TRANSFORMERS_OFFLINE", "USER"};
const std::vector<std::string_view> kInheritedPrefixes = {"BENCH_WORKER_", "DARKBLOOM_", "DS4_",
                                                          "LC_",           "MLX_",       "VLLM_"};
const std::vector<std::string_view> kOverrideNames = {
    "BENCH_WORKER_RESIDENT_HELLO", "BENCH_WORKER_RESIDENT_SOCKET", "CUDA_CACHE_DISABLE",
    "CUDA_VISIBLE_DEVICES",        "DS4_RESIDENT_SOCKET",          "TMPDIR"};

namespace {

constexpr std::string_view kLocalPrefix = "ASSAY_";
constexpr std::string_view kForcedName = "MLXFAST_USE_RUNTIME_WORKER";
constexpr std::string_view kForcedValue = "0";

bool has_prefix(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

bool contains(const std::vector<std::string_view>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_inherited(std::string_view name) {
  return contains(kInheritedNames, name) ||
         std::any_of(kInheritedPrefixes.begin(), kInheritedPrefixes.end(),
                     [&](std::string_view prefix) { return has_prefix(name, prefix); });
}

Status check_resource(std::string_view pair, std::set<std::string>& names) {
  const size_t equals = pair.find('=');
  const std::string_view name = pair.substr(0, equals);
  const bool plain = !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  });
  if (equals == std::string_view::npos || !plain) {
    return Refusal(kEngineArgumentRefused,
                   cat("resource `", pair, "` is not NAME=PATH with a NAME of [A-Za-z0-9._-]+"));
  }
  if (equals + 1 == pair.size()) {
    return Refusal(kEngineArgumentRefused, cat("resource `", pair, "` has an empty path"));
  }
  if (!names.emplace(name).second) {
    return Refusal(kEngineArgumentRefused, cat("resource name `", name, "` is given twice"));
  }
  return {};
}

}  // namespace

Result<std::vector<std::string>> worker_argv(const WorkerCommand& command) {
  std::vector<std::string> argv = {command.executable.string(), "runtime-worker", "--weights",
                                   command.weights.string()};
  std::set<std::string> resource_names;
  for (size_t i = 0; i < command.extra.size(); i += 2) {
    const std::string& flag = command.extra[i];
    if (flag != "--resource" && flag != "--mtp-head" && flag != "--dflash-head") {
      return Refusal(kEngineArgumentRefused, cat("`", flag, "` is not an argument of engines"));
    }
    if (i + 1 == command.extra.size() || command.extra[i + 1].empty()) {
      return Refusal(kEngineArgumentRefused, cat("`", flag, "` has no value"));
    }
    if (flag == "--resource") TRY_DO(check_resource(command.extra[i + 1], resource_names));
    argv.push_back(flag);
    argv.push_back(command.extra[i + 1]);
  }
  if (command.speculative_protocol) {
    argv.emplace_back("--speculative-protocol");
    argv.emplace_back("v1.1");
  }
  return argv;
}

Result<WorkerEnvironment> worker_environment(const Environment& own, const WorkerCommand& command) {
  std::map<std::string, std::string> entries;
  std::set<std::string> overrides;
  const bool local = command.run_class == RunClass::local;
  for (const auto& [name, value] : own) {
    if (is_inherited(name)) {
      entries[name] = value;
    } else if (local && has_prefix(name, kLocalPrefix)) {
      entries[name] = value;
      overrides.insert(name);
    }
  }
  for (const auto& [name, value] : command.overrides) {
    if (!contains(kOverrideNames, name) && !has_prefix(name, kLocalPrefix)) {
      return Refusal(kEngineEnvironmentRefused,
                     cat("`", name, "` is not on the list of variables that may be set"));
    }
    entries[name] = value;
    overrides.insert(name);
  }
  entries[std::string(kForcedName)] = kForcedValue;
  return WorkerEnvironment{{entries.begin(), entries.end()}, {overrides.begin(), overrides.end()}};
}

Result<StartedWorker> start_worker(World& world, const WorkerCommand& command) {
  TRY(argv, worker_argv(command));
  TRY(environment, worker_environment(world.environment(), command));
  SpawnRequest request{std::move(argv), std::move(environment.entries), command.working_directory,
                       nullptr};
  if (command.run_class == RunClass::local && command.on_stderr_line) {
    request.on_stderr_line = [forward = command.on_stderr_line](std::string_view line) {
      forward(cat("mlxfast-worker: ", line));
    };
  }
  TRY(transport, world.spawn(request));
  return StartedWorker{std::move(transport), std::move(environment.overrides)};
}

}  // namespace assay::runner
