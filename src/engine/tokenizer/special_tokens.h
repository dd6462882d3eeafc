// SpecialTokens: finds control and user-defined tokens inside a text.
//
// Rule     from left to right, the longest token that starts at a place. User-defined tokens
//          (type 4) are always found: they are part of the model's alphabet. Control and unknown
//          tokens (types 3 and 2) only where the caller lets text speak as them.
// Cost     a binary search step for each character of a candidate; nothing where no token starts.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/tokenizer/vocabulary.h"

namespace assay::engine::tokenizer {

class SpecialTokens {
 public:
  /// Needs the vocabulary to outlive this object, at the same place.
  void build(const Vocabulary& vocabulary);

  struct Match {
    size_t start = 0;
    size_t size_bytes = 0;  // 0 = none in the rest of the text; start is then text.size()
    TokenId id = 0;
  };
  [[nodiscard]] Match find(std::string_view text, size_t from, bool parse_control) const;

 private:
  struct Special {
    std::string_view text;
    TokenId id;
    bool user_defined;
  };
  [[nodiscard]] Match longest_at(std::string_view text, size_t at, bool parse_control) const;

  std::vector<Special> sorted_;  // by text
  struct Range {
    uint32_t begin = 0;
    uint32_t end = 0;
  };
  std::array<Range, 256> by_first_byte_{};
};

}  // namespace assay::engine::tokenizer
