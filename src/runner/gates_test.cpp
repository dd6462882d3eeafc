#include "runner/gates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runner/refusals.h"
#include "support/fake_world.h"

namespace assay::runner {
namespace {

using scoring::Platform;
using std::chrono::seconds;
using support::FakeWorld;

/// Gives the values in turn, the last for ever.
Reader script(std::vector<std::optional<double>> values) {
  auto next = std::make_shared<size_t>(0);
  return [values = std::move(values), next] {
    const size_t index = std::min(*next, values.size() - 1);
    ++*next;
    return values[index];
  };
}

GatePlan plan_for(Platform platform, bool official = false) {
  GatePlan plan;
  plan.platform = platform;
  plan.official = official;
  plan.cool_limit_c = 60;
  return plan;
}

TEST(Quiescence, PassesAtOnceOnAQuietMachine) {
  FakeWorld world;
  auto record = pass_gates(world, {script({0.5}), {}, {}}, plan_for(Platform::cpu));
  ASSERT_TRUE(record);
  EXPECT_EQ(record->quiescence.state, "passed");
  EXPECT_EQ(record->quiescence.waited_seconds, 0.0);
  EXPECT_EQ(record->quiescence.load, 0.5);
  EXPECT_FALSE(record->quiescence.gpu_util);
  EXPECT_FALSE(record->quiescence.skip_reason);
  EXPECT_TRUE(world.sleeps.empty());
}

TEST(Quiescence, SamplesEvery15SecondsUntilBothAreBelowTheirLimit) {
  FakeWorld world;
  // load 2.0 is not below 2.0; then the GPU is busy; then a sample is missing; then all is quiet.
  auto record = pass_gates(
      world, {script({2.0, 1.9, std::nullopt, 1.9}), script({0.0, 0.1, 0.0, 0.09}), script({50})},
      plan_for(Platform::cuda));
  ASSERT_TRUE(record);
  EXPECT_EQ(world.sleeps, (std::vector<Duration>{seconds(15), seconds(15), seconds(15)}));
  EXPECT_EQ(record->quiescence.waited_seconds, 45.0);
  EXPECT_EQ(record->quiescence.gpu_util, 0.09);
}

TEST(Quiescence, RefusesAfter900Seconds) {
  FakeWorld world;
  auto record = pass_gates(world, {script({9.0}), {}, {}}, plan_for(Platform::cpu));
  ASSERT_FALSE(record);
  EXPECT_EQ(record.refusal().code, "QUIESCENCE-TIMEOUT");
  EXPECT_EQ(world.sleeps.size(), 60U);  // 900 / 15
}

TEST(Quiescence, AReaderThatIsMissingCountsAsBusy) {
  FakeWorld world;
  EXPECT_FALSE(pass_gates(world, {script({0.1}), {}, script({20})}, plan_for(Platform::cuda)));
  EXPECT_FALSE(pass_gates(world, {}, plan_for(Platform::cpu)));
}

TEST(Quiescence, TheContractsLimitsCount) {
  FakeWorld world;
  auto plan = plan_for(Platform::cpu);
  plan.load_max = 4.0;
  EXPECT_TRUE(pass_gates(world, {script({3.9}), {}, {}}, plan));
  plan.quiescence_timeout = seconds(20);
  EXPECT_FALSE(pass_gates(world, {script({4.0}), {}, {}}, plan));
  EXPECT_EQ(world.sleeps, (std::vector<Duration>{seconds(15), seconds(5)}));
}

TEST(Gates, ASignalEndsTheWait) {
  FakeWorld world;
  world.interrupt_at_sleep = 3;
  auto record = pass_gates(world, {script({9.0}), {}, {}}, plan_for(Platform::cpu));
  ASSERT_FALSE(record);
  EXPECT_EQ(record.refusal().code, kRunInterrupted.code);
  EXPECT_EQ(world.sleeps.size(), 3U);
}

TEST(Gates, TheOperatorSkipsBoth) {
  FakeWorld world;
  auto plan = plan_for(Platform::cuda, true);
  plan.operator_off = true;
  auto record = pass_gates(world, {}, plan);
  ASSERT_TRUE(record);
  EXPECT_EQ(record->quiescence.state, "skipped");
  EXPECT_EQ(record->quiescence.skip_reason, "operator");
  EXPECT_EQ(record->cool.state, "skipped");
  EXPECT_EQ(record->cool.skip_reason, "operator");
}

TEST(Cool, IsSkippedOnACpuTrack) {
  FakeWorld world;
  auto record = pass_gates(world, {script({0.1}), {}, script({99})}, plan_for(Platform::cpu, true));
  ASSERT_TRUE(record);
  EXPECT_EQ(record->cool.state, "skipped");
  EXPECT_EQ(record->cool.skip_reason, "cpu track");
}

GateReaders gpu(Reader temperature) {
  return {script({0.1}), script({0.0}), temperature};
}

TEST(Cool, PassesAtTheLimitAndPollsFasterNearIt) {
  FakeWorld world;
  // 70, then 61 (within 1 degree), then exactly the limit.
  auto record = pass_gates(world, gpu(script({70, 61, 60})), plan_for(Platform::cuda));
  ASSERT_TRUE(record);
  EXPECT_EQ(record->cool.state, "passed");
  EXPECT_EQ(record->cool.gpu_temp_c, 60);
  EXPECT_EQ(record->cool.waited_seconds, 11.0);
  EXPECT_EQ(world.sleeps, (std::vector<Duration>{seconds(10), seconds(1)}));
}

TEST(Cool, GivesUpWhenItDoesNotCoolAndTriesOnceMore) {
  FakeWorld world;
  auto record = pass_gates(world, gpu(script({71})), plan_for(Platform::cuda));
  ASSERT_FALSE(record);
  EXPECT_EQ(record.refusal().code, "GATE_REJECTED");
  EXPECT_THAT(record.refusal().detail, ::testing::StartsWith("GPU is hot and not cooling down ("));
  EXPECT_EQ(world.sleeps.size(), 36U);  // twice 180 / 10
}

TEST(Cool, TheSecondTryCounts) {
  FakeWorld world;
  std::vector<std::optional<double>> values(19, 71.0);  // 0, 10, … 180 s: the first try gives up
  values.push_back(59.0);
  auto record = pass_gates(world, gpu(script(values)), plan_for(Platform::cuda));
  ASSERT_TRUE(record);
  EXPECT_EQ(record->cool.state, "passed");
}

TEST(Cool, SlowProgressIsPatienceUpToTheCeiling) {
  FakeWorld world;
  // A quarter of a degree every 80 s: always progress, never cool. Ends at 900 s, twice.
  auto temperature = [&world]() -> std::optional<double> {
    const double waited = to_seconds(world.clock.time_since_epoch()) - 3600.0;
    return 90.0 - 0.25 * (waited / 80.0);
  };
  auto record = pass_gates(world, gpu(temperature), plan_for(Platform::cuda));
  ASSERT_FALSE(record);
  EXPECT_EQ(record.refusal().code, "GATE_REJECTED");
  EXPECT_GE(world.clock.time_since_epoch(), seconds(3600 + 1800));
}

TEST(Cool, ProgressBelowAQuarterDegreeIsNone) {
  FakeWorld world;
  // 0.2 degrees lower only: stagnant since the start, so it ends at 180 s.
  std::vector<std::optional<double>> values(9, 71.0);
  values.insert(values.end(), 30, 70.8);
  EXPECT_FALSE(pass_gates(world, gpu(script(values)), plan_for(Platform::cuda)));
  EXPECT_EQ(world.sleeps.size(), 36U);
}

TEST(Cool, ThreeFailedSamplesSkipLocallyAndRefuseOfficially) {
  FakeWorld world;
  auto local = pass_gates(world, gpu(script({std::nullopt})), plan_for(Platform::cuda));
  ASSERT_TRUE(local);
  EXPECT_EQ(local->cool.state, "skipped");
  EXPECT_EQ(local->cool.skip_reason, "no temperature reading");
  EXPECT_EQ(world.sleeps, (std::vector<Duration>{seconds(2), seconds(2)}));
  auto official = pass_gates(world, gpu(script({std::nullopt})), plan_for(Platform::cuda, true));
  ASSERT_FALSE(official);
  EXPECT_THAT(official.refusal().detail,
              ::testing::StartsWith("official mode requires a GPU temperature reader"));
}

TEST(Cool, TheContractMayDeclareThatThereIsNoReader) {
  FakeWorld world;
  auto plan = plan_for(Platform::cuda, true);
  plan.thermal_reader = false;
  auto record = pass_gates(world, gpu({}), plan);
  ASSERT_TRUE(record);
  EXPECT_EQ(record->cool.skip_reason, "no thermal reader");
}

// --- readers

TEST(Readers, LoadComesFromProc) {
  FakeWorld world;
  world.files["/proc/loadavg"] = "1.25 0.80 0.50 1/234 5678\n";
  auto readers = machine_readers(world, Platform::cpu);
  EXPECT_EQ(readers.load_1min(), 1.25);
  EXPECT_FALSE(readers.gpu_utilisation);
  EXPECT_FALSE(readers.gpu_temp_c);
  world.files.clear();
  EXPECT_EQ(readers.load_1min(), std::nullopt);
}

TEST(Readers, NvidiaSmiGivesTheLargestOfAllGpus) {
  FakeWorld world;
  world.command = [](const CommandRequest& request) -> Result<CommandResult> {
    const bool temperature = request.argv[1] == "--query-gpu=temperature.gpu";
    return CommandResult{0, temperature ? "41\n57\n" : "3\n12\n", ""};
  };
  auto readers = machine_readers(world, Platform::cuda);
  EXPECT_EQ(readers.gpu_temp_c(), 57);
  EXPECT_DOUBLE_EQ(*readers.gpu_utilisation(), 0.12);
  EXPECT_THAT(world.commands[0].argv,
              ::testing::ElementsAre("nvidia-smi", "--query-gpu=temperature.gpu",
                                     "--format=csv,noheader,nounits"));
}

TEST(Readers, FailedProgramsGiveNothing) {
  FakeWorld world;
  auto readers = machine_readers(world, Platform::cuda);
  EXPECT_EQ(readers.gpu_temp_c(), std::nullopt);  // no such program
  world.command = [](const CommandRequest&) -> Result<CommandResult> {
    return CommandResult{9, "41\n", ""};
  };
  EXPECT_EQ(readers.gpu_temp_c(), std::nullopt);
  world.command = [](const CommandRequest&) -> Result<CommandResult> {
    return CommandResult{0, "[N/A]\n", ""};
  };
  EXPECT_EQ(readers.gpu_utilisation(), std::nullopt);
}

TEST(Readers, TheOperatorsCommandWinsThenMacmon) {
  FakeWorld world;
  world.command = [](const CommandRequest& request) -> Result<CommandResult> {
    if (request.argv[0] == "/bin/sh") return CommandResult{0, " 48.5 \n", ""};
    return CommandResult{0, R"({"temp":{"cpu_temp_avg":40.0,"gpu_temp_avg":44.25}})", ""};
  };
  world.variables = {{"MLXFAST_MACMON_BIN", "/opt/macmon"}};
  EXPECT_EQ(machine_readers(world, Platform::mlx).gpu_temp_c(), 44.25);
  EXPECT_EQ(world.commands.back().argv.front(), "/opt/macmon");
  world.variables.emplace_back("MLXFAST_GPU_TEMP_CMD", "sensors | head -1");
  EXPECT_EQ(machine_readers(world, Platform::mlx).gpu_temp_c(), 48.5);
  EXPECT_THAT(world.commands.back().argv,
              ::testing::ElementsAre("/bin/sh", "-c", "sensors | head -1"));
}

}  // namespace
}  // namespace assay::runner
