// The forward pass against a second one, written here from the formulas in double precision with
// plain loops, that shares no code with the engine.
#include "engine/model/forward.h"

#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <cstring>

#include "base/text.h"
#include "engine/backend/backend.h"
#include "support/tiny_model.h"

namespace assay::engine::model {
namespace {

using test::TinyModel;
using test::TinySizes;
using Vector = std::vector<double>;

struct Reference {
  const TinyModel& model;
  TinySizes sizes;
  bool half_split;
  double rope_scale = 1.0;

  Vector row(std::string_view name, int64_t index, int64_t n) const {
    const auto& values = model.values(name);
    return {values.begin() + index * n, values.begin() + (index + 1) * n};
  }
  // y = W x + bias
  Vector times(const std::string& stem, const Vector& x, size_t n_out) const {
    const auto& w = model.values(stem + ".weight");
    Vector y(n_out, 0.0);
    for (size_t o = 0; o < n_out; ++o) {
      for (size_t i = 0; i < x.size(); ++i) y[o] += w[o * x.size() + i] * x[i];
      if (model.has(stem + ".bias")) y[o] += model.values(stem + ".bias")[o];
    }
    return y;
  }
  Vector rms(const Vector& x, std::string_view weight) const {
    double squares = 0.0;
    for (const double value : x) squares += value * value;
    const double scale = 1.0 / std::sqrt(squares / static_cast<double>(x.size()) + 1e-5);
    Vector y(x.size());
    for (size_t i = 0; i < x.size(); ++i) y[i] = x[i] * scale * model.values(weight)[i];
    return y;
  }
  void rms_per_head(Vector& x, std::string_view weight) const {
    for (size_t head = 0; head < x.size(); head += sizes.head_dim) {
      const auto first = x.begin() + static_cast<std::ptrdiff_t>(head);
      const Vector y = rms(Vector(first, first + sizes.head_dim), weight);
      std::copy(y.begin(), y.end(), first);
    }
  }
  // The 2-D rotation of each pair by pos * base^(-2i/n) / factor.
  void rope(Vector& x, int64_t pos) const {
    const size_t n = sizes.head_dim;
    for (size_t head = 0; head < x.size(); head += n) {
      for (size_t i = 0; i < n / 2; ++i) {
        double theta = static_cast<double>(pos) * rope_scale *
                       std::pow(10000.0, -2.0 * static_cast<double>(i) / static_cast<double>(n));
        if (sizes.rope_factors) theta /= model.values("rope_freqs.weight")[i];
        double& a = x[head + (half_split ? i : 2 * i)];
        double& b = x[head + (half_split ? i + n / 2 : 2 * i + 1)];
        const double turned_a = a * std::cos(theta) - b * std::sin(theta);
        const double turned_b = a * std::sin(theta) + b * std::cos(theta);
        a = turned_a;
        b = turned_b;
      }
    }
  }

