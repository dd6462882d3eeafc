#include "engine/tokenizer/bpe.h"

#include <algorithm>
#include <bit>
#include <span>

#include "base/text.h"
#include "engine/gguf/name_text.h"
#include "engine/tokenizer/refusals.h"
#include "engine/tokenizer/unicode.h"

namespace assay::engine::tokenizer {
namespace {

// The alphabet of GPT-2: printable bytes stand for themselves, the other 68 in ascending order for
// U+0100 + k, so that no token holds a space or a control character.
constexpr uint32_t kShifted = 0x100;
constexpr bool is_printable(uint32_t byte) {
  return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
}
constexpr std::array<uint16_t, 256> kCharOfByte = [] {
  std::array<uint16_t, 256> chars{};
  uint32_t shifted = kShifted;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    chars[byte] = static_cast<uint16_t>(is_printable(byte) ? byte : shifted++);
  }
  return chars;
}();
constexpr uint32_t kCharsEnd = kShifted + 68;
constexpr std::array<int16_t, kCharsEnd> kByteOfChar = [] {
  std::array<int16_t, kCharsEnd> bytes{};
  bytes.fill(-1);
  for (int16_t byte = 0; byte < 256; ++byte) bytes[kCharOfByte[static_cast<size_t>(byte)]] = byte;
  return bytes;
}();

constexpr size_t kShortPiece = 64;

constexpr uint32_t kMergesMax = (1u << 24) - 1;
constexpr uint32_t kRankMask = kMergesMax;
constexpr uint32_t kTagMask = ~kRankMask;
constexpr uint32_t tag_of(uint64_t hash) {
  return static_cast<uint32_t>(hash >> 32) & kTagMask;
}
constexpr uint64_t pair_of(TokenId left, TokenId right) {
  return uint64_t{left} << 32 | right;
}

}  // namespace

Result<BytePairEncoder> BytePairEncoder::open(const gguf::Metadata& metadata,
                                              const Vocabulary& vocabulary, bool ignore_merges) {
  BytePairEncoder encoder;
  encoder.ignore_merges_ = ignore_merges;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    std::string text;
    append_utf8_short(text, kCharOfByte[byte]);
    encoder.symbol_of_byte_[byte] = vocabulary.find(text).value_or(kNone);
  }

  TRY(merges, metadata.get_strings("tokenizer.ggml.merges"));
  if (merges.size() > kMergesMax) {
    return Refusal(kMergeInvalid,
                   cat("there are ", merges.size(), " merges, expected at most ", kMergesMax));
  }
  TRY_DO(encoder.read_merges(merges, vocabulary));
  return encoder;
}

// Looking a part up waits for memory, so merges are taken in groups: all slots of a group are asked
// for before the first is read. Results need no
// look-up where, as trainers write them, each is the token after the one before.
Status BytePairEncoder::read_merges(const gguf::StringArray& merges, const Vocabulary& vocabulary) {
  constexpr size_t kGroup = 32;
  struct Parts {
    std::string_view merge, left, right;
    uint64_t left_hash, right_hash;
  };
  Parts group[kGroup];
  std::string whole;
  merges_.reserve(merges.size());
  for (auto at = merges.begin(); at != merges.end();) {
    size_t n = 0;
    for (; n < kGroup && at != merges.end(); ++n, ++at) {
      Parts& parts = group[n];
      parts.merge = *at;
      // The left part is at least one byte; neither part holds a space (see the alphabet).
      const size_t space = parts.merge.find(' ', 1);
      if (space == std::string_view::npos || space + 1 == parts.merge.size()) {
        return Refusal(kMergeInvalid,
                       cat("merge ", merges_.size() + n, ", ", gguf::name_text(parts.merge),
                           ", is not two parts with a space between"));
      }
      parts.left = parts.merge.substr(0, space);
      parts.right = parts.merge.substr(space + 1);
      vocabulary.prefetch(parts.left_hash = gguf::hash_name(parts.left));
      vocabulary.prefetch(parts.right_hash = gguf::hash_name(parts.right));
    }
    for (const Parts& parts : std::span(group, n)) {
      const auto left = vocabulary.find_hashed(parts.left_hash, parts.left);
      const auto right = vocabulary.find_hashed(parts.right_hash, parts.right);
      whole.assign(parts.left).append(parts.right);
      const TokenId guess = merges_.empty() ? kNone : merges_.back().result + 1;
      const auto result = guess < vocabulary.size() && vocabulary.text(guess) == whole
                              ? std::optional<TokenId>(guess)
                              : vocabulary.find(whole);
      if (!left || !right || !result) {
        return Refusal(kMergeInvalid,
                       cat("merge ", merges_.size(), ", ", gguf::name_text(parts.merge), ": ",
                           !left ? "its left part" : (!right ? "its right part" : "its result"),
                           " is not a token"));
      }
      merges_.push_back({*left, *right, *result});
    }
  }
  slots_.assign(std::bit_ceil(merges_.size() + merges_.size() / 3 + 2), 0);
  mask_ = slots_.size() - 1;
  for (uint32_t rank = 0; rank < merges_.size(); ++rank) insert(rank);
  return {};
}

