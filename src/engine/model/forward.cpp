#include "engine/model/forward.h"

#include <cmath>

#include "base/ensure.h"

namespace assay::engine::model {

namespace {

size_t floats(int64_t n_rows, int64_t n) {
  return static_cast<size_t>(n_rows * n);
}

}  // namespace

Forward::Forward(const Model& model, backend::Backend& backend, int64_t rows_max)
    : model_(model), backend_(backend), rows_max_(rows_max) {
  ENSURE(rows_max > 0);
  const HyperParameters& p = model.hyper();
  rope_ = {p.architecture->rope_pairs, p.n_rot, p.rope_base, p.rope_scale,
           model.weights().rope_factors};
  h_.resize(floats(rows_max, p.n_embd));
  q_.resize(floats(rows_max, p.n_heads * p.head_dim));
  k_.resize(floats(rows_max, p.n_kv_heads * p.head_dim));
  v_.resize(floats(rows_max, p.n_kv_heads * p.head_dim));
  o_.resize(floats(rows_max, p.n_heads * p.head_dim));
  gate_.resize(floats(rows_max, p.n_ff));
  for (const Layer& layer : model.weights().layers) {
    if (layer.gate.bias != nullptr || layer.up.bias != nullptr) {
      up_.resize(floats(rows_max, p.n_ff));
      break;
    }
  }
}

int64_t Forward::scratch_bytes() const {
  const size_t n = h_.size() + q_.size() + k_.size() + v_.size() + o_.size() + gate_.size() +
                   up_.size() + angles_.cos.size() + angles_.sin.size();
  return static_cast<int64_t>(n * sizeof(float));
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

  backend_.embed(w.token_embd, tokens, h_.data());
  backend_.rope_angles(rope_, pos0, n_rows, angles_);

  for (int64_t il = 0; il + 1 < p.n_layers; ++il) {
    const Layer& layer = w.layers[static_cast<size_t>(il)];
    attend(layer, il, kv, pos0, n_rows, n_rows);
    feed(layer, h_.data(), n_rows);
  }
  // Of the last layer every row leaves its key and value; the rest of it, and the output, is only
  // needed for rows whose logits are asked for.
  const Layer& last = w.layers.back();
  attend(last, p.n_layers - 1, kv, pos0, n_rows, n_logits);
  if (n_logits == 0) return;
  float* h = h_.data() + (n_rows - n_logits) * p.n_embd;
  feed(last, h, n_logits);
  backend_.matmul({h, n_logits, w.output_norm, p.norm_eps}, {{w.output, logits}});
}

// h += attn_output(attention(…)) for the last n_queries rows; keys and values of all rows.
void Forward::attend(const Layer& layer, int64_t il, backend::KvCache& kv, int64_t pos0,
                     int64_t n_rows, int64_t n_queries) {
  const HyperParameters& p = model_.hyper();
  const int64_t first = n_rows - n_queries;
  float* const h = h_.data() + first * p.n_embd;
  const backend::Rows all{h_.data(), n_rows, layer.attn_norm, p.norm_eps};
  const backend::MatmulJob q{layer.q.w, q_.data(), layer.q.bias};
  const backend::MatmulJob k{layer.k.w, k_.data(), layer.k.bias};
  const backend::MatmulJob v{layer.v.w, v_.data(), layer.v.bias};
  if (first == 0) {
    backend_.matmul(all, {q, k, v});
  } else {
    backend_.matmul(all, {k, v});
    if (n_queries > 0) backend_.matmul({h, n_queries, layer.attn_norm, p.norm_eps}, {q});
  }
  if (layer.k_norm != nullptr) {
    backend_.rms_norm(k_.data(), layer.k_norm, p.norm_eps, n_rows * p.n_kv_heads, p.head_dim,
                      k_.data());
  }
  backend_.rope(angles_, p.n_kv_heads, p.head_dim, k_.data());
  backend_.store_kv(kv, il, pos0, n_rows, k_.data(), v_.data());
  if (n_queries == 0) return;

  if (layer.q_norm != nullptr) {
    backend_.rms_norm(q_.data(), layer.q_norm, p.norm_eps, n_queries * p.n_heads, p.head_dim,
                      q_.data());
  }
  if (first > 0) backend_.rope_angles(rope_, pos0 + first, n_queries, angles_);
  backend_.rope(angles_, p.n_heads, p.head_dim, q_.data());
  backend_.attention(kv, il, pos0 + first, n_queries, p.n_heads, q_.data(),
                     static_cast<float>(1.0 / std::sqrt(static_cast<double>(p.head_dim))),
                     o_.data());
  backend_.matmul({o_.data(), n_queries}, {{layer.attn_output.w, h, layer.attn_output.bias, true}});
}

// h += down(silu(gate x) * (up x)), x = rms(h) * ffn_norm.
void Forward::feed(const Layer& layer, float* h, int64_t n_rows) {
  const HyperParameters& p = model_.hyper();
  const backend::Rows in{h, n_rows, layer.ffn_norm, p.norm_eps};
  if (layer.gate.bias == nullptr && layer.up.bias == nullptr) {
    backend_.matmul_gated(in, layer.gate.w, layer.up.w, gate_.data());
  } else {
    backend_.matmul(in, {{layer.gate.w, gate_.data(), layer.gate.bias},
                         {layer.up.w, up_.data(), layer.up.bias}});
    backend_.silu_mul(gate_.data(), up_.data(), n_rows * p.n_ff, gate_.data());
  }
  backend_.matmul({gate_.data(), n_rows}, {{layer.down.w, h, layer.down.bias, true}});
}

}  // namespace assay::engine::model
