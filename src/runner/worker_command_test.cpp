#include "runner/worker_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runner/refusals.h"
#include "support/fake_world.h"

namespace assay::runner {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

WorkerCommand command_of(std::vector<std::string> extra = {}) {
  WorkerCommand command;
  command.executable = "bin/engine";
  command.weights = "w.gguf";
  command.extra = std::move(extra);
  return command;
}

TEST(WorkerArgv, HasTheFixedFormAndTheProtocolFlag) {
  auto argv = worker_argv(command_of({"--resource", "head=/d/h", "--mtp-head", "m"}));
  ASSERT_TRUE(argv);
  EXPECT_THAT(*argv,
              ElementsAre("bin/engine", "runtime-worker", "--weights", "w.gguf", "--resource",
                          "head=/d/h", "--mtp-head", "m", "--speculative-protocol", "v1.1"));
}

TEST(WorkerArgv, StrictV1HasNoFlag) {
  auto command = command_of();
  command.speculative_protocol = false;
  auto argv = worker_argv(command);
  ASSERT_TRUE(argv);
  EXPECT_THAT(*argv, ElementsAre("bin/engine", "runtime-worker", "--weights", "w.gguf"));
}

TEST(WorkerArgv, SplitsAResourceAtTheFirstEquals) {
  EXPECT_TRUE(worker_argv(command_of({"--resource", "a.b_c-1=x=y"})));
}

TEST(WorkerArgv, RefusesEverythingElse) {
  const std::vector<std::vector<std::string>> bad = {{"--threads", "2"},
                                                     {"--resource"},
                                                     {"--mtp-head", ""},
                                                     {"--resource", "noeq"},
                                                     {"--resource", "=path"},
                                                     {"--resource", "name="},
                                                     {"--resource", "a b=c"},
                                                     {"--resource", "a=1", "--resource", "a=2"},
                                                     {"--speculative-protocol", "v2"}};
  for (const auto& extra : bad) {
    auto argv = worker_argv(command_of(extra));
    ASSERT_FALSE(argv) << extra.front();
    EXPECT_EQ(argv.refusal().code, kEngineArgumentRefused.code);
  }
}

TEST(WorkerEnvironment, ListsArePinned) {
  EXPECT_THAT(kInheritedNames,
              ElementsAre("HF_HUB_OFFLINE", "HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TERM",
                          "TMPDIR", "TRANSFORMERS_OFFLINE", "USER"));
  EXPECT_THAT(kInheritedPrefixes,
              ElementsAre("BENCH_WORKER_", "DARKBLOOM_", "DS4_", "LC_", "MLX_", "VLLM_"));
  EXPECT_THAT(kOverrideNames, ElementsAre("BENCH_WORKER_RESIDENT_HELLO",
                                          "BENCH_WORKER_RESIDENT_SOCKET", "CUDA_CACHE_DISABLE",
                                          "CUDA_VISIBLE_DEVICES", "DS4_RESIDENT_SOCKET", "TMPDIR"));
}

const Environment kOwn = {{"HOME", "/h"},
                          {"PATH", "/bin"},
                          {"LC_ALL", "C"},
                          {"MLX_X", "1"},
                          {"MLXFAST_USE_RUNTIME_WORKER", "1"},
                          {"MLXFAST_QWEN_MTP_TRACK_ID", "t"},
                          {"BENCH_WORKER", "no"},
                          {"BENCHWORKER_X", "no"},
                          {"BENCH_WORKER_X", "yes"},
                          {"SSH_AUTH_SOCK", "/s"},
                          {"DYLD_INSERT_LIBRARIES", "x"},
                          {"METAL_X", "x"},
                          {"MTL_X", "x"},
                          {"__CF_USER_TEXT_ENCODING", "x"},
                          {"LD_PRELOAD", "evil.so"},
                          {"LD_LIBRARY_PATH", "/evil"},
                          {"CUDA_VISIBLE_DEVICES", "0"},
                          {"ASSAY_FORCE_ISA", "scalar"},
                          {"HOMER", "no"}};

TEST(WorkerEnvironment, LocalPassesTheListAndOurOwnNames) {
  auto environment = worker_environment(kOwn, command_of());
  ASSERT_TRUE(environment);
  EXPECT_THAT(
      environment->entries,
      ElementsAre(Pair("ASSAY_FORCE_ISA", "scalar"), Pair("BENCH_WORKER_X", "yes"),
                  Pair("HOME", "/h"), Pair("LC_ALL", "C"), Pair("MLXFAST_USE_RUNTIME_WORKER", "0"),
                  Pair("MLX_X", "1"), Pair("PATH", "/bin")));
  EXPECT_THAT(environment->overrides, ElementsAre("ASSAY_FORCE_ISA"));
}

TEST(WorkerEnvironment, OfficialPassesOnlyTheListAndWhatTheJudgeSets) {
  auto command = command_of();
  command.run_class = RunClass::official;
  command.overrides = {{"DS4_RESIDENT_SOCKET", "/run/s"}, {"TMPDIR", "/private"}};
  auto environment = worker_environment(kOwn, command);
  ASSERT_TRUE(environment);
  EXPECT_THAT(
      environment->entries,
      ElementsAre(Pair("BENCH_WORKER_X", "yes"), Pair("DS4_RESIDENT_SOCKET", "/run/s"),
                  Pair("HOME", "/h"), Pair("LC_ALL", "C"), Pair("MLXFAST_USE_RUNTIME_WORKER", "0"),
                  Pair("MLX_X", "1"), Pair("PATH", "/bin"), Pair("TMPDIR", "/private")));
  EXPECT_THAT(environment->overrides, ElementsAre("DS4_RESIDENT_SOCKET", "TMPDIR"));
}

TEST(WorkerEnvironment, RefusesOverridesThatAreNotOnTheList) {
  for (const auto* name : {"LD_PRELOAD", "HOME", "MLXFAST_USE_RUNTIME_WORKER", "DS4_MODEL"}) {
    auto command = command_of();
    command.overrides = {{name, "x"}};
    auto environment = worker_environment(kOwn, command);
    ASSERT_FALSE(environment) << name;
    EXPECT_EQ(environment.refusal().code, kEngineEnvironmentRefused.code);
  }
}

TEST(StartWorker, ForwardsStderrOnLocalRunsOnly) {
  support::FakeWorld world;
  std::string forwarded;
  auto command = command_of();
  command.on_stderr_line = [&](std::string_view line) { forwarded = line; };
  EXPECT_FALSE(start_worker(world, command));  // the fake has no engine; the request counts
  ASSERT_TRUE(world.spawned.back().on_stderr_line);
  world.spawned.back().on_stderr_line("hello");
  EXPECT_EQ(forwarded, "mlxfast-worker: hello");
  command.run_class = RunClass::official;
  EXPECT_FALSE(start_worker(world, command));
  EXPECT_FALSE(world.spawned.back().on_stderr_line);
}

}  // namespace
}  // namespace assay::runner
