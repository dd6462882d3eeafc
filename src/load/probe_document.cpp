// The file of a probe, from what it knows now. Rates stand in `sequential` and `concurrent` only
// when the probe was a success; every run keeps its own figures and stamps in any case.
#include <algorithm>

#include "base/build_info.h"
#include "base/sha256.h"
#include "base/text.h"
#include "load/probe_state.h"

namespace assay::load {

namespace {

using json::Value;

// Below this many samples no 99th percentile can be bounded from above (1 - 0.99^n >= 0.95).
constexpr int64_t kSamplesForP99 = 299;

Value seconds_value(double value) {
  return Value::number(format_fixed(value, 6));
}
Value seconds_value(Stamp value) {
  return seconds_value(seconds(value));
}

// Sets the member when there is a value: what is unknown is absent.
template <class T>
void put(Value& object, std::string_view key, const std::optional<T>& value) {
  if (value) object.set(key, Value(*value));
}

Value texts(const std::vector<std::string>& list) {
  return Value::array_of(list);
}

Value attempts_json(const std::vector<Attempt>& attempts) {
  std::vector<Value> list;
  for (const Attempt& attempt : attempts) {
    Value item = Value::object({{"http_status", attempt.http_status}});
    if (!attempt.problem.empty()) item.set("problem", attempt.problem);
    put(item, "retry_after_s", attempt.retry_after_s);
    list.push_back(std::move(item));
  }
  return Value::array(std::move(list));
}

// Every event with its stamp: what all figures of the run were made from. Kinds by one letter:
// c content, r reasoning, t tool, o role, e empty.
Value deltas_json(const StreamRecord& record) {
  std::vector<Value> at, tokens;
  std::string kinds;
  bool stated = false;
  for (const Delta& delta : record.deltas) {
    at.push_back(seconds_value(delta.at - record.sent.value_or(record.started)));
    kinds += "crtoe"[static_cast<size_t>(delta.kind)];
    tokens.push_back(delta.tokens ? Value(*delta.tokens) : Value());
    stated = stated || delta.tokens;
  }
  Value out = Value::object({{"kinds", kinds}, {"at_s", Value::array(std::move(at))}});
  if (stated) out.set("tokens", Value::array(std::move(tokens)));
  return out;
}

void put_gaps(Value& out, const RunFigures& figures) {
  if (const auto gaps = spread_of(figures.chunk_gaps_s)) {
    out.set("chunk_gap_s", Value::object({{"median", gaps->median},
                                          {"min", gaps->min},
                                          {"max", gaps->max},
                                          {"count", gaps->count}}));
  }
  if (const auto mean = token_weighted_mean(figures.token_gaps)) {
    out.set("itl_s", Value::object({{"mean", *mean},
                                    {"p50", *token_weighted_quantile(figures.token_gaps, 0.5)},
                                    {"max", *token_weighted_quantile(figures.token_gaps, 1)}}));
  }
}

Value tool_calls_json(const std::vector<ToolCall>& calls) {
  std::vector<Value> list;
  for (const ToolCall& call : calls) {
    list.push_back(
        Value::object({{"id", call.id}, {"name", call.name}, {"arguments", call.arguments}}));
  }
  return Value::array(std::move(list));
}

Value run_json(const ProbeState& state, const MeasuredRun& run) {
  const StreamRecord& record = run.record;
  const RunFigures& figures = run.figures;
  Value out = Value::object({{"ok", run.ok()},
                             {"variant", run.variant},
                             {"attempts", attempts_json(run.attempts)},
                             {"http_status", record.http_status}});
  if (run.problem) out.set("error", run.problem->text());
  if (record.sent) out.set("sent_utc", state.anchor.utc(*record.sent));
  put(out, "connect_s", figures.connect_s);
  put(out, "ttft_s", figures.ttft_s);
  put(out, "ttft_answer_s", figures.ttft_answer_s);
  put(out, "total_s", figures.total_s);
  put(out, "stream_end_s", figures.stream_end_s);
  put(out, "prompt_tokens", figures.prompt_tokens);
  put(out, "completion_tokens", figures.completion_tokens);
  put(out, "cached_tokens", figures.cached_tokens);
  put(out, "reasoning_tokens", figures.reasoning_tokens);
  out.set("prompt_token_source", name_of(figures.prompt_source));
  out.set("token_source", name_of(figures.completion_source));
  out.set("token_chunks", figures.token_chunks);
  put(out, "cumulative_tok_s", figures.cumulative_tok_s);
  put(out, "prefill_tok_s", figures.prefill_tok_s);
  put(out, "decode_tok_s", figures.decode_tok_s);
  put(out, "tpot_s", figures.tpot_s);
  put(out, "mean_output_tok_s", figures.mean_output_tok_s);
  put(out, "peak_output_tok_s", figures.peak_output_tok_s);
  put(out, "decode_window_share", figures.decode_window_share);
  put_gaps(out, figures);
  put(out, "finish_reason", record.finish_reason);
  put(out, "model", record.model);
  out.set("answer_chars", record.answer_chars);
  out.set("reasoning_chars", record.reasoning_chars);
  if (record.answer_chars > 0) out.set("answer_sha256", sha256_hex(record.answer));
  if (!record.tool_calls.empty()) out.set("tool_calls", tool_calls_json(record.tool_calls));
  out.set("done_seen", record.done_seen);
  if (record.comments > 0) out.set("comments", record.comments);
  if (!figures.remarks.empty()) out.set("remarks", texts(figures.remarks));
  if (record.timings) {
    Value timings = Value::object();
    put(timings, "prompt_n", record.timings->prompt_n);
    put(timings, "cache_n", record.timings->cache_n);
    put(timings, "predicted_n", record.timings->predicted_n);
    put(timings, "prompt_ms", record.timings->prompt_ms);
    put(timings, "predicted_ms", record.timings->predicted_ms);
    out.set("server_timings", std::move(timings));
  }
  if (!record.deltas.empty()) out.set("deltas", deltas_json(record));
  return out;
}

Value runs_json(const ProbeState& state, const std::vector<MeasuredRun>& runs) {
  std::vector<Value> list;
  for (const MeasuredRun& run : runs) list.push_back(run_json(state, run));
  return Value::array(std::move(list));
}

struct Counts {
  int64_t ok = 0, failed = 0;
  std::vector<std::string> errors{};
};
Counts counts_of(const std::vector<MeasuredRun>& runs) {
  Counts counts;
  for (const MeasuredRun& run : runs) {
    ++(run.ok() ? counts.ok : counts.failed);
    if (run.problem) counts.errors.push_back(run.problem->text());
  }
  return counts;
}

template <class Pick>
void put_spread(Value& out, std::string_view key, const std::vector<MeasuredRun>& runs, Pick pick) {
  std::vector<double> values;
  for (const MeasuredRun& run : runs) {
    if (!run.ok()) continue;
    if (const std::optional<double> value = pick(run)) values.push_back(*value);
  }
  if (const auto spread = spread_of(std::move(values))) {
    out.set(key, Value::object({{"median", spread->median},
                                {"min", spread->min},
                                {"max", spread->max},
                                {"count", spread->count}}));
  }
}

// Pooled over all runs, each token once; the spread of the runs' own means stands in tpot_s.
void put_pooled_gaps(Value& out, const std::vector<MeasuredRun>& runs) {
  std::vector<RunFigures::TokenGap> tokens;
  std::vector<double> chunks;
  for (const MeasuredRun& run : runs) {
    if (!run.ok()) continue;
    tokens.insert(tokens.end(), run.figures.token_gaps.begin(), run.figures.token_gaps.end());
    chunks.insert(chunks.end(), run.figures.chunk_gaps_s.begin(), run.figures.chunk_gaps_s.end());
  }
  if (const auto mean = token_weighted_mean(tokens)) {
    int64_t count = 0;
    for (const auto& gap : tokens) count += gap.tokens;
    Value itl = Value::object({{"token_weighted_mean", *mean},
                               {"p50", *token_weighted_quantile(tokens, 0.5)},
                               {"p90", *token_weighted_quantile(tokens, 0.9)},
                               {"max", *token_weighted_quantile(tokens, 1)},
                               {"count", count}});
    if (count >= kSamplesForP99) itl.set("p99", *token_weighted_quantile(tokens, 0.99));
    out.set("itl_s", std::move(itl));
  }
  if (const auto gaps = spread_of(chunks)) {
    out.set("chunk_gap_s", Value::object({{"median", gaps->median},
                                          {"min", gaps->min},
                                          {"max", gaps->max},
                                          {"count", gaps->count}}));
  }
}

Value sequential_json(const ProbeState& state) {
  const auto& runs = state.sequential;
  const Counts counts = counts_of(runs);
  Value out = Value::object({{"n_ok", counts.ok}, {"n_err", counts.failed}});
  if (state.status == CellStatus::success && !runs.empty()) {
    const auto figure = [&](std::string_view key, std::optional<double> RunFigures::*field) {
      put_spread(out, key, runs, [field](const MeasuredRun& run) { return run.figures.*field; });
    };
    figure("cumulative_tok_s", &RunFigures::cumulative_tok_s);
    figure("decode_tok_s", &RunFigures::decode_tok_s);
    figure("prefill_tok_s", &RunFigures::prefill_tok_s);
    figure("ttft_s", &RunFigures::ttft_s);
    figure("ttft_answer_s", &RunFigures::ttft_answer_s);
    figure("total_s", &RunFigures::total_s);
    figure("tpot_s", &RunFigures::tpot_s);
    figure("peak_output_tok_s", &RunFigures::peak_output_tok_s);
    figure("connect_s", &RunFigures::connect_s);
    put_pooled_gaps(out, runs);
    const auto number = [&](std::string_view key, int64_t StreamRecord::*field) {
      put_spread(out, key, runs, [field](const MeasuredRun& run) {
        return std::optional(static_cast<double>(run.record.*field));
      });
    };
    number("answer_chars", &StreamRecord::answer_chars);
    number("reasoning_chars", &StreamRecord::reasoning_chars);
  }
  const Shares shares = shares_of(runs);
  put(out, "answered_rate", shares.answered);
  put(out, "truncated_rate", shares.truncated);
  if (state.tool_run) out.set("tool_call_valid", state.tool_check.valid ? 1.0 : 0.0);
  std::vector<Value> reasons;
  for (const MeasuredRun& run : runs) {
    if (run.ok()) {
      reasons.push_back(run.record.finish_reason ? Value(*run.record.finish_reason) : Value());
    }
  }
  out.set("finish_reasons", Value::array(std::move(reasons)));
  out.set("errors", texts(counts.errors));
  return out;
}

Value concurrent_json(const ProbeState& state) {
  const Counts counts = counts_of(state.concurrent);
  Value out = Value::object({{"width", state.options.width}});
  put(out, "wall_s", state.batch.wall_s);
  out.set("n_ok", counts.ok);
  out.set("n_err", counts.failed);
  if (state.status == CellStatus::success) {
    put(out, "aggregate_cumulative_tok_s", state.batch.aggregate_cumulative_tok_s);
    put(out, "aggregate_decode_tok_s", state.batch.aggregate_decode_tok_s);
    put_spread(out, "ttft_s", state.concurrent,
               [](const MeasuredRun& run) { return run.figures.ttft_s; });
  }
  out.set("errors", texts(counts.errors));
  return out;
}

std::vector<const MeasuredRun*> scored(const ProbeState& state) {
  std::vector<const MeasuredRun*> runs;
  for (const auto* list : {&state.sequential, &state.concurrent}) {
    for (const MeasuredRun& run : *list) {
      if (run.ok()) runs.push_back(&run);
    }
  }
  return runs;
}

Value context_json(const ProbeState& state) {
  const ProbeOptions& options = state.options;
  Value out = options.context.is_object() ? options.context : Value::object();
  put(out, "configured_window_tokens", options.configured_window_tokens);
  put(out, "requested_prompt_tokens", options.prompt_tokens);
  put(out, "actual_prompt_tokens", state.prompt_count);
  out.set("output_reservation_tokens", options.max_tokens);
  // The shortest answer of the scored runs: every run returned at least this many tokens.
  std::optional<int64_t> completion;
  for (const MeasuredRun* run : scored(state)) {
    const auto tokens = run->figures.completion_tokens;
    if (tokens && (!completion || *tokens < *completion)) completion = tokens;
  }
  if (state.status == CellStatus::success && completion) {
    out.set("actual_completion_tokens", *completion);
    if (state.prompt_count) out.set("actual_total_tokens", *state.prompt_count + *completion);
  }
  return out;
}

Value regime_json(const ProbeState& state) {
  const ProbeOptions& options = state.options;
  Value out = Value::object();
  std::vector<double> prompts;
  for (const MeasuredRun* run : scored(state)) {
    if (run->figures.prompt_tokens) {
      prompts.push_back(static_cast<double>(*run->figures.prompt_tokens));
    }
  }
  if (const auto spread = spread_of(prompts)) {
    out.set("prompt_tokens_min", static_cast<int64_t>(spread->min));
    out.set("prompt_tokens_max", static_cast<int64_t>(spread->max));
    out.set("prompt_tokens_median", spread->median);
  }
  out.set("max_tokens", options.max_tokens);
  out.set("concurrency", options.repeats == 0 ? std::max(options.width, 1) : 1);
  out.set("streaming", true);
  out.set("temperature", options.temperature);
  out.set("thinking", options.thinking);
  if (options.think_kwarg) {
    out.set("think_value", options.think_value.is_string() ? options.think_value.string()
                                                           : json::write(options.think_value));
  }
  out.set("rate_basis", options.repeats == 0 ? "wall" : "request");
  out.set("warmups", options.warmups);
  out.set("repetitions", options.repeats);
  out.set("aggregation", "median");
  out.set("request_shape", "chat, one user message");
  out.set("dedicated", options.dedicated);
  return out;
}

Value cache_json(const ProbeState& state) {
  const ProbeOptions& options = state.options;
  std::optional<int64_t> observed;
  bool every_run = true;
  const auto runs = scored(state);
  for (const MeasuredRun* run : runs) {
    const auto cached = run->figures.cached_tokens;
    every_run = every_run && cached.has_value();
    if (cached) observed = std::max(observed.value_or(0), *cached);
  }
  const std::string& initial = options.initial_model_state;
  Value out = Value::object(
      {{"weights_state", initial == "cold"       ? "loaded_for_cell"
                         : initial == "resident" ? "resident"
                                                 : "unknown"},
       {"prefix_policy", options.shared_prefix ? "shared_prefix" : "unique_full_prompt"}});
  const bool known = !runs.empty() && every_run && observed;
  out.set("cached_tokens_observed", known ? Value(*observed) : Value());
  out.set("cached_tokens_asserted", known && !options.shared_prefix && *observed == 0);
  out.set("initial_model_state", initial);
  return out;
}

Value serving_json(const ProbeState& state) {
  Value out = state.options.serving.is_object() ? state.options.serving : Value::object();
  if (out.find("endpoint_port") == nullptr) {
    out.set("endpoint_port", int64_t{state.options.endpoint.port});
  }
  if (state.responded_model) out.set("served_model", *state.responded_model);
  return out;
}

Value histogram_json(const std::map<int, int64_t>& counts) {
  Value out = Value::object();
  for (const auto& [status, count] : counts) out.set(status == 0 ? "none" : cat(status), count);
  return out;
}

// How often each status came, over every attempt of every request.
Value statuses_json(const ProbeState& state) {
  std::map<int, int64_t> counts;
  const auto add = [&](const std::vector<MeasuredRun>& runs) {
    for (const MeasuredRun& run : runs) {
      for (const Attempt& attempt : run.attempts) ++counts[attempt.http_status];
    }
  };
  if (state.readiness) add({*state.readiness});
  for (const auto* runs :
       {&state.calibration, &state.warmups, &state.sequential, &state.concurrent}) {
    add(*runs);
  }
  return histogram_json(counts);
}

// The same over the measured requests, and what of it was allowed to be errors.
Value answers_json(const ProbeState& state) {
  const Answers answers = answers_of(state);
  return Value::object({{"answered", answers.answered},
                        {"errors", answers.errors},
                        {"error_rate", answers.error_rate()},
                        {"max_error_rate", state.options.max_error_rate},
                        {"http_statuses", histogram_json(answers.statuses)}});
}

int64_t retries(const ProbeState& state) {
  int64_t count = 0;
  if (state.readiness) count += static_cast<int64_t>(state.readiness->attempts.size()) - 1;
  for (const auto* runs : {&state.calibration, &state.warmups, &state.sequential}) {
    for (const MeasuredRun& run : *runs) count += static_cast<int64_t>(run.attempts.size()) - 1;
  }
  return count;
}

Value warmup_json(const ProbeState& state) {
  Value out = Value::object(
      {{"planned", state.options.warmups}, {"runs", runs_json(state, state.warmups)}});
  return out;
}

Value calibration_json(const ProbeState& state) {
  Value out = Value::object({{"runs", runs_json(state, state.calibration)}});
  if (state.size) {
    out.set("tokens_per_unit", state.size->per_unit);
    out.set("tokens_fixed", state.size->fixed);
    out.set("units", state.size->repetitions);
  }
  return out;
}

Value readiness_json(const ProbeState& state) {
  Value out = Value::object({{"initial_model_state", state.options.initial_model_state}});
  if (state.readiness) out.set("first_request", run_json(state, *state.readiness));
  return out;
}

void put_verdict(Value& out, const ProbeState& state) {
  out.set("cell_status", name_of(state.status));
  out.set("phase", state.phase);
  if (state.status == CellStatus::success) return;
  const std::string why =
      state.problem ? state.problem->text() : "the probe has not finished, or was killed";
  out.set("reason", why);
  if (state.status == CellStatus::aborted) out.set("aborted", cat(state.phase, ": ", why));
}

}  // namespace

Shares shares_of(const std::vector<MeasuredRun>& runs) {
  int64_t ok = 0, answered = 0, truncated = 0;
  for (const MeasuredRun& run : runs) {
    if (!run.ok()) continue;
    ++ok;
    answered += run.record.answer_chars > 0 ? 1 : 0;
    truncated += run.record.finish_reason == "length" ? 1 : 0;
  }
  if (ok == 0) return {};
  return {.answered = static_cast<double>(answered) / static_cast<double>(ok),
          .truncated = static_cast<double>(truncated) / static_cast<double>(ok)};
}

double Answers::error_rate() const {
  return answered == 0 ? 0 : static_cast<double>(errors) / static_cast<double>(answered);
}

std::string Answers::text() const {
  std::vector<std::string> counts;
  for (const auto& [status, count] : statuses) {
    if (status >= 400) counts.push_back(cat(status, ": ", count));
  }
  return cat(errors, " of ", answered, " measured requests were answered with an error status (",
             join(counts, ", "), ")");
}

Answers answers_of(const ProbeState& state) {
  Answers out;
  for (const auto* runs : {&state.sequential, &state.concurrent}) {
    for (const MeasuredRun& run : *runs) {
      for (const Attempt& attempt : run.attempts) {
        ++out.statuses[attempt.http_status];
        out.answered += attempt.http_status > 0 ? 1 : 0;
        out.errors += attempt.http_status >= 400 ? 1 : 0;
      }
    }
  }
  return out;
}

Value probe_document(const ProbeState& state) {
  const ProbeOptions& options = state.options;
  Value out = Value::object({{"format", "throughput-probe/1"}});
  put_verdict(out, state);
  out.set("model", options.model);
  out.set("base_url", options.endpoint.base_url);
  out.set("started_utc", state.anchor.utc(state.anchor.at));
  out.set("finished_utc", state.finished ? Value(state.anchor.utc(state.finished_at)) : Value());
  out.set("client",
          Value::object(
              {{"name", "assay-load"}, {"version", build_version()}, {"commit", build_commit()}}));
  out.set("max_tokens", options.max_tokens);
  out.set("context_tokens_target", options.prompt_tokens ? Value(*options.prompt_tokens) : Value());
  out.set("context_cache_busting", !options.shared_prefix);
  out.set("prompt_nonce", options.nonce);
  out.set("thinking", options.thinking);
  out.set("think_kwarg", options.think_kwarg ? Value(*options.think_kwarg) : Value());
  out.set("think_value", options.think_value);
  out.set("think_kwarg_sent", options.think_kwarg.has_value());
  out.set("dedicated", options.dedicated);
  if (options.extra_body.is_object()) out.set("extra_body", options.extra_body);
  if (state.server) out.set("server", *state.server);
  out.set(
      "window",
      "from the request's first byte written on a standing connection to the read that brought "
      "the last token: the server's HTTP, queueing, tokenizing, prefill, decode and sampling are "
      "inside; connecting, usage events and [DONE] are not");
  out.set("readiness", readiness_json(state));
  if (options.prompt_tokens) out.set("calibration", calibration_json(state));
  out.set("warmup", warmup_json(state));
  out.set("sequential", sequential_json(state));
  out.set("sequential_runs", runs_json(state, state.sequential));
  if (options.width > 0) {
    out.set("concurrent", concurrent_json(state));
    out.set("concurrent_runs", runs_json(state, state.concurrent));
  }
  if (state.tool_run) {
    Value check = Value::object({{"valid", state.tool_check.valid}});
    if (!state.tool_check.problem.empty()) check.set("problem", state.tool_check.problem);
    check.set("run", run_json(state, *state.tool_run));
    out.set("tool_check", std::move(check));
  }
  out.set("retries", retries(state));
  out.set("http_statuses", statuses_json(state));
  out.set("measured_answers", answers_json(state));
  if (!state.list_attempts.empty()) {
    out.set("model_list_problems", attempts_json(state.list_attempts));
  }
  if (!state.remarks.empty()) out.set("remarks", texts(state.remarks));
  out.set("context", context_json(state));
  out.set("regime", regime_json(state));
  out.set("cache", cache_json(state));
  out.set("serving", serving_json(state));
  for (const auto& [key, value] :
       {std::pair<std::string_view, const Value*>{"campaign", &options.campaign},
        {"provenance", &options.provenance},
        {"control", &options.control}}) {
    if (value->is_object()) out.set(key, *value);
  }
  out.set("formulas", formulas());
  out.set("system", options.system);
  return out;
}

}  // namespace assay::load
