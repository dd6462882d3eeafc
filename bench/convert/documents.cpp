#include "documents.h"

#include <cstdint>

#include "base/text.h"

namespace assay::bench {

namespace {

// Figures with many digits, as tools write them.
class Figures {
 public:
  double next() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<double>(state_ >> 11) * 0x1p-53;
  }
  std::string text(double scale) { return format_double(next() * scale + scale / 16); }

 private:
  uint64_t state_ = 7;
};

struct Shape {
  std::string_view kind;
  std::string_view grows;
  std::string head, tail;
  std::string (*piece)(Figures&, size_t index);
  std::string_view between = ",\n";
};

std::string numbers(Figures& figures, int count, double scale) {
  std::string out;
  for (int i = 0; i < count; ++i) out += cat(i == 0 ? "" : ", ", figures.text(scale));
  return out;
}

std::string summary(Figures& f, double scale) {
  return cat(R"({"unit": "ms", "avg": )", f.text(scale), R"(, "p1": )", f.text(scale),
             R"(, "p50": )", f.text(scale), R"(, "p90": )", f.text(scale), R"(, "p95": )",
             f.text(scale), R"(, "p99": )", f.text(scale), R"(, "min": )", f.text(scale),
             R"(, "max": )", f.text(scale), R"(, "std": )", f.text(scale), "}");
}

std::string distribution(Figures& f, double scale) {
  return cat(R"({"successful": {"mean": )", f.text(scale), R"(, "median": )", f.text(scale),
             R"(, "min": 10, "max": 900, "count": 8, "total_sum": )", f.text(scale * 100),
             R"(, "percentiles": {"p50": )", f.text(scale), R"(, "p90": )", f.text(scale),
             R"(, "p95": )", f.text(scale), R"(, "p99": )", f.text(scale), "}}}");
}

std::string guidellm_request(Figures& f, size_t index) {
  std::string text;
  for (int i = 0; i < 12; ++i) text += "The keeper of the light wrote \\\"calm sea\\\" again. ";
  return cat(R"({"request_id": "r)", index, R"(", "prompt": ")", text, R"(", "output": ")", text,
             R"(", "start_time": )", f.text(1e9), R"(, "end_time": )", f.text(1e9),
             R"(, "token_times": [)", numbers(f, 24, 30), "]}");
}

std::string lm_eval_task(Figures& f, size_t index) {
  std::string description;
  for (int i = 0; i < 30; ++i) description += "Answer the question in one word. {{question}}\\n";
  return cat(R"("task_)", index, R"(": {"task": "task )", index,
             R"(", "fewshot_delimiter": "\n\n",)", R"("doc_to_text": ")", description,
             R"(", "num_fewshot": 5, "metadata": {"version": )", f.text(3), "}}");
}

// As `-o jsonl` writes them with the five repetitions that are its default.
std::string llama_bench_record(Figures& f, size_t index) {
  std::string rates, times;
  double sum = 0;
  for (int i = 0; i < 5; ++i) {
    const double rate = 100 + f.next();
    sum += rate;
    rates += cat(i == 0 ? "" : ", ", rate);
    times += cat(i == 0 ? "" : ", ", 72135640 + index);
  }
  return cat(
      R"({"build_commit": "8cf427ff", "build_number": 5163, "cpu_info": "AMD Ryzen 7 7800X3D 8-Core Processor",)",
      R"( "gpu_info": "", "backends": "CPU", "model_filename": "models/m-7B-Q4_K_M.gguf",)",
      R"( "model_type": "qwen2 7B Q4_K - Medium", "model_size": 4677120000, "model_n_params": 7615616512,)",
      R"( "n_batch": 2048, "n_ubatch": 512, "n_threads": 8, "cpu_mask": "0x0", "cpu_strict": false,)",
      R"( "poll": 50, "type_k": "f16", "type_v": "f16", "n_gpu_layers": -1, "n_cpu_moe": 0,)",
      R"( "split_mode": "layer", "main_gpu": 0, "no_kv_offload": false, "flash_attn": -1,)",
      R"( "devices": "auto", "tensor_split": "0.00", "tensor_buft_overrides": "none", "use_mmap": true,)",
      R"( "use_direct_io": false, "embeddings": false, "no_op_offload": 0, "no_host": false,)",
      R"( "repack": true, "fit_target": 0, "fit_min_ctx": 0, "n_prompt": )", index + 1,
      R"(, "n_gen": 0, "n_depth": 0, "test_time": "2025-04-24T11:57:09Z", "avg_ns": )",
      72135640 + index, R"(, "stddev_ns": 1453752, "avg_ts": )", sum / 5,
      R"(, "stddev_ts": 140.34152, "samples_ns": [)", times, R"(], "samples_ts": [)", rates, "]}");
}

std::string serve_run(Figures& f, size_t index) {
  return cat(R"({"model_id": "m", "prompt_set": "set)", index % 512,
             R"(", "concurrency": 1, "gen_tps": )", f.text(50), R"(, "throughput_tps": )",
             f.text(500), R"(, "ttft_ms": )", f.text(90), R"(, "tpot_ms": )", f.text(20),
             R"(, "metal_peak_gb": )", f.text(8), "}");
}

// As a harness prints it: indented, an answer of a sentence.
std::string framework_run(Figures& f, size_t index) {
  return cat(R"({
  "framework": "harness )",
             index, R"(",
  "answer": "The quick brown fox jumps over the lazy dog: a sentence that is used for typing, for it has every letter there is.",
  "tool_calls": [
    {"tool": "file_read", "args": "{\"path\": \"/tmp/eval-test.txt\"}"}
  ],
  "tokens": 148,
  "latency": )",
             f.text(3), R"(,
  "steps": 2
})");
}

