// lm-eval (EleutherAI lm-evaluation-harness): results_*.json, from 0.3 to 0.4.
#include <algorithm>
#include <cmath>
#include <set>

#include "base/text.h"
#include "publish/converters/converters.h"
#include "publish/converters/rows.h"
#include "publish/refusals.h"
#include "publish/validate.h"

namespace assay::publish {

namespace {

// The harness names a metric "metric,filter"; the common ones have names of their own in the
// record.
std::string metric_name(std::string_view key) {
  if (key == "exact_match,flexible-extract") return "exact_match_flexible";
  if (key == "exact_match,strict-match") return "exact_match_strict";
  if (key == "acc,none") return "accuracy";
  if (key == "acc_norm,none") return "accuracy_normalized";
  if (key == "pass@1,none") return "pass_at_1";
  std::string name(key);
  std::replace(name.begin(), name.end(), ',', '_');
  return name;
}

std::string_view before_comma(std::string_view key) {
  return key.substr(0, key.find(','));
}

std::string unit_of(std::string_view key, double value, bool has_direction) {
  const std::string_view metric = before_comma(key);
  if (metric.find("perplexity") != std::string_view::npos) return "perplexity";
  if (metric == "bits_per_byte") return "bits";
  if (metric.ends_with("_seconds")) return "seconds";
  if (metric.ends_with("_ms")) return "ms";
  for (const std::string_view prefix : {"acc", "exact_match", "pass_at", "pass@"}) {
    if (metric.starts_with(prefix)) return "ratio";
  }
  if (metric == "f1" || metric == "mcc") return "ratio";
  if ((metric.starts_with("bleu") || metric.starts_with("rouge")) && value <= 1) return "ratio";
  return value >= 0 && value <= 1 && has_direction ? "ratio" : "score";
}

// model_args names the model in one of several keys.
std::optional<std::string> model_of(json::Node root, const json::Value& arguments) {
  if (const auto name = text_of(root.find("model_name")); name && !name->empty())
    return std::string(*name);
  if (arguments.is_object()) {
    for (const char* key : {"model", "pretrained", "path", "peft"}) {
      if (const auto name = text_of(arguments.find(key)); name && !name->empty()) return name;
    }
  }
  if (const auto name = text_of(root.find("model"))) return std::string(*name);
  return std::nullopt;
}

class LmEval {
 public:
  LmEval(json::Node root, Draft& draft) : root_(root), draft_(draft) {}

  void run() {
    const json::Node config = root_.find("config");
    const json::Value arguments = key_values(config.find("model_args"));
    draft_.model = model_of(root_, arguments);
    read_time();
    if (config.is_object()) read_config(config, arguments);
    if (const auto version = text_of(root_.find("lm_eval_version"))) {
      draft_.system = json::Value::object({{"lm_eval_version", *version}});
    }
    // A group repeats the names of its tasks' table; each name is read once.
    std::set<std::string_view> seen;
    for (const char* table : {"results", "groups"}) {
      const json::Node rows = root_.find(table);
      if (!rows.is_object()) continue;
      for (const auto& [task, values] : rows.members()) {
        if (values.is_object() && seen.insert(task).second) read_task(task, values);
      }
    }
    finish();
  }

 private:
  void read_time() {
    const json::Node date = root_.find("date");
    if (const auto seconds = number_of(date)) {
      draft_.timestamp = utc_text(std::floor(*seconds));
    } else if (date.is_string() && parse_utc(date.string())) {
      draft_.timestamp = date.string();
    }
    if (const auto text = text_of(date); text && !draft_.timestamp)
      add_time_problem(draft_, "date", *text);
  }

  void read_config(json::Node config, const json::Value& arguments) {
    for (const char* key : {"model_sha", "model_revision"}) {
      if (const auto revision = text_of(config.find(key));
          revision && !revision->empty() && !draft_.model_revision) {
        draft_.model_revision = revision;
      }
    }
    if (!draft_.model_revision && arguments.is_object()) {
      draft_.model_revision = text_of(arguments.find("revision"));
    }
    draft_.seed = integer_of(config.find("random_seed"));
    if (!draft_.seed) draft_.seed = integer_of(config.find("seed"));
    const json::Value given = key_values(config.find("gen_kwargs"));
    if (given.is_object()) {
      json::Value out = json::Value::object();
      for (const auto& [from, to] : {std::pair{"max_gen_toks", "max_gen_toks"},
                                     {"max_tokens", "max_gen_toks"},
                                     {"top_k", "top_k"}}) {
        if (const auto value = integer_of(given.find(from))) out.set(to, *value);
      }
      for (const char* key : {"temperature", "top_p"}) {
        if (number_of(given.find(key))) out.set(key, *given.find(key));
      }
      draft_.gen_kwargs = std::move(out);
    }
  }

