// Hyper-parameters: the numbers and switches of one model, read from its metadata and checked
// against one another before any tensor is looked at.
//
// In:      a checked GGUF file
// Out:     plain data; every count is > 0, n_heads is a multiple of n_kv_heads, n_rot is even and
//          at most head_dim
// Errors   MODEL-ARCHITECTURE-UNKNOWN, MODEL-FEATURE-UNSUPPORTED, MODEL-ROPE-SCALING,
//          MODEL-GEOMETRY, MODEL-ALIASES-DIFFER, MODEL-VOCABULARY-MISMATCH, GGUF-KEY-*
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.h"
#include "engine/backend/backend.h"
#include "engine/gguf/file.h"

namespace assay::engine::model {

/// What distinguishes one architecture from the next. They share the forward pass of forward.h.
struct Architecture {
  std::string_view name;          // general.architecture, and the prefix of the model's keys
  backend::RopePairs rope_pairs;  // which values of a head turn together
  bool qkv_bias_required;         // attn_q/k/v.bias must be there (elsewhere they may be)
  bool qk_norm;                   // per-head RMS norms on queries and keys, before rope
};

inline constexpr Architecture kArchitectures[] = {
    // The converter permutes llama's queries and keys so that pairs are neighbours.
    {"llama", backend::RopePairs::adjacent, false, false},
    {"qwen2", backend::RopePairs::half_split, true, false},
    {"qwen3", backend::RopePairs::half_split, false, true},
};

struct HyperParameters {
  const Architecture* architecture = nullptr;
  int64_t n_layers = 0;
  int64_t n_embd = 0;
  int64_t n_heads = 0;
  int64_t n_kv_heads = 0;
  int64_t head_dim = 0;  // of queries, keys and values; n_heads * head_dim may differ from n_embd
  int64_t n_ff = 0;
  int64_t n_vocab = 0;
  int64_t context_length = 0;  // positions the model was made for
  float norm_eps = 0.0f;
  int64_t n_rot = 0;  // leading values of a head that rope turns
  double rope_base = 0.0;
  double rope_scale = 1.0;  // 1 / linear factor
};

[[nodiscard]] Result<HyperParameters> read_hyper_parameters(const gguf::File& file);

}  // namespace assay::engine::model
