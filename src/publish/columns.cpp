#include "publish/columns.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "base/ensure.h"
#include "base/text.h"

namespace assay::publish {

namespace {

using enum ColumnType;

const Column kRunColumns[] = {{"schema_version", text},
                              {"timestamp", text},
                              {"git_sha", text},
                              {"trigger", text},
                              {"pr_number", integer},
                              {"suite", text},
                              {"model", text},
                              {"model_revision", text},
                              {"quantization", text},
                              {"skipped", boolean},
                              {"seed", integer},
                              {"env_class", text},
                              {"concurrency", integer},
                              {"reasoning_effort", text},
                              {"serving", text},
                              {"gen_kwargs", text},
                              {"cell_status", text},
                              {"campaign_id", text},
                              {"campaign_cell_id", text},
                              {"campaign_profile", text}};

constexpr std::array<std::string_view, 10> kContextFacts = {
    "model_max",         "catalog_max",      "proxy_max",     "worker_max",
    "configured_window", "requested_prompt", "actual_prompt", "output_reservation",
    "actual_completion", "actual_total"};

const Column kDoctrineColumns[] = {{"regime_json", text},        {"cache_json", text},
                                   {"provenance_json", text},    {"control_json", text},
                                   {"rate_basis", text},         {"prefix_policy", text},
                                   {"weights_verified", boolean}};

const Column kSystemColumns[] = {{"os", text},
                                 {"chip", text},
                                 {"memory_gb", integer},
                                 {"hostname", text},
                                 {"kernel", text},
                                 {"runner", text},
                                 {"python_version", text},
                                 {"mlx_version", text},
                                 {"mlx_lm_version", text},
                                 {"lm_eval_version", text},
                                 {"vllm_mlx_version", text},
                                 {"gpu", text},
                                 {"engine", text},
                                 {"power_limit_w", real},
                                 {"container", text},
                                 {"topology", text},
                                 {"system_extra", text}};

struct FigureColumn {
  const char* name;
  std::optional<double> ResultRow::*member;
};
constexpr FigureColumn kFigureColumns[] = {
    {"duration_seconds", &ResultRow::duration_seconds},
    {"prompt_tokens_per_second", &ResultRow::prompt_tokens_per_second},
    {"decode_tokens_per_second", &ResultRow::decode_tokens_per_second},
    {"total_tokens_per_second", &ResultRow::total_tokens_per_second},
    {"first_token_latency_ms", &ResultRow::first_token_latency_ms},
    {"peak_rss_mb", &ResultRow::peak_rss_mb}};

Cell text_cell(const json::Value* value) {
  if (value == nullptr || !value->is_string()) return {};
  return value->string();
}
Cell json_cell(const json::Value* value) {
  if (value == nullptr || value->is_null()) return {};
  return json::write(*value, {.sort_keys = true});
}
Cell typed_cell(const json::Value* value, ColumnType type) {
  if (value == nullptr || value->is_null()) return {};
  switch (type) {
    case text: return value->is_string() ? text_cell(value) : json_cell(value);
    case integer: {
      const auto number = value->is_integer() ? parse_int64(value->literal()) : std::nullopt;
      return number ? Cell(*number) : Cell();
    }
    case real: {
      const auto number = value->is_number() ? value->as_double("") : Result<double>(0.0);
      return value->is_number() && number ? Cell(*number) : Cell();
    }
    case boolean: return value->kind() == json::Kind::boolean ? Cell(value->boolean()) : Cell();
  }
  return {};
}

const json::Value* member(const json::Value* object, std::string_view key) {
  return object != nullptr && object->is_object() ? object->find(key) : nullptr;
}

}  // namespace

const std::vector<std::string>& registered_tags() {
  static const std::vector<std::string> keys = [] {
    std::vector<std::string> list = {"answer_chars",
                                     "verdict",
                                     "integrity_sha256",
                                     "score_sha256",
                                     "prompt_sha256",
                                     "seconds_per_token",
                                     "skip_reason",
                                     "state",
                                     "gate_index",
                                     "leg",
                                     "pair",
                                     "floor_passed",
                                     "floor",
                                     "prefill_gain_high",
                                     "prefill_gain_low",
                                     "decode_gain_high",
                                     "decode_gain_low",
                                     "composite_high",
                                     "composite_low",
                                     "answered_rate",
                                     "backend",
                                     "backends",
                                     "build_commit",
                                     "build_number",
                                     "completed_requests",
                                     "concurrency",
                                     "concurrent_errors",
                                     "context_tokens_actual",
                                     "context_tokens_target",
                                     "contract_sha256",
                                     "cumulative_tok_s_max",
                                     "cumulative_tok_s_min",
                                     "data",
                                     "decode_tok_s_max",
                                     "decode_tok_s_min",
                                     "dedicated",
                                     "derived",
                                     "effective_mean_draft_len",
                                     "effective_spec",
                                     "effective_spec_mode",
                                     "engine_device",
                                     "errored",
                                     "failed_requests",
                                     "finish_reasons",
                                     "flash_attn",
                                     "golden_hash",
                                     "guidellm_version",
                                     "higher_is_better",
                                     "incomplete",
                                     "initial_model_state",
                                     "is_group",
                                     "itl_basis",
                                     "lm_eval_key",
                                     "lm_eval_legacy",
                                     "max_concurrency",
                                     "max_error_rate",
                                     "max_gen_toks",
                                     "max_tokens",
                                     "measured_repetitions",
                                     "measures",
                                     "model_source",
                                     "n_batch",
                                     "n_depth",
                                     "n_effective",
                                     "n_err",
                                     "n_gen",
                                     "n_gpu_layers",
                                     "n_limit",
                                     "n_ok",
                                     "n_original",
                                     "n_prompt",
                                     "n_threads",
                                     "n_ubatch",
                                     "num_fewshot",
                                     "num_prompts",
                                     "official_pair_combine",
                                     "official_pairs",
                                     "partial",
                                     "passed",
                                     "phase",
                                     "prefill_tok_s_max",
                                     "prefill_tok_s_min",
                                     "prompt_set",
                                     "prompt_tokens",
                                     "rate",
                                     "rate_basis",
                                     "regime",
                                     "repetitions",
                                     "request_rate",
                                     "run_index",
                                     "score_rule",
                                     "scored",
                                     "split_mode",
                                     "stddev_ts",
                                     "stderr",
                                     "strategy",
                                     "streams",
                                     "successful",
                                     "task_hash",
                                     "task_version",
                                     "think_kwarg",
                                     "think_kwarg_sent",
                                     "think_value",
                                     "thinking",
                                     "timestamp_source",
                                     "tokenizer_id",
                                     "tool_call_valid",
                                     "tool_calls",
                                     "total_eval_time_s",
                                     "total_input_tokens",
                                     "total_output_tokens",
                                     "total_s_max",
                                     "total_s_min",
                                     "track_id",
                                     "truncated_rate",
                                     "ttft_s_max",
                                     "ttft_s_min",
                                     "type_k",
                                     "type_v",
                                     "validated",
                                     "wall_basis",
                                     "wall_s",
                                     "weights_hash",
                                     "width"};
    std::sort(list.begin(), list.end());
    return list;
  }();
  return keys;
}

const std::vector<Column>& columns() {
  static const std::vector<Column> all = [] {
    std::vector<Column> out(std::begin(kRunColumns), std::end(kRunColumns));
    for (const std::string_view fact : kContextFacts)
      out.push_back({cat("context_", fact, "_tokens"), integer});
    out.insert(out.end(), std::begin(kDoctrineColumns), std::end(kDoctrineColumns));
    out.insert(out.end(), std::begin(kSystemColumns), std::end(kSystemColumns));
    out.insert(out.end(), {{"name", text}, {"metric", text}, {"value", real}, {"unit", text}});
    for (const FigureColumn& figure : kFigureColumns) out.push_back({figure.name, real});
    for (const std::string& key : registered_tags()) out.push_back({cat("tag_", key), text});
    out.insert(out.end(), {{"tags_json", text}, {"extra_json", text}, {"errors_json", text}});
    return out;
  }();
  return all;
}

std::optional<size_t> column_index(std::string_view name) {
  static const std::unordered_map<std::string_view, size_t> index = [] {
    std::unordered_map<std::string_view, size_t> out;
    for (size_t i = 0; i < columns().size(); ++i) out.emplace(columns()[i].name, i);
    return out;
  }();
  const auto found = index.find(name);
  if (found == index.end()) return std::nullopt;
  return found->second;
}

RowSource::RowSource(const Envelope& envelope) : envelope_(envelope) {
  plans_.resize(columns().size());
  const auto set = [this](std::string_view name, Cell cell) {
    const auto index = column_index(name);
    ENSURE(index.has_value());
    plans_[*index].constant = std::move(cell);
  };
  const auto plan = [this](std::string_view name) -> Plan& {
    const auto index = column_index(name);
    ENSURE(index.has_value());
    return plans_[*index];
  };

  for (const Column& column : kRunColumns) {
    if (!column.name.starts_with("campaign_"))
      set(column.name, typed_cell(envelope.find(column.name), column.type));
  }
  const json::Value* campaign = envelope.find("campaign");
  set("campaign_id", text_cell(member(campaign, "id")));
  set("campaign_cell_id", text_cell(member(campaign, "cell_id")));
  set("campaign_profile", text_cell(member(campaign, "profile")));
  for (const std::string_view fact : kContextFacts) {
    set(cat("context_", fact, "_tokens"),
        typed_cell(member(envelope.find("context"), cat(fact, "_tokens")), integer));
  }
  set("regime_json", json_cell(envelope.find("regime")));
  set("cache_json", json_cell(envelope.find("cache")));
  set("provenance_json", json_cell(envelope.find("provenance")));
  set("control_json", json_cell(envelope.find("control")));
  set("rate_basis", text_cell(member(envelope.find("regime"), "rate_basis")));
  set("prefix_policy", text_cell(member(envelope.find("cache"), "prefix_policy")));
  set("weights_verified", typed_cell(member(envelope.find("provenance"), "verified"), boolean));

  const json::Value* system = envelope.find("system");
  json::Value extra_system = json::Value::object();
  if (system != nullptr && system->is_object()) {
    for (const auto& [key, value] : system->members()) {
      const auto index = column_index(key);
      if (index && key != "system_extra") {
        plans_[*index].constant = typed_cell(&value, columns()[*index].type);
      } else {
        extra_system.set(key, value);
      }
    }
  }
  if (!extra_system.members().empty()) set("system_extra", json_cell(&extra_system));
  if (const json::Value* snapshots = envelope.find("memory_snapshots")) {
    const json::Value extra = json::Value::object({{"memory_snapshots", *snapshots}});
    set("extra_json", json_cell(&extra));
  }
  const json::Value* errors = envelope.find("errors");
  if (errors != nullptr && errors->is_array() && !errors->items().empty())
    set("errors_json", json_cell(errors));

  if (envelope.results.empty()) {
    set("name", std::string("cell"));
    set("metric", std::string("cell_status"));
    set("unit", std::string("status"));
    return;
  }
  plan("name").source = Source::result_name;
  plan("metric").source = Source::result_metric;
  plan("value").source = Source::result_value;
  plan("unit").source = Source::result_unit;
  // Only keys that some row has are looked up row by row; the others stay constant NULL. Rows
  // mostly have the same keys at the same places, so a key is looked up when it differs from the
  // row before.
  const Tags* before = nullptr;
  std::array<bool, std::size(kFigureColumns)> reported{};
  for (const ResultRow& row : envelope.results) {
    for (size_t i = 0; i < reported.size(); ++i)
      reported[i] = reported[i] || (row.*kFigureColumns[i].member).has_value();
    for (size_t i = 0; i < row.tags.size(); ++i) {
      const std::string_view key = row.tags[i].first;
      if (before != nullptr && i < before->size() && (*before)[i].first == key) continue;
      const auto index = column_index(cat("tag_", key));
      if (!index || plans_[*index].source == Source::tag) continue;
      plans_[*index].source = Source::tag;
      plans_[*index].tag = key;
    }
    before = &row.tags;
  }
  for (size_t i = 0; i < reported.size(); ++i) {
    if (!reported[i]) continue;
    plan(kFigureColumns[i].name).source = Source::figure;
    plan(kFigureColumns[i].name).figure = kFigureColumns[i].member;
  }
  plan("tags_json").source = Source::tags_json;
}

size_t RowSource::rows() const {
  return std::max<size_t>(envelope_.results.size(), 1);
}

bool RowSource::is_constant(size_t column) const {
  return plans_[column].source == Source::run;
}

Cell RowSource::cell(size_t column, size_t row) const {
  const Plan& plan = plans_[column];
  if (plan.source == Source::run) return plan.constant;
  if (columns()[column].type == real) {
    const auto number = number_at(column, row);
    return number ? Cell(*number) : Cell();
  }
  std::string space;
  const auto found = text_at(column, row, space);
  return found ? Cell(std::string(*found)) : Cell();
}

std::optional<double> RowSource::number_at(size_t column, size_t row) const {
  const Plan& plan = plans_[column];
  const ResultRow& result = envelope_.results[row];
  return plan.source == Source::result_value ? std::optional(result.value) : result.*plan.figure;
}

std::optional<std::string_view> RowSource::text_at(size_t column, size_t row,
                                                   std::string& space) const {
  const Plan& plan = plans_[column];
  const ResultRow& result = envelope_.results[row];
  switch (plan.source) {
    case Source::result_name: return result.name;
    case Source::result_metric: return result.metric;
    case Source::result_unit: return result.unit;
    case Source::tag: {
      const Tags& tags = result.tags;
      if (plan.tag_at < tags.size() && tags[plan.tag_at].first == plan.tag)
        return tags[plan.tag_at].second;
      for (size_t i = 0; i < tags.size(); ++i) {
        if (tags[i].first != plan.tag) continue;
        plan.tag_at = i;
        return tags[i].second;
      }
      return std::nullopt;
    }
    case Source::tags_json:
      if (result.tags.empty()) return std::nullopt;
      space.clear();
      append_tags(space, result.tags, order_);
      return space;
    case Source::run:
    case Source::result_value:
    case Source::figure: break;
  }
  return std::nullopt;
}

}  // namespace assay::publish
