// Real processes: the lying engine, one lie at a time, through the real world with short deadlines.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>

#include "base/text.h"
#include "protocol/refusals.h"
#include "protocol/spec.h"
#include "runner/child_process.h"
#include "runner/leg.h"
#include "runner/orphans.h"
#include "runner/refusals.h"
#include "runner/session.h"
#include "runner/windows.h"
#include "runner/worker_command.h"
#include "scoring/refusals.h"

namespace assay::runner {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

const std::vector<int64_t> kPrompt = {7, 8, 9};

std::string lying_engine() {
  return std::string(ASSAY_BIN_DIR) + "/../tests/lying_engine";
}

class ProcessTest : public ::testing::Test {
 protected:
  WorkerCommand command_for(const std::string& lie) {
    WorkerCommand command;
    command.executable = lying_engine();
    command.weights = "w.gguf";
    command.overrides = {{"ASSAY_LIE", lie}};
    command.on_stderr_line = [this](std::string_view line) {
      const std::lock_guard lock(mutex);
      stderr_lines.emplace_back(line);
    };
    return command;
  }

  /// A session with the engine; waits are long unless a lie is about time.
  Result<Session> open(const std::string& lie, Duration hello_wait = seconds(20),
                       Duration request_wait = seconds(20)) {
    TRY(worker, open_worker(*world, command_for(lie), {hello_wait, request_wait}));
    return std::move(worker.session);
  }

  /// The refusal of a first prefill under a lie.
  Refusal prefill_under(const std::string& lie, Duration request_wait = seconds(20)) {
    auto session = open(lie, seconds(20), request_wait);
    if (!session) return std::move(session).refusal();
    auto token = session->prefill(kPrompt);
    EXPECT_FALSE(token) << lie;
    if (token) return Refusal(kIo, "no fault");
    EXPECT_TRUE(session->discarded());
    return std::move(token).refusal();
  }

  std::vector<std::string> spoken() {
    const std::lock_guard lock(mutex);
    return stderr_lines;
  }

  std::unique_ptr<World> world = make_real_world();
  std::mutex mutex;
  std::vector<std::string> stderr_lines;  // guarded by mutex
};

/// Our children that are alive or not yet waited for; a test leaves none.
int child_count() {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream stat(entry.path() / "stat");
    std::string text;
    if (!std::getline(stat, text)) continue;
    const size_t name_end = text.rfind(')');
    if (name_end == std::string::npos) continue;
    const auto fields = split(std::string_view(text).substr(name_end + 1), ' ');
    if (fields.size() > 2 && fields[2] == std::to_string(getpid())) ++count;
  }
  return count;
}

// --- an honest engine

TEST_F(ProcessTest, AnHonestEngineRunsAWholeWindow) {
  LegPlan plan;
  scoring::TimedOracle oracle;
  oracle.prefill_prompt_tokens = {1, 2, 3, 4};
  oracle.expected_prefill_token = 100004;
  oracle.decode_seed_tokens = {1, 2, 3, 4};
  oracle.expected_decode_seed_token = 200004;
  oracle.expected_decode_tokens = {200005, 200006, 200007, 200008, 200009};
  set_oracle(plan, oracle);
  plan.vocab_size = 1000;
  plan.gates.operator_off = true;
  auto leg = measure_leg(*world, command_for("honest"), plan);
  ASSERT_TRUE(leg) << leg.refusal().text();
  EXPECT_TRUE(leg->drain_reported());
  EXPECT_GT(leg->decode.decode, Duration::zero());
  EXPECT_EQ(leg->decode.metrics->rounds, 5U);
  EXPECT_EQ(child_count(), 0);
}

TEST_F(ProcessTest, TheEngineIsNamedWhenItCannotBeStarted) {
  auto command = command_for("honest");
  for (const char* path : {"/nowhere/engine", "/etc", "/etc/passwd"}) {
    command.executable = path;
    auto worker = open_worker(*world, command, {});
    ASSERT_FALSE(worker);
    EXPECT_EQ(worker.refusal().code, kEngineNotExecutable.code);
    EXPECT_THAT(worker.refusal().detail, HasSubstr(path));
  }
}

