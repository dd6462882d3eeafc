#include "engine/app/data_verbs/synthetic_model.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "base/refusals.h"
#include "base/text.h"
#include "engine/app/data_verbs/refusals.h"
#include "engine/app/data_verbs/synthetic_blocks.h"
#include "engine/gguf/split.h"
#include "engine/gguf/writer.h"
#include "engine/quant/types.h"

namespace assay::engine::app {
namespace {

constexpr std::string_view kMix = "mix";

// One tensor of the plan.
struct Plan {
  std::string name;
  std::optional<quant::Type> type;  // nothing: F32 near one (a norm)
  std::vector<uint64_t> dims;
  float amplitude = 0;
  uint64_t zero_from = UINT64_MAX;
};

Refusal geometry(std::string detail) {
  return {kSynthGeometry, std::move(detail)};
}

Result<quant::Type> parse_type(const std::string& name) {
  const gguf::TypeInfo* const info = gguf::find_type(std::string_view(name));
  const auto type = info != nullptr ? quant::type_of(info->id) : std::nullopt;
  if (type) return *type;
  return geometry(cat("type ", name, " is not known; known are ", gguf::computable_types()));
}

Status check_geometry(const SyntheticModel& m) {
  for (const auto& [name, value] : {std::pair{"--layers", m.n_layers},
                                    {"--embd", m.n_embd},
                                    {"--heads", m.n_heads},
                                    {"--kv-heads", m.n_kv_heads},
                                    {"--ff", m.n_ff},
                                    {"--context", m.context_length},
                                    {"--shards", m.n_shards},
                                    {"--head-dim", m.head_dim}}) {
    if (value == 0 || value > (1u << 24)) {
      return geometry(cat(name, " is ", value, ", expected 1 to ", 1u << 24));
    }
  }
  if (m.n_heads % m.n_kv_heads != 0) {
    return geometry(cat("--heads ", m.n_heads, " is not a multiple of --kv-heads ", m.n_kv_heads));
  }
  if (m.head_dim % 2 != 0) return geometry(cat("--head-dim ", m.head_dim, " is odd"));
  if (m.n_shards > 65535) return geometry(cat("--shards ", m.n_shards, ", expected at most 65535"));
  if (m.architecture != "llama" && m.vocabulary == VocabularyKind::spm) {
    return geometry(cat("--tokenizer spm belongs to llama, not to ", m.architecture));
  }
  return {};
}

// Uniform weights of this amplitude have the standard deviation min(0.05, 0.8/sqrt(n_in)): a row
// times a vector of unit RMS is then below 1 at any width.
float amplitude_of(uint64_t n_in) {
  constexpr float kSqrt3 = 1.7320508f;
  return kSqrt3 * std::min(0.05f, 0.8f / std::sqrt(static_cast<float>(n_in)));
}

// The tensors in the order they are written.
class Planner {
 public:
  Planner(const SyntheticModel& model, std::optional<quant::Type> type, quant::Type embedding_type)
      : m_(model), type_(type), embedding_type_(embedding_type) {}

  Result<std::vector<Plan>> plan() {
    // Rows of tokens that a model should not emit are zero: their logit is 0, never the largest.
    const uint64_t zero_from = first_special(m_.vocabulary, m_.n_vocab);
    const uint64_t n_q = uint64_t{m_.n_heads} * m_.head_dim;
    const uint64_t n_kv = uint64_t{m_.n_kv_heads} * m_.head_dim;
    const uint64_t n_embd = m_.n_embd;
    matrix("token_embd.weight", embedding_type_, n_embd, m_.n_vocab,
           m_.tied ? zero_from : UINT64_MAX);
    for (uint32_t layer = 0; layer < m_.n_layers; ++layer) {
      const std::string block = cat("blk.", layer, ".");
      norm(block + "attn_norm.weight", n_embd);
      matrix(block + "attn_q.weight", next_type(), n_embd, n_q);
      matrix(block + "attn_k.weight", next_type(), n_embd, n_kv);
      matrix(block + "attn_v.weight", next_type(), n_embd, n_kv);
      if (m_.architecture == "qwen2") {
        bias(block + "attn_q.bias", n_q);
        bias(block + "attn_k.bias", n_kv);
        bias(block + "attn_v.bias", n_kv);
      }
      if (m_.architecture == "qwen3") {
        norm(block + "attn_q_norm.weight", m_.head_dim);
        norm(block + "attn_k_norm.weight", m_.head_dim);
      }
      matrix(block + "attn_output.weight", next_type(), n_q, n_embd);
      norm(block + "ffn_norm.weight", n_embd);
      matrix(block + "ffn_gate.weight", next_type(), n_embd, m_.n_ff);
      matrix(block + "ffn_up.weight", next_type(), n_embd, m_.n_ff);
      matrix(block + "ffn_down.weight", next_type(), m_.n_ff, n_embd);
    }
    norm("output_norm.weight", n_embd);
    if (!m_.tied) matrix("output.weight", embedding_type_, n_embd, m_.n_vocab, zero_from);
    for (const Plan& tensor : plans_) {
      const uint32_t block = tensor.type ? quant::info(*tensor.type).block_elements : 1;
      if (tensor.dims[0] % block != 0) {
        return geometry(cat(tensor.name, " has rows of ", tensor.dims[0], " weights, but ",
                            quant::info(*tensor.type).name, " needs a multiple of ", block));
      }
    }
    return std::move(plans_);
  }

