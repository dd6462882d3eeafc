#include "engine/tokenizer/tokenizer.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "base/text.h"
#include "engine/gguf/name_text.h"
#include "engine/tokenizer/bpe.h"
#include "engine/tokenizer/refusals.h"
#include "engine/tokenizer/special_tokens.h"
#include "engine/tokenizer/splitter.h"
#include "engine/tokenizer/spm.h"
#include "engine/tokenizer/unicode.h"
#include "engine/tokenizer/vocabulary.h"

namespace assay::engine::tokenizer {
namespace {

constexpr size_t kTextBytesMax = size_t{1} << 28;

// Control tokens that end a turn or a text in the model families in use, whatever key names them.
constexpr std::string_view kStopTexts[] = {"<|im_end|>",      "<|endoftext|>", "<|eot_id|>",
                                           "<|end_of_text|>", "<|eom_id|>",    "<|end|>",
                                           "<end_of_turn>",   "</s>"};

struct BpeParts {
  BytePairEncoder encoder;
  const PreTokenizer* pre;
};

}  // namespace

struct Tokenizer::State {
  Vocabulary vocabulary;
  SpecialTokens special;
  std::variant<BpeParts, SentencePieceEncoder> encoder;
  std::optional<TokenId> bos, eos, eot, padding;
  bool adds_bos = false;
  bool adds_eos = false;
  std::vector<TokenId> stop_ids;

  explicit State(Vocabulary tokens, std::variant<BpeParts, SentencePieceEncoder> parts)
      : vocabulary(std::move(tokens)), encoder(std::move(parts)) {
    special.build(vocabulary);
  }