// --- what the child is

TEST_F(ProcessTest, TheChildsEnvironmentIsExactlyTheList) {
  setenv("LD_ASSAY_TEST", "x", 1);
  setenv("MLXFAST_ASSAY_TEST", "x", 1);
  setenv("MLX_ASSAY_TEST", "passes", 1);
  std::vector<std::vector<std::string>> seen;
  for (int start = 0; start < 2; ++start) {
    stderr_lines.clear();
    auto session = open("show-environment");
    ASSERT_TRUE(session) << session.refusal().text();
    session->close();
    seen.push_back(spoken());
  }
  unsetenv("LD_ASSAY_TEST");
  unsetenv("MLXFAST_ASSAY_TEST");
  EXPECT_EQ(seen[0], seen[1]);  // the same bytes at each start
  unsetenv("MLX_ASSAY_TEST");
  std::set<std::string> names;
  for (const auto& line : seen[0]) {
    constexpr std::string_view head = "mlxfast-worker: env ";
    ASSERT_EQ(line.substr(0, head.size()), head);
    names.insert(line.substr(head.size(), line.find('=') - head.size()));
  }
  EXPECT_EQ(names.count("LD_ASSAY_TEST"), 0U);
  EXPECT_EQ(names.count("MLXFAST_ASSAY_TEST"), 0U);
  EXPECT_EQ(names.count("MLX_ASSAY_TEST"), 1U);
  EXPECT_EQ(names.count("MLXFAST_USE_RUNTIME_WORKER"), 1U);
  const auto expected = worker_environment(world->environment(), command_for("x"));
  EXPECT_EQ(names.size(), expected->entries.size() + 1);  // MLX_ASSAY_TEST is gone by now
}

TEST_F(ProcessTest, TheChildGetsItsArguments) {
  auto command = command_for("show-arguments");
  command.extra = {"--resource", "head=/x"};
  auto worker = open_worker(*world, command, {});
  ASSERT_TRUE(worker);
  EXPECT_THAT(worker->environment_overrides, ::testing::Contains("ASSAY_LIE"));
  worker->session.close();
  EXPECT_EQ(join(spoken(), "\n"),
            "mlxfast-worker: arg runtime-worker\nmlxfast-worker: arg --weights\n"
            "mlxfast-worker: arg w.gguf\nmlxfast-worker: arg --resource\n"
            "mlxfast-worker: arg head=/x\nmlxfast-worker: arg --speculative-protocol\n"
            "mlxfast-worker: arg v1.1");
}

TEST_F(ProcessTest, NoDescriptorOfOursReachesTheChild) {
  const int leaked = ::open("/dev/null", O_RDONLY);  // not close-on-exec
  ASSERT_GE(leaked, 3);
  auto session = open("show-descriptors");
  close(leaked);
  ASSERT_TRUE(session);
  session->close();
  EXPECT_EQ(join(spoken(), "\n"),
            "mlxfast-worker: fd 0\nmlxfast-worker: fd 1\nmlxfast-worker: fd 2");
}

TEST_F(ProcessTest, TheChildLeadsItsOwnSessionAndDiesWithUs) {
  auto command = command_for("show-process");
  command.working_directory = std::filesystem::temp_directory_path();
  auto worker = open_worker(*world, command, {});
  ASSERT_TRUE(worker) << worker.refusal().text();
  worker->session.close();
  EXPECT_EQ(join(spoken(), "\n"),
            cat("mlxfast-worker: leads-session 1\nmlxfast-worker: leads-group 1\n"
                "mlxfast-worker: death-signal 9\nmlxfast-worker: int-blocked 0\n"
                "mlxfast-worker: pipe-default 1\nmlxfast-worker: folder ",
                std::filesystem::temp_directory_path().filename().string()));
}

// --- hello

