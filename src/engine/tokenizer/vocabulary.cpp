#include "engine/tokenizer/vocabulary.h"

#include <charconv>

#include "base/text.h"
#include "engine/gguf/name_text.h"
#include "engine/tokenizer/refusals.h"

namespace assay::engine::tokenizer {
namespace {

constexpr uint64_t kTokensMax = gguf::NameIndex::kCountMax;  // 60 times the largest in use

}  // namespace

Result<Vocabulary> Vocabulary::open(const gguf::Metadata& metadata) {
  TRY(tokens, metadata.get_strings("tokenizer.ggml.tokens"));
  if (tokens.size() == 0 || tokens.size() > kTokensMax) {
    return Refusal(kVocabularySize, cat("key `tokenizer.ggml.tokens` has ", tokens.size(),
                                        " items, expected 1 to ", kTokensMax));
  }
  Vocabulary vocabulary;
  vocabulary.texts_.reserve(tokens.size());
  for (const std::string_view token : tokens) {
    if (token.empty()) {
      return Refusal(kTokenInvalid, cat("token ", vocabulary.texts_.size(), " is empty"));
    }
    vocabulary.texts_.push_back(token);
  }
  vocabulary.types_.assign(tokens.size(), TokenType::normal);
  if (metadata.has("tokenizer.ggml.token_type")) {
    TRY(types,
        metadata.get_uints("tokenizer.ggml.token_type", 0, static_cast<uint64_t>(TokenType::byte)));
    if (types.size() != tokens.size()) {
      return Refusal(kLengthsDiffer, cat("key `tokenizer.ggml.token_type` has ", types.size(),
                                         " items, but there "
                                         "are ",
                                         tokens.size(), " tokens"));
    }
    for (size_t i = 0; i < types.size(); ++i) {
      vocabulary.types_[i] = static_cast<TokenType>(types[i]);
    }
  }
  for (uint32_t i = 0; i < vocabulary.size(); ++i) {
    if (vocabulary.types_[i] == TokenType::byte && !parse_byte_token(vocabulary.texts_[i])) {
      return Refusal(kTokenInvalid,
                     cat("token ", i, " is a byte token, but reads ",
                         gguf::name_text(vocabulary.texts_[i]), ", expected the form <0x0A>"));
    }
  }
  const auto duplicate =
      vocabulary.index_.build(vocabulary.size(), [&](uint32_t i) { return vocabulary.texts_[i]; });
  if (duplicate) {
    const std::string_view text = vocabulary.texts_[*duplicate];
    return Refusal(kTokenDuplicate, cat("tokens ", vocabulary.find(text).value_or(0), " and ",
                                        *duplicate, " are both ", gguf::name_text(text)));
  }
  return vocabulary;
}

std::optional<TokenId> Vocabulary::find_byte(uint8_t byte) const {
  constexpr char kDigits[] = "0123456789ABCDEF";
  const char text[] = {'<', '0', 'x', kDigits[byte >> 4], kDigits[byte & 15], '>'};
  const auto id = find(std::string_view(text, sizeof text));
  if (!id || type(*id) != TokenType::byte) return std::nullopt;
  return id;
}

std::optional<uint8_t> parse_byte_token(std::string_view text) noexcept {
  if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>') return std::nullopt;
  uint8_t byte = 0;
  const auto parsed = std::from_chars(text.data() + 3, text.data() + 5, byte, 16);
  if (parsed.ptr != text.data() + 5) return std::nullopt;
  return byte;
}

}  // namespace assay::engine::tokenizer
