#include "engine/model/hyper_parameters.h"

#include <optional>
#include <string>

#include "base/text.h"
#include "engine/model/refusals.h"

namespace assay::engine::model {

namespace {

// No model that fits an address space has a larger count; products of two of them fit 64 bits.
constexpr uint64_t kCountMax = uint64_t{1} << 31;
constexpr uint64_t kLayersMax = 65536;

class Keys {
 public:
  Keys(const gguf::File& file, std::string_view prefix)
      : file_(file), meta_(file.metadata()), prefix_(prefix) {}

  [[nodiscard]] std::string full(std::string_view key) const { return cat(prefix_, ".", key); }
  [[nodiscard]] bool has(std::string_view key) const { return meta_.has(full(key)); }

  [[nodiscard]] Result<int64_t> count(std::string_view key, uint64_t most = kCountMax) const {
    TRY(value, meta_.get_uint(full(key), 1, most));
    return static_cast<int64_t>(value);
  }
  [[nodiscard]] Result<int64_t> count_or(std::string_view key, int64_t absent) const {
    return has(key) ? count(key) : Result<int64_t>(absent);
  }

  // A value that files state once or once for each layer; here all layers must agree.
  [[nodiscard]] Result<int64_t> uniform_count(std::string_view key, int64_t n_layers) const {
    TRY(values, meta_.get_uint_per_layer(full(key), static_cast<uint64_t>(n_layers), 1, kCountMax));
    for (size_t i = 1; i < values.size(); ++i) {
      if (values[i] != values[0]) {
        return unsupported(cat("key `", full(key), "` is ", values[0], " for layer 0 and ",
                               values[i], " for layer ", i, "; layers must not differ"));
      }
    }
    return static_cast<int64_t>(values[0]);
  }

  [[nodiscard]] Refusal refuse(const RefusalInfo& info, std::string detail) const {
    return at(file_.path().string(), Refusal(info, std::move(detail)));
  }
  [[nodiscard]] Refusal unsupported(std::string detail) const {
    return refuse(kFeatureUnsupported, std::move(detail));
  }
  [[nodiscard]] const gguf::Metadata& meta() const { return meta_; }

