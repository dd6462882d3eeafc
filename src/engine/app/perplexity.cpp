// The verb perplexity: how well the model predicts a text.
//
// llama.cpp's convention, so that figures compare: the text's tokens are cut into chunks of --ctx,
// each is evaluated from an empty context (its first token replaced by BOS where the metadata asks
// for one), and the second half of each chunk is counted: positions ctx/2 .. ctx-2 predict the
// tokens after them. What is left over at the end is not used.
#include <algorithm>
#include <cmath>
#include <iostream>

#include "base/files.h"
#include "base/text.h"
#include "engine/app/load.h"
#include "engine/app/options.h"
#include "engine/app/refusals.h"
#include "engine/app/verbs.h"
#include "engine/decode/session.h"
#include "engine/tokenizer/tokenizer.h"

namespace assay::engine::app {

namespace {

// -log softmax(logits)[target].
double surprise(std::span<const float> logits, int32_t target) {
  const float largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0.0;
  for (const float logit : logits) sum += static_cast<double>(std::exp(logit - largest));
  return std::log(sum) - static_cast<double>(logits[static_cast<size_t>(target)] - largest);
}

// Mean and its standard error over the counted tokens.
struct Tally {
  double sum = 0.0;
  double sum_of_squares = 0.0;
  int64_t count = 0;

  void add(double value) {
    sum += value;
    sum_of_squares += value * value;
    ++count;
  }
  [[nodiscard]] double mean() const { return sum / static_cast<double>(count); }
  [[nodiscard]] double standard_error() const {
    if (count < 2) return 0.0;
    const double variance =
        std::max(0.0, sum_of_squares / static_cast<double>(count) - mean() * mean());
    return std::sqrt(variance / static_cast<double>(count - 1));
  }
};

int perplexity(const cli::Invocation& args) {
  const auto fail = [&](const Refusal& refusal) { return args.refuse(refusal, exit_of(refusal)); };
  const int64_t n_ctx = args.u32("--ctx").value_or(512);
  if (n_ctx < 4) return args.refuse_usage("--ctx must be at least 4");
  const auto text = read_file(*args.text("--file"));
  if (!text) return fail(text.refusal());
  const auto loaded = load(*args.text("--model"), threads_of(args));
  if (!loaded) return fail(loaded.refusal());
  for (const std::string& warning : loaded->warnings) args.progress(warning);
  const auto tokens = tokenizer::Tokenizer::open(loaded->model->file());
  if (!tokens) return fail(tokens.refusal());
  const auto encoded = tokens->encode(*text);
  if (!encoded) return fail(encoded.refusal());
  const std::vector<int32_t> ids(encoded->begin(), encoded->end());
  const int64_t n_chunks = static_cast<int64_t>(ids.size()) / n_ctx;
  if (n_chunks == 0) {
    return fail(
        Refusal(kTextTooShort, cat("the text has ", ids.size(), " tokens, a chunk has ", n_ctx)));
  }
  auto session = decode::Session::open(*loaded->model, *loaded->backend, {.n_ctx = n_ctx});
  if (!session) return fail(session.refusal());

  const int64_t n_vocab = loaded->model->hyper().n_vocab;
  const int64_t first = n_ctx / 2;
  Tally tally;
  for (int64_t c = 0; c < n_chunks; ++c) {
    std::vector<int32_t> chunk(ids.begin() + c * n_ctx, ids.begin() + (c + 1) * n_ctx);
    if (tokens->adds_bos() && tokens->bos()) chunk[0] = static_cast<int32_t>(*tokens->bos());
    const auto scored = session->score(
        chunk, first, [&](int64_t row0, int64_t n_rows, std::span<const float> logits) {
          for (int64_t r = 0; r < n_rows && row0 + r + 1 < n_ctx; ++r) {
            tally.add(surprise(
                logits.subspan(static_cast<size_t>(r * n_vocab), static_cast<size_t>(n_vocab)),
                chunk[static_cast<size_t>(row0 + r + 1)]));
          }
        });
    if (!scored) return fail(scored.refusal());
    args.progress(cat("chunk ", c + 1, " of ", n_chunks, ": perplexity ",
                      format_fixed(std::exp(tally.mean()), 4)));
  }

  const double result = std::exp(tally.mean());
  // The error of exp(mean) to first order.
  const double error = result * tally.standard_error();
  if (args.json()) {
    std::cout << json::write(json::Value::object({{"perplexity", result},
                                                  {"standard_error", error},
                                                  {"tokens", tally.count},
                                                  {"text_tokens", static_cast<int64_t>(ids.size())},
                                                  {"chunks", n_chunks},
                                                  {"ctx", n_ctx}}))
              << "\n";
  } else {
    std::cout << "perplexity " << format_fixed(result, 4) << " +/- " << format_fixed(error, 4)
              << " over " << tally.count << " tokens in " << n_chunks << " chunks of " << n_ctx
              << "\n";
  }
  return cli::kOk;
}

}  // namespace

cli::Command perplexity_command() {
  return {.name = "perplexity",
          .summary = "Measures how well the model predicts a text.",
          .example = "assay-engine perplexity -m model.gguf -f text.txt --ctx 512 --json",
          .flags = {model_flag(),
                    {.names = {"--file", "-f"},
                     .value_name = "FILE",
                     .help = "The text.",
                     .required = true},
                    {.names = {"--ctx"},
                     .value_name = "N",
                     .help = "Tokens of a chunk; 512 by default.",
                     .type = cli::Type::u32},
                    threads_flag()},
          .run = perplexity,
          .notes = "The second half of each chunk is counted, as llama.cpp does it."};
}

}  // namespace assay::engine::app
