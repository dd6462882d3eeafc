#include "engine/decode/session.h"

#include <algorithm>
#include <bit>

#include "base/ensure.h"
#include "base/text.h"
#include "engine/decode/refusals.h"
#include "engine/decode/sampling.h"

namespace assay::engine::decode {

namespace {

// Whole blocks of a row's logits stay below this: 64 MiB.
constexpr int64_t kScoreFloatsMax = int64_t{1} << 24;

bool all_finite(std::span<const float> values) {
  constexpr uint32_t kExponent = 0x7F800000;
  uint32_t bad = 0;
  for (const float value : values) {
    bad |= static_cast<uint32_t>((std::bit_cast<uint32_t>(value) & kExponent) == kExponent);
  }
  return bad == 0;
}

}  // namespace

Session::Session(const model::Model& model, backend::Backend& backend, int64_t n_ctx,
                 int64_t n_chunk, std::unique_ptr<backend::KvCache> kv)
    : model_(&model), backend_(&backend), n_ctx_(n_ctx), n_chunk_(n_chunk), kv_(std::move(kv)) {
  logits_.resize(static_cast<size_t>(model.hyper().n_vocab));
}

Result<Session> Session::open(const model::Model& model, backend::Backend& backend,
                              const SessionOptions& options) {
  const int64_t made_for = model.hyper().context_length;
  int64_t n_ctx = options.n_ctx;
  if (n_ctx == 0) n_ctx = std::min(made_for, kContextDefault);
  if (n_ctx < 1 || n_ctx > made_for) {
    return Refusal(kContextSize, cat("a context of ", n_ctx,
                                     " tokens was asked for; the model was made for ", made_for));
  }
  ENSURE(options.n_chunk > 0);
  TRY(kv, backend.create_kv(model::Forward::kv_shape(model.hyper(), n_ctx, options.kv_type)));
  return Session(model, backend, n_ctx, std::min(options.n_chunk, n_ctx), std::move(kv));
}

Status Session::check(std::span<const int32_t> tokens) const {
  if (undefined_) return Refusal(kStateUndefined, "the last evaluation of this session failed");
  const int64_t n_vocab = model_->hyper().n_vocab;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] < 0 || tokens[i] >= n_vocab) {
      return Refusal(kTokenRange,
                     cat("the token at index ", i, " of the call is not in 0..", n_vocab - 1));
    }
  }
  return {};
}

Status Session::sync(std::span<const int32_t> tokens) {
  if (tokens.empty()) return Refusal(kEmpty, "the prompt has no token");
  TRY_DO(check(tokens));
  if (static_cast<int64_t>(tokens.size()) > n_ctx_) {
    return Refusal(kContext,
                   cat("the prompt has ", tokens.size(), " tokens, the context holds ", n_ctx_));
  }
  const auto common = std::mismatch(tokens_.begin(), tokens_.end(), tokens.begin(), tokens.end());
  auto kept = static_cast<size_t>(common.first - tokens_.begin());
  if (kept == tokens.size()) {
    if (kept == tokens_.size() && has_logits_) return {};
    --kept;  // the last token's logits are wanted and not there
  }
  truncate(static_cast<int64_t>(kept));
  return append(tokens.subspan(kept));
}

Status Session::eval(int32_t token) {
  TRY_DO(check({&token, 1}));
  if (position() >= n_ctx_) {
    return Refusal(kContext, cat("the context of ", n_ctx_, " tokens is full"));
  }
  return append({&token, 1});
}

Status Session::append(std::span<const int32_t> tokens) {
  undefined_ = true;  // until the evaluation is complete
  has_logits_ = false;
  const int64_t pos0 = position();
  const auto n_tokens = static_cast<int64_t>(tokens.size());
  for (int64_t first = 0; first < n_tokens; first += n_chunk_) {
    const int64_t n_rows = std::min(n_chunk_, n_tokens - first);
    const bool last = first + n_rows == n_tokens;
    forward(n_rows).run(*kv_, pos0 + first,
                        tokens.subspan(static_cast<size_t>(first), static_cast<size_t>(n_rows)),
                        last ? 1 : 0, last ? logits_.data() : nullptr);
  }
  if (!all_finite(logits_)) {
    return Refusal(kLogitsNotFinite, cat("after position ", pos0 + n_tokens - 1));
  }
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  has_logits_ = true;
  undefined_ = false;
  return {};
}

Status Session::score(std::span<const int32_t> tokens, int64_t first_row, const OnRows& on_rows) {
  invalidate();
  if (tokens.empty()) return Refusal(kEmpty, "the text has no token");
  TRY_DO(check(tokens));
  const auto n_tokens = static_cast<int64_t>(tokens.size());
  if (n_tokens > n_ctx_) {
    return Refusal(kContext, cat("the text has ", n_tokens, " tokens, the context holds ", n_ctx_));
  }
  undefined_ = true;
  const int64_t n_vocab = model_->hyper().n_vocab;
  const int64_t n_block = std::min(n_chunk_, std::max<int64_t>(1, kScoreFloatsMax / n_vocab));
  std::vector<float> rows(static_cast<size_t>(n_block * n_vocab));
  for (int64_t first = 0; first < n_tokens; first += n_block) {
    const int64_t n_rows = std::min(n_block, n_tokens - first);
    const int64_t n_logits = std::clamp<int64_t>(first + n_rows - first_row, 0, n_rows);
    forward(n_rows).run(*kv_, first,
                        tokens.subspan(static_cast<size_t>(first), static_cast<size_t>(n_rows)),
                        n_logits, rows.data());
    const auto logits = std::span<const float>(rows).first(static_cast<size_t>(n_logits * n_vocab));
    if (!all_finite(logits)) {
      return Refusal(kLogitsNotFinite, cat("within positions ", first, "..", first + n_rows - 1));
    }
    if (n_logits > 0) on_rows(first + n_rows - n_logits, n_logits, logits);
  }
  undefined_ = false;
  tokens_.assign(tokens.begin(), tokens.end());
  return {};
}

void Session::invalidate() {
  tokens_.clear();
  has_logits_ = false;
  undefined_ = false;
}

void Session::truncate(int64_t n_tokens) {
  ENSURE(n_tokens >= 0 && n_tokens <= position() && !undefined_);
  if (n_tokens == position()) return;
  tokens_.resize(static_cast<size_t>(n_tokens));
  has_logits_ = false;
}

std::span<const float> Session::logits() const {
  ENSURE(has_logits_);
  return logits_;
}

int32_t Session::greedy() const {
  ENSURE(has_logits_);
  return static_cast<int32_t>(
      backend_->argmax(logits_.data(), static_cast<int64_t>(logits_.size())));
}

int64_t Session::scratch_bytes() const {
  return (decode_ ? decode_->scratch_bytes() : 0) + (prefill_ ? prefill_->scratch_bytes() : 0);
}

int64_t Session::drain() {
  decode_.reset();
  prefill_.reset();
  return scratch_bytes();
}

model::Forward& Session::forward(int64_t n_rows) {
  auto& forward = n_rows == 1 ? decode_ : prefill_;
  if (!forward || forward->rows_max() < n_rows) {
    forward.reset();  // the old scratch goes before the new one comes
    forward = std::make_unique<model::Forward>(*model_, *backend_, n_rows);
  }
  return *forward;
}

}  // namespace assay::engine::decode
