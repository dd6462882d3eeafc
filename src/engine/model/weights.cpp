#include "engine/model/weights.h"

#include <initializer_list>
#include <unordered_set>

#include "base/text.h"
#include "engine/model/refusals.h"
#include "engine/quant/types.h"

namespace assay::engine::model {

namespace {

// Binds tensors by name and remembers which ones it has bound.
class Binder {
 public:
  explicit Binder(const gguf::File& file) : file_(file) {}

  [[nodiscard]] bool has(std::string_view name) const { return file_.find(name) != nullptr; }

  // A weight matrix of n_out rows of n_in values; any type that this build computes with.
  Result<backend::Matrix> matrix(const std::string& name, int64_t n_in, int64_t n_out) {
    TRY(tensor, file_.require(name));
    TRY_DO(check_shape(*tensor, {n_in, n_out}));
    const auto type = quant::type_of(tensor->type_id);
    if (!type) {
      return refuse(kTensorType,
                    cat("tensor ", name, " has type ", gguf::type_label(tensor->type_id),
                        ", expected one of ", gguf::computable_types()));
    }
    mark(*tensor);
    return backend::Matrix{*type, tensor->data.data(), n_in, n_out};
  }

  // A vector of n F32 values.
  Result<const float*> vector(const std::string& name, int64_t n) {
    TRY(tensor, file_.require(name));
    TRY_DO(check_shape(*tensor, {n}));
    if (tensor->type_id != static_cast<uint32_t>(quant::Type::f32)) {
      return refuse(kTensorType, cat("tensor ", name, " has type ",
                                     gguf::type_label(tensor->type_id), ", expected F32 (0)"));
    }
    mark(*tensor);
    // The file's alignment is at least 8, and the mapping begins on a page.
    return static_cast<const float*>(static_cast<const void*>(tensor->data.data()));
  }
  Result<const float*> optional_vector(const std::string& name, int64_t n) {
    return has(name) ? vector(name, n) : Result<const float*>(nullptr);
  }

  [[nodiscard]] int64_t bound_bytes() const { return bound_bytes_; }
  [[nodiscard]] std::vector<std::string> unbound() const {
    std::vector<std::string> names;
    for (const gguf::Tensor& tensor : file_.tensors()) {
      if (!bound_.contains(&tensor)) names.emplace_back(tensor.name);
    }
    return names;
  }

 private:
  Status check_shape(const gguf::Tensor& tensor, std::initializer_list<int64_t> expected) const {
    size_t i = 0;
    for (const int64_t dim : expected) {
      if (tensor.dims[i] != static_cast<uint64_t>(dim)) {
        return refuse(kTensorShape, cat("tensor ", tensor.name, " has dim[", i,
                                        "]=", tensor.dims[i], ", expected ", dim));
      }
      ++i;
    }
    for (; i < tensor.dims.size(); ++i) {
      if (tensor.dims[i] != 1) {
        return refuse(kTensorShape, cat("tensor ", tensor.name, " has ", tensor.n_dims,
                                        " dimensions, expected ", expected.size()));
      }
    }
    return {};
  }
  [[nodiscard]] Refusal refuse(const RefusalInfo& info, std::string detail) const {
    return at(file_.path().string(), Refusal(info, std::move(detail)));
  }
  void mark(const gguf::Tensor& tensor) {
    if (bound_.insert(&tensor).second) bound_bytes_ += static_cast<int64_t>(tensor.data.size());
  }

