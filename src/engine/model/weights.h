// Weights: every tensor of a model bound to its place in the forward pass.
//
// In:      a GGUF file and its hyper-parameters
// Out:     matrices and vectors that point into the file's mapping; nothing is copied
// Errors   GGUF-TENSOR-MISSING, GGUF-TYPE-UNKNOWN, MODEL-TENSOR-TYPE, MODEL-TENSOR-SHAPE; each
//          names the tensor, what it has and what was expected
// Memory   valid while the File lives
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/backend/backend.h"
#include "engine/gguf/file.h"
#include "engine/model/hyper_parameters.h"

namespace assay::engine::model {

/// A matrix and its bias ([n_out], or null).
struct Linear {
  backend::Matrix w;
  const float* bias = nullptr;
};

struct Layer {
  const float* attn_norm = nullptr;  // [n_embd]
  Linear q;                          // [n_heads * head_dim][n_embd]
  Linear k, v;                       // [n_kv_heads * head_dim][n_embd]
  const float* q_norm = nullptr;     // [head_dim] or null
  const float* k_norm = nullptr;     // [head_dim] or null
  Linear attn_output;                // [n_embd][n_heads * head_dim]
  const float* ffn_norm = nullptr;   // [n_embd]
  Linear gate, up;                   // [n_ff][n_embd]
  Linear down;                       // [n_embd][n_ff]
};

struct Weights {
  backend::Matrix token_embd;           // [n_vocab][n_embd]
  std::vector<Layer> layers;            // [n_layers]
  const float* output_norm = nullptr;   // [n_embd]
  backend::Matrix output;               // [n_vocab][n_embd]; token_embd where the file has none
  std::span<const float> rope_factors;  // [n_rot / 2], or empty

  int64_t bytes_per_token = 0;       // weights that one decoded token reads
  std::vector<std::string> unbound;  // tensors of the file that nothing uses
};

[[nodiscard]] Result<Weights> bind_weights(const gguf::File& file, const HyperParameters& hyper);

}  // namespace assay::engine::model
