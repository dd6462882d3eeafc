#include "benchd/console.h"

#include <unistd.h>

#include <cstdio>

#include "base/text.h"

namespace assay::benchd {

namespace {

constexpr std::string_view kEraseLine = "\r\033[K";

void put(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

}  // namespace

Console::Console(const cli::Invocation& invocation)
    : invocation_(invocation), terminal_(::isatty(STDERR_FILENO) == 1) {}

Console::~Console() {
  clear_live();
}

void Console::line(std::string_view text) {
  const std::lock_guard lock(mutex_);
  if (live_shown_) put(kEraseLine);
  live_shown_ = false;
  invocation_.progress(text);
}

void Console::live(std::string_view text) {
  if (!terminal_ || invocation_.quiet()) return;
  const std::lock_guard lock(mutex_);
  put(cat(kEraseLine, invocation_.name(), ": ", text));
  live_shown_ = true;
}

void Console::clear_live() {
  const std::lock_guard lock(mutex_);
  if (live_shown_) put(kEraseLine);
  live_shown_ = false;
}

}  // namespace assay::benchd
