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
  if (merges.size() > kNone / 2) {
    return Refusal(kMergeInvalid, cat("there are ", merges.size(), " merges"));
  }
  encoder.slots_.resize(std::bit_ceil(merges.size() * 2 + 1));
  encoder.mask_ = encoder.slots_.size() - 1;
  std::string whole;
  uint32_t rank = 0;
  for (const std::string_view merge : merges) {
    // The left part is at least one byte; neither part holds a space (see the alphabet).
    const size_t space = merge.find(' ', 1);
    if (space == std::string_view::npos || space + 1 == merge.size()) {
      return Refusal(kMergeInvalid, cat("merge ", rank, ", ", gguf::name_text(merge),
                                        ", is not two parts with a space between"));
    }
    whole.assign(merge.substr(0, space)).append(merge.substr(space + 1));
    const auto left = vocabulary.find(merge.substr(0, space));
    const auto right = vocabulary.find(merge.substr(space + 1));
    const auto result = vocabulary.find(whole);
    if (!left || !right || !result) {
      return Refusal(kMergeInvalid,
                     cat("merge ", rank, ", ", gguf::name_text(merge), ": ",
                         !left ? "its left part" : (!right ? "its right part" : "its result"),
                         " is not a token"));
    }
    encoder.insert({pair_of(*left, *right), rank, *result});
    ++rank;
  }
  return encoder;
}

// A merge listed twice keeps its first, lower rank.
void BytePairEncoder::insert(const Merge& merge) {
  size_t at = gguf::hash_number(merge.pair) & mask_;
  for (; slots_[at].rank != kNone; at = (at + 1) & mask_) {
    if (slots_[at].pair == merge.pair) return;
  }
  slots_[at] = merge;
}

// The merge of two symbols, or a slot whose rank is kNone.
const BytePairEncoder::Merge& BytePairEncoder::find(TokenId left, TokenId right) const {
  const uint64_t pair = pair_of(left, right);
  size_t at = gguf::hash_number(pair) & mask_;
  while (slots_[at].rank != kNone && slots_[at].pair != pair) at = (at + 1) & mask_;
  return slots_[at];
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
  // merges[i] joins symbols i and i + 1.
  Merge merges[kShortPiece];
  for (size_t i = 0; i + 1 < count; ++i) merges[i] = find(symbols[i], symbols[i + 1]);
  while (count > 1) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < count; ++i) {
      if (merges[i].rank < merges[best].rank) best = i;
    }
    if (merges[best].rank == kNone) break;
    symbols[best] = merges[best].result;
    std::copy(symbols + best + 2, symbols + count, symbols + best + 1);
    std::copy(merges + best + 1, merges + count - 1, merges + best);
    --count;
    if (best + 1 < count) merges[best] = find(symbols[best], symbols[best + 1]);
    if (best > 0) merges[best - 1] = find(symbols[best - 1], symbols[best]);
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
  const auto rank_of = [&](uint32_t left) {
    const uint32_t right = symbols[left].next;
    return right == kNone ? kNone : find(symbols[left].id, symbols[right].id).rank;
  };
  for (uint32_t i = 0; i < count; ++i) {
    symbols[i].rank = rank_of(i);
    if (symbols[i].rank != kNone) heap.push_back({symbols[i].rank, i});
  }
  std::make_heap(heap.begin(), heap.end(), later);
  const auto update = [&](uint32_t left) {
    symbols[left].rank = rank_of(left);
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
    left.id = find(left.id, right.id).result;
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
