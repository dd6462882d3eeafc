// The verb synth: writes a synthetic model.
#include <iostream>

#include "base/text.h"
#include "engine/app/data_verbs/data_verbs.h"
#include "engine/app/data_verbs/refusals.h"
#include "engine/app/data_verbs/synthetic_model.h"

namespace assay::engine::app {
namespace {

int exit_of(const Refusal& refusal) {
  return refusal.code == kSynthGeometry.code ? cli::kUsage : cli::kInputOutput;
}

int synth(const cli::Invocation& args) {
  // Without a preset every size has the value that help shows, which is the tiny model's.
  SyntheticModel model = args.has("--preset") ? tiny_model() : SyntheticModel{};
  model.architecture = args.text_or("--arch", model.architecture);
  const auto size = [&](std::string_view flag, uint32_t& value) {
    value = args.u32(flag).value_or(value);
  };
  size("--layers", model.n_layers);
  size("--embd", model.n_embd);
  size("--heads", model.n_heads);
  size("--kv-heads", model.n_kv_heads);
  size("--head-dim", model.head_dim);
  size("--ff", model.n_ff);
  size("--vocab", model.n_vocab);
  size("--context", model.context_length);
  size("--shards", model.n_shards);
  model.seed = args.u64("--seed").value_or(model.seed);
  model.tied = args.has("--tied");
  model.type = args.text_or("--type", model.type);
  model.embedding_type = args.text_or("--embd-type", model.embedding_type);
  model.vocabulary = parse_vocabulary_kind(args.text_or("--tokenizer", "bpe")).value();

  const auto files = write_synthetic(model, *args.text("--output"));
  if (!files) return args.refuse(files.refusal(), exit_of(files.refusal()));
  if (args.json()) {
    auto paths = json::Value::array();
    for (const auto& path : files->paths) paths.items().emplace_back(path.string());
    std::cout << json::write(json::Value::object({{"files", std::move(paths)},
                                                  {"tensors", files->n_tensors},
                                                  {"parameters", files->n_weights},
                                                  {"data_bytes", files->data_bytes}}))
              << "\n";
    return cli::kOk;
  }
  args.progress(cat(files->n_tensors, " tensors, ", files->n_weights, " parameters, ",
                    files->data_bytes, " bytes of weights"));
  for (const auto& path : files->paths) std::cout << path.string() << "\n";
  return cli::kOk;
}

cli::Flag size_flag(std::string name, std::string help) {
  return {.names = {std::move(name)},
          .value_name = "N",
          .help = std::move(help),
          .type = cli::Type::u32};
}

}  // namespace

cli::Command synth_command() {
  return {
      .name = "synth",
      .summary = "Write a synthetic model: any geometry, random weights, the same bytes everywhere",
      .example = "assay-engine synth --arch llama --preset tiny -o out/tiny",
      .flags = {{.names = {"--arch"},
                 .value_name = "ARCH",
                 .help = "Architecture (llama).",
                 .choices = {"llama", "qwen2", "qwen3"}},
                {.names = {"--preset"},
                 .value_name = "NAME",
                 .help = "tiny: Q4_0 with Q8_0 embeddings; other flags still change it.",
                 .choices = {"tiny"}},
                size_flag("--layers", "Blocks (4)."),
                size_flag("--embd", "Embedding length (256)."),
                size_flag("--heads", "Query heads (4)."),
                size_flag("--kv-heads", "Key and value heads (2)."),
                size_flag("--head-dim", "Values of a head (64)."),
                size_flag("--ff", "Feed-forward length (768)."),
                size_flag("--vocab", "Tokens (1024)."),
                size_flag("--context", "Context length (2048)."),
                {.names = {"--tied"},
                 .arity = cli::Arity::toggle,
                 .help = "Take the embedding for the output matrix."},
                {.names = {"--tokenizer"},
                 .value_name = "KIND",
                 .help = "Vocabulary (bpe): byte tokens alone, byte-level BPE, or SentencePiece.",
                 .choices = {"byte", "bpe", "spm"}},
                {.names = {"--type"},
                 .value_name = "TYPE",
                 .help = "Weight type (F32): F32 F16 BF16 Q8_0 Q4_0 Q4_1 Q5_0 Q5_1 Q4_K Q5_K Q6_K "
                         "IQ4_NL, or mix for all in turn."},
                {.names = {"--embd-type"},
                 .value_name = "TYPE",
                 .help = "Type of the embedding and output matrices (as --type; mix: Q8_0)."},
                size_flag("--shards", "Files (1); the first of several holds no tensors."),
                {.names = {"--seed"},
                 .value_name = "S",
                 .help = "Seed of the weights (0).",
                 .type = cli::Type::u64},
                {.names = {"--output", "-o"},
                 .value_name = "DIR",
                 .help = "Folder for model.gguf.",
                 .required = true}},
      .run = synth};
}

}  // namespace assay::engine::app
