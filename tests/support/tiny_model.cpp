#include "support/tiny_model.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "base/ensure.h"
#include "base/text.h"
#include "engine/gguf/writer.h"
#include "engine/quant/half.h"

namespace assay::test {

namespace {

using engine::gguf::Writer;

// Uniform in [-1, 1) from the generator's raw bits: the same on every C++ library.
class Noise {
 public:
  explicit Noise(uint64_t seed) : engine_(seed) {}
  float next() { return static_cast<float>(engine_() >> 40) * 0x1p-23f - 1.0f; }
  std::vector<float> around(float centre, float spread, uint64_t n) {
    std::vector<float> out(n);
    for (float& value : out) value = centre + spread * next();
    return out;
  }

 private:
  std::mt19937_64 engine_;
};

void put_half(std::byte*& at, float value) {
  const uint16_t half = engine::quant::float_to_half(value);
  std::memcpy(at, &half, sizeof half);
  at += sizeof half;
}

// One block of 32 as Q8_0: f16 d, 32 codes.
void encode_q8_0(const float* x, std::byte* at) {
  float largest = 0.0f;
  for (int i = 0; i < 32; ++i) largest = std::max(largest, std::fabs(x[i]));
  const float d = engine::quant::half_to_float(engine::quant::float_to_half(largest / 127.0f));
  put_half(at, d);
  for (int i = 0; i < 32; ++i) {
    const float q = d > 0.0f ? std::nearbyint(x[i] / d) : 0.0f;
    at[i] = static_cast<std::byte>(static_cast<int8_t>(std::clamp(q, -127.0f, 127.0f)));
  }
}

// One block of 32 as Q4_1: f16 d, f16 m, 16 bytes of two codes (i and i + 16).
void encode_q4_1(const float* x, std::byte* at) {
  const auto [least, most] = std::minmax_element(x, x + 32);
  const float d =
      engine::quant::half_to_float(engine::quant::float_to_half((*most - *least) / 15.0f));
  const float m = engine::quant::half_to_float(engine::quant::float_to_half(*least));
  put_half(at, d);
  put_half(at, m);
  const auto code = [&](float value) {
    const float q = d > 0.0f ? std::nearbyint((value - m) / d) : 0.0f;
    return static_cast<unsigned>(std::clamp(q, 0.0f, 15.0f));
  };
  for (int i = 0; i < 16; ++i) at[i] = static_cast<std::byte>(code(x[i]) | code(x[i + 16]) << 4);
}

// Encodes the rows that the writer asks for.
engine::gguf::RowSource source_of(const TinyTensor& tensor) {
  return [&tensor](uint64_t first_row, std::span<std::byte> rows) {
    const float* x = tensor.values.data() + first_row * tensor.dims[0];
    if (tensor.type_id == 0) {
      std::memcpy(rows.data(), x, rows.size());
      return;
    }
    const size_t block_bytes = engine::gguf::find_type(tensor.type_id)->block_bytes;
    for (size_t at = 0; at < rows.size(); at += block_bytes, x += 32) {
      tensor.type_id == 8 ? encode_q8_0(x, rows.data() + at) : encode_q4_1(x, rows.data() + at);
    }
  };
}

}  // namespace

TinyModel::TinyModel(std::string_view arch, const TinySizes& s) {
  const auto key = [&](std::string_view name) { return cat(arch, ".", name); };
  keys["general.architecture"] = std::string(arch);
  keys[key("block_count")] = s.n_layers;
  keys[key("context_length")] = s.context_length;
  keys[key("embedding_length")] = s.n_embd;
  keys[key("feed_forward_length")] = s.n_ff;
  keys[key("attention.head_count")] = s.n_heads;
  keys[key("attention.head_count_kv")] = s.n_kv_heads;
  keys[key("attention.key_length")] = s.head_dim;
  keys[key("attention.value_length")] = s.head_dim;
  keys[key("attention.layer_norm_rms_epsilon")] = 1e-5f;
  keys[key("rope.freq_base")] = 10000.0f;
  keys[key("vocab_size")] = s.n_vocab;

  Noise noise(s.seed);
  const auto matrix = [&](const std::string& name, uint64_t n_in, uint64_t n_out) {
    // Uniform in +-a has variance a^2 / 3: a dot of n unit terms gets variance 1 at a^2 = 3 / n.
    const float spread = std::sqrt(3.0f / static_cast<float>(n_in));
    tensors.push_back({name, {n_in, n_out}, noise.around(0.0f, spread, n_in * n_out)});
  };
  const auto vector = [&](const std::string& name, float centre, float spread, uint64_t n) {
    tensors.push_back({name, {n}, noise.around(centre, spread, n)});
  };
  const uint64_t n_q = uint64_t{s.n_heads} * s.head_dim;
  const uint64_t n_kv = uint64_t{s.n_kv_heads} * s.head_dim;

  tensors.push_back({"token_embd.weight",
                     {s.n_embd, s.n_vocab},
                     noise.around(0.0f, 1.0f, uint64_t{s.n_embd} * s.n_vocab)});
  if (s.rope_factors) vector("rope_freqs.weight", 2.0f, 1.0f, s.head_dim / 2);
  for (uint32_t il = 0; il < s.n_layers; ++il) {
    const std::string block = cat("blk.", il, ".");
    vector(block + "attn_norm.weight", 1.0f, 0.3f, s.n_embd);
    if (s.fused_qkv) {
      matrix(block + "attn_qkv.weight", s.n_embd, n_q + 2 * n_kv);
      if (s.qkv_bias) vector(block + "attn_qkv.bias", 0.0f, 0.5f, n_q + 2 * n_kv);
    } else {
      matrix(block + "attn_q.weight", s.n_embd, n_q);
      matrix(block + "attn_k.weight", s.n_embd, n_kv);
      matrix(block + "attn_v.weight", s.n_embd, n_kv);
      if (s.qkv_bias || arch == "qwen2") {
        vector(block + "attn_q.bias", 0.0f, 0.5f, n_q);
        vector(block + "attn_k.bias", 0.0f, 0.5f, n_kv);
        vector(block + "attn_v.bias", 0.0f, 0.5f, n_kv);
      }
    }
    if (arch == "qwen3") {
      vector(block + "attn_q_norm.weight", 1.0f, 0.3f, s.head_dim);
      vector(block + "attn_k_norm.weight", 1.0f, 0.3f, s.head_dim);
    }
    matrix(block + "attn_output.weight", n_q, s.n_embd);
    vector(block + "ffn_norm.weight", 1.0f, 0.3f, s.n_embd);
    matrix(block + "ffn_gate.weight", s.n_embd, s.n_ff);
    matrix(block + "ffn_up.weight", s.n_embd, s.n_ff);
    matrix(block + "ffn_down.weight", s.n_ff, s.n_embd);
    if (s.other_bias) {
      vector(block + "attn_output.bias", 0.0f, 0.5f, s.n_embd);
      vector(block + "ffn_gate.bias", 0.0f, 0.5f, s.n_ff);
      vector(block + "ffn_up.bias", 0.0f, 0.5f, s.n_ff);
      vector(block + "ffn_down.bias", 0.0f, 0.5f, s.n_embd);
    }
  }
  vector("output_norm.weight", 1.0f, 0.3f, s.n_embd);
  if (!s.tied) matrix("output.weight", s.n_embd, s.n_vocab);
}

TinyTensor& TinyModel::tensor(std::string_view name) {
  const auto found = std::find_if(tensors.begin(), tensors.end(),
                                  [&](const TinyTensor& t) { return t.name == name; });
  ENSURE(found != tensors.end());
  return *found;
}

const std::vector<float>& TinyModel::values(std::string_view name) const {
  return const_cast<TinyModel*>(this)->tensor(name).values;
}

bool TinyModel::has(std::string_view name) const {
  return std::any_of(tensors.begin(), tensors.end(),
                     [&](const TinyTensor& t) { return t.name == name; });
}

void TinyModel::drop(std::string_view name) {
  ENSURE(std::erase_if(tensors, [&](const TinyTensor& t) { return t.name == name; }) == 1);
}

void TinyModel::quantise(uint32_t type_id) {
  ENSURE(type_id == 0 || type_id == 3 || type_id == 8);
  for (TinyTensor& tensor : tensors) {
    if (tensor.dims.size() == 2 && tensor.dims[0] % 32 == 0) tensor.type_id = type_id;
  }
}

void TinyModel::add_byte_tokenizer() {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::vector<std::string> tokens = {"<unk>", "<s>", "</s>"};
  std::vector<int32_t> types = {2, 3, 3};
  for (size_t byte = 0; byte < 256; ++byte) {
    tokens.push_back(cat("<0x", kDigits[byte / 16], kDigits[byte % 16], ">"));
    types.push_back(6);
  }
  keys["tokenizer.ggml.model"] = std::string("llama");
  std::vector<float> scores;
  for (size_t id = 0; id < tokens.size(); ++id) scores.push_back(-static_cast<float>(id));
  keys["tokenizer.ggml.scores"] = std::move(scores);
  keys["tokenizer.ggml.tokens"] = std::move(tokens);
  keys["tokenizer.ggml.token_type"] = std::move(types);
  keys["tokenizer.ggml.unknown_token_id"] = 0u;
  keys["tokenizer.ggml.bos_token_id"] = 1u;
  keys["tokenizer.ggml.eos_token_id"] = 2u;
}

std::string TinyModel::bytes() const {
  Writer writer;
  for (const auto& [key, value] : keys) {
    if (const auto* number = std::get_if<uint32_t>(&value)) writer.add_u32(key, *number);
    if (const auto* real = std::get_if<float>(&value)) writer.add_f32(key, *real);
    if (const auto* yes = std::get_if<bool>(&value)) writer.add_bool(key, *yes);
    if (const auto* text = std::get_if<std::string>(&value)) writer.add_string(key, *text);
    if (const auto* ints = std::get_if<std::vector<int32_t>>(&value)) writer.add_i32s(key, *ints);
    if (const auto* reals = std::get_if<std::vector<float>>(&value)) writer.add_f32s(key, *reals);
    if (const auto* texts = std::get_if<std::vector<std::string>>(&value)) {
      writer.add_strings(key, *texts);
    }
  }
  for (const TinyTensor& tensor : tensors) {
    writer.add_tensor(tensor.name, tensor.type_id, tensor.dims, source_of(tensor));
  }
  return writer.bytes();
}

engine::gguf::File TinyModel::file() const {
  const std::string all = bytes();
  auto file = engine::gguf::open_bytes("tiny.gguf", std::as_bytes(std::span(all)));
  ENSURE(static_cast<bool>(file));
  return std::move(*file);
}

}  // namespace assay::test
