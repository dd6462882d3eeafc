// genai-perf and aiperf: both write metric → {unit, avg, p1 … p99, …}. aiperf of October 2025 put
// the metrics under `records`; both also print a CSV whose first block has the distributions, its
// second single values.
#include <cmath>
#include <map>

#include "base/text.h"
#include "publish/converters/converters.h"
#include "publish/converters/rows.h"
#include "publish/refusals.h"

namespace assay::publish {

namespace {

// One reader for both: the metric table is the root, or `records`.
class Report {
 public:
  Report(json::Node root, std::string_view name)
      : root_(root),
        metrics_(root.find("records").is_object() ? root.find("records") : root),
        name_(name) {}

  [[nodiscard]] std::optional<double> value(std::string_view metric,
                                            std::string_view statistic = "avg") const {
    return number_of(metrics_.at({metric, statistic}));
  }

  Result<Draft> draft(const RunContext& context) {
    draft_.model = model();
    draft_.concurrency = concurrency();
    // start_time is the local time of the machine that ran, without a zone.
    if (const auto local = text_of(root_.find("start_time"))) {
      if (!local_to_utc(*local, "UTC")) {
        add_time_problem(draft_, "start_time", *local);
      } else if (context.time_zone) {
        draft_.timestamp = local_to_utc(*local, *context.time_zone);
      }
    }
    add_rates();
    add_latency("time_to_first_token", "ttft");
    add_latency("ttft", "ttft");
    add_latency("time_to_first_output_token", "ttft_answer");
    // Both define inter-token latency as (latency - ttft) / (output tokens - 1): others call it
    // TPOT.
    add_latency("inter_token_latency", "tpot");
    add_latency("inter_chunk_latency", "itl");
    add_latency("request_latency", "e2el");
    add_power();
    for (ResultRow& row : draft_.results) {
      row.duration_seconds = value("benchmark_duration");
      for (const char* count : {"request_count", "error_request_count"}) {
        if (const auto text = text_of(metrics_.at({count, "avg"}))) row.tag(count, *text);
      }
      if (const auto text = text_of(root_.find("aiperf_version"))) row.tag("aiperf_version", *text);
    }
    add_regime();
    const json::Node cancelled = root_.find("was_cancelled");
    if (cancelled.is_true()) {
      draft_.cell_status = "aborted";
      draft_.errors.emplace_back("the run was cancelled");
      draft_.results.clear();
    } else if (const auto done = value("request_count")) {
      TRY_DO(apply_failures(draft_, context, *done, value("error_request_count").value_or(0)));
    }
    return std::move(draft_);
  }

 private:
  std::optional<std::string> model() const {
    const json::Node item = root_.at({"input_config", "models", "items"}).items().front();
    if (const auto name = text_of(item.is_object() ? item.find("name") : item))
      return std::string(*name);
    for (const auto& keys : {std::initializer_list<std::string_view>{"input_config", "model_names"},
                             {"input_config", "model"},
                             {"input_config", "endpoint", "model_names"}}) {
      if (const auto name = text_of(root_.at(keys).items().front())) return std::string(*name);
    }
    return std::nullopt;
  }

  std::optional<int64_t> concurrency() const {
    if (const json::Node phases = root_.at({"input_config", "phases"}); phases.is_array()) {
      for (json::Node phase : phases.items()) {
        if (phase.is_object() && text_of(phase.find("name")) == "profiling") {
          if (const auto width = integer_of(phase.find("concurrency"))) return width;
        }
      }
    }
    if (const auto width =
            integer_of(root_.at({"input_config", "perf_analyzer", "stimulus", "concurrency"}))) {
      return width;
    }
    return integer_of(root_.at({"input_config", "loadgen", "concurrency"}));
  }

  void add_rates() {
    std::optional<double> total = value("total_token_throughput");
    std::string derived;
    const auto in = value("total_isl"), out = value("total_osl"),
               seconds = value("benchmark_duration");
    if (!total && in && out && seconds && *seconds > 0) {
      total = (*in + *out) / *seconds;
      derived = "(total_isl + total_osl) / benchmark_duration";
    }
    const auto isl = value("input_sequence_length"), osl = value("output_sequence_length");
    const auto requests = value("request_throughput");
    if (!total && isl && osl && requests) {
      total = (*isl + *osl) * *requests;
      derived = "(mean input + mean output) * request_throughput";
    }
    if (ResultRow* row = add_row(draft_, name_, "throughput_total_toks_per_s", "tok/s", total)) {
      row->tag("rate_basis", "wall");
      if (!derived.empty()) row->tag("derived", derived);
    }
    if (ResultRow* row = add_row(draft_, name_, "throughput_output_toks_per_s", "tok/s",
                                 value("output_token_throughput"))) {
      row->tag("rate_basis", "wall");
    }
    if (ResultRow* row = add_row(draft_, name_, "decode_toks_per_s", "tok/s",
                                 value("output_token_throughput_per_user", "p50"))) {
      row->tag("rate_basis", "decode_window");
    }
    add_row(draft_, name_, "throughput_requests_per_s", "req/s", requests);
  }

