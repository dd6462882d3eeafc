#include "engine/tokenizer/streaming_text.h"

#include <algorithm>

#include "engine/tokenizer/unicode.h"

namespace assay::engine::tokenizer {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// Appends bytes[from..] as UTF-8 and returns where it stopped: at the end, or before a sequence
// that later bytes could complete when `keep_incomplete`.
size_t append_valid(std::string_view bytes, size_t from, bool keep_incomplete, std::string& out) {
  size_t at = from;
  while (at < bytes.size()) {
    if (const size_t size = decode_utf8(bytes, at).size_bytes; size != 0) {
      out += bytes.substr(at, size);
      at += size;
      continue;
    }
    if (keep_incomplete && incomplete_utf8(bytes, at) != 0) break;
    out += kReplacement;
    at += broken_utf8(bytes, at);
  }
  return at;
}

}  // namespace

std::string StreamingText::push(TokenId id) {
  tokenizer_->append_bytes(id, bytes_, show_control_);
  std::string text;
  shown_ = append_valid(bytes_, shown_, true, text);
  return text;
}

std::string StreamingText::finish() {
  std::string text;
  shown_ = append_valid(bytes_, shown_, false, text);
  return text;
}

std::string to_utf8_lossy(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  static_cast<void>(append_valid(bytes, 0, false, text));
  return text;
}

}  // namespace assay::engine::tokenizer
