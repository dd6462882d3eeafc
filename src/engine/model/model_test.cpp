// What a model file must say, and how a file that does not is refused.
#include "engine/model/model.h"

#include <gtest/gtest.h>

#include <functional>

#include "support/tiny_model.h"

namespace assay::engine::model {
namespace {

using test::TinyModel;

TEST(Model, ReadsHyperParameters) {
  TinyModel tiny("qwen3", {.head_dim = 32});
  const auto model = Model::load(tiny.file());
  ASSERT_TRUE(model) << model.refusal().text();
  const HyperParameters& p = model->hyper();
  EXPECT_EQ(p.architecture->name, "qwen3");
  EXPECT_EQ(p.n_layers, 2);
  EXPECT_EQ(p.n_embd, 64);
  EXPECT_EQ(p.head_dim, 32);
  EXPECT_EQ(p.n_rot, 32);
  EXPECT_EQ(p.n_vocab, 96);
  EXPECT_EQ(p.rope_base, 10000.0);
  EXPECT_TRUE(model->warnings().empty());
}

TEST(Model, DefaultsWhereKeysAreAbsent) {
  TinyModel tiny("llama", {.n_kv_heads = 4});
  for (const char* key : {"llama.attention.head_count_kv", "llama.attention.key_length",
                          "llama.attention.value_length", "llama.rope.freq_base"}) {
    tiny.keys.erase(key);
  }
  tiny.keys.erase("llama.vocab_size");  // then the embedding's rows say it
  const auto model = Model::load(tiny.file());
  ASSERT_TRUE(model) << model.refusal().text();
  EXPECT_EQ(model->hyper().n_kv_heads, 4);
  EXPECT_EQ(model->hyper().head_dim, 16);
  EXPECT_EQ(model->hyper().rope_base, 10000.0);
  EXPECT_EQ(model->hyper().n_vocab, 96);
}

// By arithmetic: 96 x 64 embedding (one row read), 2 layers of q 64x64, k and v 32x64, o 64x64, two
// 96x64 and one 64x96 matrices and two norms, a norm, a 96 x 64 output; F32.
TEST(Model, CountsBytesOfOneToken) {
  const int64_t layer = 64 * 64 + 2 * 32 * 64 + 64 * 64 + 3 * 96 * 64 + 2 * 64;
  const auto untied = Model::load(TinyModel("llama", {}).file());
  ASSERT_TRUE(untied);
  EXPECT_EQ(untied->weights().bytes_per_token, 4 * (64 + 2 * layer + 64 + 96 * 64));
  const auto tied = Model::load(TinyModel("llama", {.tied = true}).file());
  ASSERT_TRUE(tied);
  EXPECT_EQ(tied->weights().bytes_per_token, 4 * (2 * layer + 64 + 96 * 64));
}

TEST(Model, WarnsOfTensorsThatNothingUses) {
  TinyModel tiny("llama", {});
  tiny.tensors.push_back({"blk.0.mystery.weight", {4}, {1, 2, 3, 4}});
  const auto model = Model::load(tiny.file());
  ASSERT_TRUE(model);
  ASSERT_EQ(model->warnings().size(), 1u);
  EXPECT_NE(model->warnings()[0].find("blk.0.mystery.weight"), std::string::npos);
}

TEST(Model, AcceptsNeutralValuesOfForeignKeys) {
  TinyModel tiny("llama", {});
  tiny.keys["llama.expert_count"] = 0u;
  tiny.keys["llama.attention.sliding_window"] = 4096u;  // longer than the context: never felt
  tiny.keys["llama.rope.scaling.type"] = std::string("none");
  tiny.keys["llama.logit_scale"] = 1.0f;
  EXPECT_TRUE(Model::load(tiny.file()));
}

TEST(Model, PerLayerCountsThatAgree) {
  TinyModel tiny("llama", {});
  tiny.keys["llama.attention.head_count_kv"] = std::vector<int32_t>{2, 2};
  EXPECT_TRUE(Model::load(tiny.file()));
}

struct Bad {
  const char* name;
  const char* code;
  const char* mentions;  // a part of the detail
  std::function<void(TinyModel&)> damage;
  const char* arch = "llama";
};
std::ostream& operator<<(std::ostream& out, const Bad& bad) {
  return out << bad.name;
}

class ModelRefusal : public testing::TestWithParam<Bad> {};

TEST_P(ModelRefusal, IsNamed) {
  TinyModel tiny(GetParam().arch, {});
  GetParam().damage(tiny);
  const auto model = Model::load(tiny.file());
  ASSERT_FALSE(model);
  EXPECT_EQ(model.refusal().code, GetParam().code) << model.refusal().detail;
  EXPECT_NE(model.refusal().detail.find(GetParam().mentions), std::string::npos)
      << model.refusal().detail;
  EXPECT_NE(model.refusal().detail.find("tiny.gguf"), std::string::npos) << model.refusal().detail;
}

auto set(const char* key, TinyModel::Value value) {
  return [=](TinyModel& m) { m.keys[key] = value; };
}
auto erase(const char* key) {
  return [=](TinyModel& m) { m.keys.erase(key); };
}
auto drop(const char* name) {
  return [=](TinyModel& m) { m.drop(name); };
}

INSTANTIATE_TEST_SUITE_P(
    Metadata, ModelRefusal,
    testing::Values(
        Bad{"no_architecture", "GGUF-KEY-MISSING", "general.architecture",
            erase("general.architecture")},
        Bad{"unknown_architecture", "MODEL-ARCHITECTURE-UNKNOWN", "llama, qwen2, qwen3",
            set("general.architecture", std::string("mamba"))},
        Bad{"no_block_count", "GGUF-KEY-MISSING", "llama.block_count", erase("llama.block_count")},
        Bad{"zero_blocks", "GGUF-KEY-RANGE", "llama.block_count", set("llama.block_count", 0u)},
        Bad{"absurd_blocks", "GGUF-KEY-RANGE", "llama.block_count",
            set("llama.block_count", 4000000000u)},
        Bad{"block_count_text", "GGUF-KEY-TYPE", "llama.block_count",
            set("llama.block_count", std::string("2"))},
        Bad{"one_block_too_many", "GGUF-TENSOR-MISSING", "blk.2.attn_norm.weight",
            set("llama.block_count", 3u)},
        Bad{"zero_context", "GGUF-KEY-RANGE", "llama.context_length",
            set("llama.context_length", 0u)},
        Bad{"zero_heads", "GGUF-KEY-RANGE", "head_count", set("llama.attention.head_count", 0u)},
        Bad{"heads_not_grouped", "MODEL-GEOMETRY", "head_count_kv",
            set("llama.attention.head_count_kv", 3u)},
        Bad{"layers_differ", "MODEL-FEATURE-UNSUPPORTED", "layer 1",
            set("llama.attention.head_count_kv", std::vector<int32_t>{2, 4})},
        Bad{"per_layer_array_short", "GGUF-KEY-RANGE", "head_count_kv",
            set("llama.attention.head_count_kv", std::vector<int32_t>{2})},
        Bad{"value_length", "MODEL-GEOMETRY", "value_length",
            set("llama.attention.value_length", 8u)},
        Bad{"head_dim_not_whole", "MODEL-GEOMETRY", "embedding_length",
            [](TinyModel& m) {
              m.keys.erase("llama.attention.key_length");
              m.keys["llama.attention.head_count"] = 6u;
            }},
        Bad{"odd_rot", "MODEL-GEOMETRY", "rope.dimension_count",
            set("llama.rope.dimension_count", 7u)},
        Bad{"rot_too_wide", "MODEL-GEOMETRY", "rope.dimension_count",
            set("llama.rope.dimension_count", 18u)},
        Bad{"eps_missing", "GGUF-KEY-MISSING", "layer_norm_rms_epsilon",
            erase("llama.attention.layer_norm_rms_epsilon")},
        Bad{"eps_zero", "GGUF-KEY-RANGE", "layer_norm_rms_epsilon",
            set("llama.attention.layer_norm_rms_epsilon", 0.0f)},
        Bad{"rope_base", "GGUF-KEY-RANGE", "rope.freq_base", set("llama.rope.freq_base", -1.0f)},
        Bad{"yarn", "MODEL-ROPE-SCALING", "yarn",
            set("llama.rope.scaling.type", std::string("yarn"))},
        Bad{"linear_without_factor", "GGUF-KEY-MISSING", "rope.scale_linear",
            set("llama.rope.scaling.type", std::string("linear"))},
        Bad{"linear_factor_zero", "GGUF-KEY-RANGE", "rope.scaling.factor",
            [](TinyModel& m) {
              m.keys["llama.rope.scaling.type"] = std::string("linear");
              m.keys["llama.rope.scaling.factor"] = 0.0f;
            }},
        Bad{"two_factors", "MODEL-ALIASES-DIFFER", "rope.scale_linear",
            [](TinyModel& m) {
              m.keys["llama.rope.scaling.factor"] = 2.0f;
              m.keys["llama.rope.scale_linear"] = 4.0f;
            }},
        Bad{"experts", "MODEL-FEATURE-UNSUPPORTED", "mixture of experts",
            set("llama.expert_count", 8u)},
        Bad{"sliding_window", "MODEL-FEATURE-UNSUPPORTED", "sliding window",
            set("llama.attention.sliding_window", 32u)},
        Bad{"soft_cap", "MODEL-FEATURE-UNSUPPORTED", "soft-capped",
            set("llama.final_logit_softcapping", 30.0f)},
        Bad{"draft_layers", "MODEL-FEATURE-UNSUPPORTED", "nextn",
            set("llama.nextn_predict_layers", 1u)},
        Bad{"both_directions", "MODEL-FEATURE-UNSUPPORTED", "both directions",
            set("llama.attention.causal", false)},
        Bad{"vocabulary_key", "MODEL-VOCABULARY-MISMATCH", "lists 3 tokens",
            set("tokenizer.ggml.tokens", std::vector<std::string>{"a", "b", "c"})}),
    [](const auto& c) { return c.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Tensors, ModelRefusal,
    testing::Values(
        Bad{"no_embedding", "GGUF-TENSOR-MISSING", "token_embd.weight", drop("token_embd.weight")},
        Bad{"no_norm", "GGUF-TENSOR-MISSING", "output_norm.weight", drop("output_norm.weight")},
        Bad{"no_down", "GGUF-TENSOR-MISSING", "blk.1.ffn_down.weight",
            drop("blk.1.ffn_down.weight")},
        Bad{"no_qwen2_bias", "GGUF-TENSOR-MISSING", "blk.1.attn_k.bias", drop("blk.1.attn_k.bias"),
            "qwen2"},
        Bad{"no_qwen3_norm", "GGUF-TENSOR-MISSING", "blk.0.attn_q_norm.weight",
            drop("blk.0.attn_q_norm.weight"), "qwen3"},
        // 100 claimed, 96 rows stored.
        Bad{"embedding_rows", "MODEL-TENSOR-SHAPE",
            "tensor token_embd.weight has dim[1]=96, expected 100", set("llama.vocab_size", 100u)},
        Bad{"feed_forward", "MODEL-TENSOR-SHAPE", "has dim[1]=96, expected 128",
            set("llama.feed_forward_length", 128u)},
        Bad{"rank", "MODEL-TENSOR-SHAPE", "has 2 dimensions, expected 1",
            [](TinyModel& m) {
              auto& norm = m.tensor("output_norm.weight");
              norm.dims.push_back(2);
              norm.values.resize(norm.values.size() * 2);
            }},
        Bad{"norm_quantised", "MODEL-TENSOR-TYPE", "Q8_0 (8), expected F32 (0)",
            [](TinyModel& m) { m.tensor("blk.0.ffn_norm.weight").type_id = 8; }}),
    [](const auto& c) { return c.param.name; });

TEST(Model, PrefaultTouchesEveryTensor) {
  const auto model = Model::load(TinyModel("llama", {}).file());
  ASSERT_TRUE(model);
  model->prefault();  // must not fault on a mapping that is not a whole number of pages
}

}  // namespace
}  // namespace assay::engine::model
