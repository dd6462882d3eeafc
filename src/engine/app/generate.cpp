// The verb generate: continues a text, streaming what comes.
#include <sys/random.h>

#include <chrono>
#include <iostream>
#include <optional>

#include "base/files.h"
#include "base/sha256.h"
#include "base/text.h"
#include "engine/app/interrupt.h"
#include "engine/app/load.h"
#include "engine/app/options.h"
#include "engine/app/verbs.h"
#include "engine/decode/sampling.h"
#include "engine/decode/session.h"
#include "engine/tokenizer/streaming_text.h"
#include "engine/tokenizer/tokenizer.h"
#include "engine/worker/host.h"
#include "engine/worker/session_engine.h"

namespace assay::engine::app {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Stats {
  double load_s = 0;
  double prefill_s = 0;
  double decode_s = 0;  // of the evaluations after the prompt
  int64_t decode_evals = 0;
};

struct Generated {
  std::vector<tokenizer::TokenId> ids;
  std::string text;
  std::string_view stop = "length";  // or "eos", "interrupted"
  std::string logits_sha256;
};

Result<std::string> prompt_text(const cli::Invocation& args) {
  if (const auto text = args.text("--prompt")) return *text;
  return read_file(*args.text("--file"));
}

uint64_t seed_of(const cli::Invocation& args) {
  if (const auto seed = args.u64("--seed")) return *seed;
  uint64_t seed = 0;
  while (getrandom(&seed, sizeof seed, 0) != static_cast<ssize_t>(sizeof seed)) {
  }
  return seed;
}

// Tokens until `count`, a stop token, the context's end or Ctrl-C; text goes to stdout as it comes
// unless `silent`.
Result<Generated> continue_text(decode::Session& session, decode::Sampler& sampler,
                                const tokenizer::Tokenizer& tokens, int64_t count, bool silent,
                                bool digest, Interrupt& interrupt, Stats& stats) {
  Generated out;
  Sha256 hash;
  tokenizer::StreamingText stream(tokens, /*show_control=*/false);
  const auto show = [&](const std::string& piece) {
    out.text += piece;
    if (!silent && !piece.empty()) std::cout << piece << std::flush;
  };
  interrupt.streaming();
  const auto start = Clock::now();
  while (static_cast<int64_t>(out.ids.size()) < count) {
    if (interrupt.requested()) {
      out.stop = "interrupted";
      break;
    }
    const auto logits = session.logits();
    if (digest) {
      hash.update({reinterpret_cast<const char*>(logits.data()), logits.size_bytes()});
    }
    const int32_t next = sampler.next(logits);
    const auto id = static_cast<tokenizer::TokenId>(next);
    out.ids.push_back(id);
    if (tokens.is_stop(id)) {
      out.stop = "eos";
      break;
    }
    show(stream.push(id));
    if (static_cast<int64_t>(out.ids.size()) == count) break;
    TRY_DO(session.eval(next));
    ++stats.decode_evals;
  }
  stats.decode_s = seconds_since(start);
  show(stream.finish());
  if (digest) out.logits_sha256 = to_hex(hash.finish());
  return out;
}

json::Value stats_json(const Loaded& loaded, const Stats& stats, size_t prompt_tokens,
                       uint64_t seed) {
  const auto rate = [](double n, double s) { return s > 0 ? n / s : 0.0; };
  return json::Value::object(
      {{"device", worker::device_text(*loaded.backend)},
       {"kv_backend", decode::kKvBackend},
       {"seed", seed},
       {"load_s", stats.load_s},
       {"prefill_s", stats.prefill_s},
       {"prefill_tok_per_s", rate(static_cast<double>(prompt_tokens), stats.prefill_s)},
       {"decode_s", stats.decode_s},
       {"decode_tok_per_s", rate(static_cast<double>(stats.decode_evals), stats.decode_s)},
       {"weights_bytes", loaded.model->file().data_bytes()},
       {"peak_resident_bytes", worker::resident_bytes().peak}});
}

int generate(const cli::Invocation& args) {
  const auto start = Clock::now();
  if (!args.has("--prompt") && !args.has("--file")) {
    return args.refuse_usage("one of --prompt and --file is required");
  }
  Interrupt interrupt;
  const auto fail = [&](const Refusal& refusal) { return args.refuse(refusal, exit_of(refusal)); };
  const auto count = static_cast<int64_t>(args.u32("--count").value_or(128));
  const uint64_t seed = seed_of(args);
  if (const auto refusal = refuse_drafting(args)) return fail(*refusal);
  auto sampler = decode::Sampler::make({.temperature = args.f64("--temperature").value_or(1.0),
                                        .top_k = args.u32("--top-k").value_or(0),
                                        .top_p = args.f64("--top-p").value_or(1.0),
                                        .min_p = args.f64("--min-p").value_or(0.05),
                                        .seed = seed});
  if (!sampler) return fail(sampler.refusal());
  const auto prompt = prompt_text(args);
  if (!prompt) return fail(prompt.refusal());
  auto loaded = load(*args.text("--model"), threads_of(args));
  if (!loaded) return fail(loaded.refusal());
  for (const std::string& warning : loaded->warnings) args.progress(warning);
  const auto tokens = tokenizer::Tokenizer::open(loaded->model->file());
  if (!tokens) return fail(tokens.refusal());
  const auto encoded = tokens->encode(*prompt, {.parse_special = !args.has("--no-special")});
  if (!encoded) return fail(encoded.refusal());
  const std::vector<int32_t> prompt_ids(encoded->begin(), encoded->end());
  auto session = decode::Session::open(*loaded->model, *loaded->backend, session_options(args));
  if (!session) return fail(session.refusal());
  Stats stats;
  stats.load_s = seconds_since(start);

  const auto prefill_start = Clock::now();
  if (const auto synced = session->sync(prompt_ids); !synced) return fail(synced.refusal());
  stats.prefill_s = seconds_since(prefill_start);
  const auto out = continue_text(*session, *sampler, *tokens, count, args.json(),
                                 args.has("--logits-digest"), interrupt, stats);
  if (!out) {
    if (!args.json()) std::cout << "\n";
    return fail(out.refusal());
  }

  if (args.json()) {
    auto result = json::Value::object({{"text", out->text},
                                       {"ids", json::Value::array_of(out->ids)},
                                       {"prompt_ids", json::Value::array_of(*encoded)},
                                       {"stop", out->stop}});
    if (args.has("--logits-digest")) result.set("logits_digest", out->logits_sha256);
    if (args.has("--stats")) {
      result.set("stats", stats_json(*loaded, stats, prompt_ids.size(), seed));
    }
    std::cout << json::write(result) << "\n";
  } else {
    std::cout << "\n";
    if (args.has("--print-ids")) {
      for (size_t i = 0; i < out->ids.size(); ++i) std::cout << (i ? " " : "") << out->ids[i];
      std::cout << "\n";
    }
    if (args.has("--logits-digest")) std::cout << out->logits_sha256 << "\n";
    if (args.has("--stats")) {
      std::cerr << json::write(stats_json(*loaded, stats, prompt_ids.size(), seed), {.indent = 2})
                << "\n";
    }
  }
  return out->stop == "interrupted" ? cli::kInterrupted : cli::kOk;
}

}  // namespace

