#include "load/sse.h"

#include "base/text.h"
#include "load/refusals.h"

namespace assay::load {

Result<bool> SseReader::feed(std::string_view bytes) {
  while (wanted_ && !bytes.empty()) {
    if (after_cr_) {
      after_cr_ = false;
      if (bytes[0] == '\n') {
        bytes.remove_prefix(1);
        continue;
      }
    }
    const size_t end = bytes.find_first_of("\r\n");
    if (line_.size() + event_.data.size() + std::min(end, bytes.size()) > kEventSizeMax) {
      return Refusal(kReplyTooLarge, cat("one event is larger than ", kEventSizeMax, " bytes"));
    }
    line_.append(bytes.substr(0, end));
    if (end == std::string_view::npos) break;
    after_cr_ = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    wanted_ = end_line();
  }
  return wanted_;
}

bool SseReader::end_line() {
  std::string_view line = line_;
  if (first_line_) {
    first_line_ = false;
    if (line.starts_with("\xef\xbb\xbf")) line.remove_prefix(3);
  }
  bool more = true;
  if (line.empty()) {
    if (has_data_) {
      event_.data.pop_back();  // the line end that the last data line added
      more = on_event_(SseEvent{event_.type, std::move(event_.data), event_.last_id});
    }
    event_.data.clear();
    event_.type.clear();
    has_data_ = false;
  } else if (line[0] == ':') {
    ++comments_;
  } else {
    const size_t colon = line.find(':');
    std::string_view value =
        colon == std::string_view::npos ? std::string_view() : line.substr(colon + 1);
    if (value.starts_with(' ')) value.remove_prefix(1);
    take_field(line.substr(0, colon), value);
  }
  line_.clear();
  return more;
}

void SseReader::take_field(std::string_view name, std::string_view value) {
  if (name == "data") {
    event_.data.append(value);
    event_.data.push_back('\n');
    has_data_ = true;
  } else if (name == "event") {
    event_.type = std::string(value);
  } else if (name == "id") {
    if (value.find('\0') == std::string_view::npos) event_.last_id = std::string(value);
  } else if (name == "retry") {
    if (value.find_first_not_of("0123456789") == std::string_view::npos) {
      if (const auto number = parse_int64(value)) retry_ms_ = *number;
    }
  }
}

}  // namespace assay::load
