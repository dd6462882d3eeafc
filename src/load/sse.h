// Server-sent events: bytes in any pieces to events. The whole grammar of the HTML standard: lines
// end with CR, LF or CRLF; a byte order mark may stand first; lines that start with ":" are
// comments; several data lines are one value; one space after the colon is not part of the value.
//
// An event is complete when its empty line is: a CR completes it without waiting for an LF.
// Bytes are kept as they are: nothing is trimmed, and a character may be split between two pieces.
// Errors    LOAD-REPLY-TOO-LARGE for an event beyond kEventSizeMax.
// Threads   one reader, one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace assay::load {

inline constexpr size_t kEventSizeMax = size_t{16} << 20;

struct SseEvent {
  std::string type{};  // "" when the stream names none: a plain message
  std::string data{};
  std::string last_id{};
};

class SseReader {
 public:
  /// `on_event` returns false when it wants no more.
  explicit SseReader(std::function<bool(SseEvent&&)> on_event) : on_event_(std::move(on_event)) {}

  /// Takes the next bytes. False once on_event wanted no more.
  [[nodiscard]] Result<bool> feed(std::string_view bytes);

  /// Bytes or fields of an event that has no end yet. The standard drops them at the end of a
  /// stream.
  [[nodiscard]] bool has_partial() const { return !line_.empty() || has_data_; }
  [[nodiscard]] int64_t comments() const { return comments_; }
  [[nodiscard]] std::optional<int64_t> retry_ms() const { return retry_ms_; }

 private:
  bool end_line();  // false: stop
  void take_field(std::string_view name, std::string_view value);

  std::function<bool(SseEvent&&)> on_event_;
  std::string line_{};
  SseEvent event_{};
  bool has_data_ = false;
  bool after_cr_ = false;
  bool first_line_ = true;
  bool wanted_ = true;
  int64_t comments_ = 0;
  std::optional<int64_t> retry_ms_{};
};

}  // namespace assay::load
