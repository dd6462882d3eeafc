// bench-serve (vllm-mlx): an array of runs, or {runs: […]}; the runs of one prompt set and
// concurrency are repetitions, and their median is the figure.
#include <algorithm>
#include <map>

#include "base/text.h"
#include "publish/converters/converters.h"
#include "publish/converters/rows.h"
#include "publish/refusals.h"

namespace assay::publish {

namespace {

// Nothing when a run's own figure cannot be: it would hide among the others.
std::optional<double> median_of(const std::vector<const json::Value*>& runs, std::string_view key,
                                std::vector<std::string>& errors) {
  std::vector<double> values;
  for (const json::Value* run : runs) {
    if (const auto value = number_of(run->find(key))) values.push_back(*value);
  }
  if (values.empty()) return std::nullopt;
  std::sort(values.begin(), values.end());
  if (values.front() < 0) {
    errors.push_back(
        cat("`", key, "` of a run is ", values.front(), ", which cannot be; left out"));
    return std::nullopt;
  }
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace

Result<std::vector<Draft>> convert_bench_serve(const ToolFile& file, const RunContext&) {
  const json::Value* list = file.values.size() == 1 ? &file.values[0] : nullptr;
  if (list != nullptr && list->is_object()) list = list->find("runs");
  if (list == nullptr || !list->is_array()) {
    return Refusal(kConvertInput, "expected an array of runs (bench-serve)");
  }
  if (list->items().empty()) return Refusal(kNothingToPublish, "no runs (bench-serve)");
  Draft draft;
  std::vector<std::pair<std::string, std::string>> order;
  std::map<std::pair<std::string, std::string>, std::vector<const json::Value*>> groups;
  for (const json::Value& run : list->items()) {
    if (!run.is_object() || run.find("gen_tps") == nullptr) {
      return Refusal(kConvertInput, "a run has no `gen_tps` (bench-serve)");
    }
    if (!draft.model) draft.model = text_of(run.find("model_id"));
    const std::pair key{text_of(run.find("prompt_set")).value_or(""),
                        text_of(run.find("concurrency")).value_or("")};
    if (!groups.contains(key)) order.push_back(key);
    groups[key].push_back(&run);
  }
  for (const auto& key : order) {
    const auto& runs = groups[key];
    double peak_gb = 0;
    bool validated = true;
    for (const json::Value* run : runs) {
      peak_gb = std::max(peak_gb, number_of(run->find("metal_peak_gb")).value_or(0));
      const json::Value* flag = run->find("validated");
      validated =
          validated && flag != nullptr && flag->kind() == json::Kind::boolean && flag->boolean();
    }
    const size_t first = draft.results.size();
    for (const auto& [source, metric, unit] :
         {std::tuple{"throughput_tps", "throughput_total_toks_per_s", "tok/s"},
          {"gen_tps", "throughput_output_toks_per_s", "tok/s"},
          {"ttft_ms", "ttft_p50_ms", "ms"},
          {"tpot_ms", "tpot_p50_ms", "ms"}}) {
      add_row(draft, "bench_serve", metric, unit, median_of(runs, source, draft.errors));
    }
    for (size_t i = first; i < draft.results.size(); ++i) {
      ResultRow& row = draft.results[i];
      if (peak_gb > 0) row.peak_rss_mb = peak_gb * 1024;
      row.tag("prompt_set", key.first);
      row.tag("concurrency", key.second);
      row.tag("repetitions", cat(runs.size()));
      row.tag("validated", validated ? "true" : "false");
    }
  }
  draft.regime = json::Value::object({{"aggregation", "median"}});
  draft.cache = json::Value::object({{"prefix_policy", "unknown"}});
  std::vector<Draft> drafts;
  drafts.push_back(std::move(draft));
  return drafts;
}

}  // namespace assay::publish
