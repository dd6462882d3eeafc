#include "engine/app/data_verbs/synthetic_vocabulary.h"

#include <array>
#include <utility>
#include <vector>

#include "base/text.h"
#include "engine/app/data_verbs/refusals.h"

namespace assay::engine::app {
namespace {

constexpr int32_t kNormal = 1;
constexpr int32_t kUnknown = 2;
constexpr int32_t kControl = 3;
constexpr int32_t kUnused = 5;
constexpr int32_t kByte = 6;

constexpr std::string_view kConsonants = "bdfgklmnprstvz";
constexpr std::string_view kVowels = "aeiou";
constexpr std::array<std::string_view, 3> kChatTokens = {"<|endoftext|>", "<|im_start|>",
                                                         "<|im_end|>"};

// GPT-2's character of a byte (docs/formats/gguf.md, "Byte-level BPE").
std::string byte_character(uint32_t byte) {
  const auto printable = [](uint32_t b) {
    return (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
  };
  uint32_t code_point = byte;
  if (!printable(byte)) {
    code_point = 256;
    for (uint32_t b = 0; b < byte; ++b) code_point += printable(b) ? 0 : 1;
  }
  std::string text;
  if (code_point < 0x80) {
    text += static_cast<char>(code_point);
  } else {
    text += static_cast<char>(0xC0 | code_point >> 6);
    text += static_cast<char>(0x80 | (code_point & 0x3F));
  }
  return text;
}

// Two tokens that become one. Left parts come from earlier words, so each word is reached.
using Merge = std::pair<std::string, std::string>;

// The first `count` merges: syllables, syllables after a space, then words of one syllable more.
std::vector<Merge> make_merges(std::string_view space, size_t count) {
  std::vector<Merge> merges;
  std::vector<std::string> syllables;
  for (const char consonant : kConsonants) {
    for (const char vowel : kVowels) {
      syllables.push_back({consonant, vowel});
      merges.emplace_back(std::string(1, consonant), std::string(1, vowel));
    }
  }
  std::vector<std::string> words;  // of the longest length so far, without and with a space
  for (const std::string& syllable : syllables) {
    merges.emplace_back(std::string(space), syllable);
    words.push_back(syllable);
    words.push_back(std::string(space) + syllable);
  }
  while (merges.size() < count) {
    std::vector<std::string> longer;
    // The second syllable varies slowest, so that few merges already spread over all words.
    for (const std::string& syllable : syllables) {
      for (const std::string& word : words) {
        if (merges.size() == count) return merges;
        merges.emplace_back(word, syllable);
        longer.push_back(word + syllable);
      }
    }
    words = std::move(longer);
  }
  merges.resize(count);
  return merges;
}

void add_ids(gguf::Writer& writer, uint32_t bos, uint32_t eos, uint32_t padding) {
  writer.add_u32("tokenizer.ggml.bos_token_id", bos);
  writer.add_u32("tokenizer.ggml.eos_token_id", eos);
  writer.add_u32("tokenizer.ggml.padding_token_id", padding);
}

void add_byte_level(uint32_t size, std::string_view pre, size_t n_merges,
                    std::span<const std::string_view> control, gguf::Writer& writer) {
  std::vector<std::string> tokens;
  std::vector<int32_t> types;
  const auto add = [&](std::string text, int32_t type) {
    tokens.push_back(std::move(text));
    types.push_back(type);
  };
  for (uint32_t byte = 0; byte < 256; ++byte) add(byte_character(byte), kNormal);
  std::vector<std::string> merges;
  for (const auto& [left, right] : make_merges(byte_character(' '), n_merges)) {
    add(left + right, kNormal);
    merges.push_back(cat(left, " ", right));
  }
  while (tokens.size() + control.size() < size) {
    add(cat("<|filler_", tokens.size(), "|>"), kUnused);
  }
  for (const std::string_view token : control) add(std::string(token), kControl);
  writer.add_string("tokenizer.ggml.model", "gpt2");
  writer.add_string("tokenizer.ggml.pre", pre);
  writer.add_strings("tokenizer.ggml.tokens", tokens);
  writer.add_i32s("tokenizer.ggml.token_type", types);
  writer.add_strings("tokenizer.ggml.merges", merges);
  const auto first_control = static_cast<uint32_t>(size - control.size());
  add_ids(writer, first_control, size - 1, first_control);
  writer.add_bool("tokenizer.ggml.add_bos_token", false);
}

void add_sentence_piece(uint32_t size, gguf::Writer& writer) {
  constexpr std::string_view kSpace = "\xE2\x96\x81";
  std::vector<std::string> tokens;
  std::vector<float> scores;
  std::vector<int32_t> types;
  const auto add = [&](std::string text, float score, int32_t type) {
    tokens.push_back(std::move(text));
    scores.push_back(score);
    types.push_back(type);
  };
  add("<unk>", 0, kUnknown);
  add("<s>", 0, kControl);
  add("</s>", 0, kControl);
  for (uint32_t byte = 0; byte < 256; ++byte) {
    std::string hex = to_hex(std::string(1, static_cast<char>(byte)));
    for (char& c : hex) c = c >= 'a' ? static_cast<char>(c - 'a' + 'A') : c;
    add(cat("<0x", hex, ">"), 0, kByte);
  }
  // Later pieces have lower scores, as a trainer gives them.
  const auto score = [&] { return -static_cast<float>(tokens.size()); };
  std::vector<Merge> merges = make_merges(kSpace, size);
  add(std::string(kSpace), score(), kNormal);
  for (char c = 'a'; c <= 'z'; ++c) add(std::string(1, c), score(), kNormal);
  for (const auto& [left, right] : merges) {
    if (tokens.size() == size) break;
    add(left + right, score(), kNormal);
  }
  writer.add_string("tokenizer.ggml.model", "llama");
  writer.add_string("tokenizer.ggml.pre", "default");
  writer.add_strings("tokenizer.ggml.tokens", tokens);
  writer.add_f32s("tokenizer.ggml.scores", scores);
  writer.add_i32s("tokenizer.ggml.token_type", types);
  add_ids(writer, 1, 2, 2);
  writer.add_u32("tokenizer.ggml.unknown_token_id", 0);
  writer.add_bool("tokenizer.ggml.add_bos_token", true);
}

}  // namespace

std::optional<VocabularyKind> parse_vocabulary_kind(std::string_view name) {
  if (name == "byte") return VocabularyKind::byte;
  if (name == "bpe") return VocabularyKind::bpe;
  if (name == "spm") return VocabularyKind::spm;
  return std::nullopt;
}

Status add_vocabulary(VocabularyKind kind, uint32_t size, std::string_view pre,
                      gguf::Writer& writer) {
  const uint32_t size_min = kind == VocabularyKind::byte  ? 257
                            : kind == VocabularyKind::bpe ? 256 + 3 + 1
                                                          : 3 + 256 + 27 + 2;
  if (size < size_min) {
    return Refusal(kSynthGeometry, cat("--vocab ", size,
                                       " is too small for this tokenizer, which "
                                       "needs at least ",
                                       size_min));
  }
  switch (kind) {
    case VocabularyKind::byte:
      add_byte_level(size, pre, 0, std::span(kChatTokens).first(1), writer);
      break;
    case VocabularyKind::bpe:
      add_byte_level(size, pre, size - 256 - kChatTokens.size(), kChatTokens, writer);
      break;
    case VocabularyKind::spm: add_sentence_piece(size, writer); break;
  }
  return {};
}

uint32_t first_special(VocabularyKind kind, uint32_t size) {
  switch (kind) {
    case VocabularyKind::byte: return 256;
    case VocabularyKind::bpe: return size - static_cast<uint32_t>(kChatTokens.size());
    case VocabularyKind::spm: break;
  }
  return size;
}

}  // namespace assay::engine::app