// A merge listed twice keeps its first, lower rank.
void BytePairEncoder::insert(uint32_t rank) {
  const Merge& merge = merges_[rank];
  const uint64_t hash = gguf::hash_number(pair_of(merge.left, merge.right));
  size_t at = hash & mask_;
  for (; slots_[at] != 0; at = (at + 1) & mask_) {
    if (((slots_[at] ^ tag_of(hash)) & kTagMask) != 0) continue;
    const Merge& other = merges_[(slots_[at] & kRankMask) - 1];
    if (other.left == merge.left && other.right == merge.right) return;
  }
  slots_[at] = tag_of(hash) | (rank + 1);
}

uint32_t BytePairEncoder::rank_of(TokenId left, TokenId right) const {
  const uint64_t hash = gguf::hash_number(pair_of(left, right));
  for (size_t at = hash & mask_; slots_[at] != 0; at = (at + 1) & mask_) {
    if (((slots_[at] ^ tag_of(hash)) & kTagMask) != 0) continue;
    const uint32_t rank = (slots_[at] & kRankMask) - 1;
    if (merges_[rank].left == left && merges_[rank].right == right) return rank;
  }
  return kNone;
}

Status BytePairEncoder::encode(const Vocabulary& vocabulary, std::string_view piece,
                               std::vector<TokenId>& ids) const {
  if (ignore_merges_) {
    std::string text;
    text.reserve(piece.size() * 2);
    for (const char c : piece) append_utf8_short(text, kCharOfByte[static_cast<uint8_t>(c)]);
    if (const auto whole = vocabulary.find(text)) {
      ids.push_back(*whole);
      return {};
    }
  }
  if (piece.size() > kShortPiece) return emit(merge_long(piece), piece, vocabulary, ids);
  TokenId symbols[kShortPiece];
  for (size_t i = 0; i < piece.size(); ++i) {
    symbols[i] = symbol_of_byte_[static_cast<uint8_t>(piece[i])];
  }
  const size_t count = merge_short(symbols, piece.size());
  return emit({symbols, count}, piece, vocabulary, ids);
}

size_t BytePairEncoder::merge_short(TokenId* symbols, size_t count) const {
  uint32_t ranks[kShortPiece];  // ranks[i] joins symbols i and i + 1
  for (size_t i = 0; i + 1 < count; ++i) ranks[i] = rank_of(symbols[i], symbols[i + 1]);
  while (count > 1) {
    const size_t best =
        static_cast<size_t>(std::min_element(ranks, ranks + count - 1) - ranks);  // leftmost
    if (ranks[best] == kNone) break;
    symbols[best] = merges_[ranks[best]].result;
    std::copy(symbols + best + 2, symbols + count, symbols + best + 1);
    std::copy(ranks + best + 1, ranks + count - 1, ranks + best);
    --count;
    if (best + 1 < count) ranks[best] = rank_of(symbols[best], symbols[best + 1]);
    if (best > 0) ranks[best - 1] = rank_of(symbols[best - 1], symbols[best]);
  }
  return count;
}