cli::Command generate_command() {
  return {.name = "generate",
          .summary = "Continues a text.",
          .example =
              "assay-engine generate -m model.gguf -p \"Once upon a time\" -n 24 "
              "--temperature 0 --print-ids",
          .flags = {model_flag(),
                    {.names = {"--prompt", "-p"},
                     .value_name = "TEXT",
                     .help = "The text to continue, taken as it is.",
                     .conflicts_with = {"--file"}},
                    {.names = {"--file", "-f"},
                     .value_name = "FILE",
                     .help = "Reads the text to continue from a file."},
                    {.names = {"--count", "-n"},
                     .value_name = "N",
                     .help = "Tokens to make at most; 128 by default.",
                     .type = cli::Type::u32},
                    {.names = {"--temperature"},
                     .value_name = "T",
                     .help = "0 takes the likeliest token; 1 by default.",
                     .type = cli::Type::f64},
                    {.names = {"--top-k"},
                     .value_name = "K",
                     .help = "Draw among the K likeliest tokens, at most 1024; all by default.",
                     .type = cli::Type::u32},
                    {.names = {"--top-p"},
                     .value_name = "P",
                     .help = "Draw among the likeliest tokens that hold P of the probability; 1 by "
                             "default.",
                     .type = cli::Type::f64},
                    {.names = {"--min-p"},
                     .value_name = "P",
                     .help = "Drop tokens less likely than P times the likeliest; 0.05 by default.",
                     .type = cli::Type::f64},
                    {.names = {"--seed"},
                     .value_name = "S",
                     .help = "Seed of the random numbers; by default one from the system.",
                     .type = cli::Type::u64},
                    {.names = {"--no-special"},
                     .arity = cli::Arity::toggle,
                     .help = "Text like <|im_start|> is text, not a special token."},
                    threads_flag(),
                    context_flag(),
                    mtp_depth_flag(),
                    {.names = {"--print-ids"},
                     .arity = cli::Arity::toggle,
                     .help = "Prints the made token ids on a line of their own after the text."},
                    {.names = {"--logits-digest"},
                     .arity = cli::Arity::toggle,
                     .help = "Prints the SHA-256 of the float32 logits of every made token: equal "
                             "on every instruction set and thread count."},
                    {.names = {"--stats"},
                     .arity = cli::Arity::toggle,
                     .help = "Prints times, rates and memory on stderr, or into the JSON object."}},
          .run = generate,
          .notes =
              "Ctrl-C ends it after the current token, exit code 130. With --json: one object "
              "with text, ids,\nprompt_ids, stop (length, eos, interrupted)."};
}

}  // namespace assay::engine::app