 private:
  const gguf::File& file_;
  const gguf::Metadata& meta_;
  std::string_view prefix_;
};

Result<const Architecture*> find_architecture(const gguf::File& file) {
  TRY(name, file.metadata().get_string("general.architecture"));
  std::string known;
  for (const Architecture& architecture : kArchitectures) {
    if (architecture.name == name) return &architecture;
    known += cat(known.empty() ? "" : ", ", architecture.name);
  }
  return at(file.path().string(),
            Refusal(kArchitectureUnknown,
                    cat("`general.architecture` is \"", name, "\"; this build computes ", known)));
}

// Keys that change what the network computes. Each is refused unless it has the value that means
// "as usual": the forward pass does not do it, and ignoring it would give wrong logits.
Status refuse_foreign_features(const Keys& keys, int64_t context_length) {
  struct Count {
    std::string_view key, feature;
    uint64_t neutral;
  };
  static constexpr Count kCounts[] = {
      {"expert_count", "a mixture of experts", 0},
      {"nextn_predict_layers", "draft (nextn) layers", 0},
  };
  for (const Count& count : kCounts) {
    TRY(value, keys.meta().uint_or(keys.full(count.key), count.neutral));
    if (value != count.neutral) {
      return keys.unsupported(
          cat("key `", keys.full(count.key), "` is ", value, ": ", count.feature));
    }
  }
  TRY(window, keys.meta().uint_or(keys.full("attention.sliding_window"), 0));
  if (window != 0 && window < static_cast<uint64_t>(context_length)) {
    return keys.unsupported(cat("key `", keys.full("attention.sliding_window"), "` is ", window,
                                ", less than the context of ", context_length,
                                ": attention over a sliding window"));
  }
  struct Real {
    std::string_view key, feature;
    double neutral;
  };
  static constexpr Real kReals[] = {
      {"attention.max_alibi_bias", "ALiBi positions", 0.0},
      {"attention.clamp_kqv", "clamped queries, keys and values", 0.0},
      {"attn_logit_softcapping", "soft-capped attention logits", 0.0},
      {"final_logit_softcapping", "soft-capped logits", 0.0},
      {"logit_scale", "scaled logits", 1.0},
      {"embedding_scale", "scaled embeddings", 1.0},
      {"residual_scale", "scaled residuals", 1.0},
  };
  for (const Real& real : kReals) {
    TRY(value, keys.meta().real_or(keys.full(real.key), real.neutral));
    if (value != real.neutral) {
      return keys.unsupported(
          cat("key `", keys.full(real.key), "` is ", value, ": ", real.feature));
    }
  }
  TRY(causal, keys.meta().bool_or(keys.full("attention.causal"), true));
  if (!causal) {
    return keys.unsupported(
        cat("key `", keys.full("attention.causal"), "` is false: attention in both directions"));
  }
  return {};
}

// rope.scaling.type none or linear; `rope.scale_linear` is the older name of the factor.
Result<double> read_rope_scale(const Keys& keys) {
  constexpr std::string_view kFactor = "rope.scaling.factor";
  constexpr std::string_view kOldFactor = "rope.scale_linear";
  TRY(type, keys.meta().string_or(keys.full("rope.scaling.type"), ""));
  if (!type.empty() && type != "none" && type != "linear") {
    return keys.refuse(kRopeScaling, cat("key `", keys.full("rope.scaling.type"), "` is \"", type,
                                         "\"; this build computes none and linear"));
  }
  if (type == "none") return 1.0;
  std::optional<double> factor;
  for (const std::string_view key : {kFactor, kOldFactor}) {
    if (!keys.has(key)) continue;
    TRY(value, keys.meta().get_real(keys.full(key)));
    if (factor && *factor != value) {
      return keys.refuse(kAliasesDiffer, cat("key `", keys.full(kFactor), "` is ", *factor,
                                             ", key `", keys.full(kOldFactor), "` is ", value));
    }
    factor = value;
  }
  if (!factor) {
    if (type == "linear") {
      return keys.meta().missing(cat(keys.full(kFactor), "` or `", keys.full(kOldFactor)));
    }
    return 1.0;
  }
  // Some converters write 0 for "no scaling".
  if (*factor == 0.0 && type.empty()) return 1.0;
  if (*factor <= 0.0) {
    return keys.meta().out_of_range(keys.full(kFactor), "is not above 0");
  }
  return 1.0 / *factor;
}

// The vocabulary as `vocab_size`, the tokenizer's list, or the embedding's rows say it; all that
// are there must agree (the embedding is checked when it is bound).
Result<int64_t> read_vocabulary(const Keys& keys, const gguf::File& file) {
  const gguf::Entry* tokens = file.metadata().find("tokenizer.ggml.tokens");
  std::optional<int64_t> listed;
  if (tokens != nullptr && tokens->type == gguf::ValueType::array) {
    listed = static_cast<int64_t>(tokens->item_count);
  }
  if (keys.has("vocab_size")) {
    TRY(stated, keys.count("vocab_size"));
    if (listed && *listed != stated) {
      return keys.refuse(kVocabularyMismatch,
                         cat("key `", keys.full("vocab_size"), "` is ", stated,
                             ", but `tokenizer.ggml.tokens` lists ", *listed, " tokens"));
    }
    return stated;
  }
  if (listed) {
    if (*listed < 1) return keys.meta().out_of_range("tokenizer.ggml.tokens", "lists no token");
    return *listed;
  }
  TRY(table, file.require("token_embd.weight"));
  return static_cast<int64_t>(table->dims[1]);
}

Status check_geometry(const Keys& keys, const HyperParameters& hyper) {
  if (hyper.n_heads % hyper.n_kv_heads != 0) {
    return keys.refuse(kGeometry,
                       cat("`", keys.full("attention.head_count"), "` = ", hyper.n_heads,
                           " is not a multiple of `", keys.full("attention.head_count_kv"),
                           "` = ", hyper.n_kv_heads));
  }
  if (hyper.n_rot % 2 != 0 || hyper.n_rot > hyper.head_dim) {
    return keys.refuse(kGeometry, cat("`", keys.full("rope.dimension_count"), "` = ", hyper.n_rot,
                                      " must be even and at most the head's ", hyper.head_dim));
  }
  if (!(hyper.norm_eps > 0.0f) || hyper.norm_eps > 1.0f) {
    return keys.meta().out_of_range(keys.full("attention.layer_norm_rms_epsilon"),
                                    "is not in (0, 1]");
  }
  if (!(hyper.rope_base > 0.0)) {
    return keys.meta().out_of_range(keys.full("rope.freq_base"), "is not above 0");
  }
  return {};
}

}  // namespace

Result<HyperParameters> read_hyper_parameters(const gguf::File& file) {
  TRY(architecture, find_architecture(file));
  const Keys keys(file, architecture->name);
  HyperParameters hyper;
  hyper.architecture = architecture;

  TRY(n_layers, keys.count("block_count", kLayersMax));
  hyper.n_layers = n_layers;
  TRY(context_length, keys.count("context_length"));
  hyper.context_length = context_length;
  TRY_DO(refuse_foreign_features(keys, context_length));

  TRY(n_embd, keys.count("embedding_length"));
  hyper.n_embd = n_embd;
  TRY(n_ff, keys.uniform_count("feed_forward_length", n_layers));
  hyper.n_ff = n_ff;
  TRY(n_heads, keys.uniform_count("attention.head_count", n_layers));
  hyper.n_heads = n_heads;
  hyper.n_kv_heads = n_heads;
  if (keys.has("attention.head_count_kv")) {
    TRY(n_kv_heads, keys.uniform_count("attention.head_count_kv", n_layers));
    hyper.n_kv_heads = n_kv_heads;
  }

  if (!keys.has("attention.key_length") && n_embd % n_heads != 0) {
    return keys.refuse(kGeometry, cat("`", keys.full("embedding_length"), "` = ", n_embd,
                                      " is not a multiple of `", keys.full("attention.head_count"),
                                      "` = ", n_heads, ", and `", keys.full("attention.key_length"),
                                      "` does not say the head's size"));
  }
  TRY(key_length, keys.count_or("attention.key_length", n_embd / n_heads));
  TRY(value_length, keys.count_or("attention.value_length", n_embd / n_heads));
  if (key_length != value_length) {
    return keys.refuse(kGeometry, cat("`", keys.full("attention.key_length"), "` = ", key_length,
                                      " and `", keys.full("attention.value_length"),
                                      "` = ", value_length, " must be equal"));
  }
  hyper.head_dim = key_length;

  TRY(norm_eps, keys.meta().get_real(keys.full("attention.layer_norm_rms_epsilon")));
  hyper.norm_eps = static_cast<float>(norm_eps);
  TRY(n_rot, keys.count_or("rope.dimension_count", key_length));
  hyper.n_rot = n_rot;
  TRY(rope_base, keys.meta().real_or(keys.full("rope.freq_base"), 10000.0));
  hyper.rope_base = rope_base;
  TRY(rope_scale, read_rope_scale(keys));
  hyper.rope_scale = rope_scale;
  TRY(n_vocab, read_vocabulary(keys, file));
  hyper.n_vocab = n_vocab;

  TRY_DO(check_geometry(keys, hyper));
  return hyper;
}

}  // namespace assay::engine::model
