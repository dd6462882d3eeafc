// SentencePiece (BPE flavour): merges the neighbours whose joint text is the token of the highest
// score, leftmost on ties, starting from single characters.
//
// Spaces   are U+2581 in tokens; a text part that does not follow another one gets one in front
//          (`tokenizer.ggml.add_space_prefix`).
// Fallback a character that is no token becomes its byte tokens <0xXX>, else the unknown token.
// Safety   control, unknown and byte tokens are never made by merging: text cannot spell them.
// Cost     n log n; a candidate longer than the longest token is not looked up.
// Errors   TOKENIZER-LENGTHS-DIFFER, -SCORES-FLAT at open; -TEXT-NOT-COVERED from encode.
// Threads  immutable after open.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/tokenizer/vocabulary.h"

namespace assay::engine::tokenizer {

class SentencePieceEncoder {
 public:
  [[nodiscard]] static Result<SentencePieceEncoder> open(const gguf::Metadata& metadata,
                                                         const Vocabulary& vocabulary,
                                                         std::optional<TokenId> unknown);

  [[nodiscard]] bool adds_space_prefix() const { return adds_space_prefix_; }

  /// Appends the ids of a text part. `starts_word`: no other text part stands right before it.
  [[nodiscard]] Status encode(const Vocabulary& vocabulary, std::string_view text, bool starts_word,
                              std::vector<TokenId>& ids) const;

  /// Appends the token's bytes, U+2581 as a space.
  static void append_bytes(std::string_view token, std::string& out);

 private:
  [[nodiscard]] std::optional<TokenId> find_piece(const Vocabulary& vocabulary,
                                                  std::string_view text) const;

  std::vector<float> scores_;
  size_t piece_bytes_max_ = 0;
  bool adds_space_prefix_ = true;
  std::optional<TokenId> unknown_;
};

}  // namespace assay::engine::tokenizer
