// The verb tokenize: text to token ids.
#include <iostream>

#include "base/files.h"
#include "base/text.h"
#include "engine/app/data_verbs/data_verbs.h"
#include "engine/gguf/file.h"
#include "engine/tokenizer/streaming_text.h"
#include "engine/tokenizer/tokenizer.h"

namespace assay::engine::app {
namespace {

Result<std::string> read_text(const cli::Invocation& args) {
  if (const auto text = args.text("--prompt")) return *text;
  return read_file(args.text_or("--file", "/dev/stdin"));
}

int tokenize(const cli::Invocation& args) {
  const auto fail = [&](const Refusal& refusal) { return args.refuse(refusal, cli::kInputOutput); };
  const auto model = gguf::open_model(*args.text("--model"));
  if (!model) return fail(model.refusal());
  const auto tokens =
      tokenizer::Tokenizer::open(model->model, {.pre_override = args.text("--pre")});
  if (!tokens) return fail(tokens.refusal());
  const auto text = read_text(args);
  if (!text) return fail(text.refusal());
  const auto ids = tokens->encode(*text, {.parse_special = !args.has("--no-special")});
  if (!ids) return fail(ids.refusal());

  if (args.json()) {
    std::cout << json::write(json::Value::object({{"ids", json::Value::array_of(*ids)}})) << "\n";
    return cli::kOk;
  }
  for (const tokenizer::TokenId id : *ids) {
    std::string bytes;
    tokens->append_bytes(id, bytes, true);
    std::string shown;
    json::append_quoted(shown, tokenizer::to_utf8_lossy(bytes));
    std::cout << cat(id, "\t", shown, "\n");
  }
  return cli::kOk;
}

}  // namespace

cli::Command tokenize_command() {
  return {.name = "tokenize",
          .summary = "Turn text into the model's token ids",
          .example = "assay-engine tokenize -m model.gguf -p \"Hello, world!\" --json",
          .flags = {{.names = {"--model", "-m"},
                     .value_name = "MODEL",
                     .help = "A GGUF file, the first shard of a set, or a folder with one model.",
                     .required = true},
                    {.names = {"--prompt", "-p"}, .value_name = "TEXT", .help = "The text."},
                    {.names = {"--file", "-f"},
                     .value_name = "FILE",
                     .help = "A file with the text; without it and --prompt, standard input.",
                     .conflicts_with = {"--prompt"}},
                    {.names = {"--no-special"},
                     .arity = cli::Arity::toggle,
                     .help = "Take text like <|im_start|> as text, not as its token."},
                    {.names = {"--pre"},
                     .value_name = "NAME",
                     .help = "Splitter for a file that names none; never for scored runs."}},
          .run = tokenize,
          .notes = "Ids begin with the BOS token only where the file's metadata asks for it."};
}

}  // namespace assay::engine::app