std::string probe_run(Figures& f, size_t index) {
  return cat(R"({"index": )", index, R"(, "ttft_s": )", f.text(0.3), R"(, "total_s": )", f.text(3),
             R"(, "prompt_tokens": 512, "completion_tokens": 64, "cumulative_tok_s": )",
             f.text(200), R"(, "decode_tok_s": )", f.text(30),
             R"(, "finish_reason": "length", "answer_chars": 200, "deltas": {"at_s": [)",
             numbers(f, 64, 3), "]}}");
}

// As the judge seals them.
std::string gate(Figures& f, size_t index) {
  return cat(R"(      {
        "cool": {
          "gpu_temp_c": null,
          "skip_reason": null,
          "state": "passed",
          "waited_seconds": )",
             f.text(2), R"(
        },
        "leg": "control",
        "pair": )",
             index / 4 + 1, R"(,
        "phase": "decode",
        "quiescence": {
          "gpu_util": null,
          "load": )",
             f.text(1), R"(,
          "skip_reason": null,
          "state": "passed",
          "waited_seconds": )",
             f.text(2), R"(
        }
      })");
}

std::string gpu_series(Figures& f, size_t index) {
  return cat(R"("sample_)", index, R"(": )", summary(f, 300));
}

const Shape& shape_of(std::string_view kind) {
  Figures f;
  static const Shape shapes[] = {
      {"guidellm", "requests with their texts and token times",
       cat(R"({"metadata": {"version": 1, "guidellm_version": "0.5.0"}, "args": {"model": "m"},
 "benchmarks": [{"type_": "generative_benchmark", "config": {"strategy": {"type_": "concurrent",
 "streams": 4}}, "duration": 30.5, "start_time": 1771584288.5, "metrics": {"request_totals":
 {"successful": 8, "errored": 0, "incomplete": 0}, "prompt_token_count": )",
           distribution(f, 200), R"(, "output_token_count": )", distribution(f, 100),
           R"(, "total_token_count": )", distribution(f, 300), R"(, "time_to_first_token_ms": )",
           distribution(f, 90), R"(}, "requests": {"successful": [)"),
       "]}}]}", guidellm_request},
      {"lm-eval", "the configurations of its tasks",
       R"({"config": {"model": "hf", "model_args": "pretrained=m"}, "date": 1724620000.5,
 "model_name": "m", "results": {"t": {"acc,none": 0.5}}, "configs": {)",
       "}}", lm_eval_task},
      {"vllm", "per-request lists (--save-detailed)",
       R"({"date": "20260801-101010", "model_id": "m", "num_prompts": 8, "completed": 8, "failed": 0,
 "duration": 1.5, "total_input_tokens": 100, "total_output_tokens": 100, "total_token_throughput": 248.67,
 "output_throughput": 82.9, "request_throughput": 5.18, "median_ttft_ms": 55.68, "itls": [)",
       "]}", [](Figures& figures, size_t) { return cat("[", numbers(figures, 64, 0.02), "]"); }},
      {"framework-eval", "runs", "[", "]", framework_run},
      {"throughput-probe", "single runs",
       R"({"model": "m", "base_url": "http://127.0.0.1:1/v1", "max_tokens": 64, "cell_status": "success",
 "readiness": {"initial_model_state": "resident"}, "started_utc": "2026-04-24T18:30:00Z",
 "sequential": {"cumulative_tok_s": {"median": 200.5, "min": 199.5, "max": 201.5}},
 "sequential_runs": [)",
       "]}", probe_run},
      {"bench-serve", "runs", "[", "]", serve_run},
      {"llama-bench", "records (JSON lines)", "", "\n", llama_bench_record, "\n"},
      {"genai-perf", "sessions",
       cat(R"({"input_config": {"model_names": ["m"]}, "request_throughput": {"unit": "requests/sec", "avg": 5.5},
 "output_token_throughput": {"unit": "tokens/sec", "avg": 82.5}, "time_to_first_token": )",
           summary(f, 90), R"(, "sessions": {)"),
       "}}", gpu_series},
      {"aiperf", "telemetry",
       cat(R"({"schema_version": "1.3", "aiperf_version": "0.10.0", "input_config": {"models": {"items": [{"name": "m"}]}},
 "request_throughput": {"unit": "requests/sec", "avg": 5.5}, "total_token_throughput": {"unit": "tokens/sec",
 "avg": 1895.5}, "time_to_first_token": )",
           summary(f, 90), R"(, "server_metrics": {)"),
       "}}", gpu_series},
      {"benchd-score", "gates of pairs",
       R"({"metrics": {"harness_hash": "h", "model_id": "m", "timestamp": "2026-04-24T18:30:00Z",
 "passed_correctness": true, "decode_speedup": 1.5, "gates": [)",
       R"(]}, "passed": true, "score": 1.5})", gate}};
  for (const Shape& shape : shapes) {
    if (shape.kind == kind) return shape;
  }
  static const Shape none{};
  return none;
}

}  // namespace

std::string large_document(std::string_view kind, size_t bytes_min) {
  const Shape& shape = shape_of(kind);
  if (shape.kind.empty()) return "";
  Figures figures;
  std::string out = shape.head;
  out.reserve(bytes_min + bytes_min / 16);
  for (size_t i = 0; i == 0 || out.size() < bytes_min; ++i) {
    if (i != 0) out += shape.between;
    out += shape.piece(figures, i);
  }
  return out + shape.tail;
}

std::string_view grows_by(std::string_view kind) {
  return shape_of(kind).grows;
}

}  // namespace assay::bench
