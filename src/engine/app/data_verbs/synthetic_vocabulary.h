// Small vocabularies that are valid tokenizers: made-up words of consonants and vowels.
//
// byte   256 byte tokens, fillers, <|endoftext|> last; no merges
// bpe    256 byte tokens, then merges: "b a", "Ġ ba", "ba de", "Ġba de", …; <|endoftext|>,
//        <|im_start|>, <|im_end|> last
// spm    <unk>, <s>, </s>, 256 byte tokens, letters, then the same words with falling scores
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "engine/gguf/writer.h"

namespace assay::engine::app {

enum class VocabularyKind { byte, bpe, spm };
[[nodiscard]] std::optional<VocabularyKind> parse_vocabulary_kind(std::string_view name);

/// Writes the `tokenizer.ggml.*` keys of a vocabulary of `size` tokens; `pre` names the splitter of
/// the byte-level ones. Refuses SYNTH-GEOMETRY when `size` is too small for the kind.
[[nodiscard]] Status add_vocabulary(VocabularyKind kind, uint32_t size, std::string_view pre,
                                    gguf::Writer& writer);

/// Ids from here on are control tokens and fillers that a model should not emit; `size` for spm,
/// whose control tokens come first.
[[nodiscard]] uint32_t first_special(VocabularyKind kind, uint32_t size);

}  // namespace assay::engine::app
