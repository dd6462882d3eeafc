// Splitters: where byte-level BPE cuts a text into pieces before it merges inside each.
//
// Each is the regular expression that the model was trained with, written out by hand: a regex
// engine needs a stack as deep as the longest run, and none here knows \p{L}. The expressions stand
// above the functions in splitter.cpp.
//
// Cost     one or two looks at each character; constant stack.
// Source   docs/formats/gguf.md, "Splitters".
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace assay::engine::tokenizer {

enum class Splitter : uint8_t { gpt2, smollm, qwen2, qwen35, llama_bpe };

/// What `tokenizer.ggml.pre` says.
struct PreTokenizer {
  std::string_view name;
  Splitter splitter;
  bool ignore_merges;    // a piece that is a token as a whole is taken as it is
  bool adds_bos_absent;  // add_bos_token where the file does not say
};

/// The row of that name, or null.
[[nodiscard]] const PreTokenizer* find_pre_tokenizer(std::string_view name) noexcept;

/// The end of the piece that starts at `at` < text.size(). Needs well-formed UTF-8; a piece ends
/// where the text ends, so what follows a special token is a text of its own.
[[nodiscard]] size_t piece_end(Splitter splitter, std::string_view text, size_t at) noexcept;

}  // namespace assay::engine::tokenizer
