// guidellm: benchmarks.json of three generations. One envelope per benchmarks[] entry (one strategy
// point); only the statistics of successful requests are used.
#include "base/text.h"
#include "publish/converters/converters.h"
#include "publish/converters/rows.h"
#include "publish/refusals.h"

namespace assay::publish {

namespace {

constexpr std::string_view kName = "guidellm";

// Wall seconds of the measured part, and where the figure comes from.
struct Wall {
  double seconds = 0;
  double start = 0;
  std::string basis{};
};

std::optional<Wall> wall_of(json::Node run) {
  const auto start = number_of(run.find("start_time"));
  if (const auto duration = number_of(run.find("duration")); duration && *duration > 0) {
    const auto begin =
        start ? start : number_of(run.at({"scheduler_metrics", "measure_start_time"}));
    return Wall{*duration, begin.value_or(0), "duration"};
  }
  const auto measured_from = number_of(run.at({"scheduler_metrics", "measure_start_time"}));
  const auto measured_to = number_of(run.at({"scheduler_metrics", "measure_end_time"}));
  if (measured_from && measured_to && *measured_to > *measured_from) {
    return Wall{*measured_to - *measured_from, *measured_from, "measure_window"};
  }
  const auto from = number_of(run.at({"run_stats", "start_time"}));
  const auto to = number_of(run.at({"run_stats", "end_time"}));
  if (from && to && *to > *from) return Wall{*to - *from, *from, "run_stats"};
  return std::nullopt;
}

const json::Node successful(json::Node run, std::string_view metric) {
  return run.at({"metrics", metric, "successful"});
}

std::optional<double> count_of(json::Node run, std::string_view state) {
  if (const auto value = number_of(run.at({"request_totals", state}))) return value;
  return number_of(run.at({"metrics", "request_totals", state}));
}

std::optional<std::string> first_text(json::Node root, json::Node run) {
  const std::initializer_list<std::string_view> in_root[] = {{"args", "model"},
                                                             {"config", "backend", "model"}};
  for (const auto& keys : in_root) {
    if (const auto text = text_of(root.at(keys)); text && !text->empty()) return std::string(*text);
  }
  const std::initializer_list<std::string_view> in_run[] = {{"config", "backend", "model"},
                                                            {"worker", "backend_model"}};
  for (const auto& keys : in_run) {
    if (const auto text = text_of(run.at(keys)); text && !text->empty()) return std::string(*text);
  }
  return std::nullopt;
}

void add_family(Draft& draft, json::Node statistics, std::string_view family, double scale,
                std::string_view basis) {
  if (!statistics.is_object()) return;
  const auto put = [&](std::string_view label, json::Node value) {
    const auto number = number_of(value);
    if (!number) return;
    ResultRow* row = add_row(draft, kName, cat(family, "_", label, "_ms"), "ms", *number * scale);
    if (!basis.empty()) row->tag(cat(family, "_basis"), basis);
  };
  put("mean", statistics.find("mean"));
  for (const char* label : {"p50", "p90", "p95", "p99"})
    put(label, statistics.at({"percentiles", label}));
}

Result<Draft> convert_run(json::Node root, json::Node run, const RunContext& context) {
  Draft draft;
  draft.model = first_text(root, run);
  const auto wall = wall_of(run);
  if (wall && wall->start > 0) draft.timestamp = utc_text(wall->start);
  if (const auto text = text_of(run.find("start_time")); text && !draft.timestamp)
    add_time_problem(draft, "start_time", *text);
  json::Node strategy = run.at({"config", "strategy"});
  if (!strategy) strategy = run.at({"args", "strategy"});
  if (strategy.is_object()) {
    draft.concurrency = integer_of(strategy.find("max_concurrency"));
    if (!draft.concurrency) draft.concurrency = integer_of(strategy.find("streams"));
    const auto type = text_of(strategy.find("type_"));
    if (!draft.concurrency && type == "synchronous") draft.concurrency = 1;
  }
  const auto done = count_of(run, "successful").value_or(0);
  const auto errored = count_of(run, "errored").value_or(0);

  const auto output =
      number_of(run.at({"metrics", "output_token_count", "successful", "total_sum"}));
  auto total = number_of(run.at({"metrics", "total_token_count", "successful", "total_sum"}));
  const auto prompt =
      number_of(run.at({"metrics", "prompt_token_count", "successful", "total_sum"}));
  if (!total && prompt && output) total = *prompt + *output;
  if (wall) {
    const auto rate = [&](std::string_view metric, std::string_view unit,
                          std::optional<double> sum) {
      if (!sum) return;
      ResultRow* row = add_row(draft, kName, metric, unit, *sum / wall->seconds);
      row->tag("wall_basis", wall->basis);
      if (unit == "tok/s") row->tag("rate_basis", "wall");
    };
    rate("throughput_total_toks_per_s", "tok/s", total);
    rate("throughput_output_toks_per_s", "tok/s", output);
    rate("throughput_requests_per_s", "req/s", done);
  }
  add_family(draft, successful(run, "time_to_first_token_ms"), "ttft", 1, "");
  add_family(draft, successful(run, "time_to_first_output_token_ms"), "ttft_answer", 1, "");
  // guidellm's inter-token latency is a mean per request, which is what others call TPOT; its time
  // per output token includes the first token, which nobody else's does.
  add_family(draft, successful(run, "inter_token_latency_ms"), "itl", 1, "per_request_mean");
  add_family(draft, successful(run, "time_per_output_token_ms"), "tpot_incl_first", 1, "");
  add_family(draft, successful(run, "request_latency"), "e2el", 1000, "");

  for (ResultRow& row : draft.results) {
    if (wall) row.duration_seconds = wall->seconds;
    if (strategy.is_object()) {
      if (const auto type = text_of(strategy.find("type_"))) row.tag("strategy", *type);
      add_tags(row, strategy, {"streams", "max_concurrency", "rate"});
    }
    for (const char* state : {"successful", "errored", "incomplete"}) {
      json::Node value = run.at({"request_totals", state});
      if (!value) value = run.at({"metrics", "request_totals", state});
      if (const auto text = text_of(value)) row.tag(state, *text);
    }
    if (const auto text = text_of(root.at({"metadata", "guidellm_version"})))
      row.tag("guidellm_version", *text);
    if (const auto text = text_of(run.at({"config", "run_index"}))) row.tag("run_index", *text);
    json::Node data = root.at({"args", "data"});
    if (!data) data = run.at({"request_loader", "data"});
    if (data.items().front()) data = data.items().front();
    if (const auto text = text_of(data)) row.tag("data", *text);
  }

  draft.regime = json::Value::object({{"rate_basis", "wall"}});
  const json::Node prompts = successful(run, "prompt_token_count");
  if (prompts.is_object()) {
    if (const auto median = number_of(prompts.find("median")))
      draft.regime.set("prompt_tokens_median", *median);
    for (const auto& [from, to] :
         {std::pair{"min", "prompt_tokens_min"}, {"max", "prompt_tokens_max"}}) {
      if (const auto count = whole_part(number_of(prompts.find(from))))
        draft.regime.set(to, *count);
    }
  }
  draft.cache = json::Value::object({{"prefix_policy", "unknown"}});
  TRY_DO(apply_failures(draft, context, done, errored, count_of(run, "total")));
  return draft;
}

}  // namespace

Result<std::vector<Draft>> convert_guidellm(const ToolFile& file, const RunContext& context) {
  if (!file.only_value().is_object()) {
    return Refusal(kConvertInput, "expected one JSON object (guidellm benchmarks)");
  }
  const json::Node root = file.only_value();
  const json::Node runs = root.find("benchmarks");
  if (!runs.is_array()) {
    return Refusal(kConvertInput, "expected an array under `benchmarks` (guidellm)");
  }
  if (runs.items().empty()) return Refusal(kNothingToPublish, "`benchmarks` is empty (guidellm)");
  std::vector<Draft> drafts;
  for (json::Node run : runs.items()) {
    if (!run.is_object() || !run.find("metrics")) {
      return Refusal(kConvertInput, "an entry of `benchmarks` has no `metrics` (guidellm)");
    }
    TRY(draft, convert_run(root, run, context));
    drafts.push_back(std::move(draft));
  }
  return drafts;
}

}  // namespace assay::publish
