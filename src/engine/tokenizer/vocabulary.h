// Vocabulary: token texts and types, looked up by id and by text; nothing is copied.
//
// Errors   TOKENIZER-VOCABULARY-SIZE, -LENGTHS-DIFFER, -TOKEN-INVALID, -TOKEN-DUPLICATE,
// GGUF-KEY-*. Cost     about 1 ms for 50k tokens; 16 bytes a token and two flat tables. Threads
// immutable after open.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/gguf/file.h"
#include "engine/gguf/name_index.h"
#include "engine/tokenizer/tokenizer.h"

namespace assay::engine::tokenizer {

class Vocabulary {
 public:
  [[nodiscard]] static Result<Vocabulary> open(const gguf::Metadata& metadata);

  [[nodiscard]] uint32_t size() const { return static_cast<uint32_t>(texts_.size()); }
  [[nodiscard]] std::string_view text(TokenId id) const { return texts_[id]; }
  [[nodiscard]] TokenType type(TokenId id) const { return types_[id]; }
  [[nodiscard]] std::optional<TokenId> find(std::string_view text) const {
    return index_.find(text, [this](uint32_t i) { return texts_[i]; });
  }
  /// The same in two halves, for many look-ups in a row.
  void prefetch(uint64_t hash) const { index_.prefetch(hash); }
  [[nodiscard]] std::optional<TokenId> find_hashed(uint64_t hash, std::string_view text) const {
    return index_.find_hashed(hash, text, [this](uint32_t i) { return texts_[i]; });
  }
  /// The token of the byte-fallback form "<0x0A>", where its type is byte.
  [[nodiscard]] std::optional<TokenId> find_byte(uint8_t byte) const;

 private:
  std::vector<std::string_view> texts_;
  std::vector<TokenType> types_;
  gguf::NameIndex index_;
};

/// 0x0A of "<0x0A>".
[[nodiscard]] std::optional<uint8_t> parse_byte_token(std::string_view text) noexcept;

}  // namespace assay::engine::tokenizer
