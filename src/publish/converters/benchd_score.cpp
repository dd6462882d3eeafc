// benchd-score: a sealed score.json of our judge. The control leg is the incumbent that a
// comparison needs.
#include "base/text.h"
#include "publish/converters/converters.h"
#include "publish/converters/rows.h"
#include "publish/refusals.h"

namespace assay::publish {

namespace {

// 1 / seconds per token, where the score has the leg.
std::optional<double> rate_of(const json::Value& metrics, std::string_view key) {
  const auto seconds = number_of(metrics.find(key));
  if (!seconds || *seconds <= 0) return std::nullopt;
  return 1 / *seconds;
}

}  // namespace

Result<std::vector<Draft>> convert_benchd_score(const ToolFile& file, const RunContext&) {
  if (file.values.size() != 1 || !file.values[0].is_object()) {
    return Refusal(kConvertInput, "expected one JSON object (sealed score)");
  }
  const json::Value& root = file.values[0];
  const json::Value* metrics = root.find("metrics");
  const json::Value* passed = root.find("passed");
  if (metrics == nullptr || !metrics->is_object() || passed == nullptr ||
      root.find("score") == nullptr) {
    return Refusal(kConvertInput, "expected `metrics`, `passed` and `score` (sealed score)");
  }
  Draft draft;
  draft.model = text_of(metrics->find("model_id"));
  if (!draft.model) draft.model = text_of(metrics->find("track_id"));
  draft.timestamp = text_of(metrics->find("timestamp"));
  draft.concurrency = 1;

  // A run that missed a floor is sealed with passed_correctness false; local_phases says what the
  // engine's tokens were.
  const json::Value* correct = metrics->find("passed_correctness");
  const bool right =
      (correct != nullptr && correct->kind() == json::Kind::boolean && correct->boolean()) ||
      text_of(dig(*metrics, {"local_phases", "correctness"})) == "passed";
  const auto put = [&](std::string_view name, std::string_view metric, std::string_view unit,
                       std::optional<double> value, std::string_view basis) {
    ResultRow* row = add_row(draft, name, metric, unit, value);
    if (row != nullptr && !basis.empty()) row->tag("rate_basis", std::string(basis));
  };
  if (right) {
    put("composite", "composite", "x", number_of(root.find("score")), "");
    put("composite", "prefill_gain", "x", number_of(metrics->find("prefill_speedup")), "");
    put("composite", "decode_gain", "x", number_of(metrics->find("decode_speedup")), "");
    for (const auto& [leg, name] : {std::pair{"candidate", "candidate"}, {"baseline", "control"}}) {
      put(name, "decode_toks_per_s", "tok/s",
          rate_of(*metrics, cat(leg, "_leg_decode_window_seconds_per_token")), "decode_window");
      put(name, "throughput_prompt_toks_per_s", "tok/s",
          rate_of(*metrics, cat(leg, "_leg_prefill_seconds_per_token")), "prefill_window");
    }
  } else {
    draft.cell_status = "failed";
    draft.errors.push_back(
        cat("correctness not passed: ", text_of(metrics->find("error")).value_or("")));
  }
  for (ResultRow& row : draft.results) {
    add_tags(row, *metrics,
             {"contract_sha256", "track_id", "effective_spec_mode", "official_pairs",
              "official_pair_combine", "golden_hash", "weights_hash", "engine_device"});
    const json::Value* prompts = metrics->find("per_prompt");
    if (prompts != nullptr && prompts->is_array() && !prompts->items().empty() &&
        prompts->items()[0].is_object()) {
      add_tags(row, prompts->items()[0], {"effective_mean_draft_len"});
    }
    row.tag("passed",
            passed->kind() == json::Kind::boolean && passed->boolean() ? "true" : "false");
  }
  if (const auto control = rate_of(*metrics, "baseline_leg_decode_window_seconds_per_token");
      control && right) {
    draft.control = json::Value::object({{"incumbent_model", draft.model.value_or("unknown")},
                                         {"same_session", true},
                                         {"metric", "decode_toks_per_s"},
                                         {"value", *control},
                                         {"unit", "tok/s"}});
  }
  draft.regime = json::Value::object({{"concurrency", 1},
                                      {"streaming", false},
                                      {"temperature", 0.0},
                                      {"rate_basis", "decode_window"},
                                      {"warmups", 1},
                                      {"request_shape", "token ids over the Engine Protocol"}});
  if (const auto seed = integer_of(metrics->find("seed_tokens"))) {
    draft.regime.set("prompt_tokens_min", *seed);
    draft.regime.set("prompt_tokens_max", *seed);
  }
  if (const auto pairs = integer_of(metrics->find("official_pairs")))
    draft.regime.set("repetitions", *pairs);
  draft.cache =
      json::Value::object({{"weights_state", "resident"}, {"prefix_policy", "unique_full_prompt"}});
  std::vector<Draft> drafts;
  drafts.push_back(std::move(draft));
  return drafts;
}

}  // namespace assay::publish
