// throughput-probe: the file that `assay-load probe` writes. Figures are medians over its measured
// runs; what the first, unscored request cost stands in rows of its own.
#include <tuple>

#include "base/text.h"
#include "publish/converters/converters.h"
#include "publish/converters/rows.h"
#include "publish/converters/throughput_probe_accounting.h"
#include "publish/refusals.h"

namespace assay::publish {

namespace {

constexpr std::string_view kName = "throughput_probe";

struct Figure {
  std::string_view source, metric, unit, basis;
  double scale;
};
constexpr Figure kFigures[] = {
    {"cumulative_tok_s", "throughput_total_toks_per_s", "tok/s", "request", 1},
    {"decode_tok_s", "throughput_output_toks_per_s", "tok/s", "decode_window", 1},
    {"prefill_tok_s", "throughput_prompt_toks_per_s", "tok/s", "prefill_window", 1},
    {"ttft_s", "ttft_p50_ms", "ms", "", 1000},
    {"total_s", "request_duration_p50_s", "s", "", 1},
};

json::Value copy_object(json::Node root, std::string_view key) {
  const json::Node value = root.find(key);
  return value.is_object() ? value.to_value() : json::Value();
}

void tag_run(ResultRow& row, json::Node root, json::Node sequential) {
  add_tags(row, sequential, {"n_ok", "n_err", "answered_rate", "truncated_rate"});
  if (const json::Node reasons = sequential.find("finish_reasons"); reasons.is_array()) {
    std::vector<std::string> texts;
    for (json::Node reason : reasons.items()) texts.emplace_back(text_of(reason).value_or("none"));
    row.tag("finish_reasons", join(texts, ","));
  }
  add_tags(row, root, {"max_tokens", "thinking", "think_kwarg"});
  row.tag("think_value", text_of(root.find("think_value")).value_or("unstated"));
  add_tags(row, root, {"think_kwarg_sent", "dedicated", "context_tokens_target"});
  if (const auto actual = text_of(root.at({"context", "actual_prompt_tokens"}))) {
    row.tag("context_tokens_actual", *actual);
  }
  if (const json::Node runs = root.find("sequential_runs"); runs.is_array()) {
    row.tag("measured_repetitions", cat(runs.items().size()));
  }
  row.tag("phase", "sequential");
}

void add_sequential(Draft& draft, json::Node root, json::Node sequential) {
  for (const Figure& figure : kFigures) {
    const json::Node spread = sequential.find(figure.source);
    if (!spread.is_object() || !is_spread(spread, figure.source, draft.errors)) continue;
    const auto median = number_of(spread.find("median"));
    ResultRow* row = add_row(draft, kName, figure.metric, figure.unit,
                             median ? std::optional(*median * figure.scale) : std::nullopt);
    if (row == nullptr) continue;
    if (!figure.basis.empty()) row->tag("rate_basis", figure.basis);
    tag_run(*row, root, sequential);
    for (const char* end : {"min", "max"}) {
      if (const auto text = text_of(spread.find(end)))
        row->tag(cat(figure.source, "_", end), *text);
    }
  }
  for (const char* rate : {"tool_call_valid", "answered_rate", "truncated_rate"}) {
    const auto share = number_of(sequential.find(rate));
    if (share && !(*share >= 0 && *share <= 1)) {
      draft.errors.push_back(cat("`", rate, "` is ", *share, ", a share is 0 to 1; left out"));
    } else if (ResultRow* row = add_row(draft, kName, rate, "ratio", share)) {
      row->tag("phase", "sequential");
    }
  }
}

void add_concurrent(Draft& draft, json::Node concurrent) {
  for (const auto& [source, metric] :
       {std::pair{"aggregate_cumulative_tok_s", "throughput_aggregate_toks_per_s"},
        {"aggregate_decode_tok_s", "throughput_aggregate_output_toks_per_s"}}) {
    ResultRow* row = add_row(draft, kName, metric, "tok/s", number_of(concurrent.find(source)));
    if (row == nullptr) continue;
    row->tag("rate_basis", "wall");
    row->tag("phase", "concurrent");
    add_tags(*row, concurrent, {"width", "wall_s", "n_ok", "n_err"});
    if (const json::Node errors = concurrent.find("errors"); errors.is_array()) {
      row->tag("concurrent_errors", cat(errors.items().size()));
    }
  }
}

// What the first request cost, a model's loading perhaps among it. Archived, never scored: metrics
// of its own, so that no median and no ranking of measured runs can take it in. Without a measured
// row beside it there is none: it must not make a run that measured nothing look like one.
void add_readiness(Draft& draft, json::Node root) {
  const json::Node first = root.at({"readiness", "first_request"});
  if (draft.results.empty() || !first.is_object()) return;
  if (const json::Node ok = first.find("ok"); ok.is_boolean() && !ok.boolean()) {
    return;
  }
  const std::string_view state =
      text_of(root.at({"readiness", "initial_model_state"})).value_or("unknown");
  for (const auto& [source, metric, unit, scale] :
       {std::tuple{"ttft_s", "readiness_ttft_ms", "ms", 1000.0},
        {"total_s", "readiness_request_duration_s", "s", 1.0}}) {
    const auto seconds = number_of(first.find(source));
    ResultRow* row = add_row(draft, kName, metric, unit,
                             seconds ? std::optional(*seconds * scale) : std::nullopt);
    if (row == nullptr) continue;
    row->tag("phase", "readiness");
    row->tag("initial_model_state", state);
    row->tag("scored", "false");
    add_tags(*row, first, {"prompt_tokens"});  // a short prompt, whatever the measured ones are
  }
}

// Measured requests that were answered with an error, within what was declared to be allowed.
void note_errors(Draft& draft, json::Node root) {
  const json::Node answers = root.find("measured_answers");
  if (!answers.is_object()) return;
  const auto errors = number_of(answers.find("errors"));
  if (!errors || *errors <= 0) return;
  const json::Node statuses = answers.find("http_statuses");
  draft.errors.push_back(cat(text_of(answers.find("errors")).value_or(""), " of ",
                             text_of(answers.find("answered")).value_or("?"),
                             " measured requests were answered with an error status",
                             statuses ? cat(", statuses ", json::write(statuses.to_value())) : "",
                             "; the figures are of the others"));
  for (ResultRow& row : draft.results) {
    row.tag("partial", "true");
    add_tags(row, answers, {"max_error_rate"});
  }
}

// Candidate over control, measured in one session; which figure stands in the tag.
void add_control_ratios(Draft& draft, json::Node ratios) {
  for (const Figure& figure : kFigures) {
    ResultRow* row =
        add_row(draft, kName, "control_ratio", "x", number_of(ratios.find(figure.source)));
    if (row == nullptr) continue;
    row->tag("ratio_of", figure.metric);
    row->tag("rate_basis", figure.basis);
    row->tag("phase", "sequential");
  }
}

// One probe's file as one run.
Result<Draft> draft_of(json::Node root) {
  if (!root.find("base_url") || !root.find("cell_status")) {
    return Refusal(kConvertInput, "expected `base_url` and `cell_status` (throughput probe)");
  }
  Draft draft;
  draft.model = text_of(root.find("model"));
  draft.timestamp = text_of(root.find("started_utc"));
  draft.cell_status = text_of(root.find("cell_status"));
  draft.env_class = text_of(root.find("env_class"));
  draft.quantization = text_of(root.find("quantization"));
  draft.model_revision = text_of(root.find("model_revision"));
  for (const auto& [key, target] : {std::pair{"context", &Draft::context},
                                    {"campaign", &Draft::campaign},
                                    {"regime", &Draft::regime},
                                    {"cache", &Draft::cache},
                                    {"provenance", &Draft::provenance},
                                    {"control", &Draft::control},
                                    {"serving", &Draft::serving},
                                    {"system", &Draft::system}}) {
    draft.*target = copy_object(root, key);
  }
  // A campaign's cell states its own; its sequential rows were taken one at a time all the same.
  draft.concurrency = integer_of(root.find("concurrency"));
  if (!draft.concurrency) draft.concurrency = integer_of(root.at({"regime", "concurrency"}));
  const json::Node aborted = root.find("aborted");
  const bool stopped = aborted && !aborted.is_null() &&
                       !(aborted.kind() == json::Kind::boolean && !aborted.boolean());
  if (stopped) {
    if (!draft.cell_status || draft.cell_status == "success") draft.cell_status = "aborted";
    draft.errors.push_back(cat("aborted: ", text_of(aborted).value_or("see the raw file")));
  }
  const bool success = !stopped && (!draft.cell_status || draft.cell_status == "success");
  TRY_DO(check_probe_accounting(root, success));
  if (success) {
    if (const json::Node sequential = root.find("sequential"); sequential.is_object()) {
      add_sequential(draft, root, sequential);
    }
    if (const json::Node concurrent = root.find("concurrent"); concurrent.is_object()) {
      add_concurrent(draft, concurrent);
    }
    if (const json::Node ratios = root.find("control_ratio"); ratios.is_object()) {
      add_control_ratios(draft, ratios);
    }
    note_errors(draft, root);
    add_readiness(draft, root);
  } else if (const auto reason = text_of(root.find("reason"))) {
    draft.errors.emplace_back(*reason);
  }
  return draft;
}

// `control` is a figure of `control_run`, to the last digit: else its envelope proves nothing.
Status check_control(json::Node control, const Draft& run) {
  const std::string_view metric = text_of(control.find("metric")).value_or("");
  const std::string_view unit = text_of(control.find("unit")).value_or("");
  const auto value = number_of(control.find("value"));
  for (const ResultRow& row : run.results) {
    if (value && row.metric == metric && row.unit == unit && row.value == *value) return {};
  }
  return Refusal(kConvertInput,
                 cat("`control` says ", text_of(control.find("value")).value_or("nothing"), " ",
                     unit, " of `", metric, "`, which `control_run` (",
                     run.cell_status.value_or("without a status"), ") does not report"));
}

}  // namespace

// A campaign measures the control inside the candidate's cell. Its run is a record of its own and
// goes before the candidate's, which names it by the digest of its envelope.
Result<std::vector<Draft>> convert_throughput_probe(const ToolFile& file, const RunContext&) {
  if (!file.only_value().is_object()) {
    return Refusal(kConvertInput, "expected one JSON object (throughput probe)");
  }
  const json::Node root = file.only_value();
  TRY(own, draft_of(root));
  std::vector<Draft> drafts;
  const json::Node run = root.find("control_run");
  if (own.control.is_object() && run.is_object()) {
    auto control = draft_of(run);
    if (!control) return at("`control_run`", std::move(control).refusal());
    TRY_DO(check_control(root.find("control"), *control));
    control->control_of_next = true;
    drafts.push_back(*std::move(control));
  }
  drafts.push_back(std::move(own));
  return drafts;
}

}  // namespace assay::publish
