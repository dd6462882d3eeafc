// bench-serve (vllm-mlx): an array of runs, or {runs: […]}; the runs of one prompt set and
// concurrency are repetitions, and their median is the figure.
#include <algorithm>
#include <array>
#include <unordered_map>

#include "base/text.h"
#include "publish/converters/converters.h"
#include "publish/converters/rows.h"
#include "publish/refusals.h"

namespace assay::publish {

namespace {

struct Figure {
  std::string_view source, metric, unit;
};
constexpr Figure kFigures[] = {
    {"throughput_tps", "throughput_total_toks_per_s", "tok/s"},
    {"gen_tps", "throughput_output_toks_per_s", "tok/s"},
    {"ttft_ms", "ttft_p50_ms", "ms"},
    {"tpot_ms", "tpot_p50_ms", "ms"},
};

// The repetitions of one prompt set at one concurrency.
struct Group {
  std::string_view prompt_set, concurrency;
  std::array<std::vector<double>, std::size(kFigures)> values{};
  double peak_gb = 0;
  bool validated = true;
  size_t runs = 0;

  void add(json::Node run) {
    for (size_t i = 0; i < std::size(kFigures); ++i) {
      if (const auto value = number_of(run.find(kFigures[i].source))) values[i].push_back(*value);
    }
    peak_gb = std::max(peak_gb, number_of(run.find("metal_peak_gb")).value_or(0));
    validated = validated && run.find("validated").is_true();
    ++runs;
  }
};

struct KeyHash {
  size_t operator()(const std::pair<std::string_view, std::string_view>& key) const {
    const std::hash<std::string_view> hash;
    return hash(key.first) * 31 + hash(key.second);
  }
};

// Nothing when a run's own figure cannot be: it would hide among the others.
std::optional<double> median_of(std::vector<double> values, std::string_view key,
                                std::vector<std::string>& errors) {
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
  json::Node list = file.only_value();
  if (list.is_object()) list = list.find("runs");
  if (!list.is_array()) return Refusal(kConvertInput, "expected an array of runs (bench-serve)");
  if (list.items().empty()) return Refusal(kNothingToPublish, "no runs (bench-serve)");
  Draft draft;
  std::vector<Group> groups;  // in the order of their first runs
  std::unordered_map<std::pair<std::string_view, std::string_view>, size_t, KeyHash> places;
  for (const json::Node run : list.items()) {
    if (!run.find("gen_tps")) return Refusal(kConvertInput, "a run has no `gen_tps` (bench-serve)");
    if (!draft.model) draft.model = text_of(run.find("model_id"));
    const std::pair key{text_of(run.find("prompt_set")).value_or(""),
                        text_of(run.find("concurrency")).value_or("")};
    const auto [place, is_new] = places.emplace(key, groups.size());
    if (is_new) groups.push_back({key.first, key.second});
    groups[place->second].add(run);
  }
  for (const Group& group : groups) {
    for (size_t i = 0; i < std::size(kFigures); ++i) {
      ResultRow* row = add_row(draft, "bench_serve", kFigures[i].metric, kFigures[i].unit,
                               median_of(group.values[i], kFigures[i].source, draft.errors));
      if (row == nullptr) continue;
      if (group.peak_gb > 0) row->peak_rss_mb = group.peak_gb * 1024;
      row->tag("prompt_set", group.prompt_set);
      row->tag("concurrency", group.concurrency);
      row->tag("repetitions", cat(group.runs));
      row->tag("validated", group.validated ? "true" : "false");
    }
  }
  draft.regime = json::Value::object({{"aggregation", "median"}});
  draft.cache = json::Value::object({{"prefix_policy", "unknown"}});
  std::vector<Draft> drafts;
  drafts.push_back(std::move(draft));
  return drafts;
}

}  // namespace assay::publish
