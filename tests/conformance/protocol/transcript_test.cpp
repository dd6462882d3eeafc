// The published transcript of the adapter mock, byte by byte: against the program, and against the
// state machine without a process. The files were written from the published shapes by another
// program; the digests are the published ones.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "base/files.h"
#include "base/sha256.h"
#include "base/text.h"
#include "engine_process.h"
#include "protocol/codec.h"
#include "worker/adapter.h"
#include "worker/mock.h"

namespace assay::protocol_tests {
namespace {

const std::string kMock = cat(ASSAY_BIN_DIR, "/assay-mock-engine");
constexpr std::string_view kNonce = "5f0c9d1e7a3b42688f1d0e6b9c4a7755";

std::string data(std::string_view name) {
  const auto bytes = read_file(cat(ASSAY_SOURCE_DIR, "/tests/conformance/protocol/", name));
  EXPECT_TRUE(bytes) << name;
  return bytes ? *bytes : std::string();
}

EngineProcess pinned_mock(std::vector<std::string> arguments = {"runtime-worker"}) {
  arguments.insert(arguments.begin(), kMock);
  return EngineProcess(arguments, {cat("ASSAY_MOCK_NONCE=", kNonce)});
}

TEST(Transcript, TheFilesHaveThePublishedDigests) {
  EXPECT_EQ(data("m1_requests.ndjson").size(), 657u);
  EXPECT_EQ(sha256_hex(data("m1_requests.ndjson")),
            "9d3b02798210169dde9c5b641573a7c1206dd0a76c1882072434ac4f2438547b");
  EXPECT_EQ(data("m1_responses.ndjson").size(), 3497u);
  EXPECT_EQ(sha256_hex(data("m1_responses.ndjson")),
            "17cfaea2465eaecc997809410c6193c3e22a5b21c359425a8a2e0bb9ca275c1f");
}

// Captured lines are a contract with engines in the field: a change shows here first.
TEST(Transcript, TheCapturedLinesAreUnchanged) {
  EXPECT_EQ(sha256_hex(data("requests.ndjson")),
            "f742e9f4220a9d94d05a6ad6c6880cf6f04764d876c4420f59601bb493a1a94e");
  EXPECT_EQ(sha256_hex(data("responses.ndjson")),
            "92a2760c27251485f0cbf5ce339e059ff10143551548585b7b3975fa9db1d14f");
}

TEST(Transcript, TheMockProgramWritesIt) {
  EngineProcess engine = pinned_mock();
  engine.write(data("m1_requests.ndjson"));
  engine.close_input();
  const std::string out = engine.read_all();
  EXPECT_EQ(out, data("m1_responses.ndjson"));
  EXPECT_EQ(sha256_hex(out), "17cfaea2465eaecc997809410c6193c3e22a5b21c359425a8a2e0bb9ca275c1f");
  EXPECT_EQ(engine.finish(), 0);
}

TEST(Transcript, ArgumentsOfAJudgeChangeNothing) {
  EngineProcess engine = pinned_mock({"runtime-worker", "--weights", "/nowhere",
                                      "--speculative-protocol", "v1.1", "--resource", "a=/b"});
  engine.write(data("m1_requests.ndjson"));
  engine.close_input();
  EXPECT_EQ(engine.read_all(), data("m1_responses.ndjson"));
  EXPECT_EQ(engine.finish(), 0);
}

TEST(Transcript, LineByLineTheAnswersAreTheSame) {
  EngineProcess engine = pinned_mock();
  std::string out = engine.read_line() + "\n";
  const std::string requests = data("m1_requests.ndjson");
  for (const std::string_view line : split(requests, '\n')) {
    if (line.empty()) break;
    engine.write(cat(line, "\n"));
    out += engine.read_line() + "\n";
  }
  EXPECT_EQ(out, data("m1_responses.ndjson"));
  EXPECT_EQ(engine.finish(), 0);
}

TEST(Transcript, TheStateMachineWritesIt) {
  worker::AdapterMock mock;
  worker::Adapter adapter(mock, {.nonce = std::string(kNonce), .speculative = true});
  std::string out;
  adapter.hello(out);
  const std::string requests = data("m1_requests.ndjson");
  for (const std::string_view line : split(requests, '\n')) {
    if (!line.empty()) adapter.answer(line, out);
  }
  EXPECT_EQ(out, data("m1_responses.ndjson"));
}

TEST(Transcript, EveryLineIsCanonical) {
  const std::string requests = data("m1_requests.ndjson");
  for (const std::string_view line : split(requests, '\n')) {
    if (line.empty()) break;
    EXPECT_EQ(protocol::write_request(*protocol::read_request(line)), line);
  }
  const std::string responses = data("m1_responses.ndjson");
  for (const std::string_view line : split(responses, '\n')) {
    if (line.empty()) break;
    EXPECT_EQ(protocol::write_response(*protocol::read_response(line)), line);
  }
}

TEST(MockProgram, ChoosesAFreshNonceOtherwise) {
  std::string nonces[2];
  for (std::string& nonce : nonces) {
    EngineProcess engine({kMock, "runtime-worker"});
    nonce = engine.response().nonce.value_or("");
    EXPECT_TRUE(is_lower_hex(nonce, 32)) << nonce;
    EXPECT_EQ(engine.finish(), 0);
  }
  EXPECT_NE(nonces[0], nonces[1]);
}

TEST(MockProgram, StrictV1AdvertisesNothing) {
  EngineProcess engine = pinned_mock({"runtime-worker", "--strict-v1"});
  const auto hello = engine.response();
  EXPECT_FALSE(hello.capabilities);
  EXPECT_FALSE(hello.spec_modes);
  const auto refused = engine.ask(R"("kind":"free_decode_begin","seed_tokens":[1])");
  EXPECT_THAT(refused.error.value_or(""), ::testing::HasSubstr("WORKER-NEEDS-V1-1"));
}

TEST(MockProgram, WrongArgumentsEndWithCodeTwo) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"runtime-worker", "--mock", "other"},
                                             {"runtime-worker", "--vocab", "7"},
                                             {"runtime-worker", "--vocab", "many"},
                                             {"runtime-worker", "--weights"},
                                             {"runtime-worker", "--speculative-protocol", "v2"}}) {
    EngineProcess engine = pinned_mock(arguments);
    EXPECT_EQ(engine.read_all(), "");
    EXPECT_EQ(engine.finish(), 2);
  }
}