TEST_F(ProcessTest, EachBrokenHelloIsRefused) {
  for (const char* lie : {"hello-id", "hello-not-ok", "hello-nonce-missing", "hello-nonce-empty",
                          "hello-version-missing", "hello-version-2"}) {
    auto session = open(lie);
    ASSERT_FALSE(session) << lie;
    EXPECT_EQ(session.refusal().code, protocol::kProtocol.code) << lie;
  }
  EXPECT_TRUE(open("hello-minimal"));
  EXPECT_EQ(open("hello-unknown-key").refusal().code, protocol::kJson.code);
  EXPECT_EQ(child_count(), 0);
}

TEST_F(ProcessTest, AHelloCutOffIsUndecodableAndNotAnEndOfStream) {
  const auto session = open("hello-truncated");
  ASSERT_FALSE(session);
  EXPECT_EQ(session.refusal().code, protocol::kJson.code);
  EXPECT_THAT(session.refusal().detail, HasSubstr("hello: response line undecodable"));
}

TEST_F(ProcessTest, AnEngineThatDiesBeforeItsHelloTellsHow) {
  const auto session = open("hello-exit3");
  ASSERT_FALSE(session);
  EXPECT_EQ(session.refusal().detail,
            "hello: stream ended without a response (the engine exited by itself with code 3; "
            "stderr was empty)");
}

TEST_F(ProcessTest, AHelloThatDoesNotComeIsATimeout) {
  EXPECT_EQ(open("hello-hang", milliseconds(100)).refusal().code, kHelloTimeout.code);
  EXPECT_EQ(child_count(), 0);
}

TEST_F(ProcessTest, ASecondHelloIsUnsolicited) {
  auto session = open("hello-twice");
  ASSERT_TRUE(session);
  // The second hello may still be on its way at the first request; then its id betrays it.
  auto token = session->prefill(kPrompt);
  ASSERT_FALSE(token);
  EXPECT_THAT(std::string(token.refusal().code), ::testing::AnyOf("UNSOLICITED_LINE", "PROTOCOL"));
}

// --- endings

TEST_F(ProcessTest, ADyingEngineIsDescribedInItsOwnWords) {
  const Refusal refusal = prefill_under("exit3");
  EXPECT_EQ(refusal.code, protocol::kProtocol.code);
  EXPECT_EQ(refusal.detail,
            "prefill: stream ended without a response (the engine exited by itself with code 3; "
            "stderr: fatal: out of memory in <path>/alloc.cpp)");
}

TEST_F(ProcessTest, ASilentSignalDeathIsTheEnginesOwn) {
  EXPECT_THAT(prefill_under("signal9").detail,
              HasSubstr("the engine died of signal 9 (SIGKILL) that the harness did not send; "
                        "stderr was empty"));
  EXPECT_THAT(prefill_under("segv").detail, HasSubstr("(SIGSEGV)"));
}

TEST_F(ProcessTest, WordsAfterTheEndOfStdoutAreHeard) {
  EXPECT_THAT(prefill_under("close-stdout-speak").detail,
              HasSubstr("exited by itself with code 4; stderr: the last words of the engine"));
}

TEST_F(ProcessTest, AnEngineThatOutlivesItsStdoutIsKilledByUsAndItIsSaid) {
  EXPECT_THAT(prefill_under("close-stdout-hang").detail,
              HasSubstr("stream ended without a response (the engine outlived its output stream "
                        "and was killed by the harness after 2000 ms"));
  EXPECT_EQ(child_count(), 0);
}

TEST_F(ProcessTest, ABadLineOfALivingEngineIsUndecodable) {
  const Refusal live = prefill_under("truncated-json-live");
  EXPECT_EQ(live.code, protocol::kJson.code);
  EXPECT_THAT(live.detail, HasSubstr("response line undecodable"));
  EXPECT_THAT(live.detail, HasSubstr("killed by the harness"));
  EXPECT_EQ(prefill_under("truncated-json").code, protocol::kJson.code);
}

