// Framing: bytes to lines, with a bound that is checked while reading, and the noise rule.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "base/result.h"

namespace assay::protocol {

/// Longest line in both directions, in bytes, without its LF.
inline constexpr size_t kLineSizeMax = size_t{4} << 20;

/// The judge's rule: true when the line's first byte other than space, tab and CR is not `{` (a
/// line without one included). Such a line is somebody's log and is skipped; any other line is the
/// message and must decode.
[[nodiscard]] constexpr bool is_noise(std::string_view line) {
  const size_t first = line.find_first_not_of(" \t\r");
  return first == std::string_view::npos || line[first] != '{';
}

/// The engine's rule: lines that are empty or all white space are skipped.
[[nodiscard]] constexpr bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r\n\v\f") == std::string_view::npos;
}

/// Splits a byte stream into lines. The owner reads into `room()`, says how much came with
/// `filled(n)`, and takes lines with `next()` until there is none. Never holds more than
/// kLineSizeMax + 1 unsplit bytes. Not thread-safe.
class LineBuffer {
 public:
  explicit LineBuffer(size_t size_max = kLineSizeMax);

  /// Where to put the next bytes; never empty after `next()` returned nothing. Views given by
  /// next() end here.
  [[nodiscard]] std::span<char> room();
  void filled(size_t n);

  /// The next whole line without its LF and without one CR before it; nothing when more bytes are
  /// needed. Refuses LINE_TOO_LONG once a line has more than size_max bytes; the stream is then
  /// of no further use. The view holds until room() or rest().
  [[nodiscard]] Result<std::optional<std::string_view>> next();

  /// At the end of the stream: the bytes after the last LF, if any; they count as a line.
  [[nodiscard]] std::optional<std::string_view> rest();

  /// True when bytes have arrived that no next() has returned yet.
  [[nodiscard]] bool has_bytes() const { return begin_ < end_; }

 private:
  size_t size_max_;
  std::unique_ptr<char[]> bytes_;
  size_t capacity_;
  size_t begin_ = 0;    // first byte not yet returned
  size_t scanned_ = 0;  // no LF in [begin_, scanned_)
  size_t end_ = 0;
};

}  // namespace assay::protocol