  void add_latency(std::string_view metric, std::string_view family) {
    const json::Node statistics = metrics_.find(metric);
    if (!statistics.is_object()) return;
    const auto unit = text_of(statistics.find("unit"));
    double scale = 1;  // to milliseconds
    if (unit == "sec" || unit == "s") scale = 1000;
    if (unit == "us") scale = 1e-3;
    if (unit == "ns") scale = 1e-6;
    for (const auto& [label, name] : {std::pair{"avg", "mean"},
                                      {"p50", "p50"},
                                      {"p90", "p90"},
                                      {"p95", "p95"},
                                      {"p99", "p99"}}) {
      const auto number = number_of(statistics.find(label));
      if (number)
        add_row(draft_, name_, cat(family, "_", name, "_ms"), "ms",
                scale == 1 ? *number : *number * scale);
    }
  }

  void add_power() {
    const json::Node power = root_.at({"telemetry_stats", "gpu_power_usage"});
    if (!power.is_object()) return;
    for (const auto& [gpu, statistics] : power.members()) {
      if (statistics.is_object()) {
        add_row(draft_, gpu, "gpu_power_usage_mean", "W", number_of(statistics.find("avg")));
      }
    }
  }

  void add_regime() {
    draft_.regime = json::Value::object({{"rate_basis", "wall"}});
    for (const auto& [statistic, key] :
         {std::pair{"min", "prompt_tokens_min"}, {"max", "prompt_tokens_max"}}) {
      if (const auto count = whole_part(value("input_sequence_length", statistic)))
        draft_.regime.set(key, *count);
    }
    if (const auto median = value("input_sequence_length", "p50"))
      draft_.regime.set("prompt_tokens_median", *median);
    draft_.cache = json::Value::object({{"prefix_policy", "unknown"}});
  }

  const json::Node root_;
  const json::Node metrics_;
  std::string_view name_;
  Draft draft_;
};

// The CSV as the same document: "Time to First Token (ms)" → time_to_first_token {unit: ms, …}.
Result<json::Document> read_csv(std::string_view text, std::vector<std::string>& problems) {
  json::Value root = json::Value::object();
  std::vector<std::string_view> header;
  for (const std::string_view line : split(text, '\n')) {
    const std::string_view row = trim(line);
    if (row.empty()) {
      header.clear();
      continue;
    }
    const std::vector<std::string_view> cells = split(row, ',');
    if (header.empty()) {
      header = cells;
      if (header[0] != "Metric") {
        return Refusal(kConvertInput,
                       cat("a CSV block must begin with `Metric`, found `", header[0],
                           "` (a table over several runs is not one run)"));
      }
      continue;
    }
    std::string name(cells[0]);
    std::string unit;
    if (const size_t open = name.rfind(" ("); open != std::string::npos && name.ends_with(')')) {
      unit = name.substr(open + 2, name.size() - open - 3);
      name.resize(open);
    }
    for (char& c : name)
      c = c == ' ' ? '_' : (c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c);
    if (name == "total_input_sequence_length") name = "total_isl";
    if (name == "total_output_sequence_length") name = "total_osl";
    json::Value statistics = json::Value::object({{"unit", unit}});
    for (size_t i = 1; i < cells.size() && i < header.size(); ++i) {
      const std::string_view cell = trim(cells[i]);
      const auto figure = parse_double(cell);
      if (figure && std::isfinite(*figure)) {
        statistics.set(header[i] == "Value" ? "avg" : header[i], *figure);
      } else if (!cell.empty() && cell != "N/A") {
        problems.push_back(
            cat(cells[0], " ", header[i], " is \"", cell, "\", no finite number; left out"));
      }
    }
    root.set(name, std::move(statistics));
  }
  if (root.members().empty()) return Refusal(kNothingToPublish, "the CSV holds no metric");
  return json::Document::parse(json::write(root));
}

Result<std::vector<Draft>> convert_report(const ToolFile& file, const RunContext& context,
                                          std::string_view name) {
  json::Document table;
  std::vector<std::string> problems;
  json::Node root = file.only_value();
  if (!root.is_object()) {
    if (file.text.empty())
      return Refusal(kConvertInput, cat("expected one JSON object or a CSV export (", name, ")"));
    TRY(read, read_csv(file.text, problems));
    table = std::move(read);
    root = table.values().front();
  }
  Report report(root, name);
  if (!report.value("request_throughput") && !report.value("request_latency") &&
      !report.value("request_count")) {
    return Refusal(kConvertInput,
                   cat("no request_throughput, request_latency or request_count (", name, ")"));
  }
  std::vector<Draft> drafts;
  TRY(draft, report.draft(context));
  draft.errors.insert(draft.errors.end(), problems.begin(), problems.end());
  drafts.push_back(std::move(draft));
  return drafts;
}

}  // namespace

Result<std::vector<Draft>> convert_genai_perf(const ToolFile& file, const RunContext& context) {
  return convert_report(file, context, "genai_perf");
}
Result<std::vector<Draft>> convert_aiperf(const ToolFile& file, const RunContext& context) {
  return convert_report(file, context, "aiperf");
}

}  // namespace assay::publish
