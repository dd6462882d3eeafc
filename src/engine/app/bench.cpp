// The verb bench: how fast this engine reads a prompt and makes tokens, with the spread.
//
// Prefill: -p tokens from an empty context in one go. Decode: -n single-token evaluations from an
// empty context. Each is done once to warm up, then -r times; the two take turns, so that a change
// of the machine's speed falls on both.
#include <algorithm>
#include <chrono>
#include <iostream>

#include "base/text.h"
#include "engine/app/load.h"
#include "engine/app/options.h"
#include "engine/app/verbs.h"
#include "engine/decode/random.h"
#include "engine/decode/session.h"
#include "engine/worker/session_engine.h"

namespace assay::engine::app {

namespace {

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t n = values.size();
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

template <class Work>
Result<double> timed(Work&& work) {
  const auto start = std::chrono::steady_clock::now();
  TRY_DO(work());
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Status prefill(decode::Session& session, std::span<const int32_t> tokens) {
  session.invalidate();
  return session.sync(tokens);
}

Status decode_tokens(decode::Session& session, std::span<const int32_t> tokens) {
  session.invalidate();
  for (const int32_t token : tokens) TRY_DO(session.eval(token));
  return {};
}

struct Series {
  std::vector<double> seconds;
  int64_t n_tokens = 0;

  [[nodiscard]] json::Value to_json() const {
    std::vector<double> rates;
    for (const double s : seconds) rates.push_back(static_cast<double>(n_tokens) / s);
    const auto [least, most] = std::minmax_element(rates.begin(), rates.end());
    return json::Value::object({{"tokens", n_tokens},
                                {"tok_per_s", median(rates)},
                                {"tok_per_s_min", *least},
                                {"tok_per_s_max", *most},
                                {"seconds", json::Value::array_of(seconds)}});
  }
};

std::string line(std::string_view name, const json::Value& series) {
  const auto rate = [&](std::string_view key) {
    return format_fixed(*series.find(key)->as_double(key), 2);
  };
  return cat(name, " ", series.find("tokens")->literal(), ": ", rate("tok_per_s"), " tok/s (",
             rate("tok_per_s_min"), " .. ", rate("tok_per_s_max"), ")\n");
}

int bench(const cli::Invocation& args) {
  const auto fail = [&](const Refusal& refusal) { return args.refuse(refusal, exit_of(refusal)); };
  const int64_t n_prompt = args.u32("--prompt").value_or(512);
  const int64_t n_decode = args.u32("--count").value_or(128);
  const int64_t repeats = args.u32("--repeats").value_or(5);
  if (n_prompt + n_decode == 0)
    return args.refuse_usage("both -p and -n are 0: nothing to measure");
  if (repeats == 0) return args.refuse_usage("-r must be at least 1");
  if (const auto refusal = refuse_drafting(args)) return fail(*refusal);
  const auto loaded = load(*args.text("--model"), threads_of(args));
  if (!loaded) return fail(loaded.refusal());
  for (const std::string& warning : loaded->warnings) args.progress(warning);
  loaded->model->prefault();
  auto session = decode::Session::open(*loaded->model, *loaded->backend,
                                       {.n_ctx = std::max<int64_t>(n_prompt, n_decode)});
  if (!session) return fail(session.refusal());

  // The tokens do not matter for speed; they are the same in every run.
  decode::Random random(1);
  const auto n_vocab = static_cast<uint64_t>(loaded->model->hyper().n_vocab);
  std::vector<int32_t> tokens;
  for (int64_t i = 0; i < std::max(n_prompt, n_decode); ++i) {
    tokens.push_back(static_cast<int32_t>(random.next() % n_vocab));
  }
  const auto head = [&](int64_t n) {
    return std::span<const int32_t>(tokens).first(static_cast<size_t>(n));
  };

  Series prefills{{}, n_prompt};
  Series decodes{{}, n_decode};
  for (int64_t r = 0; r <= repeats; ++r) {
    if (r > 0) args.progress(cat("repetition ", r, " of ", repeats));
    if (n_prompt > 0) {
      const auto s = timed([&] { return prefill(*session, head(n_prompt)); });
      if (!s) return fail(s.refusal());
      if (r > 0) prefills.seconds.push_back(*s);
    }
    if (n_decode > 0) {
      const auto s = timed([&] { return decode_tokens(*session, head(n_decode)); });
      if (!s) return fail(s.refusal());
      if (r > 0) decodes.seconds.push_back(*s);
    }
  }

  const auto& hyper = loaded->model->hyper();
  auto result =
      json::Value::object({{"model", loaded->model->file().path().filename().string()},
                           {"architecture", hyper.architecture->name},
                           {"device", worker::device_text(*loaded->backend)},
                           {"isa", loaded->backend->isa()},
                           {"threads", loaded->backend->threads()},
                           {"kv_backend", decode::kKvBackend},
                           {"weights_bytes", loaded->model->file().data_bytes()},
                           {"weights_bytes_per_token", loaded->model->weights().bytes_per_token},
                           {"repetitions", repeats}});
  if (n_prompt > 0) result.set("prefill", prefills.to_json());
  if (n_decode > 0) {
    json::Value series = decodes.to_json();
    const double rate = *series.find("tok_per_s")->as_double("tok_per_s");
    series.set("weights_bytes_per_s",
               rate * static_cast<double>(loaded->model->weights().bytes_per_token));
    result.set("decode", series);
  }
  if (args.json()) {
    std::cout << json::write(result) << "\n";
    return cli::kOk;
  }
  std::cout << result.find("model")->string() << ", " << result.find("device")->string() << "\n";
  if (n_prompt > 0) std::cout << line("prefill", *result.find("prefill"));
  if (n_decode > 0) std::cout << line("decode", *result.find("decode"));
  return cli::kOk;
}

}  // namespace

cli::Command bench_command() {
  return {.name = "bench",
          .summary = "Measures prefill and decode speed.",
          .example = "assay-engine bench -m model.gguf -p 512 -n 128 -r 5 --json",
          .flags = {model_flag(),
                    {.names = {"--prompt", "-p"},
                     .value_name = "N",
                     .help = "Tokens of the prefill; 512 by default, 0 leaves it out.",
                     .type = cli::Type::u32},
                    {.names = {"--count", "-n"},
                     .value_name = "N",
                     .help = "Tokens to decode; 128 by default, 0 leaves it out.",
                     .type = cli::Type::u32},
                    {.names = {"--repeats", "-r"},
                     .value_name = "R",
                     .help = "Repetitions after the warm-up; 5 by default.",
                     .type = cli::Type::u32},
                    threads_flag(),
                    mtp_depth_flag()},
          .run = bench,
          .notes = "Rates are medians over the repetitions, with the least and the largest."};
}

}  // namespace assay::engine::app