  const gguf::File& file_;
  std::unordered_set<const gguf::Tensor*> bound_;
  int64_t bound_bytes_ = 0;
};

Result<Linear> bind_linear(Binder& binder, const std::string& stem, int64_t n_in, int64_t n_out,
                           bool bias_required = false) {
  TRY(w, binder.matrix(stem + ".weight", n_in, n_out));
  TRY(bias, bias_required ? binder.vector(stem + ".bias", n_out)
                          : binder.optional_vector(stem + ".bias", n_out));
  return Linear{w, bias};
}

// Queries, keys and values: three tensors, or the rows of one fused tensor in that order.
Status bind_qkv(Binder& binder, const std::string& block, const HyperParameters& hyper,
                Layer& layer) {
  const int64_t n_q = hyper.n_heads * hyper.head_dim;
  const int64_t n_kv = hyper.n_kv_heads * hyper.head_dim;
  const bool bias = hyper.architecture->qkv_bias_required;
  if (binder.has(block + "attn_qkv.weight") && !binder.has(block + "attn_q.weight")) {
    TRY(fused, bind_linear(binder, block + "attn_qkv", hyper.n_embd, n_q + 2 * n_kv, bias));
    const auto part = [&](int64_t first, int64_t count) {
      return Linear{fused.w.slice(first, count), fused.bias ? fused.bias + first : nullptr};
    };
    layer.q = part(0, n_q);
    layer.k = part(n_q, n_kv);
    layer.v = part(n_q + n_kv, n_kv);
    return {};
  }
  TRY(q, bind_linear(binder, block + "attn_q", hyper.n_embd, n_q, bias));
  TRY(k, bind_linear(binder, block + "attn_k", hyper.n_embd, n_kv, bias));
  TRY(v, bind_linear(binder, block + "attn_v", hyper.n_embd, n_kv, bias));
  layer.q = q;
  layer.k = k;
  layer.v = v;
  return {};
}

Result<Layer> bind_layer(Binder& binder, const HyperParameters& hyper, int64_t il) {
  const std::string block = cat("blk.", il, ".");
  Layer layer;
  TRY(attn_norm, binder.vector(block + "attn_norm.weight", hyper.n_embd));
  layer.attn_norm = attn_norm;
  TRY_DO(bind_qkv(binder, block, hyper, layer));
  if (hyper.architecture->qk_norm) {
    TRY(q_norm, binder.vector(block + "attn_q_norm.weight", hyper.head_dim));
    TRY(k_norm, binder.vector(block + "attn_k_norm.weight", hyper.head_dim));
    layer.q_norm = q_norm;
    layer.k_norm = k_norm;
  }
  TRY(attn_output,
      bind_linear(binder, block + "attn_output", hyper.n_heads * hyper.head_dim, hyper.n_embd));
  layer.attn_output = attn_output;
  TRY(ffn_norm, binder.vector(block + "ffn_norm.weight", hyper.n_embd));
  layer.ffn_norm = ffn_norm;
  TRY(gate, bind_linear(binder, block + "ffn_gate", hyper.n_embd, hyper.n_ff));
  TRY(up, bind_linear(binder, block + "ffn_up", hyper.n_embd, hyper.n_ff));
  TRY(down, bind_linear(binder, block + "ffn_down", hyper.n_ff, hyper.n_embd));
  layer.gate = gate;
  layer.up = up;
  layer.down = down;
  return layer;
}

int64_t matrix_bytes(const backend::Matrix& matrix) {
  return matrix.n_out * quant::row_bytes(matrix.type, matrix.n_in);
}

}  // namespace

Result<Weights> bind_weights(const gguf::File& file, const HyperParameters& hyper) {
  Binder binder(file);
  Weights weights;
  TRY(token_embd, binder.matrix("token_embd.weight", hyper.n_embd, hyper.n_vocab));
  weights.token_embd = token_embd;
  // Not reserved ahead: the layer count is the file's claim until its tensors are found.
  for (int64_t il = 0; il < hyper.n_layers; ++il) {
    TRY(layer, bind_layer(binder, hyper, il));
    weights.layers.push_back(layer);
  }
  TRY(output_norm, binder.vector("output_norm.weight", hyper.n_embd));
  weights.output_norm = output_norm;
  weights.output = token_embd;
  const bool tied = !binder.has("output.weight");
  if (!tied) {
    TRY(output, binder.matrix("output.weight", hyper.n_embd, hyper.n_vocab));
    weights.output = output;
  }
  if (binder.has("rope_freqs.weight")) {
    TRY(factors, binder.vector("rope_freqs.weight", hyper.n_rot / 2));
    weights.rope_factors = {factors, static_cast<size_t>(hyper.n_rot / 2)};
  }
  // A token reads every weight once, but only one row of an embedding that is not also the output.
  weights.bytes_per_token = binder.bound_bytes();
  if (!tied) {
    weights.bytes_per_token +=
        quant::row_bytes(token_embd.type, token_embd.n_in) - matrix_bytes(token_embd);
  }
  weights.unbound = binder.unbound();
  return weights;
}

}  // namespace assay::engine::model
