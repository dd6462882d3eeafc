// Golden, text: one canonical form, so that the same document always has the same digest.
#include "base/json.h"
#include "scoring/golden.h"

namespace assay::scoring {

namespace {

using json::Value;

Value case_json(const BaseCase& one) {
  return Value::object({{"name", one.name},
                        {"prompt_tokens", Value::array_of(one.prompt_tokens)},
                        {"expected_tokens", Value::array_of(one.expected_tokens)}});
}

Value anchor_json(const AnchorCase& one) {
  Value out = Value::object({{"name", one.name},
                             {"context_tokens", Value::array_of(one.context_tokens)},
                             {"expected_token", one.expected_token}});
  if (one.accepted_tokens) out.set("accepted_tokens", Value::array_of(*one.accepted_tokens));
  if (one.max_expected_rank) out.set("max_expected_rank", *one.max_expected_rank);
  if (one.max_top_logit_delta) out.set("max_top_logit_delta", *one.max_top_logit_delta);
  return out;
}

Value free_run_json(const FreeRunCase& one) {
  Value out = Value::object({{"name", one.name},
                             {"prompt_tokens", Value::array_of(one.prompt_tokens)},
                             {"expected_tokens", Value::array_of(one.expected_tokens)}});
  if (one.exact_prefix_tokens) out.set("exact_prefix_tokens", *one.exact_prefix_tokens);
  return out;
}

Value behavior_json(const BehaviorCase& one) {
  std::vector<Value> sequences;
  for (const Tokens& sequence : one.accepted_token_sequences) {
    sequences.push_back(Value::array_of(sequence));
  }
  Value out = Value::object({{"name", one.name},
                             {"prompt_tokens", Value::array_of(one.prompt_tokens)},
                             {"accepted_token_sequences", Value::array(std::move(sequences))},
                             {"max_new_tokens", one.max_new_tokens}});
  const auto set = [&](std::string_view key, const std::optional<std::string>& text) {
    if (text) out.set(key, *text);
  };
  set("semantic_prompt", one.semantic_prompt);
  set("semantic_answer_key", one.semantic_answer_key);
  set("semantic_reference_answer", one.semantic_reference_answer);
  set("semantic_domain", one.semantic_domain);
  set("semantic_subdomain", one.semantic_subdomain);
  return out;
}

template <class T, class ToJson>
void set_section(Value& gates, std::string_view key, const std::vector<T>& list, ToJson to_json) {
  if (list.empty()) return;
  std::vector<Value> items;
  for (const T& one : list) items.push_back(to_json(one));
  gates.set(key, Value::array(std::move(items)));
}

Value gates_json(const CorrectnessGates& gates) {
  Value out = Value::object();
  set_section(out, "anchors", gates.anchors, anchor_json);
  set_section(out, "free_run", gates.free_run, free_run_json);
  set_section(out, "behavior", gates.behavior, behavior_json);
  return out;
}

Value benchmark_json(const Benchmark& one) {
  Value out =
      Value::object({{"prefill_prompt_tokens", Value::array_of(one.prefill_prompt_tokens)},
                     {"expected_prefill_token", one.expected_prefill_token},
                     {"decode_seed_tokens", Value::array_of(one.decode_seed_tokens)},
                     {"expected_decode_seed_token", one.expected_decode_seed_token},
                     {"expected_decode_tokens", Value::array_of(one.expected_decode_tokens)}});
  if (one.baseline) {
    out.set("baseline_prefill_seconds_per_token", one.baseline->prefill_seconds_per_token);
    out.set("baseline_decode_seconds_per_token", one.baseline->decode_seconds_per_token);
  }
  return out;
}

}  // namespace

std::string write_golden(const Golden& golden) {
  Value out = Value::object({{"version", 1}});
  if (golden.model_type) out.set("model_type", *golden.model_type);
  if (golden.model_provenance) {
    out.set("model_provenance", Value::object({{"repository", golden.model_provenance->repository},
                                               {"revision", golden.model_provenance->revision}}));
  }
  std::vector<Value> cases;
  for (const BaseCase& one : golden.cases) cases.push_back(case_json(one));
  out.set("cases", Value::array(std::move(cases)));
  if (golden.correctness_gates) out.set("correctness_gates", gates_json(*golden.correctness_gates));
  if (golden.benchmark) out.set("benchmark", benchmark_json(*golden.benchmark));
  return json::write(out, {.indent = 2, .sort_keys = false}) + "\n";
}

}  // namespace assay::scoring
