// StreamingText: the text of a growing token sequence, shown while it is made.
//
// In:      token ids, one after another
// Out:     whole code points only; the first bytes of an incomplete one wait for the rest
// Broken   bytes that can no longer become UTF-8 come out as U+FFFD, one for each maximal part of a
//          sequence (Unicode 15, section 3.9); `bytes()` keeps what the tokens really said.
// Threads  one sequence, one thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "engine/tokenizer/tokenizer.h"

namespace assay::engine::tokenizer {

class StreamingText {
 public:
  /// Needs the tokenizer to outlive this object.
  StreamingText(const Tokenizer& tokenizer, bool show_control)
      : tokenizer_(&tokenizer), show_control_(show_control) {}

  /// The text that this token completes; may be empty. Needs id < vocab_size().
  [[nodiscard]] std::string push(TokenId id);
  /// What is still held back, as U+FFFD. Called once, after the last token.
  [[nodiscard]] std::string finish();
  /// Every byte so far, unchanged.
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  const Tokenizer* tokenizer_;
  bool show_control_;
  std::string bytes_;
  size_t shown_ = 0;  // bytes_[0, shown_) have been given out
};

/// Well-formed UTF-8 from any bytes, by the same rule: for JSON and terminals.
[[nodiscard]] std::string to_utf8_lossy(std::string_view bytes);

}  // namespace assay::engine::tokenizer
