// Forward: tokens in, logits out. The decoder-only transformer of llama, qwen2 and qwen3.
//
//   h += attn_output( attention( rope(q), rope(k), v ) )   q, k, v from rms(h) * attn_norm
//   h += down( silu(gate x) * (up x) )                     x     =    rms(h) * ffn_norm
//   logits = output( rms(h) * output_norm )
//
// In:      tokens at positions pos0, pos0 + 1, …; keys and values of all earlier positions cached
// Out:     the keys and values of these positions, stored; logits of the last rows
// Promise  a row's bits do not depend on how many rows a call has, on the instruction set or on the
//          number of threads (backend.h)
// Memory   owns scratch for `rows_max` rows; a call allocates nothing
// Threads  one caller at a time
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "engine/backend/backend.h"
#include "engine/model/model.h"

namespace assay::engine::model {

class Forward {
 public:
  /// `model` and `backend` must outlive this. rows_max > 0.
  Forward(const Model& model, backend::Backend& backend, int64_t rows_max);

  [[nodiscard]] int64_t rows_max() const { return rows_max_; }
  [[nodiscard]] int64_t scratch_bytes() const;

  /// Evaluates `tokens` (1 .. rows_max of them, each in the vocabulary) at positions pos0 …, and
  /// writes the logits of the last `n_logits` rows to `logits` [n_logits][n_vocab]. n_logits may be
  /// 0: then only keys and values are stored. Needs pos0 + tokens.size() <= kv.shape().n_positions.
  void run(backend::KvCache& kv, int64_t pos0, std::span<const int32_t> tokens, int64_t n_logits,
           float* logits);

  /// The cache that this model needs.
  [[nodiscard]] static backend::KvShape kv_shape(const HyperParameters& hyper, int64_t n_positions,
                                                 backend::KvType type);

 private:
  void attend(const Layer& layer, int64_t il, backend::KvCache& kv, int64_t pos0, int64_t n_rows,
              int64_t n_queries);
  void feed(const Layer& layer, float* h, int64_t n_rows);

  const Model& model_;
  backend::Backend& backend_;
  int64_t rows_max_;
  backend::RopeSpec rope_;
  int64_t scratch_floats_ = 0;
  std::unique_ptr<float[]> scratch_;  // not initialised: pages are taken when rows first reach them
  float* h_ = nullptr;                // [rows_max][n_embd] the residual stream
  float* q_ = nullptr;                // [rows_max][n_heads * head_dim]
  float* k_ = nullptr;                // [rows_max][n_kv_heads * head_dim]
  float* v_ = nullptr;                // [rows_max][n_kv_heads * head_dim]
  float* o_ = nullptr;                // [rows_max][n_heads * head_dim] attention's result
  float* gate_ = nullptr;             // [rows_max][n_ff]
  float* up_ = nullptr;               // [rows_max][n_ff], only where gate or up have a bias
  backend::RopeAngles angles_;        // of the rows in work
};

}  // namespace assay::engine::model
