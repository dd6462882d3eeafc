// The stdio loop over real pipes, with the engine on a thread of the test.
#include "worker/serve.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <set>
#include <thread>

#include "base/text.h"
#include "protocol/codec.h"
#include "protocol/line.h"
#include "protocol/refusals.h"
#include "worker/mock.h"
#include "worker/refusals.h"

namespace assay::worker {
namespace {

using ::testing::HasSubstr;

std::vector<std::string> split_lines(const std::string& bytes) {
  std::vector<std::string> lines;
  for (const std::string_view line : split(bytes, '\n')) lines.emplace_back(line);
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

struct Served {
  Status status;
  std::vector<std::string> lines;  // hello first
};

// Sends `bytes` in pieces of `piece`, closes, and collects everything the engine wrote.
Served serve_bytes(std::string_view bytes, size_t piece = 1 << 16) {
  int to_engine[2];
  int from_engine[2];
  EXPECT_EQ(pipe2(to_engine, O_CLOEXEC), 0);
  EXPECT_EQ(pipe2(from_engine, O_CLOEXEC), 0);
  std::signal(SIGPIPE, SIG_IGN);
  AdapterMock engine;
  Status status;
  std::thread worker([&] {
    status = serve(engine, to_engine[0], from_engine[1], {.nonce = "k7", .speculative = true});
    close(from_engine[1]);
    close(to_engine[0]);
  });
  std::thread writer([&] {
    for (size_t i = 0; i < bytes.size(); i += piece) {
      std::string_view part = bytes.substr(i, piece);
      while (!part.empty()) {
        const ssize_t n = write(to_engine[1], part.data(), part.size());
        if (n <= 0) break;
        part.remove_prefix(static_cast<size_t>(n));
      }
    }
    close(to_engine[1]);
  });
  std::string out;
  char buffer[1 << 16];
  for (ssize_t n = 0; (n = read(from_engine[0], buffer, sizeof buffer)) > 0;) {
    out.append(buffer, static_cast<size_t>(n));
  }
  writer.join();
  worker.join();
  close(from_engine[0]);
  return {std::move(status), split_lines(out)};
}

TEST(Serve, EndsCleanlyWhenTheInputEnds) {
  const Served served = serve_bytes("");
  EXPECT_TRUE(served.status);
  ASSERT_EQ(served.lines.size(), 1u);  // the hello, and nothing at the end
  EXPECT_THAT(served.lines[0], HasSubstr(R"({"id":0,"nonce":"k7","ok":true)"));
}

TEST(Serve, OneLineForEachRequestHoweverTheBytesArrive) {
  const std::string bytes =
      "{\"id\":1,\"kind\":\"prefill\",\"prompt_tokens\":[1,2]}\r\n"
      "\n \t\r\n"  // blank lines are skipped
      "{\"id\":2,\"kind\":\"phase_diagnostics\"}\n"
      "not a request\n"
      "{\"id\":3,\"kind\":\"prefill\",\"prompt_tokens\":[1]}";  // the last line needs no LF
  for (const size_t piece : {size_t{1}, size_t{7}, bytes.size()}) {
    const Served served = serve_bytes(bytes, piece);
    EXPECT_TRUE(served.status);
    ASSERT_EQ(served.lines.size(), 5u);
    EXPECT_EQ(served.lines[1], R"({"id":1,"nonce":"k7","ok":true,"token":100002})");
    EXPECT_EQ(protocol::read_response(served.lines[2])->completed_work, 0);
    EXPECT_EQ(protocol::read_response(served.lines[3])->id, -1);
    EXPECT_EQ(served.lines[4], R"({"id":3,"nonce":"k7","ok":true,"token":100001})");
  }
}

TEST(Serve, ALineOverFourMebibytesEndsTheSession) {
  const std::string flood(protocol::kLineSizeMax + 10, 'x');
  const Served served = serve_bytes(flood);
  ASSERT_FALSE(served.status);
  EXPECT_EQ(served.status.refusal().code, protocol::kLineTooLong.code);
  ASSERT_EQ(served.lines.size(), 2u);
  const auto last = protocol::read_response(served.lines[1]);
  EXPECT_EQ(last->id, -1);
  EXPECT_THAT(*last->error, HasSubstr("LINE_TOO_LONG"));
}

TEST(Serve, AJudgeThatIsGoneIsAnError) {
  int to_engine[2];
  int from_engine[2];
  ASSERT_EQ(pipe2(to_engine, O_CLOEXEC), 0);
  ASSERT_EQ(pipe2(from_engine, O_CLOEXEC), 0);
  std::signal(SIGPIPE, SIG_IGN);
  close(from_engine[0]);
  AdapterMock engine;
  const Status status = serve(engine, to_engine[0], from_engine[1], {.nonce = "k7"});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.refusal().code, kIo.code);
  for (const int fd : {to_engine[0], to_engine[1], from_engine[1]}) close(fd);
}

TEST(Nonce, ThirtyTwoHexDigitsAndNeverTheSame) {
  std::set<std::string> nonces;
  for (int i = 0; i < 100; ++i) {
    const std::string nonce = fresh_nonce();
    EXPECT_TRUE(is_lower_hex(nonce, 32)) << nonce;
    nonces.insert(nonce);
  }
  EXPECT_EQ(nonces.size(), 100u);
}

Result<WorkerCommand> command(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "engine");
  return parse_worker_command(static_cast<int>(arguments.size()), arguments.data());
}

TEST(WorkerCommandLine, KnowsWhatAJudgeSends) {
  const auto plain = command({"runtime-worker", "--weights", "/w/model.gguf"});
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->weights, "/w/model.gguf");
  EXPECT_FALSE(plain->speculative);
  const auto full = command({"runtime-worker", "--weights", "/w", "--speculative-protocol", "v1.1",
                             "--resource", "tape=/t", "--future"});
  ASSERT_TRUE(full);
  EXPECT_TRUE(full->speculative);
  EXPECT_EQ(full->rest, (std::vector<std::string>{"--resource", "tape=/t", "--future"}));
}

TEST(WorkerCommandLine, RefusesWhatItCannotHonour) {
  for (const auto& refused :
       {command({}), command({"serve"}), command({"runtime-worker", "--weights"}),
        command({"runtime-worker", "--speculative-protocol", "v1.2"}),
        command({"runtime-worker", "--speculative-protocol", "v1"}),
        command({"runtime-worker", "--speculative-protocol"})}) {
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.refusal().code, kCommand.code);
  }
}

}  // namespace
}  // namespace assay::worker
