#include "runner/stderr_tail.h"

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "runner/scrub.h"

namespace assay::runner {

void StderrLines::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    const size_t newline = bytes.find('\n');
    const std::string_view part = bytes.substr(0, newline);
    if (!dropping_ && line_.size() + part.size() > kStderrLineSizeMax) {
      sink_(kStderrLineTooLong);
      line_.clear();
      dropping_ = true;
    }
    if (!dropping_) line_ += part;
    if (newline == std::string_view::npos) return;
    if (!dropping_) emit();
    dropping_ = false;
    bytes.remove_prefix(newline + 1);
  }
}

void StderrLines::finish() {
  if (!dropping_ && !line_.empty()) emit();
  dropping_ = false;
}

void StderrLines::emit() {
  while (!line_.empty() && line_.back() == '\r') line_.pop_back();
  sink_(redact(to_utf8(line_)));
  line_.clear();
}

void StderrTail::add(std::string_view line) {
  lines_.push_back(clip(line, kStderrRetainedLineMax));
  retained_ += lines_.back().size() + 1;
  while (retained_ > kStderrRetainedTotalMax) {
    retained_ -= lines_.front().size() + 1;
    lines_.pop_front();
    ++dropped_;
  }
}

std::string StderrTail::report(size_t size_max) const {
  constexpr std::string_view between = " | ";
  std::vector<std::string> kept;
  size_t used = 0;
  size_t dropped = dropped_;
  for (auto line = lines_.rbegin(); line != lines_.rend(); ++line) {
    std::string text = scrub(*line);
    if (trim(text).empty()) continue;
    const size_t cost = text.size() + between.size();
    if (used + cost > size_max) {
      ++dropped;
      continue;
    }
    used += cost;
    kept.push_back(std::move(text));
  }
  if (kept.empty() && dropped == 0) return "stderr was empty";
  std::reverse(kept.begin(), kept.end());
  if (dropped > 0) kept.insert(kept.begin(), cat("(", dropped, " more stderr lines)"));
  return cat("stderr: ", join(kept, between));
}

}  // namespace assay::runner