TEST_F(ProcessTest, SecretsInTheLastWordsAreNotTold) {
  const Refusal refusal = prefill_under("stderr-secret");
  EXPECT_THAT(refusal.detail, HasSubstr("API_TOKEN=<redacted> | token-validation-failed | "
                                        "<path>/model.gguf missing"));
}

// --- waits

TEST_F(ProcessTest, AHangIsATimeoutAndTheEngineIsKilled) {
  EXPECT_EQ(prefill_under("hang", milliseconds(100)).code, kRunTimeout.code);
  EXPECT_EQ(child_count(), 0);
}

TEST_F(ProcessTest, DrippedNoiseDoesNotExtendTheDeadline) {
  EXPECT_EQ(prefill_under("noise-drip", milliseconds(100)).code, kRunTimeout.code);
  EXPECT_EQ(prefill_under("noise-flood", milliseconds(100)).code, kRunTimeout.code);
}

TEST_F(ProcessTest, DeadlinesBeyondATickHoldToo) {
  // Longer than what poll is left with, so that the guard of the blocking read must end the wait.
  EXPECT_EQ(prefill_under("hang", milliseconds(700)).code, kRunTimeout.code);
  EXPECT_EQ(prefill_under("noise-drip", milliseconds(700)).code, kRunTimeout.code);
  EXPECT_EQ(open("hello-hang", milliseconds(700)).refusal().code, kHelloTimeout.code);
  EXPECT_EQ(child_count(), 0);
}

TEST_F(ProcessTest, ALateAnswerIsNoAnswer) {
  EXPECT_EQ(prefill_under("late", milliseconds(100)).code, kRunTimeout.code);
}

TEST_F(ProcessTest, ASlowAnswerInTimeIsFine) {
  auto session = open("slow-50ms");
  ASSERT_TRUE(session);
  EXPECT_TRUE(session->prefill(kPrompt));
}

TEST_F(ProcessTest, AWindowThatHangsEndsAtItsBudget) {
  auto session = open("hang@free_decode_run");
  ASSERT_TRUE(session);
  DecodePlan plan;
  plan.seed = {1, 2, 3};
  plan.expected_seed_token = 200003;
  plan.expected_tokens = {200004, 200005};
  plan.steps = 2;
  plan.budget = {0.025, 4.0};  // 0.2 s
  auto window = measure_free_run(*world, *session, plan);
  ASSERT_FALSE(window);
  EXPECT_EQ(window.refusal().code, kRunTimeout.code);
  EXPECT_THAT(window.refusal().detail,
              HasSubstr("free_decode_run: no complete response within 0.200 s"));
}

TEST_F(ProcessTest, AnEngineThatDoesNotReadIsATimeoutToo) {
  auto session = open("never-reads", seconds(20), milliseconds(100));
  ASSERT_TRUE(session);
  // More than a pipe holds (64 KiB), so that the write itself must wait.
  const std::vector<int64_t> large(100000, 123456);
  auto token = session->prefill(large);
  ASSERT_FALSE(token);
  EXPECT_EQ(token.refusal().code, kRunTimeout.code);
}

TEST_F(ProcessTest, ALargeRequestArrivesWhole) {
  auto session = open("honest");
  ASSERT_TRUE(session);
  const std::vector<int64_t> large(100000, 123456);
  auto token = session->prefill(large);
  ASSERT_TRUE(token) << token.refusal().text();
  EXPECT_EQ(*token, 200000);
}

TEST_F(ProcessTest, AnEngineThatClosedItsInputIsAnIoFault) {
  auto session = open("deaf");
  ASSERT_TRUE(session);
  // The engine may close its input after the first request was written; the second meets EPIPE, or
  // the first never gets an answer.
  session->arm(world->deadline_after(milliseconds(300)), milliseconds(300));
  auto token = session->prefill(kPrompt);
  ASSERT_FALSE(token);
  EXPECT_THAT(std::string(token.refusal().code), ::testing::AnyOf("IO", "RUN_TIMEOUT"));
}

// --- lines

