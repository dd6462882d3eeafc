#include "bench/demo_store/demo_store.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <thread>

#include "base/json.h"
#include "base/sha256.h"
#include "base/text.h"
#include "publish/shard.h"

namespace assay::demo {

namespace {

using json::Value;
using publish::Envelope;
using publish::IndexEntry;
using publish::ResultRow;

struct Model {
  const char* id;
  const char* quantization;
  double size;  // how slow it is, relative
};
constexpr std::array<Model, 8> kModels = {{{"mlx-community/Qwen3.5-9B-MLX-4bit", "mlx-4bit", 1.0},
                                           {"mlx-community/Qwen3.5-9B-MLX-8bit", "mlx-8bit", 1.7},
                                           {"Qwen/Qwen3.8-35B-A3B", "mxfp4", 0.8},
                                           {"Qwen/Qwen3.8-35B-A3B", "mxfp8", 1.1},
                                           {"openrouter/openai/gpt-oss-20b", "mxfp4", 0.9},
                                           {"HuggingFaceTB/SmolLM2-135M-Instruct", "Q4_1", 0.2},
                                           {"google/gemma-4-12b-it", "UD-Q4_K_XL", 1.3},
                                           {"meta-llama/Llama-3.1-8B-Instruct", "fp8", 0.95}}};

struct Machine {
  const char* os;
  const char* chip;
  int memory_gb;
  const char* gpu;  // "" = none
  double vram_gb;
  const char* engine;
  const char* version;
  const char* stack;
  double speed;
};
constexpr std::array<Machine, 5> kMachines = {
    {{"macOS 26.1", "Apple M3 Ultra", 512, "", 0, "vllm-mlx", "0.9.2", "vllm-mlx", 1.0},
     {"macOS 26.1", "Apple M4 Max", 128, "", 0, "mlx-lm", "0.31.0", "mlx-lm", 0.7},
     {"Ubuntu 24.04.3 LTS", "AMD EPYC 9554 64-Core Processor", 768, "NVIDIA H200", 141, "vllm",
      "0.30.0", "vllm", 6.0},
     {"Ubuntu 24.04.3 LTS", "Cortex-X925", 128, "NVIDIA GB10", 128, "llama.cpp", "b7012",
      "llama-server", 1.4},
     {"Debian GNU/Linux 12 (bookworm)", "AMD EPYC-Milan Processor", 24, "", 0, "assay-engine",
      "0.1.0", "assay-engine", 0.25}}};

// A figure that wanders a little and repeatably: `number` picks the point, `salt` the series.
double wobble(size_t number, size_t salt) {
  const double x = static_cast<double>((number * 2654435761U + salt * 40503U) % 1000U) / 1000.0;
  return 1.0 + 0.06 * (x - 0.5);
}

constexpr int64_t kFirstDay = 1772323200;  // 2026-03-01T00:00:00Z

// The conditions of a served measurement, all stated.
struct Conditions {
  int64_t prompt = 2048;
  int64_t max_tokens = 256;
  int64_t concurrency = 1;
  const char* prefix = "unique_full_prompt";
  const char* thinking = "off";
  bool verified = true;
};

void set_conditions(Value& head, const Conditions& c, const Model& model, int64_t seconds) {
  head.set("concurrency", c.concurrency);
  head.set("regime", Value::object({{"prompt_tokens_min", c.prompt - 3},
                                    {"prompt_tokens_max", c.prompt + 5},
                                    {"prompt_tokens_median", c.prompt},
                                    {"max_tokens", c.max_tokens},
                                    {"concurrency", c.concurrency},
                                    {"streaming", true},
                                    {"temperature", 0},
                                    {"thinking", c.thinking},
                                    {"rate_basis", "request"},
                                    {"warmups", 1},
                                    {"repetitions", 4},
                                    {"aggregation", "median"}}));
  head.set("cache", Value::object({{"weights_state", "resident"},
                                   {"prefix_policy", c.prefix},
                                   {"cached_tokens_observed", 0},
                                   {"cached_tokens_asserted", true},
                                   {"os_page_cache", "warm"},
                                   {"initial_model_state", "resident"}}));
  if (!c.verified) {
    head.set("provenance", Value::object({{"method", "none"}, {"verified", false}}));
    return;
  }
  const std::string digest = sha256_hex(cat(model.id, model.quantization));
  head.set("provenance",
           Value::object(
               {{"method", "open_files"},
                {"verified", true},
                {"pid", 4242},
                {"checkpoint", cat("~/models/", publish::model_slug(model.id))},
                {"command_line_sha256", sha256_hex(digest)},
                {"files", Value::array({Value::object({{"name", "model-00001-of-00001.safetensors"},
                                                       {"bytes", int64_t{4'812'345'678}},
                                                       {"sha256", digest}})})},
                {"responded_model", model.id},
                {"verified_at", format_utc(seconds + 5)}}));
}

Value head_of(size_t number, const Model& model, const Machine& machine, const char* suite,
              int64_t seconds) {
  Value head = Value::object();
  head.set("schema_version", "1");
  head.set("timestamp", format_utc(seconds));
  head.set("git_sha", sha256_hex(cat("commit ", number / 40)).substr(0, 7));
  head.set("trigger", number % 9 == 0 ? "schedule" : "local");
  head.set("suite", suite);
  head.set("model", model.id);
  head.set("model_revision", sha256_hex(model.id).substr(0, 40));
  head.set("quantization", model.quantization);
  head.set("serving", Value::object({{"stack", machine.stack}, {"endpoint_port", 8000}}));
  Value system = Value::object({{"os", machine.os},
                                {"chip", machine.chip},
                                {"memory_gb", machine.memory_gb},
                                {"kernel", "6.17.0"}});
  if (*machine.gpu != '\0') {
    system.set("gpu", Value::object({{"model", machine.gpu},
                                     {"vram_gb", machine.vram_gb},
                                     {"driver", "590.44"},
                                     {"cuda", "13.1"}}));
    system.set("power_limit_w", 700);
    system.set("container", "vllm/vllm-openai:v0.30.0");
  }
  system.set("engine", Value::object({{"name", machine.engine}, {"version", machine.version}}));
  head.set("system", std::move(system));
  return head;
}

void add_row(Envelope& envelope, const char* name, const char* metric, double value,
             const char* unit, const char* basis = "", const publish::Tags& tags = {}) {
  ResultRow row;
  row.name = name;
  row.metric = metric;
  row.value = value;
  row.unit = unit;
  if (*basis != '\0') row.tag("rate_basis", basis);
  for (const auto& [key, text] : tags) row.tag(key, text);
  envelope.results.push_back(std::move(row));
}

// What assay-load probe publishes: medians of four runs, with their spread.
void add_probe_rows(Envelope& envelope, const Conditions& c, double decode, double prefill,
                    double answered) {
  const double ttft = static_cast<double>(c.prompt) / prefill;
  const double total = ttft + static_cast<double>(c.max_tokens - 1) / decode;
  const double cumulative = static_cast<double>(c.prompt + c.max_tokens) / total;
  const auto spread = [&](const char* source, double value) {
    return publish::Tags{{"n_ok", "4"},
                         {"n_err", "0"},
                         {"answered_rate", format_double(answered)},
                         {"truncated_rate", "1.0"},
                         {"finish_reasons", "length,length,length,length"},
                         {"max_tokens", cat(c.max_tokens)},
                         {"thinking", c.thinking},
                         {"think_value", "unstated"},
                         {"measured_repetitions", "4"},
                         {"context_tokens_actual", cat(c.prompt)},
                         {"phase", "sequential"},
                         {cat(source, "_min"), format_fixed(value * 0.98, 4)},
                         {cat(source, "_max"), format_fixed(value * 1.015, 4)}};
  };
  constexpr const char* kName = "throughput_probe";
  add_row(envelope, kName, "throughput_total_toks_per_s", cumulative, "tok/s", "request",
          spread("cumulative_tok_s", cumulative));
  add_row(envelope, kName, "throughput_output_toks_per_s", decode, "tok/s", "decode_window",
          spread("decode_tok_s", decode));
  add_row(envelope, kName, "throughput_prompt_toks_per_s", prefill, "tok/s", "prefill_window",
          spread("prefill_tok_s", prefill));
  add_row(envelope, kName, "ttft_p50_ms", ttft * 1000, "ms", "", spread("ttft_s", ttft));
  add_row(envelope, kName, "request_duration_p50_s", total, "s", "", spread("total_s", total));
  add_row(envelope, kName, "answered_rate", answered, "ratio", "", {{"phase", "sequential"}});
}

double decode_rate(const Model& model, const Machine& machine, size_t number) {
  return 60.0 * machine.speed / model.size * wobble(number, 1) *
         (1.0 + 0.0004 * static_cast<double>(number % 500));
}

DemoRun probe(size_t number, const Model& model, const Machine& machine, int64_t seconds,
              Conditions c) {
  DemoRun run;
  run.envelope.head = head_of(number, model, machine, "throughput", seconds);
  set_conditions(run.envelope.head, c, model, seconds);
  if (number % 3 == 0)
    run.envelope.head.set("env_class", number % 2 == 0 ? "isolated" : "under-load");
  if (number % 7 == 3) run.envelope.head.set("reasoning_effort", number % 2 == 0 ? "low" : "high");
  const double decode = decode_rate(model, machine, number);
  add_probe_rows(run.envelope, c, decode, decode * 14 * wobble(number, 2),
                 number % 11 == 5 ? 0.5 : 1.0);
  if (c.concurrency > 1) {
    add_row(run.envelope, "throughput_probe", "throughput_aggregate_toks_per_s",
            decode * 3.1 * static_cast<double>(c.concurrency), "tok/s", "wall",
            {{"phase", "concurrent"},
             {"width", cat(c.concurrency)},
             {"n_ok", cat(c.concurrency)},
             {"n_err", "0"}});
  }
  run.entry.context_band = c.prompt < 4096 ? "short-prompt" : "long-prompt";
  run.entry.max_output_tokens = c.max_tokens;
  run.entry.completion_state = "capped";
  return run;
}

// One cell of a campaign: profile x window x target, with every status there is.
DemoRun campaign_cell(size_t number, size_t cell, int64_t seconds) {
  constexpr std::array<int64_t, 4> kWindows = {32768, 65536, 131072, 196608};
  constexpr std::array<int64_t, 4> kTargets = {32000, 64000, 128000, 192000};
  constexpr const char* kFaults[] = {"failed", "capacity_gated", "unsupported", "aborted"};
  constexpr const char* kReasons[] = {
      "HTTP 500 on repetition 3", "preflight: 31.3 GiB needed, 24.0 GiB allowed",
      "the server reports no usage", "prompt count 31871 misses the target 32000 by more than 64"};
  const int64_t window = kWindows[cell % 4];
  const int64_t target = kTargets[cell / 4 % 4];
  const size_t profile = cell / 16 % 3;
  const Model& model = kModels[profile + 1];
  const Machine& machine = kMachines[0];
  Conditions c;
  c.prompt = target;
  c.max_tokens = 512;
  DemoRun run;
  Value& head = run.envelope.head;
  head = head_of(number, model, machine, "throughput", seconds);
  head.set("campaign",
           Value::object({{"id", number % 320 < 160 ? "context-2026-08" : "context-2026-10"},
                          {"cell_id", sha256_hex(cat("cell ", cell, " ", number)).substr(0, 16)},
                          {"profile", publish::model_slug(model.id)}}));
  head.set("env_class", "isolated");
  Value context = Value::object({{"model_max_tokens", 262144},
                                 {"worker_max_tokens", window},
                                 {"configured_window_tokens", window},
                                 {"requested_prompt_tokens", target}});
  context.set("output_reservation_tokens", 512);
  const bool fits = target + 512 <= window;
  const bool fault = fits && cell % 5 == 3;
  if (!fits || fault) {
    const size_t which = cell / 5 % 4;
    head.set("cell_status", fits ? kFaults[which] : "not_applicable");
    head.set("context", std::move(context));
    head.set("errors", Value::array({Value(fits ? std::string(kReasons[which])
                                                : cat(target, " + 512 exceeds ", window))}));
    run.entry.completion_state = "partial";
  } else {
    set_conditions(head, c, model, seconds);
    head.set("cell_status", "success");
    context.set("actual_prompt_tokens", target + 7);
    context.set("actual_completion_tokens", 512);
    context.set("actual_total_tokens", target + 519);
    head.set("context", std::move(context));
    const double slow = 1.0 / (1.0 + static_cast<double>(target) / 90000.0);
    const double decode = decode_rate(model, machine, number) * slow;
    add_probe_rows(run.envelope, c, decode, decode * 14, 1.0);
    run.entry.completion_state = "complete";
  }
  run.entry.context_band = cat(target / 1000, "k");
  run.entry.max_output_tokens = 512;
  return run;
}

// The candidate and the incumbent of one session; the candidate carries the control figure.
DemoRun pair_member(size_t number, size_t pair, bool candidate, int64_t seconds) {
  Conditions c;
  if (pair % 3 == 2 && candidate) c.prefix = "shared_prefix";  // a pair that may not be compared
  const Model& model = kModels[pair % kModels.size()];
  const Machine& machine = kMachines[pair % 3];
  DemoRun run = probe(number, model, machine, seconds + (candidate ? 900 : 0), c);
  run.envelope.head.set("campaign", Value::object({{"id", cat("mtp-", pair)},
                                                   {"cell_id", candidate ? "candidate" : "control"},
                                                   {"profile", "mtp"}}));
  run.entry.comparison_group = cat("qwen3.8-mtp-2026-", pair % 12 + 1);
  run.entry.variant = candidate ? "MTP block size 3" : "baseline";
  if (candidate) {
    for (ResultRow& row : run.envelope.results) {
      if (row.unit == "tok/s") row.value *= 1.18;
    }
    run.envelope.head.set(
        "control",
        Value::object({{"incumbent_model", model.id},
                       {"envelope_sha256", publish::envelope_sha256(
                                               pair_member(number, pair, false, seconds).envelope)},
                       {"same_session", true},
                       {"metric", "throughput_total_toks_per_s"},
                       {"value", run.envelope.results[0].value / 1.18},
                       {"unit", "tok/s"}}));
  }
  return run;
}

DemoRun evaluation(size_t number, const Model& model, const Machine& machine, int64_t seconds) {
  constexpr std::array<std::array<const char*, 3>, 4> kTasks = {
      {{"reasoning", "gsm8k", "exact_match_strict"},
       {"knowledge", "mmlu_pro", "accuracy"},
       {"coding", "humaneval", "pass_at_1"},
       {"math-hard", "minerva_math", "exact_match"}}};
  const auto& task = kTasks[number / 3 % kTasks.size()];
  DemoRun run;
  run.envelope.head = head_of(number, model, machine, task[0], seconds);
  run.envelope.head.set("seed", 1234);
  run.envelope.head.set("gen_kwargs", Value::object({{"temperature", 0}, {"max_gen_toks", 1024}}));
  const double score = std::min(0.97, 0.55 + 0.1 / model.size * wobble(number, 4));
  const publish::Tags tags = {{"num_fewshot", "5"}, {"n_effective", "1319"}, {"stderr", "0.0115"}};
  add_row(run.envelope, task[1], task[2], score, "ratio", "", tags);
  add_row(run.envelope, task[1], "accuracy_flexible", score + 0.01, "ratio", "", tags);
  run.entry.completion_state = "complete";
  return run;
}

// A sealed paired score of our judge, as its converter lays it out.
DemoRun sealed_score(size_t number, int64_t seconds) {
  const Model& model = kModels[5];
  const Machine& machine = kMachines[4];
  Conditions c;
  c.prompt = 512;
  c.max_tokens = 128;
  DemoRun run;
  run.envelope.head = head_of(number, model, machine, "throughput", seconds);
  set_conditions(run.envelope.head, c, model, seconds);
  const double decode = 80 * wobble(number, 5), gain = 1.05 * wobble(number, 6);
  const publish::Tags all = {{"passed", "true"},
                             {"track_id", "smollm2-135m-cpu-v1"},
                             {"official_pairs", "4"},
                             {"contract_sha256", sha256_hex("contract")}};
  const auto with = [&all](publish::Tags tags) {
    for (const auto& [key, text] : all) tags.put(key, text);
    return tags;
  };
  add_row(run.envelope, "composite", "composite", gain, "x", "",
          with({{"composite_low", format_fixed(gain - 0.02, 4)},
                {"composite_center", format_fixed(gain, 4)},
                {"composite_high", format_fixed(gain + 0.02, 4)},
                {"confidence", "0.95"},
                {"detectable_change", "0.031"}}));
  add_row(run.envelope, "composite", "decode_gain", gain * 1.01, "x", "",
          with({{"floor", "0.9"}, {"floor_passed", "true"}, {"weight", "0.75"}}));
  add_row(run.envelope, "composite", "prefill_gain", gain * 0.97, "x", "",
          with({{"floor", "0.9"}, {"floor_passed", "true"}, {"weight", "0.25"}}));
  for (int pair = 1; pair <= 4; ++pair) {
    for (const char* leg : {"control", "candidate"}) {
      const double rate = (*leg == 'c' && leg[1] == 'a' ? decode * gain : decode) *
                          wobble(number + static_cast<size_t>(pair), 7);
      add_row(run.envelope, "leg", "decode_toks_per_s", rate, "tok/s", "decode_window",
              with({{"pair", cat(pair)},
                    {"leg", leg},
                    {"phase", "decode"},
                    {"seconds_per_token", format_double(1 / rate)}}));
    }
  }
  add_row(run.envelope, "candidate", "decode_toks_per_s", decode * gain, "tok/s", "decode_window",
          with({{"leg", "candidate"}, {"phase", "decode"}}));
  add_row(run.envelope, "control", "decode_toks_per_s", decode, "tok/s", "decode_window",
          with({{"leg", "control"}, {"phase", "decode"}}));
  add_row(run.envelope, "correctness", "checked_steps", 640, "tokens", "",
          with({{"verdict", "passed"}, {"case_count", "5"}}));
  add_row(run.envelope, "seal", "weights_bytes", 98'000'000, "bytes", "",
          with({{"score_file", "score.json"},
                {"score_sha256", sha256_hex(cat("score ", number))},
                {"verify", "benchd score verify score.json"},
                {"metrics.commit", sha256_hex("commit").substr(0, 40)}}));
  run.envelope.head.set("control", Value::object({{"same_session", true},
                                                  {"metric", "decode_toks_per_s"},
                                                  {"value", decode},
                                                  {"unit", "tok/s"}}));
  run.entry.completion_state = "complete";
  return run;
}

// Texts that would run as script, break out of a script element, or upset a terminal or a table.
DemoRun hostile(size_t number, int64_t seconds) {
  constexpr std::array<const char*, 6> kTexts = {
      "</script><script>window.broken=1</script>",
      "\"><img src=x onerror=window.broken=1>",
      "<!--<script>\xE2\x80\xA8\xE2\x80\xA9",
      "'; window.broken=1; //\\",
      "\xF0\x9F\x8E\x89 \xE2\x80\xAE gnp.exe \xD7\xA9\xD7\x9C\xD7\x95\xD7\x9D",
      "=HYPERLINK(\"x\")\t,\r\n\"quoted\""};
  const std::string text = kTexts[number / 20 % kTexts.size()];
  Model model = kModels[number % kModels.size()];
  const std::string id = cat("evil/", text);
  DemoRun run = probe(number, model, kMachines[1], seconds, {});
  run.envelope.head.set("model", id);
  run.envelope.head.set("errors", Value::array({Value(text), Value(std::string(3000, 'A'))}));
  for (ResultRow& row : run.envelope.results) {
    row.tag("note", text);
    row.tag(text, "a hostile key");
  }
  run.envelope.results[0].name = text;
  run.entry.variant = text;
  run.entry.caveat = text;
  return run;
}

DemoRun make(size_t number) {
  const int64_t seconds =
      kFirstDay + static_cast<int64_t>(number) % 4000 * 5400 + static_cast<int64_t>(number) / 4000;
  const size_t kind = number % 20;
  const size_t cycle = number / 20;
  const Model& model = kModels[(cycle * 3 + kind) % kModels.size()];
  const Machine& machine = kMachines[(cycle + kind) % kMachines.size()];
  if (kind < 4) return probe(number, model, machine, seconds, {});
  if (kind < 6) return probe(number, model, machine, seconds, {.prompt = 32000, .max_tokens = 512});
  if (kind == 6) return probe(number, model, machine, seconds, {.concurrency = 4});
  if (kind == 7) return probe(number, model, machine, seconds, {.verified = false});
  if (kind < 14) return campaign_cell(number, cycle * 6 + kind - 8, seconds);
  if (kind < 16) return pair_member(number - (kind - 14), cycle, kind == 15, seconds);
  if (kind < 18) return evaluation(number, model, machine, seconds);
  if (kind == 18) {
    if (cycle % 2 == 0) return sealed_score(number, seconds);
    // Old data: nobody knows under which conditions.
    DemoRun run = probe(number, model, machine, seconds, {});
    for (const char* key : {"regime", "cache", "provenance", "concurrency"}) {
      std::erase_if(run.envelope.head.members(), [&](const auto& m) { return m.first == key; });
    }
    for (ResultRow& row : run.envelope.results) row.tag("regime", "unstated");
    return run;
  }
  return hostile(number, seconds);
}

}  // namespace

DemoRun demo_run(size_t number) {
  DemoRun run = make(number);
  run.indexed = number % 10 != 9;
  // Entries of every status; most are scored.
  run.entry.status = number % 13 == 4    ? "experimental"
                     : number % 29 == 7  ? "recovered"
                     : number % 31 == 11 ? "invalid"
                                         : "scored";
  if (run.entry.status == "invalid") {
    run.entry.caveat = "A proxy answered with a fallback model.";
  }
  const Value* provenance = run.envelope.find("provenance");
  const Value* verified = provenance != nullptr ? provenance->find("verified") : nullptr;
  run.entry.weights = verified != nullptr && verified->boolean() ? "verified" : "unverified";
  run.entry.evidence = "current";
  run.entry.cell_status = run.envelope.text("cell_status");
  return run;
}

Result<std::vector<std::string>> write_demo_store(publish::Store& store,
                                                  const DemoOptions& options) {
  publish::RunIndex index;
  index.historical_scored_before = "2026-04-01T00:00:00Z";
  std::vector<std::string> paths;
  std::string last_bytes;
  // Writing a shard is what takes the time: a few dozen at once, stored in order.
  constexpr size_t kBatch = 64;
  for (size_t begin = 0; begin < options.shards; begin += kBatch) {
    const size_t size = std::min(kBatch, options.shards - begin);
    std::vector<DemoRun> runs(size);
    std::vector<Result<std::string>> shards(size, std::string());
    std::atomic<size_t> position{0};
    {
      std::vector<std::jthread> threads;
      for (unsigned t = 0; t < std::max(std::thread::hardware_concurrency(), 1U); ++t) {
        threads.emplace_back([&] {
          for (size_t i = position++; i < size; i = position++) {
            runs[i] = demo_run(begin + i);
            shards[i] = publish::write_shard(runs[i].envelope);
          }
        });
      }
    }
    for (size_t i = 0; i < size; ++i) {
      DemoRun& run = runs[i];
      if (!shards[i]) return shards[i].refusal();
      const std::string& bytes = *shards[i];
      const std::string path = publish::shard_path(run.envelope, bytes);
      TRY_DO(store.put_once(path, bytes));
      run.entry.path = path;
      run.entry.envelope_sha256 = publish::envelope_sha256(run.envelope);
      // A correction: the earlier shard stays, its entry says what replaced it.
      const bool corrects = (begin + i) % 31 == 12;
      if (corrects && !index.runs.empty() && index.runs.back().status == "invalid")
        index.runs.back().superseded_by = path;
      if (run.indexed) index.runs.push_back(run.entry);
      paths.push_back(path);
      last_bytes = bytes;
    }
  }
  if (options.oddities && !paths.empty()) {
    TRY_DO(store.put_once("data/run-2026-09-01T00-00-00-abcdef1-throughput-half-written.parquet",
                          std::string_view(last_bytes).substr(0, last_bytes.size() / 2)));
    TRY_DO(store.put_once("data/run-2026-09-02T00-00-00-abcdef1-throughput-no-parquet.parquet",
                          "this is text"));
    IndexEntry lost;
    lost.path = "data/run-2026-09-03T00-00-00-abcdef1-throughput-lost-00000000.parquet";
    index.runs.push_back(lost);
  }
  TRY_DO(store.replace(publish::kRunIndexPath, std::nullopt, publish::write_run_index(index)));
  return paths;
}

}  // namespace assay::demo
