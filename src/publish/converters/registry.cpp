// The table of kinds: name, converter, and what a file of the kind is recognised by.
#include <algorithm>

#include "base/text.h"
#include "publish/converters/converters.h"
#include "publish/refusals.h"

namespace assay::publish {

namespace {

json::Node root_object(const ToolFile& file) {
  const json::Node root = file.values().front();
  return root.is_object() ? root : json::Node();
}

// The first record: of an array, or of JSON lines.
json::Node first_record(const ToolFile& file) {
  const json::Node value = file.values().front();
  const json::Node record = value.is_array() ? value.items().front() : value;
  return record.is_object() ? record : json::Node();
}

bool has(json::Node object, std::initializer_list<std::string_view> keys) {
  return std::all_of(keys.begin(), keys.end(),
                     [&](std::string_view key) { return static_cast<bool>(object.find(key)); });
}

bool is_lm_eval(const ToolFile& file) {
  const json::Node root = root_object(file);
  return root.find("results").is_object() && (has(root, {"config"}) || has(root, {"versions"}));
}
bool is_vllm(const ToolFile& file) {
  const json::Node record = first_record(file);
  return has(record, {"model_id", "num_prompts"}) || has_vllm_figures(record);
}
bool is_guidellm(const ToolFile& file) {
  return text_of(root_object(file).find("benchmarks").items().front().find("type_")) ==
         "generative_benchmark";
}
bool is_llama_bench(const ToolFile& file) {
  if (has(first_record(file), {"avg_ts", "n_prompt"})) return true;
  const std::string_view text = file.text;
  const std::string_view first_line = text.substr(0, text.find('\n'));
  return first_line.find("avg_ts") != std::string_view::npos ||
         (text.find("| t/s |") != std::string_view::npos ||
          text.find(" t/s |") != std::string_view::npos);
}
// The two print the same table; each has its own name for a rate's unit.
bool is_metric_table(const ToolFile& file, std::string_view unit) {
  return file.text.starts_with("Metric,avg,") && file.text.find(unit) != std::string::npos;
}
bool is_aiperf(const ToolFile& file) {
  if (is_metric_table(file, "(requests/sec)")) return true;
  const json::Node root = root_object(file);
  if (has(root, {"aiperf_version"})) return true;
  const json::Members records = root.find("records").members();
  return !records.empty() && has((*records.begin()).second, {"tag"});
}
bool is_genai_perf(const ToolFile& file) {
  if (is_metric_table(file, "(per sec)")) return true;
  const json::Node root = root_object(file);
  return has(root, {"input_config", "time_to_first_token"}) && !is_aiperf(file);
}
bool is_framework_eval(const ToolFile& file) {
  if (has(first_record(file), {"framework", "answer"})) return true;
  return file.text.find("\"framework\"") != std::string::npos &&
         file.text.find("\"answer\"") != std::string::npos;
}
bool is_throughput_probe(const ToolFile& file) {
  return has(root_object(file), {"readiness", "base_url"});
}
bool is_bench_serve(const ToolFile& file) {
  if (has(first_record(file), {"gen_tps"})) return true;
  return has(root_object(file).find("runs").items().front(), {"gen_tps"});
}
bool is_benchd_score(const ToolFile& file) {
  const json::Node root = root_object(file);
  return has(root, {"metrics", "passed", "score"}) && has(root.find("metrics"), {"harness_hash"});
}

}  // namespace

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> table = {
      {"lm-eval", convert_lm_eval, is_lm_eval, "an object with results and config or versions"},
      {"vllm", convert_vllm, is_vllm,
       "model_id and num_prompts, or completed beside median_ttft_ms and the like"},
      {"framework-eval", convert_framework_eval, is_framework_eval, "framework and answer"},
      {"throughput-probe", convert_throughput_probe, is_throughput_probe, "readiness and base_url"},
      {"bench-serve", convert_bench_serve, is_bench_serve, "runs with gen_tps"},
      {"guidellm", convert_guidellm, is_guidellm, "benchmarks[] of type generative_benchmark"},
      {"llama-bench", convert_llama_bench, is_llama_bench,
       "avg_ts and n_prompt, or a table with t/s"},
      {"genai-perf", convert_genai_perf, is_genai_perf,
       "time_to_first_token and input_config, or a table with Metric and (per sec)"},
      {"aiperf", convert_aiperf, is_aiperf,
       "aiperf_version, records.*.tag, or a table with Metric and (requests/sec)"},
      {"benchd-score", convert_benchd_score, is_benchd_score,
       "metrics.harness_hash, passed and score"}};
  return table;
}