TEST_F(ProcessTest, AnEndlessLineIsRefusedWithBoundedMemory) {
  EXPECT_EQ(prefill_under("flood-stdout").code, protocol::kLineTooLong.code);
  EXPECT_EQ(prefill_under("flood-stdout-noise").code, protocol::kLineTooLong.code);
  EXPECT_EQ(open("hello-flood").refusal().code, protocol::kLineTooLong.code);
  EXPECT_EQ(child_count(), 0);
}

TEST_F(ProcessTest, AFloodOnStderrNeitherStallsNorHidesTheLastWords) {
  auto session = open("flood-stderr");
  ASSERT_TRUE(session);
  EXPECT_TRUE(session->prefill(kPrompt));
  session->close();
  EXPECT_EQ(join(spoken(), "\n"),
            "mlxfast-worker: line exceeded 65536 bytes\nmlxfast-worker: the words after the flood");
}

TEST_F(ProcessTest, NoiseIsSkipped) {
  auto session = open("noise");
  ASSERT_TRUE(session);
  EXPECT_TRUE(session->prefill(kPrompt));
}

TEST_F(ProcessTest, AnAnswerBeforeItsRequestIsUnsolicited) {
  for (const char* lie : {"twice", "half-unasked"}) {
    auto session = open(lie);
    ASSERT_TRUE(session);
    // Both answers come in one write, so the second is there once the first was read.
    ASSERT_TRUE(session->prefill(kPrompt)) << lie;
    auto token = session->prefill(kPrompt);
    ASSERT_FALSE(token) << lie;
    EXPECT_EQ(token.refusal().code, kUnsolicitedLine.code) << lie;
  }
}

TEST_F(ProcessTest, ProtocolLiesHaveTheirNames) {
  const std::pair<const char*, const RefusalInfo*> lies[] = {
      {"wrong-nonce", &protocol::kNonceMismatch},
      {"wrong-id", &protocol::kProtocol},
      {"not-ok", &protocol::kEngine},
      {"id-minus-one", &protocol::kEngine},
      {"unknown-key", &protocol::kJson}};
  for (const auto& [lie, info] : lies) EXPECT_EQ(prefill_under(lie).code, info->code) << lie;
  EXPECT_EQ(prefill_under("not-ok").detail, "prefill: kernel launch failed in <path>/y.cu");
}

// --- lies about work

TEST_F(ProcessTest, LiesAboutTheCounterAndTheDrain) {
  const std::pair<const char*, const RefusalInfo*> lies[] = {
      {"counter-plus-1@phase_diagnostics", &kCompletedWorkMismatch},
      {"counter-minus-1@phase_diagnostics", &kCompletedWorkMismatch},
      {"counter-omitted@phase_diagnostics", &kCompletedWorkMismatch},
      {"cache-4096@phase_diagnostics", &kAllocatorCacheNotDrained}};
  for (const auto& [lie, info] : lies) {
    auto session = open(lie);
    ASSERT_TRUE(session);
    session->begin_phase();
    ASSERT_TRUE(session->decode_begin(kPrompt, std::nullopt));
    ASSERT_TRUE(session->decode_step(200003));
    auto close = session->close_phase();
    ASSERT_FALSE(close) << lie;
    EXPECT_EQ(close.refusal().code, info->code) << lie;
  }
}

