// Byte-level BPE: merges inside one piece of text, lowest rank first, leftmost on ties.
//
// In:      merges as the file lists them ("Ġ t": rank 0, …), pieces from a Splitter
// Out:     token ids
// Cost     open: three lookups a merge. encode: pieces of up to 64 bytes by scanning, longer ones
//          with a heap: n log n, no recursion.
// Errors   TOKENIZER-MERGE-INVALID at open, TOKENIZER-TEXT-NOT-COVERED from encode.
// Threads  immutable after open.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/tokenizer/vocabulary.h"

namespace assay::engine::tokenizer {

class BytePairEncoder {
 public:
  [[nodiscard]] static Result<BytePairEncoder> open(const gguf::Metadata& metadata,
                                                    const Vocabulary& vocabulary,
                                                    bool ignore_merges);

  /// Appends the ids of one piece.
  [[nodiscard]] Status encode(const Vocabulary& vocabulary, std::string_view piece,
                              std::vector<TokenId>& ids) const;

  /// Appends the bytes that a token's text stands for. Characters outside the byte alphabet (added
  /// tokens have them) stand for themselves.
  static void append_bytes(std::string_view token, std::string& out);

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  struct Merge {
    TokenId left;
    TokenId right;
    TokenId result;
  };
  [[nodiscard]] Status read_merges(const gguf::StringArray& merges, const Vocabulary& vocabulary);
  void insert(uint32_t rank);
  /// The rank of the merge of two symbols, or kNone.
  [[nodiscard]] uint32_t rank_of(TokenId left, TokenId right) const;

  size_t merge_short(TokenId* symbols, size_t count) const;
  [[nodiscard]] std::vector<TokenId> merge_long(std::string_view piece) const;
  [[nodiscard]] Status emit(std::span<const TokenId> symbols, std::string_view piece,
                            const Vocabulary& vocabulary, std::vector<TokenId>& ids) const;

  std::vector<Merge> merges_;    // by rank
  std::vector<uint32_t> slots_;  // open addressing: 8 bits of the hash above rank + 1, 0 = free
  size_t mask_ = 0;
  bool ignore_merges_ = false;
  std::array<TokenId, 256> symbol_of_byte_{};  // kNone: the byte has no token of its own
};

}  // namespace assay::engine::tokenizer
