#include "engine/model/forward.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/ensure.h"

namespace assay::engine::model {

Forward::Forward(const Model& model, backend::Backend& backend, int64_t rows_max)
    : model_(model), backend_(backend), rows_max_(rows_max) {
  ENSURE(rows_max > 0);
  const HyperParameters& p = model.hyper();
  rope_ = {p.architecture->rope_pairs, p.n_rot, p.rope_base, p.rope_scale,
           model.weights().rope_factors};
  const auto& layers = model.weights().layers;
  const bool biased = std::any_of(layers.begin(), layers.end(), [](const Layer& layer) {
    return layer.gate.bias != nullptr || layer.up.bias != nullptr;
  });
  const int64_t n_q = p.n_heads * p.head_dim;
  const int64_t n_kv = p.n_kv_heads * p.head_dim;
  const std::pair<float**, int64_t> parts[] = {{&h_, p.n_embd},
                                               {&q_, n_q},
                                               {&k_, n_kv},
                                               {&v_, n_kv},
                                               {&o_, n_q},
                                               {&gate_, p.n_ff},
                                               {&up_, biased ? p.n_ff : 0}};
  for (const auto& [pointer, row_floats] : parts) scratch_floats_ += rows_max * row_floats;
  scratch_ = std::make_unique_for_overwrite<float[]>(static_cast<size_t>(scratch_floats_));
  float* next = scratch_.get();
  for (const auto& [pointer, row_floats] : parts) {
    *pointer = next;
    next += rows_max * row_floats;
  }
}

int64_t Forward::scratch_bytes() const {
  const size_t angles = angles_.cos.size() + angles_.sin.size();
  return (scratch_floats_ + static_cast<int64_t>(angles)) * static_cast<int64_t>(sizeof(float));
}

backend::KvShape Forward::kv_shape(const HyperParameters& hyper, int64_t n_positions,
                                   backend::KvType type) {
  return {hyper.n_layers, hyper.n_kv_heads, hyper.head_dim, n_positions, type};
}

void Forward::run(backend::KvCache& kv, int64_t pos0, std::span<const int32_t> tokens,
                  int64_t n_logits, float* logits) {
  const HyperParameters& p = model_.hyper();
  const Weights& w = model_.weights();
  const auto n_rows = static_cast<int64_t>(tokens.size());
  ENSURE(n_rows > 0 && n_rows <= rows_max_ && n_logits >= 0 && n_logits <= n_rows);
  ENSURE(pos0 >= 0 && pos0 + n_rows <= kv.shape().n_positions);

  backend_.embed(w.token_embd, tokens, h_);
  backend_.rope_angles(rope_, pos0, n_rows, angles_);

  for (int64_t il = 0; il + 1 < p.n_layers; ++il) {
    const Layer& layer = w.layers[static_cast<size_t>(il)];
    attend(layer, il, kv, pos0, n_rows, n_rows);
    feed(layer, h_, n_rows);
  }
  // Of the last layer every row leaves its key and value; the rest of it, and the output, is only
  // needed for rows whose logits are asked for.
  const Layer& last = w.layers.back();
  attend(last, p.n_layers - 1, kv, pos0, n_rows, n_logits);
  if (n_logits == 0) return;
  float* h = h_ + (n_rows - n_logits) * p.n_embd;
  feed(last, h, n_logits);
  backend_.matmul({h, n_logits, w.output_norm, p.norm_eps}, {{w.output, logits}});
}

// h += attn_output(attention(…)) for the last n_queries rows; keys and values of all rows.
void Forward::attend(const Layer& layer, int64_t il, backend::KvCache& kv, int64_t pos0,
                     int64_t n_rows, int64_t n_queries) {
  const HyperParameters& p = model_.hyper();
  const int64_t first = n_rows - n_queries;
  float* const h = h_ + first * p.n_embd;
  const backend::Rows all{h_, n_rows, layer.attn_norm, p.norm_eps};
  const backend::MatmulJob q{layer.q.w, q_, layer.q.bias};
  const backend::MatmulJob k{layer.k.w, k_, layer.k.bias};
  const backend::MatmulJob v{layer.v.w, v_, layer.v.bias};
  if (first == 0) {
    backend_.matmul(all, {q, k, v});
  } else {
    backend_.matmul(all, {k, v});
    if (n_queries > 0) backend_.matmul({h, n_queries, layer.attn_norm, p.norm_eps}, {q});
  }
  if (layer.k_norm != nullptr) {
    backend_.rms_norm(k_, layer.k_norm, p.norm_eps, n_rows * p.n_kv_heads, p.head_dim, k_);
  }
  backend_.rope(angles_, p.n_kv_heads, p.head_dim, k_);
  backend_.store_kv(kv, il, pos0, n_rows, k_, v_);
  if (n_queries == 0) return;

  if (layer.q_norm != nullptr) {
    backend_.rms_norm(q_, layer.q_norm, p.norm_eps, n_queries * p.n_heads, p.head_dim, q_);
  }
  if (first > 0) backend_.rope_angles(rope_, pos0 + first, n_queries, angles_);
  backend_.rope(angles_, p.n_heads, p.head_dim, q_);
  backend_.attention(kv, il, pos0 + first, n_queries, p.n_heads, q_,
                     static_cast<float>(1.0 / std::sqrt(static_cast<double>(p.head_dim))), o_);
  backend_.matmul({o_, n_queries}, {{layer.attn_output.w, h, layer.attn_output.bias, true}});
}

// h += down(silu(gate x) * (up x)), x = rms(h) * ffn_norm.
void Forward::feed(const Layer& layer, float* h, int64_t n_rows) {
  const HyperParameters& p = model_.hyper();
  const backend::Rows in{h, n_rows, layer.ffn_norm, p.norm_eps};
  if (layer.gate.bias == nullptr && layer.up.bias == nullptr) {
    backend_.matmul_gated(in, layer.gate.w, layer.up.w, gate_);
  } else {
    backend_.matmul(in, {{layer.gate.w, gate_, layer.gate.bias}, {layer.up.w, up_, layer.up.bias}});
    backend_.silu_mul(gate_, up_, n_rows * p.n_ff, gate_);
  }
  backend_.matmul({gate_, n_rows}, {{layer.down.w, h, layer.down.bias, true}});
}

}  // namespace assay::engine::model