TEST_F(ProcessTest, LiesOfAFreeRun) {
  const std::pair<const char*, std::string_view> lies[] = {
      {"wrong-token@free_decode_run", kTokenMismatch.code},
      {"wrong-token@free_decode_begin", kTokenMismatch.code},
      {"reemit-seed@free_decode_run", kTokenMismatch.code},
      {"one-token-less@free_decode_run", scoring::kFreeRunConsistency.code},
      {"committed-plus-1@free_decode_run", scoring::kFreeRunConsistency.code},
      {"no-counters@free_decode_run", protocol::kProtocol.code},
      {"counter-plus-1@phase_diagnostics", scoring::kFreeRunConsistency.code},
      {"counter-minus-1@phase_diagnostics", scoring::kFreeRunConsistency.code},
      {"counter-omitted@phase_diagnostics", scoring::kFreeRunConsistency.code},
      {"cache-4096@phase_diagnostics", kAllocatorCacheNotDrained.code},
      {"no-capability", protocol::kCapabilityNotAdvertised.code},
      {"no-mtp", protocol::kSpecModeNotRunnable.code},
      {"spec-echo-dropped@free_decode_begin", protocol::kSpecEchoDivergence.code},
      {"spec-echo-diverged@free_decode_begin", protocol::kSpecEchoDivergence.code},
      {"cache-omitted@phase_diagnostics", ""},
      {"honest", ""}};
  for (const auto& [lie, code] : lies) {
    auto session = open(lie);
    ASSERT_TRUE(session) << lie;
    DecodePlan plan;
    plan.seed = {1, 2, 3};
    plan.expected_seed_token = 200003;
    plan.expected_tokens = {200004, 200005, 200006};
    plan.steps = 3;
    plan.spec = protocol::mtp_spec(2);
    auto window = measure_free_run(*world, *session, plan);
    EXPECT_EQ(window ? "" : window.refusal().code, code) << lie;
  }
}

TEST_F(ProcessTest, SevenOrNineLogits) {
  for (const char* lie : {"logits-7@correctness_begin", "logits-9@correctness_begin"}) {
    auto session = open(lie);
    ASSERT_TRUE(session);
    EXPECT_EQ(session->correctness_begin(kPrompt).refusal().code, protocol::kProtocol.code);
  }
}

TEST_F(ProcessTest, WorkDoneInTheWrongWindow) {
  const std::pair<const char*, const RefusalInfo*> lies[] = {
      {"front-load", &kFrontLoadedDecode}, {"deferred-prefill", &kDeferredPrefill}};
  for (const auto& [lie, info] : lies) {
    LegPlan plan;
    scoring::TimedOracle oracle;
    oracle.prefill_prompt_tokens = {1, 2, 3, 4};
    oracle.expected_prefill_token = 100004;
    oracle.decode_seed_tokens = {1, 2, 3, 4};
    oracle.expected_decode_seed_token = 200004;
    oracle.expected_decode_tokens = {200005, 200006};
    set_oracle(plan, oracle);
    plan.vocab_size = 1000;
    plan.gates.operator_off = true;
    auto leg = measure_leg(*world, command_for(lie), plan);
    ASSERT_FALSE(leg) << lie;
    EXPECT_EQ(leg.refusal().code, info->code) << lie;
  }
}

// --- teardown

TEST_F(ProcessTest, AStubbornEngineIsEnded) {
  for (const char* lie : {"stay-after-eof", "ignore-term"}) {
    auto session = open(lie);
    ASSERT_TRUE(session);
    EXPECT_TRUE(session->prefill(kPrompt));
    session->close();
    session->close();  // idempotent
    EXPECT_EQ(child_count(), 0) << lie;
  }
}

TEST_F(ProcessTest, AGrandchildThatHoldsThePipesBlocksNothingAndIsEnded) {
  for (const char* lie :
       {"grandchild", "daemon"}) {  // the same process group; a session of its own
    auto session = open(lie);
    ASSERT_TRUE(session);
    ASSERT_TRUE(session->prefill(kPrompt));
    session->close();
    EXPECT_EQ(child_count(), 0) << lie;
  }
}

TEST_F(ProcessTest, TheDeathOfAnEngineIsSeenThoughItsChildHoldsThePipes) {
  for (const char* lie : {"grandchild-exit", "daemon-exit"}) {
    EXPECT_EQ(prefill_under(lie).detail,
              "prefill: stream ended without a response (the engine exited by itself with code 0; "
              "stderr: leaving a child behind)");
    EXPECT_EQ(child_count(), 0) << lie;
  }
}