std::vector<TokenId> BytePairEncoder::merge_long(std::string_view piece) const {
  // A linked list of symbols at their first byte, and a heap of pairs. An entry is stale when its
  // left symbol no longer joins with that rank.
  struct Symbol {
    TokenId id = kNone;
    uint32_t rank = kNone;  // of the merge with the next symbol
    uint32_t previous = kNone;
    uint32_t next = kNone;
  };
  struct Candidate {
    uint32_t rank;
    uint32_t left;
  };
  const auto later = [](const Candidate& a, const Candidate& b) {
    return a.rank != b.rank ? a.rank > b.rank : a.left > b.left;
  };
  const auto count = static_cast<uint32_t>(piece.size());
  std::vector<Symbol> symbols(count);
  std::vector<Candidate> heap;
  heap.reserve(count);
  for (uint32_t i = 0; i < count; ++i) {
    symbols[i].id = symbol_of_byte_[static_cast<uint8_t>(piece[i])];
    symbols[i].previous = i == 0 ? kNone : i - 1;
    symbols[i].next = i + 1 == count ? kNone : i + 1;
  }
  const auto rank_at = [&](uint32_t left) {
    const uint32_t right = symbols[left].next;
    return right == kNone ? kNone : rank_of(symbols[left].id, symbols[right].id);
  };
  for (uint32_t i = 0; i < count; ++i) {
    symbols[i].rank = rank_at(i);
    if (symbols[i].rank != kNone) heap.push_back({symbols[i].rank, i});
  }
  std::make_heap(heap.begin(), heap.end(), later);
  const auto update = [&](uint32_t left) {
    symbols[left].rank = rank_at(left);
    if (symbols[left].rank == kNone) return;
    heap.push_back({symbols[left].rank, left});
    std::push_heap(heap.begin(), heap.end(), later);
  };
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), later);
    const Candidate candidate = heap.back();
    heap.pop_back();
    Symbol& left = symbols[candidate.left];
    if (left.rank != candidate.rank) continue;
    Symbol& right = symbols[left.next];
    left.id = merges_[candidate.rank].result;
    left.next = right.next;
    right.rank = kNone;
    if (left.next != kNone) symbols[left.next].previous = candidate.left;
    update(candidate.left);
    if (left.previous != kNone) update(left.previous);
  }
  std::vector<TokenId> ids;
  for (uint32_t at = 0; at != kNone; at = symbols[at].next) ids.push_back(symbols[at].id);
  return ids;
}

// A byte without a token of its own never merges, so each such symbol is exactly one byte.
Status BytePairEncoder::emit(std::span<const TokenId> symbols, std::string_view piece,
                             const Vocabulary& vocabulary, std::vector<TokenId>& ids) const {
  if (std::find(symbols.begin(), symbols.end(), kNone) == symbols.end()) {
    ids.insert(ids.end(), symbols.begin(), symbols.end());
    return {};
  }
  std::string bytes;
  size_t at = 0;  // in the piece
  for (const TokenId symbol : symbols) {
    if (symbol != kNone) {
      bytes.clear();
      append_bytes(vocabulary.text(symbol), bytes);
      at += bytes.size();
      ids.push_back(symbol);
      continue;
    }
    const auto byte = static_cast<uint8_t>(piece[at]);
    ++at;
    const auto fallback = vocabulary.find_byte(byte);
    if (!fallback) {
      return Refusal(kTextNotCovered, cat("the vocabulary has no token for the byte 0x",
                                          to_hex(std::string_view(piece).substr(at - 1, 1))));
    }
    ids.push_back(*fallback);
  }
  return {};
}

void BytePairEncoder::append_bytes(std::string_view token, std::string& out) {
  for (size_t at = 0; at < token.size();) {
    const DecodedChar c = decode_utf8(token, at);
    const size_t size = c.size_bytes == 0 ? 1 : c.size_bytes;
    if (c.size_bytes != 0 && c.code_point < kCharsEnd && kByteOfChar[c.code_point] >= 0) {
      out += static_cast<char>(kByteOfChar[c.code_point]);
    } else {
      out += token.substr(at, size);
    }
    at += size;
  }
}

}  // namespace assay::engine::tokenizer
