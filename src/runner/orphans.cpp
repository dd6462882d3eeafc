#include "runner/orphans.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/text.h"

namespace assay::runner {
namespace {

struct ProcessFacts {
  int64_t parent = 0;
  uint64_t start = 0;  // clock ticks since boot
};

std::optional<ProcessFacts> facts_of(pid_t pid) {
  const auto text = assay::read_file(cat("/proc/", pid, "/stat"));
  if (!text) return std::nullopt;
  // The name in parentheses may hold anything; the fields behind the last ')' are plain.
  const size_t name_end = text->rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  const auto fields = split(std::string_view(*text).substr(name_end + 1), ' ');
  constexpr size_t kParent = 2, kStart = 20;  // fields 4 and 22, counted from behind the name
  if (fields.size() <= kStart) return std::nullopt;
  const auto parent = parse_int64(fields[kParent]);
  const auto start = parse_uint64(fields[kStart]);
  if (!parent || !start) return std::nullopt;
  return ProcessFacts{*parent, *start};
}

}  // namespace

std::optional<uint64_t> process_start(pid_t pid) {
  const auto facts = facts_of(pid);
  if (!facts) return std::nullopt;
  return facts->start;
}

int end_orphans(const std::set<int>& ours, uint64_t since) {
  int ended = 0;
  // A killed orphan hands its own children to us: look again until there are none.
  for (bool found = true; found;) {
    found = false;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
      const auto number = parse_int64(entry.path().filename().string());
      if (!number) continue;
      const auto pid = static_cast<pid_t>(*number);
      if (ours.count(pid) != 0) continue;
      const auto facts = facts_of(pid);
      if (!facts || facts->parent != getpid() || facts->start < since) continue;
      kill(pid, SIGKILL);
      int status = 0;
      while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
      }
      ++ended;
      found = true;
    }
  }
  return ended;
}

}  // namespace assay::runner