TEST_F(ProcessTest, ASignalBecomesANamedRefusalWithoutAnOrphan) {
  const InterruptGuard guard;
  auto session = open("hang");
  ASSERT_TRUE(session);
  raise(SIGINT);
  EXPECT_EQ(InterruptGuard::signal_received(), SIGINT);
  auto token = session->prefill(kPrompt);
  ASSERT_FALSE(token);
  EXPECT_EQ(token.refusal().code, kRunInterrupted.code);
  EXPECT_EQ(child_count(), 0);
  EXPECT_EQ(open("honest").refusal().code, kRunInterrupted.code);  // and nothing new is started
}

TEST_F(ProcessTest, ASignalDuringAWaitEndsIt) {
  const InterruptGuard guard;
  auto session = open("hang");
  ASSERT_TRUE(session);
  const pid_t helper = fork();
  if (helper == 0) {
    usleep(50'000);
    kill(getppid(), SIGTERM);
    _exit(0);
  }
  auto token = session->prefill(kPrompt);
  ASSERT_FALSE(token);
  EXPECT_EQ(token.refusal().code, kRunInterrupted.code);
  waitpid(helper, nullptr, 0);
}

TEST_F(ProcessTest, AJudgeThatIsKilledTakesItsEngineWithIt) {
  int report[2];
  ASSERT_EQ(pipe(report), 0);
  const pid_t judge = fork();
  if (judge == 0) {
    // The lying engine inherits nothing but its stdio: it cannot hold the report pipe.
    const auto own_world = make_real_world();
    auto started = start_worker(*own_world, command_for("hang"));
    const auto children = child_count();
    if (write(report[1], &children, sizeof children) < 0) _exit(1);
    for (;;) pause();
  }
  int children = 0;
  ASSERT_EQ(read(report[0], &children, sizeof children), static_cast<ssize_t>(sizeof children));
  EXPECT_EQ(children, 1);
  kill(judge, SIGKILL);
  waitpid(judge, nullptr, 0);
  close(report[0]);
  close(report[1]);
  // The engine, an orphan now, came to us (we are the subreaper): it must be dying of SIGKILL.
  int status = 0;
  ASSERT_GT(waitpid(-1, &status, 0), 0);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
}

// --- helper programs

TEST_F(ProcessTest, AHelperProgramIsRunToItsEnd) {
  CommandRequest request;
  request.environment = {{"PATH", "/usr/bin:/bin"}};
  request.argv = {"sh", "-c", "echo out; echo err >&2; exit 7"};
  auto result = world->run_command(request);
  ASSERT_TRUE(result) << result.refusal().text();
  EXPECT_EQ(result->exit_code, 7);
  EXPECT_EQ(result->out, "out\n");
  EXPECT_EQ(result->err, "err\n");
  request.argv = {"sh", "-c", "kill -9 $$"};
  EXPECT_EQ(world->run_command(request)->exit_code, 137);
  request.argv = {"no-such-program-here"};
  EXPECT_EQ(world->run_command(request).refusal().code, kProcessNotStarted.code);
}

TEST_F(ProcessTest, AHelperThatHangsIsKilled) {
  CommandRequest request;
  request.environment = {{"PATH", "/usr/bin:/bin"}};
  request.argv = {"sleep", "1000"};
  request.timeout = milliseconds(50);
  auto result = world->run_command(request);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.refusal().code, kProcessTimeout.code);
  EXPECT_EQ(child_count(), 0);
}

TEST_F(ProcessTest, WhatAHelperLeavesRunningStays) {
  CommandRequest request;
  request.environment = {{"PATH", "/usr/bin:/bin"}};
  request.argv = {"sh", "-c", "sleep 1000 & echo $!"};  // a serve script's resident
  auto result = world->run_command(request);
  ASSERT_TRUE(result);
  const auto pid = parse_int64(trim(result->out));
  ASSERT_TRUE(pid);
  EXPECT_EQ(kill(static_cast<pid_t>(*pid), 0), 0);
  kill(static_cast<pid_t>(*pid), SIGKILL);
  waitpid(static_cast<pid_t>(*pid), nullptr, 0);
}

}  // namespace
}  // namespace assay::runner