TEST(MockProgram, LibrariesCannotReachTheProtocolStream) {
  EngineProcess engine = pinned_mock();
  ASSERT_EQ(engine.response().id, 0);
  std::error_code error;
  for (const int fd : {0, 1}) {
    EXPECT_EQ(std::filesystem::read_symlink(cat("/proc/", engine.pid(), "/fd/", fd), error),
              "/dev/null");
  }
  EXPECT_EQ(engine.finish(), 0);
}

TEST(MockProgram, AnOrphanEnds) {
  // A middle process starts the engine and dies; the test keeps both pipes open, so only the
  // missing parent can end the engine.
  int to_engine[2];
  int from_engine[2];
  ASSERT_EQ(pipe2(to_engine, O_CLOEXEC), 0);
  ASSERT_EQ(pipe2(from_engine, O_CLOEXEC), 0);
  int stay[2];
  ASSERT_EQ(pipe2(stay, O_CLOEXEC), 0);
  const pid_t middle = fork();
  if (middle == 0) {
    const pid_t engine = fork();
    if (engine == 0) {
      dup2(to_engine[0], 0);
      dup2(from_engine[1], 1);
      execl(kMock.c_str(), kMock.c_str(), "runtime-worker", nullptr);
      _exit(127);
    }
    char byte = 0;
    close(stay[1]);
    (void)!read(stay[0], &byte, 1);  // until the test has seen the hello
    _exit(0);
  }
  close(from_engine[1]);
  char buffer[4096];
  ASSERT_GT(read(from_engine[0], buffer, sizeof buffer), 0);  // the hello: its parent is known
  close(stay[1]);
  ASSERT_EQ(waitpid(middle, nullptr, 0), middle);
  pollfd waiting{.fd = from_engine[0], .events = POLLIN, .revents = 0};
  EXPECT_EQ(poll(&waiting, 1, 60000), 1) << "the orphan did not end";
  EXPECT_EQ(read(from_engine[0], buffer, sizeof buffer), 0);
  for (const int fd : {to_engine[0], to_engine[1], from_engine[0], stay[0]}) close(fd);
}

}  // namespace
}  // namespace assay::protocol_tests