  // Whether the harness says which way is better: only then is a value between 0 and 1 a ratio.
  bool has_direction(std::string_view task, std::string_view metric) const {
    return root_.at({"higher_is_better", task, metric}).is_boolean();
  }

  void read_task(std::string_view task, json::Node values) {
    for (const auto& [key, value] : values.members()) {
      const std::string_view metric = before_comma(key);
      if (metric == "alias" || metric == "name" || metric == "sample_len" ||
          metric == "sample_count" || metric.ends_with("_stderr")) {
        continue;
      }
      if (!value.is_number()) continue;
      const auto number = number_of(value);
      if (!number) {
        draft_.errors.push_back(
            cat(task, " ", key, " is ", value.literal(), ": not a finite number, left out"));
        continue;
      }
      any_nonzero_ = any_nonzero_ || *number != 0;
      ResultRow* row = add_row(draft_, task, metric_name(key),
                               unit_of(key, *number, has_direction(task, metric)), number);
      tag(*row, task, key, values);
      // The harness times a whole run; a task's own time is known when it ran alone.
      if (const auto own = number_of(values.find("total_evaluation_time_seconds_per_task"))) {
        row->duration_seconds = own;
      }
    }
  }

  void tag(ResultRow& row, std::string_view task, std::string_view key, json::Node values) {
    row.tag("lm_eval_key", key);
    const auto put = [&row](std::string_view name, json::Node value) {
      if (const auto text = text_of(value)) row.tag(name, *text);
    };
    put("total_eval_time_s", root_.find("total_evaluation_time_seconds"));
    put("n_limit", root_.at({"config", "limit"}));
    if (draft_.gen_kwargs.is_object()) {
      if (const auto text = text_of(draft_.gen_kwargs.find("max_gen_toks")))
        row.tag("max_gen_toks", *text);
    }
    put("n_effective", root_.at({"n-samples", task, "effective"}));
    put("n_original", root_.at({"n-samples", task, "original"}));
    const size_t comma = key.find(',');
    const std::string error_key = comma == std::string::npos
                                      ? cat(key, "_stderr")
                                      : cat(key.substr(0, comma), "_stderr", key.substr(comma));
    if (number_of(values.find(error_key))) put("stderr", values.find(error_key));
    put("num_fewshot", root_.at({"n-shot", task}));
    put("task_version", root_.at({"versions", task}));
    put("higher_is_better", root_.at({"higher_is_better", task, before_comma(key)}));
    if (const auto hash = text_of(root_.at({"task_hashes", task})))
      row.tag("task_hash", hash->substr(0, 16));
    put("model_source", root_.find("model_source"));
    if (root_.find("groups").find(task)) row.tag("is_group", "true");
    if (comma == std::string::npos && !root_.find("n-samples") && !root_.find("n-shot")) {
      row.tag("lm_eval_legacy", "true");
    }
  }

  void finish() {
    std::set<std::string_view> tasks;
    for (const ResultRow& row : draft_.results) tasks.insert(row.name);
    const auto total = text_of(root_.find("total_evaluation_time_seconds"));
    const auto seconds = total ? parse_double(*total) : std::nullopt;
    if (tasks.size() == 1 && seconds && std::isfinite(*seconds)) {
      for (ResultRow& row : draft_.results) {
        if (!row.duration_seconds) row.duration_seconds = seconds;
      }
    }
    const json::Node limit = root_.at({"config", "limit"});
    if (!draft_.results.empty() && !any_nonzero_ && limit && !limit.is_null()) {
      draft_.errors.emplace_back("all scores are zero: inspect the samples");
    }
  }

  const json::Node root_;
  Draft& draft_;
  bool any_nonzero_ = false;
};

}  // namespace

Result<std::vector<Draft>> convert_lm_eval(const ToolFile& file, const RunContext&) {
  if (!file.only_value().is_object()) {
    return Refusal(kConvertInput, "expected one JSON object (lm-eval results)");
  }
  const json::Node root = file.only_value();
  const json::Node results = root.find("results");
  if (!results.is_object()) {
    return Refusal(kConvertInput, "expected an object under `results` (lm-eval results)");
  }
  if (results.members().empty())
    return Refusal(kNothingToPublish, "`results` is empty: zero tasks were selected");
  std::vector<Draft> drafts(1);
  LmEval(root, drafts[0]).run();
  return drafts;
}

}  // namespace assay::publish