  struct Row {
    Vector logits;
    double magnitude = 0.0;  // the largest sum of |w * h| over the output's rows
  };
  std::vector<Row> run(const std::vector<int32_t>& tokens) const {
    const size_t n_q = size_t{sizes.n_heads} * sizes.head_dim;
    const size_t n_kv = size_t{sizes.n_kv_heads} * sizes.head_dim;
    const size_t dim = sizes.head_dim;
    std::vector<Vector> h;
    for (const int32_t token : tokens) h.push_back(row("token_embd.weight", token, sizes.n_embd));
    for (uint32_t il = 0; il < sizes.n_layers; ++il) {
      const std::string block = cat("blk.", il, ".");
      std::vector<Vector> keys, values;
      for (size_t t = 0; t < tokens.size(); ++t) {
        const Vector x = rms(h[t], block + "attn_norm.weight");
        Vector q, k, v;
        if (sizes.fused_qkv) {
          const Vector all = times(block + "attn_qkv", x, n_q + 2 * n_kv);
          q.assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(n_q));
          k.assign(all.begin() + static_cast<std::ptrdiff_t>(n_q),
                   all.begin() + static_cast<std::ptrdiff_t>(n_q + n_kv));
          v.assign(all.begin() + static_cast<std::ptrdiff_t>(n_q + n_kv), all.end());
        } else {
          q = times(block + "attn_q", x, n_q);
          k = times(block + "attn_k", x, n_kv);
          v = times(block + "attn_v", x, n_kv);
        }
        if (model.has(block + "attn_q_norm.weight")) {
          rms_per_head(q, block + "attn_q_norm.weight");
          rms_per_head(k, block + "attn_k_norm.weight");
        }
        rope(q, static_cast<int64_t>(t));
        rope(k, static_cast<int64_t>(t));
        keys.push_back(k);
        values.push_back(v);
        Vector o(n_q, 0.0);
        for (size_t head = 0; head < sizes.n_heads; ++head) {
          const size_t kv = head / (sizes.n_heads / sizes.n_kv_heads) * dim;
          Vector p;
          for (size_t s = 0; s <= t; ++s) {
            double dot = 0.0;
            for (size_t i = 0; i < dim; ++i) dot += q[head * dim + i] * keys[s][kv + i];
            p.push_back(std::exp(dot / std::sqrt(static_cast<double>(dim))));
          }
          double sum = 0.0;
          for (const double weight : p) sum += weight;
          for (size_t s = 0; s <= t; ++s) {
            for (size_t i = 0; i < dim; ++i) o[head * dim + i] += p[s] / sum * values[s][kv + i];
          }
        }
        const Vector out = times(block + "attn_output", o, sizes.n_embd);
        for (size_t i = 0; i < out.size(); ++i) h[t][i] += out[i];
        const Vector y = rms(h[t], block + "ffn_norm.weight");
        Vector gate = times(block + "ffn_gate", y, sizes.n_ff);
        const Vector up = times(block + "ffn_up", y, sizes.n_ff);
        for (size_t i = 0; i < gate.size(); ++i) gate[i] *= up[i] / (1.0 + std::exp(-gate[i]));
        const Vector down = times(block + "ffn_down", gate, sizes.n_embd);
        for (size_t i = 0; i < down.size(); ++i) h[t][i] += down[i];
      }
    }
    std::vector<Row> rows;
    const std::string output = sizes.tied ? "token_embd" : "output";
    for (const Vector& stream : h) {
      const Vector x = rms(stream, "output_norm.weight");
      Row result{times(output, x, sizes.n_vocab)};
      const auto& w = model.values(output + ".weight");
      for (size_t o = 0; o < sizes.n_vocab; ++o) {
        double sum = 0.0;
        for (size_t i = 0; i < x.size(); ++i) sum += std::fabs(w[o * x.size() + i] * x[i]);
        result.magnitude = std::max(result.magnitude, sum);
      }
      rows.push_back(result);
    }
    return rows;
  }
};

std::vector<int32_t> some_tokens(size_t n, uint32_t n_vocab) {
  std::vector<int32_t> tokens;
  for (size_t i = 0; i < n; ++i) tokens.push_back(static_cast<int32_t>((i * 37 + 11) % n_vocab));
  return tokens;
}

std::vector<float> engine_logits(const TinyModel& tiny, const std::vector<int32_t>& tokens) {
  auto backend = backend::create_cpu({});
  EXPECT_TRUE(backend);
  auto model = Model::load(tiny.file());
  EXPECT_TRUE(model) << model.refusal().text();
  const auto n = static_cast<int64_t>(tokens.size());
  auto kv = (*backend)->create_kv(Forward::kv_shape(model->hyper(), n, backend::KvType::f32));
  EXPECT_TRUE(kv);
  std::vector<float> logits(static_cast<size_t>(n * model->hyper().n_vocab));
  Forward(*model, **backend, n).run(**kv, 0, tokens, n, logits.data());
  return logits;
}

// The largest difference, in units of what rounding may do. A value passes through at most
// n_layers * (norm, projection, attention, projection, norm, two projections) sums; a sum of n
// terms is off by at most n half-ulps of its terms' magnitude.
double worst_error(const Reference& reference, const std::vector<int32_t>& tokens,
                   const std::vector<float>& logits) {
  const TinySizes& s = reference.sizes;
  const double roundings = s.n_layers * (5.0 * s.n_embd + 2.0 * s.n_ff +
                                         static_cast<double>(tokens.size()) + s.head_dim);
  const auto rows = reference.run(tokens);
  double worst = 0.0;
  for (size_t t = 0; t < rows.size(); ++t) {
    const double tolerance = roundings * FLT_EPSILON / 2 * rows[t].magnitude;
    for (size_t o = 0; o < rows[t].logits.size(); ++o) {
      const double got = logits[t * rows[t].logits.size() + o];
      if (!std::isfinite(got)) return INFINITY;
      worst = std::max(worst, std::fabs(got - rows[t].logits[o]) / tolerance);
    }
  }
  return worst;
}

struct Case {
  std::string name;
  std::string arch;
  TinySizes sizes;
};
std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.name;
}

