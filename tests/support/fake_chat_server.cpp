// A made-up chat server as a process, for tests of campaigns: it maps a file as its weights,
// listens where it is told, and misbehaves as it is told.
//
//   fake_chat_server --port N [--weights FILE] [--model NAME] [--pid-file FILE] [fault…]
//
// Faults    --list NAME       the model list names this one instead
//           --respond NAME    the answers name this one instead
//           --prompt-add N    counts N prompt tokens more than there are words (from request
//                             --from on)
//           --cached N        N prompt tokens came from a cache (from request --from on)
//           --status CODE     answers with this status (from request --from on)
//           --die             ends with exit code 7 (at request --from)
//           --hang            answers nothing (at request --from), and makes the file --marker
//           --no-usage, --reasoning-only, --no-tools (a request with tools is answered with 400)
//           --not-ready       ends at once with exit code 3
// Requests are counted from 0: readiness, two of calibration, one warm-up, then the measured runs.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <string>

#include "support/chat_model.h"

namespace {

using assay::support::ChatAnswer;
using assay::support::ChatModel;
using assay::support::ChatQuestion;
using assay::support::Reply;

std::map<std::string, std::string> options;

std::string text(const std::string& name, const std::string& fallback = "") {
  const auto found = options.find(name);
  return found == options.end() ? fallback : found->second;
}
int64_t number(const std::string& name, int64_t fallback) {
  const std::string value = text(name);
  return value.empty() ? fallback : std::atoll(value.c_str());
}
bool has(const std::string& name) {
  return options.contains(name);
}

bool at_fault(const ChatQuestion& question) {
  return question.index >= number("from", 0);
}

ChatAnswer answer(const ChatQuestion& question) {
  ChatAnswer out;
  out.model = text("respond", text("model", "fake"));
  out.answer_tokens = question.max_tokens;
  out.usage = !has("no-usage");
  out.cached_tokens = 0;
  if (has("reasoning-only")) {
    out.reasoning_tokens = question.max_tokens;
    out.answer_tokens = 0;
  }
  if (at_fault(question)) {
    if (has("prompt-add")) out.prompt_tokens = question.words + number("prompt-add", 0);
    if (has("cached")) out.cached_tokens = number("cached", 0);
  }
  return out;
}

std::optional<Reply> fault(const ChatQuestion& question) {
  if (has("status") && at_fault(question))
    return ChatModel::error(static_cast<int>(number("status", 500)), "as told");
  if (has("no-tools") && question.body.find("tools") != nullptr)
    return ChatModel::error(400, "no tool parser");
  if (has("die") && question.index == number("from", 0)) _exit(7);
  if (has("hang") && question.index == number("from", 0)) {
    std::ofstream(text("marker")) << getpid() << "\n";
    Reply reply;
    reply.end = Reply::End::hang;
    return reply;
  }
  return std::nullopt;
}

}  // namespace

int main(int argc, char** argv) {
  const std::set<std::string> toggles = {"die",       "hang",    "no-usage", "reasoning-only",
                                         "not-ready", "no-tools"};
  for (int i = 1; i < argc; ++i) {
    const std::string name = std::string(argv[i]).substr(2);
    if (toggles.contains(name)) {
      options[name] = "yes";
    } else if (i + 1 < argc) {
      options[name] = argv[++i];
    }
  }
  if (has("not-ready")) {
    std::fprintf(stderr, "no weights today\n");
    return 3;
  }
  if (has("weights")) {
    // Held like an engine holds them: mapped, the descriptor closed.
    const int fd = open(text("weights").c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 4;
    const void* weights = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
    if (weights == MAP_FAILED) return 4;
    close(fd);
  }
  if (has("pid-file")) std::ofstream(text("pid-file"), std::ios::app) << getpid() << "\n";
  ChatModel model(answer, fault, static_cast<uint16_t>(number("port", 0)));
  model.listed = {text("list", text("model", "fake"))};
  std::printf("listening on %d\n", static_cast<int>(model.server().port()));
  std::fflush(stdout);
  for (;;) pause();
}
