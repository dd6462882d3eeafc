// Tokenizer: text to token ids and back, as the model's GGUF file defines it.
//
// In:      tokenizer.ggml.* metadata: `llama` (SentencePiece) or `gpt2` (byte-level BPE with the
//          splitters gpt-2/default, smollm, qwen2, qwen35, llama-bpe)
// Out:     ids that llama.cpp gives for the same file, bit for bit of the text on the way back
// Memory   token texts stay in the file's mapping: the File must outlive the Tokenizer.
// Cost     open: one pass over tokens and merges, two flat tables, no allocation per token.
//          encode: n log n in the longest unbroken run; stack depth does not depend on the text.
// Errors   TOKENIZER-* of refusals.h, and GGUF-KEY-* for ill-typed metadata.
// Threads  immutable after open; any number of threads may encode at once.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/gguf/file.h"

namespace assay::engine::tokenizer {

using TokenId = uint32_t;

/// tokenizer.ggml.token_type.
enum class TokenType : uint8_t {
  undefined = 0,
  normal = 1,
  unknown = 2,
  control = 3,
  user_defined = 4,
  unused = 5,
  byte = 6,
};

struct OpenOptions {
  /// Takes this splitter when `tokenizer.ggml.pre` is missing or not known, instead of refusing.
  /// Ids are then a guess: not for scored runs.
  std::optional<std::string> pre_override;
};

struct EncodeOptions {
  bool add_special = true;    // BOS and EOS where the metadata asks for them
  bool parse_special = true;  // text like "<|im_start|>" becomes its token
};

class Tokenizer {
 public:
  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  /// Refuses  TOKENIZER-MODEL-UNKNOWN, TOKENIZER-PRE-UNKNOWN, TOKENIZER-LENGTHS-DIFFER,
  ///          TOKENIZER-ID-OUT-OF-RANGE, TOKENIZER-TOKEN-DUPLICATE, TOKENIZER-MERGE-INVALID,
  ///          TOKENIZER-TOKEN-INVALID, TOKENIZER-SCORES-FLAT, TOKENIZER-BOS-MISSING,
  ///          TOKENIZER-VOCABULARY-SIZE, GGUF-KEY-*
  [[nodiscard]] static Result<Tokenizer> open(const gguf::File& file,
                                              const OpenOptions& options = {});

  [[nodiscard]] uint32_t vocab_size() const;
  [[nodiscard]] std::optional<TokenId> bos() const;
  [[nodiscard]] std::optional<TokenId> eos() const;
  [[nodiscard]] std::optional<TokenId> eot() const;  // end of turn, where the file names one
  [[nodiscard]] std::optional<TokenId> padding() const;
  [[nodiscard]] bool adds_bos() const;
  [[nodiscard]] bool adds_eos() const;
  /// Ids that end a generation: eos, eot, eom and the well-known end-of-turn texts
  /// ("<|im_end|>", "<|endoftext|>", "<|eot_id|>", …) that are control tokens. Ascending.
  [[nodiscard]] std::span<const TokenId> stop_ids() const;
  [[nodiscard]] bool is_stop(TokenId id) const;
  /// The name of the splitter in use: "smollm" …; "spm" for SentencePiece.
  [[nodiscard]] std::string_view splitter() const;

  /// The token as the file spells it ("Ġthe", "▁the"). Needs id < vocab_size().
  [[nodiscard]] std::string_view token_text(TokenId id) const;
  [[nodiscard]] TokenType token_type(TokenId id) const;
  /// The id of a token spelled exactly so.
  [[nodiscard]] std::optional<TokenId> find(std::string_view token) const;

  /// Any bytes are accepted. Bytes that are not UTF-8 are read as llama.cpp reads them: byte-level
  /// BPE takes U+FFFD for each, SentencePiece its byte token. Refuses TOKENIZER-TEXT-NOT-COVERED
  /// when the vocabulary has neither a token, nor bytes, nor an unknown token for a part of the
  /// text.
  [[nodiscard]] Result<std::vector<TokenId>> encode(std::string_view text,
                                                    const EncodeOptions& options = {}) const;

  /// The bytes one token stands for; empty for control tokens unless `show_control`. Needs
  /// id < vocab_size().
  void append_bytes(TokenId id, std::string& out, bool show_control) const;

  /// The bytes of a sequence. The space that encode puts before a SentencePiece text is taken off
  /// again. Refuses TOKENIZER-ID-OUT-OF-RANGE.
  [[nodiscard]] Result<std::string> decode(std::span<const TokenId> ids,
                                           bool show_control = true) const;

 private:
  struct State;
  explicit Tokenizer(std::unique_ptr<State> state);
  static Result<Tokenizer> open_metadata(const gguf::Metadata& metadata,
                                         const OpenOptions& options);
  std::unique_ptr<State> state_;
};

}  // namespace assay::engine::tokenizer
