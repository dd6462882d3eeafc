// TinyModel: a small random model as plain data, to be broken by tests and written as GGUF.
//
// In:   an architecture and a few sizes
// Out:  keys and F32 tensors that a test may change, drop or add to; the bytes of a GGUF file, its
//       matrices stored as F32 or quantised
// Why   weights are of ordinary size (a dot of n terms stays near 1), norms near 1: a difference in
//       the network shows in the logits, nothing overflows
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/gguf/file.h"

namespace assay::test {

struct TinyTensor {
  std::string name;
  std::vector<uint64_t> dims;  // dims[0] is the input dimension
  std::vector<float> values;
  uint32_t type_id = 0;  // GGUF type it is stored as: F32 (0), Q8_0 (8) or Q4_1 (3)
};

struct TinySizes {
  uint32_t n_layers = 2;
  uint32_t n_embd = 64;
  uint32_t n_heads = 4;
  uint32_t n_kv_heads = 2;
  uint32_t head_dim = 16;
  uint32_t n_ff = 96;
  uint32_t n_vocab = 96;
  uint32_t context_length = 128;
  bool tied = false;
  bool rope_factors = false;  // adds rope_freqs.weight
  bool qkv_bias = false;
  bool other_bias = false;  // attn_output, ffn_gate, ffn_up, ffn_down
  bool fused_qkv = false;   // attn_qkv instead of attn_q, attn_k, attn_v
  uint64_t seed = 1;
};

class TinyModel {
 public:
  using Value = std::variant<uint32_t, float, bool, std::string, std::vector<int32_t>,
                             std::vector<float>, std::vector<std::string>>;

  /// A complete model of architecture `arch` ("llama", "qwen2", "qwen3").
  TinyModel(std::string_view arch, const TinySizes& sizes);

  std::map<std::string, Value> keys;
  std::vector<TinyTensor> tensors;

  /// The tensor of that name; it must be there.
  [[nodiscard]] TinyTensor& tensor(std::string_view name);
  [[nodiscard]] const std::vector<float>& values(std::string_view name) const;
  [[nodiscard]] bool has(std::string_view name) const;
  void drop(std::string_view name);

  /// Adds a SentencePiece vocabulary of 259 tokens: unknown, begin, end, and the 256 bytes; every
  /// byte of a text becomes one token, after a space. The model's n_vocab must be 259.
  void add_byte_tokenizer();

  /// Stores every 2-D tensor with rows of whole blocks as this type from now on.
  void quantise(uint32_t type_id);

  [[nodiscard]] std::string bytes() const;
  /// Opened from memory; it must be a well-formed GGUF file.
  [[nodiscard]] engine::gguf::File file() const;
};

}  // namespace assay::test