 private:
  quant::Type next_type() {
    if (type_) return *type_;
    return quant::kTypes[n_mixed_++ % std::size(quant::kTypes)];
  }
  void matrix(std::string name, quant::Type type, uint64_t n_in, uint64_t n_out,
              uint64_t zero_from = UINT64_MAX) {
    plans_.push_back({std::move(name), type, {n_in, n_out}, amplitude_of(n_in), zero_from});
  }
  void norm(std::string name, uint64_t n) {
    plans_.push_back({std::move(name), std::nullopt, {n}, 0, UINT64_MAX});
  }
  void bias(std::string name, uint64_t n) {
    plans_.push_back({std::move(name), quant::Type::f32, {n}, 0.05f, UINT64_MAX});
  }

  const SyntheticModel& m_;
  std::optional<quant::Type> type_;  // nothing: mix
  quant::Type embedding_type_;
  size_t n_mixed_ = 0;
  std::vector<Plan> plans_;
};

void add_tensor(const Plan& plan, uint64_t seed, gguf::Writer& writer) {
  const Positional64 random(seed, plan.name);
  if (!plan.type) {
    writer.add_tensor(plan.name, static_cast<uint32_t>(quant::Type::f32), plan.dims,
                      [random](uint64_t, std::span<std::byte> rows) {
                        fill_near_one(random, rows);  // one row
                      });
    return;
  }
  writer.add_tensor(plan.name, static_cast<uint32_t>(*plan.type), plan.dims,
                    [random, plan](uint64_t first_row, std::span<std::byte> rows) {
                      fill_rows(*plan.type, plan.dims[0], plan.amplitude, plan.zero_from, random,
                                first_row, rows);
                    });
}

Status add_metadata(const SyntheticModel& m, gguf::Writer& writer) {
  const std::string a = m.architecture + ".";
  writer.add_string("general.architecture", m.architecture);
  writer.add_string("general.name", cat("synthetic ", m.architecture, ", seed ", m.seed));
  writer.add_u32(a + "vocab_size", m.n_vocab);
  writer.add_u32(a + "context_length", m.context_length);
  writer.add_u32(a + "embedding_length", m.n_embd);
  writer.add_u32(a + "block_count", m.n_layers);
  writer.add_u32(a + "feed_forward_length", m.n_ff);
  writer.add_u32(a + "attention.head_count", m.n_heads);
  writer.add_u32(a + "attention.head_count_kv", m.n_kv_heads);
  writer.add_u32(a + "attention.key_length", m.head_dim);
  writer.add_u32(a + "attention.value_length", m.head_dim);
  writer.add_f32(a + "attention.layer_norm_rms_epsilon", 1e-5f);
  writer.add_u32(a + "rope.dimension_count", m.head_dim);
  writer.add_f32(a + "rope.freq_base", 10000.0f);
  return add_vocabulary(m.vocabulary, m.n_vocab, m.architecture == "llama" ? "smollm" : "qwen2",
                        writer);
}

// Only the files about to be written may already be there.
Status check_folder(const std::filesystem::path& folder,
                    const std::vector<std::filesystem::path>& paths) {
  std::error_code error;
  if (!std::filesystem::exists(folder, error)) return {};
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    if (at->path().extension() == ".gguf" &&
        std::find(paths.begin(), paths.end(), at->path()) == paths.end()) {
      return Refusal(kSynthFolderOccupied,
                     cat(folder.string(), ": holds ", at->path().filename().string()));
    }
  }
  if (error) return Refusal(kFileUnreadable, cat(folder.string(), ": ", error.message()));
  return {};
}

}  // namespace

SyntheticModel tiny_model() {
  SyntheticModel model;
  model.type = "Q4_0";
  model.embedding_type = "Q8_0";
  return model;
}

Result<SyntheticFiles> write_synthetic(const SyntheticModel& model,
                                       const std::filesystem::path& folder) {
  TRY_DO(check_geometry(model));
  std::optional<quant::Type> type;
  if (model.type != kMix) {
    TRY(named, parse_type(model.type));
    type = named;
  }
  quant::Type embedding_type = type.value_or(quant::Type::q8_0);
  if (!model.embedding_type.empty()) {
    TRY(named, parse_type(model.embedding_type));
    embedding_type = named;
  }
  TRY(plans, Planner(model, type, embedding_type).plan());

  SyntheticFiles files;
  files.n_tensors = plans.size();
  for (uint32_t k = 1; k <= model.n_shards; ++k) {
    files.paths.push_back(folder / (model.n_shards == 1
                                        ? "model.gguf"
                                        : gguf::split_file_name("model", k, model.n_shards)));
  }
  TRY_DO(check_folder(folder, files.paths));

  // Shard 0 carries the metadata; the tensors lie in the others, as even as their count allows.
  const uint64_t n_data_shards = std::max(1u, model.n_shards - 1);
  const uint64_t per_shard = (plans.size() + n_data_shards - 1) / n_data_shards;
  size_t next = 0;
  for (uint32_t shard = 0; shard < model.n_shards; ++shard) {
    gguf::Writer writer;
    if (shard == 0) TRY_DO(add_metadata(model, writer));
    if (model.n_shards > 1) {
      writer.add_u16("split.no", static_cast<uint16_t>(shard));
      writer.add_u16("split.count", static_cast<uint16_t>(model.n_shards));
      writer.add_i32("split.tensors.count", static_cast<int32_t>(plans.size()));
    }
    const bool has_data = model.n_shards == 1 || shard > 0;
    for (uint64_t n = 0; has_data && n < per_shard && next < plans.size(); ++n, ++next) {
      add_tensor(plans[next], model.seed, writer);
      uint64_t weights = 1;
      for (const uint64_t dim : plans[next].dims) weights *= dim;
      files.n_weights += weights;
    }
    files.data_bytes += writer.data_bytes();
    TRY_DO(writer.write(files.paths[shard]));
  }
  return files;
}

}  // namespace assay::engine::app