  [[nodiscard]] const SentencePieceEncoder* sentence_piece() const {
    return std::get_if<SentencePieceEncoder>(&encoder);
  }
  Status encode_text(std::string_view text, bool starts_word, std::vector<TokenId>& ids) const;
};

namespace {

// Every id that the metadata names must be in the vocabulary, used by us or not.
Status check_ids(const gguf::Metadata& metadata, uint32_t vocab_size) {
  for (const gguf::Entry& entry : metadata.entries()) {
    if (!entry.key.starts_with("tokenizer.ggml.") || !entry.key.ends_with("_token_id")) continue;
    auto id = metadata.get_uint(entry.key, 0, vocab_size - 1);
    if (id) continue;
    if (entry.type == gguf::ValueType::array || !metadata.get_uint(entry.key)) {
      // A wrong type, or a negative number, keeps its own refusal.
      return std::move(id).refusal();
    }
    return Refusal(kIdOutOfRange, std::move(id).refusal().detail);
  }
  return {};
}

Result<std::optional<TokenId>> find_id(const gguf::Metadata& metadata, std::string_view name) {
  const std::string key = cat("tokenizer.ggml.", name, "_token_id");
  if (!metadata.has(key)) return std::optional<TokenId>{};
  TRY(id, metadata.get_uint(key));
  return std::optional<TokenId>(static_cast<TokenId>(id));
}

Result<const PreTokenizer*> choose_pre(const gguf::Metadata& metadata, const OpenOptions& options) {
  TRY(name, metadata.string_or("tokenizer.ggml.pre", ""));
  if (const PreTokenizer* const pre = find_pre_tokenizer(name)) return pre;
  if (options.pre_override) {
    if (const PreTokenizer* const pre = find_pre_tokenizer(*options.pre_override)) return pre;
    return Refusal(kPreUnknown, cat("the splitter named instead, ",
                                    gguf::name_text(*options.pre_override), ", is not known"));
  }
  return Refusal(kPreUnknown, name.empty()
                                  ? std::string("key `tokenizer.ggml.pre` is not there")
                                  : cat("key `tokenizer.ggml.pre` is ", gguf::name_text(name),
                                        "; known are gpt-2, default, smollm, qwen2, "
                                        "qwen35, llama-bpe"));
}

}  // namespace

Result<Tokenizer> Tokenizer::open(const gguf::File& file, const OpenOptions& options) {
  auto opened = open_metadata(file.metadata(), options);
  if (!opened) return at(file.path().string(), std::move(opened).refusal());
  return opened;
}

Result<Tokenizer> Tokenizer::open_metadata(const gguf::Metadata& metadata,
                                           const OpenOptions& options) {
  TRY(model, metadata.get_string("tokenizer.ggml.model"));
  if (model != "gpt2" && model != "llama") {
    return Refusal(kModelUnknown, cat("key `tokenizer.ggml.model` is ", gguf::name_text(model),
                                      "; known are llama, gpt2"));
  }
  TRY(vocabulary, Vocabulary::open(metadata));
  TRY_DO(check_ids(metadata, vocabulary.size()));
  TRY(bos, find_id(metadata, "bos"));
  TRY(eos, find_id(metadata, "eos"));
  TRY(eot, find_id(metadata, "eot"));
  TRY(eom, find_id(metadata, "eom"));
  TRY(padding, find_id(metadata, "padding"));
  TRY(unknown, find_id(metadata, "unknown"));

  std::unique_ptr<State> state;
  bool adds_bos_absent = true;
  if (model == "gpt2") {
    TRY(pre, choose_pre(metadata, options));
    TRY(encoder, BytePairEncoder::open(metadata, vocabulary, pre->ignore_merges));
    adds_bos_absent = pre->adds_bos_absent;
    state = std::make_unique<State>(std::move(vocabulary), BpeParts{std::move(encoder), pre});
  } else {
    TRY(encoder, SentencePieceEncoder::open(metadata, vocabulary, unknown));
    state = std::make_unique<State>(std::move(vocabulary), std::move(encoder));
  }
  state->bos = bos;
  state->eos = eos;
  state->eot = eot;
  state->padding = padding;
  TRY(adds_bos, metadata.bool_or("tokenizer.ggml.add_bos_token", adds_bos_absent));
  TRY(adds_eos, metadata.bool_or("tokenizer.ggml.add_eos_token", false));
  if ((adds_bos && !bos) || (adds_eos && !eos)) {
    return Refusal(kBosMissing, cat("texts shall ", adds_bos && !bos ? "begin" : "end",
                                    " with a token, but key `tokenizer.ggml.",
                                    adds_bos && !bos ? "bos" : "eos", "_token_id` is not there"));
  }
  state->adds_bos = adds_bos;
  state->adds_eos = adds_eos;

  std::vector<TokenId>& stops = state->stop_ids;
  for (const auto& id : {eos, eot, eom}) {
    if (id) stops.push_back(*id);
  }
  for (const std::string_view text : kStopTexts) {
    const auto id = state->vocabulary.find(text);
    if (id && state->vocabulary.type(*id) == TokenType::control) stops.push_back(*id);
  }
  std::sort(stops.begin(), stops.end());
  stops.erase(std::unique(stops.begin(), stops.end()), stops.end());
  return Tokenizer(std::move(state));
}

Tokenizer::Tokenizer(std::unique_ptr<State> state) : state_(std::move(state)) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

uint32_t Tokenizer::vocab_size() const {
  return state_->vocabulary.size();
}
std::optional<TokenId> Tokenizer::bos() const {
  return state_->bos;
}
std::optional<TokenId> Tokenizer::eos() const {
  return state_->eos;
}
std::optional<TokenId> Tokenizer::eot() const {
  return state_->eot;
}
std::optional<TokenId> Tokenizer::padding() const {
  return state_->padding;
}
bool Tokenizer::adds_bos() const {
  return state_->adds_bos;
}
bool Tokenizer::adds_eos() const {
  return state_->adds_eos;
}
std::span<const TokenId> Tokenizer::stop_ids() const {
  return state_->stop_ids;
}
bool Tokenizer::is_stop(TokenId id) const {
  return std::binary_search(state_->stop_ids.begin(), state_->stop_ids.end(), id);
}
std::string_view Tokenizer::token_text(TokenId id) const {
  return state_->vocabulary.text(id);
}
TokenType Tokenizer::token_type(TokenId id) const {
  return state_->vocabulary.type(id);
}
std::optional<TokenId> Tokenizer::find(std::string_view token) const {
  return state_->vocabulary.find(token);
}

std::string_view Tokenizer::splitter() const {
  const auto* const bpe = std::get_if<BpeParts>(&state_->encoder);
  return bpe != nullptr ? bpe->pre->name : "spm";
}

Status Tokenizer::State::encode_text(std::string_view text, bool starts_word,
                                     std::vector<TokenId>& ids) const {
  if (const SentencePieceEncoder* const pieces = sentence_piece()) {
    return pieces->encode(vocabulary, text, starts_word, ids);
  }
  const BpeParts& bpe = std::get<BpeParts>(encoder);
  std::string repaired;
  if (!is_utf8(text)) {
    repaired = replace_broken_bytes(text);
    text = repaired;
  }
  for (size_t at = 0; at < text.size();) {
    const size_t end = piece_end(bpe.pre->splitter, text, at);
    TRY_DO(bpe.encoder.encode(vocabulary, text.substr(at, end - at), ids));
    at = end;
  }
  return {};
}

Result<std::vector<TokenId>> Tokenizer::encode(std::string_view text,
                                               const EncodeOptions& options) const {
  if (text.size() > kTextBytesMax) {
    return Refusal(kTextTooLong,
                   cat("the text has ", text.size(), " bytes, expected at most ", kTextBytesMax));
  }
  std::vector<TokenId> ids;
  ids.reserve(text.size() / 3 + 2);
  if (options.add_special && state_->adds_bos) ids.push_back(*state_->bos);
  bool starts_word = true;  // no text part stands right before
  for (size_t at = 0; at < text.size();) {
    const SpecialTokens::Match match = state_->special.find(text, at, options.parse_special);
    if (match.start > at) {
      TRY_DO(state_->encode_text(text.substr(at, match.start - at), starts_word, ids));
      starts_word = false;
    }
    if (match.size_bytes != 0) {
      ids.push_back(match.id);
      starts_word = true;
    }
    at = match.start + match.size_bytes;
  }
  if (options.add_special && state_->adds_eos) ids.push_back(*state_->eos);
  return ids;
}

void Tokenizer::append_bytes(TokenId id, std::string& out, bool show_control) const {
  const std::string_view text = state_->vocabulary.text(id);
  switch (state_->vocabulary.type(id)) {
    case TokenType::control:
    case TokenType::unknown:
      if (show_control) out += text;
      return;
    case TokenType::user_defined: out += text; return;
    case TokenType::byte:
      out += static_cast<char>(parse_byte_token(text).value_or(0));  // checked at open
      return;
    default: break;
  }
  if (state_->sentence_piece() != nullptr) {
    SentencePieceEncoder::append_bytes(text, out);
  } else {
    BytePairEncoder::append_bytes(text, out);
  }
}

Result<std::string> Tokenizer::decode(std::span<const TokenId> ids, bool show_control) const {
  std::string out;
  const SentencePieceEncoder* const pieces = state_->sentence_piece();
  bool strip = pieces != nullptr && pieces->adds_space_prefix();
  for (const TokenId id : ids) {
    if (id >= vocab_size()) {
      return Refusal(kIdOutOfRange,
                     cat("token id ", id, " is not below the vocabulary size ", vocab_size()));
    }
    const size_t start = out.size();
    append_bytes(id, out, show_control);
    const TokenType type = token_type(id);
    if (type == TokenType::control || type == TokenType::unknown) continue;
    if (strip && out.size() > start && out[start] == ' ') out.erase(start, 1);
    strip = false;
  }
  return out;
}

}  // namespace assay::engine::tokenizer
