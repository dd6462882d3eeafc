// assay-engine as a process: how long until its first token, and what it holds in memory.
// Started by bench/run. One JSON line per figure on stdout.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "bench/child/child.h"
#include "bench/child/refusals.h"
#include "bench/engine/machine.h"
#include "bench/engine/measure.h"
#include "bench/engine/our_engine.h"
#include "bench/engine/statistics.h"
#include "bench/process/memory_map.h"

namespace assay::bench {
namespace {

constexpr const char* kPrompt = "The capital of France is";

struct Options {
  std::string engine;  // the assay-engine program
  std::string model;
  std::vector<int> threads = {1, 2};
  int repeats = 15;
};

std::vector<std::string> generate_command(const Options& options, int threads, int n_tokens) {
  return {options.engine,  "generate", "-m", options.model, "-p",        kPrompt,
          "--temperature", "0",        "-n", cat(n_tokens), "--threads", cat(threads)};
}

Result<std::vector<int32_t>> prompt_ids(const Options& options) {
  TRY(child,
      Child::start({options.engine, "tokenize", "-m", options.model, "-p", kPrompt, "--json"}));
  TRY_DO(child.finish());
  TRY(answer, json::parse(child.output()));
  const json::Value* ids = answer.is_object() ? answer.find("ids") : nullptr;
  if (!ids) return Refusal(kChildAnswer, "assay-engine tokenize --json printed no ids");
  TRY(wide, ids->as_int64s("ids"));
  return std::vector<int32_t>(wide.begin(), wide.end());
}

// Seconds from just before the start of the process to the first byte of text.
Result<double> first_byte_seconds(const Options& options, int threads) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  TRY(child, Child::start(generate_command(options, threads, 1)));
  if (!child.read_some()) return Refusal(kChildAnswer, "assay-engine generate printed nothing");
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  TRY_DO(child.finish());
  return seconds;
}

// The prefill itself is timed here, with the engine's libraries and a warm model, not taken from
// what the program says about itself: page faults of its first pass count as start-up.
Status measure_startup(const Options& options) {
  TRY(ids, prompt_ids(options));
  TRY(ours, OurEngine::load(options.model, 1024));
  const Slice prefill{"prefill", {}, ids, false};
  for (const int threads : options.threads) {
    TRY_DO(ours->set_threads(threads));
    std::vector<double> prefill_seconds;
    std::vector<double> total_seconds;
    std::vector<double> startup_seconds;
    for (int i = -1; i < options.repeats; ++i) {
      TRY(prefill_time, run_slice(*ours, prefill));
      TRY(total, first_byte_seconds(options, threads));
      if (i < 0) continue;  // warms the page cache
      prefill_seconds.push_back(prefill_time);
      total_seconds.push_back(total);
      startup_seconds.push_back(total - prefill_time);
    }
    const Spread startup = spread(startup_seconds);
    json::Value line = json::Value::object();
    line.set("what", "startup_beyond_prefill");
    line.set("threads", threads);
    line.set("milliseconds", startup.median * 1e3);
    line.set("milliseconds_low", startup.low * 1e3);
    line.set("milliseconds_high", startup.high * 1e3);
    line.set("first_byte_milliseconds", spread(total_seconds).median * 1e3);
    line.set("prefill_milliseconds", spread(prefill_seconds).median * 1e3);
    line.set("prompt_tokens", static_cast<uint64_t>(ids.size()));
    line.set("cpu", cpu_name());
    line.set("kernel_table", ours->variant());
    std::printf("%s\n", json::write(line).c_str());
  }
  return {};
}

json::Value bytes_of(const MemoryPart& part) {
  json::Value value = json::Value::object();
  value.set("rss", part.rss);
  value.set("pss", part.pss);
  return value;
}

// Looked at in the middle of a generation, when everything that is going to be used is in use.
Status measure_memory(const Options& options) {
  TRY(child, Child::start(generate_command(options, options.threads.back(), 400)));
  while (child.output().size() < 200) {
    if (!child.read_some()) return Refusal(kChildAnswer, "assay-engine generate ended too early");
  }
  const std::filesystem::path model(options.model);
  TRY(map, memory_map(child.pid(), model.filename().string()));
  json::Value line = json::Value::object();
  line.set("what", "resident_memory_bytes");
  line.set("threads", options.threads.back());
  line.set("model_file", static_cast<uint64_t>(std::filesystem::file_size(model)));
  line.set("weights_mapped", bytes_of(map.weights));
  line.set("program_and_libraries", bytes_of(map.code));
  line.set("anonymous", bytes_of(map.anonymous));
  line.set("sum", bytes_of({map.weights.rss + map.code.rss + map.anonymous.rss,
                            map.weights.pss + map.code.pss + map.anonymous.pss}));
  std::printf("%s\n", json::write(line).c_str());
  return {};
}

int run(int argc, char** argv) {
  Options options;
  CLI::App app("assay-engine as a process. bench/run starts this program.");
  app.require_subcommand(1);
  CLI::App* startup = app.add_subcommand("startup", "time to the first token beyond the prefill");
  CLI::App* memory = app.add_subcommand("memory", "resident memory by kind while generating");
  for (CLI::App* verb : {startup, memory}) {
    verb->add_option("--engine", options.engine, "the assay-engine program")->required();
    verb->add_option("--model", options.model, "GGUF file")->required();
    verb->add_option("--threads", options.threads, "thread counts")->delimiter(',');
  }
  startup->add_option("--repeats", options.repeats)->check(CLI::Range(1, 1000));
  CLI11_PARSE(app, argc, argv);
  const Status status = startup->parsed() ? measure_startup(options) : measure_memory(options);
  if (!status) {
    std::fprintf(stderr, "process_bench: %s\n", status.refusal().text().c_str());
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace assay::bench

int main(int argc, char** argv) {
  return assay::bench::run(argc, argv);
}