// Where the file has NaN or Infinity for a figure: such a figure is left out, and said to be.
void find_non_finite(json::Node value, const std::string& path, std::vector<std::string>& found) {
  if (value.is_object()) {
    for (const auto& [key, member] : value.members())
      find_non_finite(member, json::path_of(path, key), found);
  } else if (value.is_array()) {
    size_t i = 0;
    for (const json::Node item : value.items())
      find_non_finite(item, json::path_of(path, i++), found);
  } else if (value.is_number() && json::is_non_finite(value.literal())) {
    found.push_back(cat(path, " is ", value.literal(), ", left out"));
  }
}

std::vector<std::string> non_finite_figures(const ToolFile& file) {
  constexpr size_t kNamed = 20;
  std::vector<std::string> found;
  if (!file.document.has_non_finite()) return found;  // the walk costs as much as the reading
  for (const json::Node value : file.values()) find_non_finite(value, "", found);
  if (found.size() > kNamed) {
    const size_t more = found.size() - kNamed;
    found.resize(kNamed);
    found.push_back(cat(more, " more figures are no finite numbers, left out"));
  }
  return found;
}

Result<std::vector<Envelope>> convert_file(const ToolFile& file, std::string_view kind,
                                           const RunContext& context) {
  const Kind* chosen = nullptr;
  if (kind == "auto") {
    std::vector<std::string> matches, signatures;
    for (const Kind& candidate : kinds()) {
      signatures.push_back(cat(candidate.name, " (", candidate.signature, ")"));
      if (!candidate.looks_like(file)) continue;
      matches.emplace_back(candidate.name);
      chosen = &candidate;
    }
    if (matches.size() != 1) {
      return Refusal(kConvertKindUnknown,
                     cat("`", file.path.string(), "` looks like ",
                         matches.empty() ? "no known kind" : join(matches, " and "),
                         "; looked for ", join(signatures, ", ")));
    }
  } else {
    for (const Kind& candidate : kinds()) {
      if (candidate.name == kind) chosen = &candidate;
    }
    if (chosen == nullptr)
      return Refusal(kConvertKindUnknown, cat("no kind is named `", kind, "`"));
  }
  auto drafts = chosen->convert(file, context);
  if (!drafts) return at(cat("`", file.path.string(), "`"), std::move(drafts).refusal());
  if (drafts->empty())
    return Refusal(kNothingToPublish, cat("`", file.path.string(), "` holds no run"));
  for (Draft& draft : *drafts)
    draft.errors.insert(draft.errors.end(), file.remarks.begin(), file.remarks.end());
  // lm-eval's converter says it row by row.
  if (chosen->name != "lm-eval") {
    for (const std::string& text : non_finite_figures(file)) {
      for (Draft& draft : *drafts) draft.errors.push_back(text);
    }
  }
  // What is said of the run beside its file is not said of its control.
  RunContext of_control = context;
  of_control.model.reset();
  of_control.serving = {};
  of_control.campaign = {};
  std::vector<Envelope> envelopes;
  for (Draft& draft : *drafts) {
    const RunContext& known = draft.control_of_next ? of_control : context;
    TRY(envelope, compose(std::move(draft), known, file));
    envelopes.push_back(std::move(envelope));
  }
  return envelopes;
}

}  // namespace assay::publish
