// Synthetic models: any geometry, every weight type, valid tokenizer, random weights that give
// finite logits and text that is not one token for ever.
//
// In:      sizes, types, a seed
// Out:     model.gguf, or model-0000K-of-0000N.gguf (the first without tensors, as llama.cpp's
//          splitter makes it), the same bytes on every machine for the same options
// Errors   SYNTH-GEOMETRY, SYNTH-FOLDER-OCCUPIED, FILE-NOT-WRITTEN
// Cost     about 1 s a GB; memory stays at a few MiB.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/app/data_verbs/synthetic_vocabulary.h"

namespace assay::engine::app {

struct SyntheticModel {
  std::string architecture = "llama";  // llama, qwen2, qwen3
  uint32_t n_layers = 4;
  uint32_t n_embd = 256;
  uint32_t n_heads = 4;
  uint32_t n_kv_heads = 2;
  uint32_t head_dim = 64;
  uint32_t n_ff = 768;
  uint32_t n_vocab = 1024;
  uint32_t context_length = 2048;
  bool tied = false;  // no output.weight; then the last token pulls towards itself
  VocabularyKind vocabulary = VocabularyKind::bpe;
  std::string type = "F32";      // of weight matrices; "mix" takes every type in turn
  std::string embedding_type{};  // of token_embd and output; empty = as `type` ("mix": Q8_0)
  uint32_t n_shards = 1;
  uint64_t seed = 0;
};

/// `tiny`: the model of tracks/synthetic, 2.4 MB.
[[nodiscard]] SyntheticModel tiny_model();

struct SyntheticFiles {
  std::vector<std::filesystem::path> paths;  // the first is the one to open
  uint64_t n_tensors = 0;
  uint64_t n_weights = 0;
  uint64_t data_bytes = 0;
};
[[nodiscard]] Result<SyntheticFiles> write_synthetic(const SyntheticModel& model,
                                                     const std::filesystem::path& folder);

}  // namespace assay::engine::app
