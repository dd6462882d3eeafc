#include "engine/tokenizer/special_tokens.h"

#include <algorithm>

namespace assay::engine::tokenizer {

void SpecialTokens::build(const Vocabulary& vocabulary) {
  for (TokenId id = 0; id < vocabulary.size(); ++id) {
    const TokenType type = vocabulary.type(id);
    if (type != TokenType::control && type != TokenType::user_defined &&
        type != TokenType::unknown) {
      continue;
    }
    sorted_.push_back({vocabulary.text(id), id, type == TokenType::user_defined});
  }
  std::sort(sorted_.begin(), sorted_.end(),
            [](const Special& a, const Special& b) { return a.text < b.text; });
  for (uint32_t i = 0; i < sorted_.size(); ++i) {
    Range& range = by_first_byte_[static_cast<uint8_t>(sorted_[i].text[0])];
    if (range.end == 0) range.begin = i;
    range.end = i + 1;
  }
}

SpecialTokens::Match SpecialTokens::find(std::string_view text, size_t from,
                                         bool parse_control) const {
  for (size_t at = from; at < text.size(); ++at) {
    if (by_first_byte_[static_cast<uint8_t>(text[at])].end == 0) continue;
    const Match match = longest_at(text, at, parse_control);
    if (match.size_bytes != 0) return match;
  }
  return {text.size(), 0, 0};
}

// Narrows the sorted list by one character after another; a token that ends on the way is the
// longest so far.
SpecialTokens::Match SpecialTokens::longest_at(std::string_view text, size_t at,
                                               bool parse_control) const {
  Match best{at, 0, 0};
  const Range range = by_first_byte_[static_cast<uint8_t>(text[at])];
  auto begin = sorted_.begin() + range.begin;
  auto end = sorted_.begin() + range.end;
  for (size_t size = 1; begin != end; ++size) {
    if (begin->text.size() == size) {
      if (parse_control || begin->user_defined) best = {at, size, begin->id};
      ++begin;  // texts are unique, so every other one is longer
    }
    if (at + size >= text.size()) break;
    const auto next = static_cast<uint8_t>(text[at + size]);
    begin = std::partition_point(begin, end, [&](const Special& special) {
      return static_cast<uint8_t>(special.text[size]) < next;
    });
    end = std::partition_point(begin, end, [&](const Special& special) {
      return static_cast<uint8_t>(special.text[size]) == next;
    });
  }
  return best;
}

}  // namespace assay::engine::tokenizer
