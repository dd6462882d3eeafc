// Session: one timeline of tokens over a model, with its contiguous KV cache.
//
// Row p of the cache belongs to position p; the cache only grows, and going back moves the length.
// Address space for the whole context is taken at once, memory as positions are first written.
//
// Promise  logits depend on the tokens alone: not on how they were grouped into calls or chunks,
//          nor on what the session evaluated before (backend.h, numeric contract)
// Errors   DECODE-* of refusals.h. A refusal before any work (DECODE-CONTEXT, -EMPTY, -TOKEN-RANGE)
//          leaves the session as it was. A failed evaluation leaves the position unchanged and the
//          state undefined: everything but invalidate() is then refused.
// Threads  one caller at a time
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/backend/backend.h"
#include "engine/model/forward.h"
#include "engine/model/model.h"

namespace assay::engine::decode {

/// The only KV backend there is; reported wherever one is named.
inline constexpr std::string_view kKvBackend = "contiguous";

struct SessionOptions {
  int64_t n_ctx = 0;      // positions; 0: the model's context length, at most kContextDefault
  int64_t n_chunk = 256;  // rows of one forward call in prefill; changes speed, never bits
  backend::KvType kv_type = backend::KvType::f32;
};
inline constexpr int64_t kContextDefault = 32768;

class Session {
 public:
  /// `model` and `backend` must outlive the session. Refuses DECODE-CONTEXT-SIZE,
  /// BACKEND-KV-MEMORY.
  [[nodiscard]] static Result<Session> open(const model::Model& model, backend::Backend& backend,
                                            const SessionOptions& options = {});

  /// Makes `tokens` the whole timeline. Keeps the longest common prefix with what was evaluated,
  /// evaluates the rest (nothing when equal). Afterwards logits() are those of the last token.
  [[nodiscard]] Status sync(std::span<const int32_t> tokens);

  /// Appends one token and evaluates it.
  [[nodiscard]] Status eval(int32_t token);

  /// Back to position 0; nothing of earlier tokens is used again.
  void invalidate();

  /// Back to the first `n_tokens` tokens, 0 <= n_tokens <= position() (ENSURE). The logits are gone
  /// until the next evaluation, unless nothing changed.
  void truncate(int64_t n_tokens);

  [[nodiscard]] int64_t position() const { return static_cast<int64_t>(tokens_.size()); }
  [[nodiscard]] int64_t n_ctx() const { return n_ctx_; }
  [[nodiscard]] std::span<const int32_t> tokens() const { return tokens_; }

  /// Logits after the last token, [n_vocab], all finite. Needs has_logits() (ENSURE).
  [[nodiscard]] std::span<const float> logits() const;
  [[nodiscard]] bool has_logits() const { return has_logits_; }
  /// The largest logit's id, the lowest one on a tie. Needs has_logits().
  [[nodiscard]] int32_t greedy() const;

  /// Evaluates `tokens` from an empty timeline and hands out the logits of every row from
  /// `first_row` on, in order, in blocks: logits is [n_rows][n_vocab] of rows first_row ….
  using OnRows =
      std::function<void(int64_t first_row, int64_t n_rows, std::span<const float> logits)>;
  [[nodiscard]] Status score(std::span<const int32_t> tokens, int64_t first_row,
                             const OnRows& on_rows);

  /// Scratch memory held now, kept between evaluations for speed.
  [[nodiscard]] int64_t scratch_bytes() const;
  /// Gives scratch memory back; the next evaluation takes it again. Returns the bytes of scratch
  /// that are still held: 0.
  int64_t drain();

 private:
  Session(const model::Model& model, backend::Backend& backend, int64_t n_ctx, int64_t n_chunk,
          std::unique_ptr<backend::KvCache> kv);
  [[nodiscard]] Status check(std::span<const int32_t> tokens) const;
  [[nodiscard]] Status append(std::span<const int32_t> tokens);
  [[nodiscard]] Status finite(std::span<const float> logits);
  model::Forward& forward(int64_t n_rows);

  const model::Model* model_;
  backend::Backend* backend_;
  int64_t n_ctx_;
  int64_t n_chunk_;
  std::unique_ptr<backend::KvCache> kv_;
  std::unique_ptr<model::Forward> decode_;   // scratch for one row
  std::unique_ptr<model::Forward> prefill_;  // scratch for as many rows as the widest call had
  std::vector<int32_t> tokens_;
  std::vector<float> logits_;  // [n_vocab]
  bool has_logits_ = false;
  bool undefined_ = false;
};

}  // namespace assay::engine::decode