class ForwardReference : public testing::TestWithParam<Case> {};

TEST_P(ForwardReference, AgreesWithPlainLoops) {
  const Case& c = GetParam();
  const TinyModel tiny(c.arch, c.sizes);
  const auto tokens = some_tokens(40, c.sizes.n_vocab);
  const auto logits = engine_logits(tiny, tokens);
  const bool half_split = c.arch != "llama";
  EXPECT_LT(worst_error({tiny, c.sizes, half_split}, tokens, logits), 1.0);
  // The other pairing must be far outside: the tolerance would notice a wrong network.
  EXPECT_GT(worst_error({tiny, c.sizes, !half_split}, tokens, logits), 100.0);
}

INSTANTIATE_TEST_SUITE_P(
    Architectures, ForwardReference,
    testing::Values(Case{"llama", "llama", {}},
                    Case{"llama_tied_factors", "llama", {.tied = true, .rope_factors = true}},
                    Case{"llama_biases", "llama", {.qkv_bias = true, .other_bias = true}},
                    Case{"llama_fused", "llama", {.qkv_bias = true, .fused_qkv = true}},
                    Case{"llama_no_groups", "llama", {.n_heads = 4, .n_kv_heads = 4}},
                    Case{"qwen2_tied", "qwen2", {.tied = true}},
                    Case{"qwen3_wide_heads", "qwen3", {.head_dim = 32}},
                    Case{"odd_sizes",
                         "llama",
                         {.n_layers = 1,
                          .n_embd = 72,
                          .n_heads = 3,
                          .n_kv_heads = 1,
                          .head_dim = 24,
                          .n_ff = 44,
                          .n_vocab = 67}}),
    [](const auto& c) { return c.param.name; });

TEST(Forward, LinearRopeScaling) {
  const TinySizes sizes;
  TinyModel tiny("llama", sizes);
  tiny.keys["llama.rope.scaling.type"] = std::string("linear");
  tiny.keys["llama.rope.scaling.factor"] = 4.0f;
  const auto tokens = some_tokens(24, sizes.n_vocab);
  const auto logits = engine_logits(tiny, tokens);
  EXPECT_LT(worst_error({tiny, sizes, false, 0.25}, tokens, logits), 1.0);
  EXPECT_GT(worst_error({tiny, sizes, false, 1.0}, tokens, logits), 100.0);
}

// Rows of one call, and the same rows spread over calls of every width, give the same bits; so do
// calls that ask for fewer rows' logits.
TEST(Forward, RowsDoNotDependOnTheCall) {
  for (const uint32_t type : {0u, 3u, 8u}) {
    const TinySizes sizes;
    TinyModel tiny("qwen3", sizes);
    tiny.quantise(type);
    const auto tokens = some_tokens(23, sizes.n_vocab);
    const auto whole = engine_logits(tiny, tokens);
    auto backend = backend::create_cpu({});
    ASSERT_TRUE(backend);
    auto model = Model::load(tiny.file());
    ASSERT_TRUE(model);
    for (const size_t width : {1u, 2u, 3u, 5u, 7u, 16u}) {
      auto kv = (*backend)->create_kv(Forward::kv_shape(model->hyper(), 23, backend::KvType::f32));
      ASSERT_TRUE(kv);
      Forward forward(*model, **backend, static_cast<int64_t>(width));
      for (size_t first = 0; first < tokens.size(); first += width) {
        const size_t n = std::min(width, tokens.size() - first);
        const size_t n_logits = (n + 1) / 2;
        std::vector<float> logits(n_logits * sizes.n_vocab);
        forward.run(**kv, static_cast<int64_t>(first), std::span(tokens).subspan(first, n),
                    static_cast<int64_t>(n_logits), logits.data());
        EXPECT_EQ(std::memcmp(logits.data(), whole.data() + (first + n - n_logits) * sizes.n_vocab,
                              logits.size() * sizeof(float)),
                  0)
            << "type " << type << ", width " << width << ", row " << first;
      }
    }
  }
}

}  // namespace
}  // namespace assay::engine::model
