#include "engine_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "base/text.h"
#include "protocol/codec.h"

namespace assay::protocol_tests {

namespace {
std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}
}  // namespace

EngineProcess::EngineProcess(std::vector<std::string> argv, std::vector<std::string> environment) {
  std::signal(SIGPIPE, SIG_IGN);
  int to_engine[2];
  int from_engine[2];
  EXPECT_EQ(pipe2(to_engine, O_CLOEXEC), 0);
  EXPECT_EQ(pipe2(from_engine, O_CLOEXEC), 0);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, to_engine[0], 0);
  posix_spawn_file_actions_adddup2(&actions, from_engine[1], 1);
  EXPECT_EQ(posix_spawn(&pid_, argv[0].c_str(), &actions, nullptr, pointers(argv).data(),
                        pointers(environment).data()),
            0)
      << argv[0];
  posix_spawn_file_actions_destroy(&actions);
  close(to_engine[0]);
  close(from_engine[1]);
  in_ = to_engine[1];
  out_ = from_engine[0];
}

EngineProcess::~EngineProcess() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  close_input();
  if (out_ >= 0) close(out_);
}

void EngineProcess::write(std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t n = ::write(in_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    ASSERT_GT(n, 0) << "the engine closed its input";
    bytes.remove_prefix(static_cast<size_t>(n));
  }
}

void EngineProcess::close_input() {
  if (in_ >= 0) close(in_);
  in_ = -1;
}

bool EngineProcess::read_more() {
  pollfd waiting{.fd = out_, .events = POLLIN, .revents = 0};
  if (poll(&waiting, 1, 60000) <= 0) {
    ADD_FAILURE() << "the engine was silent for a minute";
    return false;
  }
  const auto room = lines_.room();
  const ssize_t n = read(out_, room.data(), room.size());
  if (n <= 0) return false;
  lines_.filled(static_cast<size_t>(n));
  return true;
}

std::string EngineProcess::read_line() {
  while (true) {
    auto line = lines_.next();
    if (!line) {
      ADD_FAILURE() << line.refusal().text();
      return {};
    }
    if (*line) return std::string(**line);
    if (!read_more()) return std::string(lines_.rest().value_or(""));
  }
}

std::string EngineProcess::read_all() {
  std::string out;
  while (true) {
    const std::string line = read_line();
    if (line.empty()) return out;
    out += line + "\n";
  }
}

protocol::Response EngineProcess::response() {
  const std::string line = read_line();
  auto response = protocol::read_response(line);
  EXPECT_TRUE(response) << line;
  if (!response) return {};
  EXPECT_EQ(protocol::write_response(*response), line) << "not in canonical form";
  return *std::move(response);
}

protocol::Response EngineProcess::ask(std::string_view fields) {
  write(cat("{\"id\":", ++id_, ",", fields, "}\n"));
  protocol::Response answer = response();
  EXPECT_EQ(answer.id, id_);
  return answer;
}

int EngineProcess::finish() {
  close_input();
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace assay::protocol_tests
