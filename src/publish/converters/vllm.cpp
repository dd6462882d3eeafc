// vLLM: `vllm bench serve --save-result` and the older benchmark_serving. One object is one run; a
// sweep's summary is an array of them, and --append-result writes several objects into one file.
#include <algorithm>

#include "base/text.h"
#include "publish/converters/converters.h"
#include "publish/converters/rows.h"
#include "publish/refusals.h"

namespace assay::publish {

namespace {

constexpr std::string_view kName = "benchmark_serving";

// "p99" → "p99", "p99.9" → "p99.9"; empty when the text is no percentile label.
bool is_percentile(std::string_view label) {
  return label.size() > 1 && label[0] == 'p' &&
         label.find_first_not_of("0123456789.", 1) == std::string_view::npos;
}

// {mean,median,pNN}_{ttft,tpot,itl,e2el}_ms → FAMILY_{mean,p50,pNN}_ms. Standard deviations are no
// results.
std::optional<std::string> latency_metric(std::string_view key) {
  if (!key.ends_with("_ms")) return std::nullopt;
  const std::string_view body = key.substr(0, key.size() - 3);
  const size_t cut = body.rfind('_');
  if (cut == std::string_view::npos) return std::nullopt;
  const std::string_view statistic = body.substr(0, cut);
  const std::string_view family = body.substr(cut + 1);
  if (family != "ttft" && family != "tpot" && family != "itl" && family != "e2el")
    return std::nullopt;
  if (statistic == "median") return cat(family, "_p50_ms");
  if (statistic == "mean" || is_percentile(statistic)) return cat(family, "_", statistic, "_ms");
  return std::nullopt;
}

// Text at the top that the tool does not write itself: what its user passed with --metadata.
bool is_metadata(std::string_view key) {
  constexpr std::string_view kOwn[] = {"date",     "endpoint_type", "backend",      "label",
                                       "model_id", "tokenizer_id",  "request_rate", "run_number"};
  return std::find(std::begin(kOwn), std::end(kOwn), key) == std::end(kOwn);
}

// date is "YYYYMMDD-HHMMSS" in the local time of the machine that ran.
std::optional<std::string> iso_local(std::string_view date) {
  if (date.size() != 15 || date[8] != '-') return std::nullopt;
  return cat(date.substr(0, 4), "-", date.substr(4, 2), "-", date.substr(6, 2), "T",
             date.substr(9, 2), ":", date.substr(11, 2), ":", date.substr(13, 2));
}

Result<Draft> convert_run(json::Node run, const RunContext& context) {
  const bool identified = run.find("model_id") && run.find("num_prompts");
  if (!identified && !has_vllm_figures(run)) {
    return Refusal(kConvertInput,
                   "expected an object with model_id and num_prompts (vllm bench serve), or with "
                   "completed and latencies such as median_ttft_ms; found neither");
  }
  Draft draft;
  draft.model = text_of(run.find("model_id"));
  draft.concurrency = integer_of(run.find("max_concurrency"));
  if (const auto date = text_of(run.find("date"))) {
    const auto local = iso_local(*date);
    if (!local || !local_to_utc(*local, "UTC")) {
      add_time_problem(draft, "date", *date);
    } else if (context.time_zone) {
      draft.timestamp = local_to_utc(*local, *context.time_zone);
      draft.timestamp_source = "vllm_date_local";
    }
  }

  const auto rate = [&](std::string_view key, std::string_view metric, std::string_view unit) {
    ResultRow* row = add_row(draft, kName, metric, unit, number_of(run.find(key)));
    if (row != nullptr && unit == "tok/s") row->tag("rate_basis", "wall");
  };
  rate("total_token_throughput", "throughput_total_toks_per_s", "tok/s");
  rate("output_throughput", "throughput_output_toks_per_s", "tok/s");
  rate("input_throughput", "throughput_input_toks_per_s", "tok/s");
  rate("request_throughput", "throughput_requests_per_s", "req/s");
  for (const auto& [key, value] : run.members()) {
    if (const auto metric = latency_metric(key))
      add_row(draft, kName, *metric, "ms", number_of(value));
  }
  add_row(draft, kName, "spec_decode_acceptance_rate", "%",
          number_of(run.find("spec_decode_acceptance_rate")));
  add_row(draft, kName, "spec_decode_acceptance_length", "tokens",
          number_of(run.find("spec_decode_acceptance_length")));

  const auto duration = number_of(run.find("duration"));
  for (ResultRow& row : draft.results) {
    row.duration_seconds = duration;
    if (const auto text = text_of(run.find("completed"))) row.tag("completed_requests", *text);
    if (const auto text = text_of(run.find("failed"))) row.tag("failed_requests", *text);
    add_tags(row, run,
             {"total_input_tokens", "total_output_tokens", "num_prompts", "max_concurrency",
              "request_rate", "backend", "tokenizer_id"});
    for (const auto& [key, value] : run.members()) {
      if (value.is_string() && is_metadata(key)) row.tag(cat("metadata.", key), value.string());
    }
  }

  const auto completed = number_of(run.find("completed"));
  const auto input = number_of(run.find("total_input_tokens"));
  draft.regime = json::Value::object();
  if (completed && input && *completed > 0) {
    draft.regime.set("prompt_tokens_median", *input / *completed);
  }
  draft.regime.set("streaming", true);
  draft.regime.set("rate_basis", "wall");
  draft.cache = json::Value::object({{"prefix_policy", "unknown"}});
  // Reports before 2025-04 count nothing; they cannot say that a request failed.
  if (completed) {
    TRY_DO(apply_failures(draft, context, *completed, number_of(run.find("failed")).value_or(0),
                          number_of(run.find("num_prompts"))));
  }
  return draft;
}

}  // namespace

bool has_vllm_figures(json::Node run) {
  if (!number_of(run.find("completed"))) return false;
  for (const auto& [key, value] : run.members()) {
    if (latency_metric(key) && number_of(value)) return true;
  }
  return false;
}

Result<std::vector<Draft>> convert_vllm(const ToolFile& file, const RunContext& context) {
  std::vector<Draft> drafts;
  for (json::Node value : file.values()) {
    if (value.is_array()) {
      for (json::Node run : value.items()) {
        TRY(draft, convert_run(run, context));
        drafts.push_back(std::move(draft));
      }
    } else {
      TRY(draft, convert_run(value, context));
      drafts.push_back(std::move(draft));
    }
  }
  return drafts;
}

}  // namespace assay::publish
