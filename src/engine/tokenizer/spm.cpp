#include "engine/tokenizer/spm.h"

#include <algorithm>

#include "base/text.h"
#include "engine/tokenizer/refusals.h"
#include "engine/tokenizer/unicode.h"

namespace assay::engine::tokenizer {
namespace {

constexpr std::string_view kSpaceMark = "\xE2\x96\x81";  // U+2581
constexpr uint32_t kNone = UINT32_MAX;

bool may_be_merged(TokenType type) {
  return type != TokenType::control && type != TokenType::unknown && type != TokenType::byte;
}

std::string mark_spaces(std::string_view text, bool prefix) {
  std::string out;
  out.reserve(text.size() + text.size() / 2 + 3);
  if (prefix) out += kSpaceMark;
  for (const char c : text) {
    if (c == ' ') {
      out += kSpaceMark;
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

Result<SentencePieceEncoder> SentencePieceEncoder::open(const gguf::Metadata& metadata,
                                                        const Vocabulary& vocabulary,
                                                        std::optional<TokenId> unknown) {
  SentencePieceEncoder encoder;
  encoder.unknown_ = unknown;
  TRY(scores, metadata.get_reals("tokenizer.ggml.scores"));
  if (scores.size() != vocabulary.size()) {
    return Refusal(kLengthsDiffer, cat("key `tokenizer.ggml.scores` has ", scores.size(),
                                       " items, but there are ", vocabulary.size(), " tokens"));
  }
  encoder.scores_.resize(scores.size());
  size_t n_pieces = 0;  // tokens that merging can make
  bool differ = false;
  std::optional<double> first_score;
  for (TokenId id = 0; id < vocabulary.size(); ++id) {
    encoder.scores_[id] = static_cast<float>(scores[id]);
    const std::string_view text = vocabulary.text(id);
    if (!may_be_merged(vocabulary.type(id))) continue;
    encoder.piece_bytes_max_ = std::max(encoder.piece_bytes_max_, text.size());
    if (decode_utf8(text, 0).size_bytes == text.size()) continue;  // a single character
    ++n_pieces;
    if (!first_score) first_score = scores[id];
    differ = differ || scores[id] != *first_score;
  }
  if (n_pieces > 1 && !differ) {
    return Refusal(kScoresFlat, cat("all ", n_pieces, " merged tokens have the score ",
                                    *first_score, ": their order is lost"));
  }
  TRY(prefix, metadata.bool_or("tokenizer.ggml.add_space_prefix", true));
  encoder.adds_space_prefix_ = prefix;
  return encoder;
}

std::optional<TokenId> SentencePieceEncoder::find_piece(const Vocabulary& vocabulary,
                                                        std::string_view text) const {
  if (text.size() > piece_bytes_max_) return std::nullopt;
  const auto id = vocabulary.find(text);
  if (!id || !may_be_merged(vocabulary.type(*id))) return std::nullopt;
  return id;
}

Status SentencePieceEncoder::encode(const Vocabulary& vocabulary, std::string_view raw,
                                    bool starts_word, std::vector<TokenId>& ids) const {
  if (raw.empty()) return {};
  const std::string text = mark_spaces(raw, adds_space_prefix_ && starts_word);

  // Symbols are stretches of the text in a linked list, candidates wait in a heap. A candidate is
  // stale when one of its two symbols has grown or gone since.
  struct Symbol {
    uint32_t start;
    uint32_t size;  // 0 = merged into the one before
    uint32_t previous;
    uint32_t next;
  };
  struct Candidate {
    float score;
    uint32_t left;
    uint32_t right;
    uint32_t size;
  };
  const auto later = [](const Candidate& a, const Candidate& b) {
    return a.score != b.score ? a.score < b.score : a.left > b.left;
  };
  std::vector<Symbol> symbols;
  symbols.reserve(text.size());
  for (uint32_t at = 0; at < text.size();) {
    const uint32_t size = std::max(1u, decode_utf8(text, at).size_bytes);
    const auto index = static_cast<uint32_t>(symbols.size());
    symbols.push_back({at, size, index == 0 ? kNone : index - 1, index + 1});
    at += size;
  }
  symbols.back().next = kNone;

  std::vector<Candidate> heap;
  const auto consider = [&](uint32_t left) {
    if (left == kNone || symbols[left].next == kNone) return;
    const uint32_t right = symbols[left].next;
    const uint32_t size = symbols[left].size + symbols[right].size;
    const auto id =
        find_piece(vocabulary, std::string_view(text).substr(symbols[left].start, size));
    if (!id) return;
    heap.push_back({scores_[*id], left, right, size});
    std::push_heap(heap.begin(), heap.end(), later);
  };
  for (uint32_t i = 0; i < symbols.size(); ++i) consider(i);
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), later);
    const Candidate candidate = heap.back();
    heap.pop_back();
    Symbol& left = symbols[candidate.left];
    Symbol& right = symbols[candidate.right];
    if (left.size == 0 || right.size == 0 || left.size + right.size != candidate.size) continue;
    left.size = candidate.size;
    left.next = right.next;
    right.size = 0;
    if (left.next != kNone) symbols[left.next].previous = candidate.left;
    consider(left.previous);
    consider(candidate.left);
  }

  for (uint32_t at = 0; at != kNone; at = symbols[at].next) {
    const std::string_view piece =
        std::string_view(text).substr(symbols[at].start, symbols[at].size);
    if (const auto id = find_piece(vocabulary, piece)) {
      ids.push_back(*id);
      continue;
    }
    // Not a token, so it was never merged: one character, or one broken byte.
    std::optional<TokenId> bytes[4];
    bool covered = true;
    for (size_t i = 0; i < piece.size(); ++i) {
      bytes[i] = vocabulary.find_byte(static_cast<uint8_t>(piece[i]));
      covered = covered && bytes[i].has_value();
    }
    if (covered) {
      for (size_t i = 0; i < piece.size(); ++i) ids.push_back(*bytes[i]);
    } else if (unknown_) {
      ids.push_back(*unknown_);
    } else {
      return Refusal(kTextNotCovered, cat("the vocabulary has no token for the bytes 0x",
                                          to_hex(piece), ", no byte tokens and no unknown token"));
    }
  }
  return {};
}

void SentencePieceEncoder::append_bytes(std::string_view token, std::string& out) {
  for (size_t at = 0; at < token.size();) {
    if (token.substr(at).starts_with(kSpaceMark)) {
      out += ' ';
      at += kSpaceMark.size();
    } else {
      out += token[at++];
    }
  }
}

}  // namespace assay::engine::tokenizer
