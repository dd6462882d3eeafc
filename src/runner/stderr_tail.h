// An engine's stderr as it is kept: bytes to bounded lines, and the last lines in bounded memory.
//
// Threads   one thread at a time; the drain thread feeds, and the owner reads after it ended.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <string>
#include <string_view>

namespace assay::runner {

inline constexpr size_t kStderrLineSizeMax = 65536;       // bytes of a line before its LF
inline constexpr size_t kStderrRetainedLineMax = 2048;    // bytes of a line in the tail
inline constexpr size_t kStderrRetainedTotalMax = 65536;  // bytes of the tail, 1 more for each line
inline constexpr std::string_view kStderrLineTooLong = "line exceeded 65536 bytes";

/// Splits a byte stream into redacted UTF-8 lines. A line longer than kStderrLineSizeMax is
/// replaced by a fixed marker as soon as it is known to be, and dropped up to its LF.
class StderrLines {
 public:
  using Sink = std::function<void(std::string_view line)>;
  explicit StderrLines(Sink sink) : sink_(std::move(sink)) {}
  void feed(std::string_view bytes);
  /// At the end of the stream: a last line without LF counts.
  void finish();

 private:
  void emit();
  Sink sink_;
  std::string line_;
  bool dropping_ = false;
};

/// The newest lines, each clipped, oldest dropped first.
class StderrTail {
 public:
  void add(std::string_view line);
  [[nodiscard]] const std::deque<std::string>& lines() const { return lines_; }

  /// The lines, scrubbed, as one text of at most `size_max` bytes: " | " between them, oldest
  /// first. The newest lines win; one that does not fit is left out and counted, and the count
  /// stands in front. Says "stderr was empty" when there is nothing.
  [[nodiscard]] std::string report(size_t size_max) const;

 private:
  std::deque<std::string> lines_;
  size_t retained_ = 0;  // bytes, 1 more for each line
  size_t dropped_ = 0;   // lines that fell out of the tail
};

}  // namespace assay::runner
