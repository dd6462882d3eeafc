// GGUF files that hold nothing but a tokenizer, for tests.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ensure.h"
#include "base/text.h"
#include "engine/gguf/file.h"
#include "engine/gguf/writer.h"

namespace assay::engine::tokenizer {

/// GPT-2's character for each byte, computed from the rule in docs/formats/gguf.md.
inline std::string byte_character(int byte) {
  const auto printable = [](int b) {
    return (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
  };
  int code_point = byte;
  if (!printable(byte)) {
    code_point = 256;
    for (int b = 0; b < byte; ++b) code_point += printable(b) ? 0 : 1;
  }
  if (code_point < 0x80) return std::string(1, static_cast<char>(code_point));
  return {static_cast<char>(0xC0 | code_point >> 6), static_cast<char>(0x80 | (code_point & 0x3F))};
}

/// Keys of a tokenizer; tests change a field and see what happens.
struct VocabularyFile {
  std::string model = "gpt2";
  std::string pre = "gpt-2";  // empty: no key
  std::vector<std::string> tokens{};
  std::vector<int32_t> types{};  // empty: no key
  std::vector<float> scores{};   // empty: no key
  std::vector<std::string> merges{};
  bool write_merges = true;
  std::vector<std::pair<std::string, uint32_t>> ids{};   // "bos", 1
  std::vector<std::pair<std::string, bool>> switches{};  // "add_bos_token", true

  void add(std::string token, int32_t type = 1) {
    tokens.push_back(std::move(token));
    types.push_back(type);
  }
  [[nodiscard]] gguf::Writer writer() const {
    gguf::Writer out;
    out.add_string("tokenizer.ggml.model", model);
    if (!pre.empty()) out.add_string("tokenizer.ggml.pre", pre);
    out.add_strings("tokenizer.ggml.tokens", tokens);
    if (!types.empty()) out.add_i32s("tokenizer.ggml.token_type", types);
    if (!scores.empty()) out.add_f32s("tokenizer.ggml.scores", scores);
    if (model == "gpt2" && write_merges) out.add_strings("tokenizer.ggml.merges", merges);
    for (const auto& [name, id] : ids) out.add_u32(cat("tokenizer.ggml.", name, "_token_id"), id);
    for (const auto& [name, value] : switches) out.add_bool(cat("tokenizer.ggml.", name), value);
    return out;
  }
  [[nodiscard]] gguf::File file() const {
    const std::string bytes = writer().bytes();
    auto file =
        gguf::open_bytes("vocabulary.gguf", std::as_bytes(std::span(bytes.data(), bytes.size())));
    ENSURE(static_cast<bool>(file));
    return std::move(*file);
  }
};

/// All 256 bytes, a few merges, two control tokens and a user-defined one:
/// 256 "he", 257 "ll", 258 "hell", 259 "hello", 260 "Ġhello", 261 <|end|>, 262 <|endless|>, 263
/// [TAG]
inline VocabularyFile small_bpe() {
  VocabularyFile out;
  for (int byte = 0; byte < 256; ++byte) out.add(byte_character(byte));
  for (const char* token : {"he", "ll", "hell", "hello", "\xC4\xA0hello"}) out.add(token);
  out.merges = {"h e", "l l", "he ll", "hell o", "\xC4\xA0 hello"};
  out.add("<|end|>", 3);
  out.add("<|endless|>", 3);
  out.add("[TAG]", 4);
  return out;
}

/// <unk> <s> </s>, 256 bytes, then pieces: 259 "▁", 260 "a", 261 "b", 262 "ab", 263 "▁ab", 264
/// "ba".
inline VocabularyFile small_spm() {
  VocabularyFile out;
  out.model = "llama";
  out.pre = "default";
  const auto add = [&](const std::string& token, float score, int32_t type) {
    out.add(token, type);
    out.scores.push_back(score);
  };
  add("<unk>", 0, 2);
  add("<s>", 0, 3);
  add("</s>", 0, 3);
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  for (size_t b = 0; b < 256; ++b) {
    add(std::string("<0x") + kDigits[b >> 4] + kDigits[b & 15] + ">", 0, 6);
  }
  float score = -1;
  for (const char* token : {"\xE2\x96\x81", "a", "b", "ab",
                            "\xE2\x96\x81"
                            "ab",
                            "ba"}) {
    add(token, score, 1);
    score -= 1;
  }
  out.ids = {{"bos", 1}, {"eos", 2}, {"unknown", 0}};
  return out;
}

}  // namespace assay::engine::tokenizer
