#include "scoring/golden_read.h"

#include <string>

#include "base/json.h"

namespace assay::scoring {

namespace {

using json::Kind;
using json::path_of;
using json::Value;

Result<std::string> string_at(const Value& object, std::string_view key, std::string_view path) {
  TRY(value, object.at(key, path));
  return value->as_string(path_of(path, key));
}
Result<Tokens> tokens_at(const Value& object, std::string_view key, std::string_view path) {
  TRY(value, object.at(key, path));
  return value->as_int64s(path_of(path, key));
}
Result<int64_t> token_at(const Value& object, std::string_view key, std::string_view path) {
  TRY(value, object.at(key, path));
  return value->as_int64(path_of(path, key));
}
// A per-case optional: null and absent are the same.
const Value* optional_at(const Value& object, std::string_view key) {
  const Value* value = object.find(key);
  return value == nullptr || value->is_null() ? nullptr : value;
}
Status read_optional(const Value& object, std::string_view key, std::string_view path,
                     std::optional<std::string>& out) {
  if (const Value* value = optional_at(object, key)) {
    TRY(text, value->as_string(path_of(path, key)));
    out = text;
  }
  return {};
}
Status read_optional(const Value& object, std::string_view key, std::string_view path,
                     std::optional<uint32_t>& out) {
  if (const Value* value = optional_at(object, key)) {
    TRY(number, value->as_uint32(path_of(path, key)));
    out = number;
  }
  return {};
}
Status read_optional(const Value& object, std::string_view key, std::string_view path,
                     std::optional<double>& out) {
  if (const Value* value = optional_at(object, key)) {
    TRY(number, value->as_double(path_of(path, key)));
    out = number;
  }
  return {};
}

// Reads every element of the array `object[key]` with `read_one`.
template <class T, class ReadOne>
Status read_list(const Value& list, std::string_view path, std::vector<T>& out, ReadOne read_one) {
  TRY_DO(list.expect(Kind::array, path));
  for (size_t i = 0; i < list.items().size(); ++i) {
    const std::string item_path = path_of(path, i);
    TRY_DO(list.items()[i].expect(Kind::object, item_path));
    TRY(item, read_one(list.items()[i], item_path));
    out.push_back(std::move(item));
  }
  return {};
}

Result<BaseCase> read_case(const Value& object, std::string_view path) {
  TRY_DO(object.expect_only({"name", "prompt_tokens", "expected_tokens"}, path));
  TRY(name, string_at(object, "name", path));
  TRY(prompt, tokens_at(object, "prompt_tokens", path));
  TRY(expected, tokens_at(object, "expected_tokens", path));
  return BaseCase{std::move(name), std::move(prompt), std::move(expected)};
}

Result<AnchorCase> read_anchor(const Value& object, std::string_view path) {
  TRY_DO(object.expect_only({"name", "context_tokens", "expected_token", "accepted_tokens",
                             "max_expected_rank", "max_top_logit_delta"},
                            path));
  AnchorCase anchor;
  TRY(name, string_at(object, "name", path));
  TRY(context, tokens_at(object, "context_tokens", path));
  TRY(expected, token_at(object, "expected_token", path));
  anchor.name = std::move(name);
  anchor.context_tokens = std::move(context);
  anchor.expected_token = expected;
  if (const Value* accepted = optional_at(object, "accepted_tokens")) {
    TRY(tokens, accepted->as_int64s(path_of(path, "accepted_tokens")));
    anchor.accepted_tokens = std::move(tokens);
  }
  TRY_DO(read_optional(object, "max_expected_rank", path, anchor.max_expected_rank));
  TRY_DO(read_optional(object, "max_top_logit_delta", path, anchor.max_top_logit_delta));
  return anchor;
}

Result<FreeRunCase> read_free_run(const Value& object, std::string_view path) {
  TRY_DO(object.expect_only({"name", "prompt_tokens", "expected_tokens", "exact_prefix_tokens"},
                            path));
  FreeRunCase out;
  TRY(name, string_at(object, "name", path));
  TRY(prompt, tokens_at(object, "prompt_tokens", path));
  TRY(expected, tokens_at(object, "expected_tokens", path));
  out.name = std::move(name);
  out.prompt_tokens = std::move(prompt);
  out.expected_tokens = std::move(expected);
  TRY_DO(read_optional(object, "exact_prefix_tokens", path, out.exact_prefix_tokens));
  return out;
}

Result<BehaviorCase> read_behavior(const Value& object, std::string_view path) {
  TRY_DO(object.expect_only(
      {"name", "prompt_tokens", "accepted_token_sequences", "max_new_tokens", "semantic_prompt",
       "semantic_answer_key", "semantic_reference_answer", "semantic_domain", "semantic_subdomain"},
      path));
  BehaviorCase out;
  TRY(name, string_at(object, "name", path));
  TRY(prompt, tokens_at(object, "prompt_tokens", path));
  TRY(sequences, object.at("accepted_token_sequences", path));
  const std::string sequences_path = path_of(path, "accepted_token_sequences");
  TRY_DO(sequences->expect(Kind::array, sequences_path));
  for (size_t i = 0; i < sequences->items().size(); ++i) {
    TRY(sequence, sequences->items()[i].as_int64s(path_of(sequences_path, i)));
    out.accepted_token_sequences.push_back(std::move(sequence));
  }
  TRY(max_value, object.at("max_new_tokens", path));
  TRY(max_new_tokens, max_value->as_uint32(path_of(path, "max_new_tokens")));
  out.name = std::move(name);
  out.prompt_tokens = std::move(prompt);
  out.max_new_tokens = max_new_tokens;
  TRY_DO(read_optional(object, "semantic_prompt", path, out.semantic_prompt));
  TRY_DO(read_optional(object, "semantic_answer_key", path, out.semantic_answer_key));
  TRY_DO(read_optional(object, "semantic_reference_answer", path, out.semantic_reference_answer));
  TRY_DO(read_optional(object, "semantic_domain", path, out.semantic_domain));
  TRY_DO(read_optional(object, "semantic_subdomain", path, out.semantic_subdomain));
  return out;
}

Status read_gates(const Value& gates, ParsedGolden& out) {
  constexpr std::string_view kPath = "correctness_gates";
  TRY_DO(gates.expect(Kind::object, kPath));
  TRY_DO(gates.expect_only({"anchors", "free_run", "behavior"}, kPath));
  CorrectnessGates read;
  if (const Value* list = gates.find("anchors")) {
    out.has_anchors = true;
    TRY_DO(read_list(*list, path_of(kPath, "anchors"), read.anchors, read_anchor));
  }
  if (const Value* list = gates.find("free_run")) {
    out.has_free_run = true;
    TRY_DO(read_list(*list, path_of(kPath, "free_run"), read.free_run, read_free_run));
  }
  if (const Value* list = gates.find("behavior")) {
    out.has_behavior = true;
    TRY_DO(read_list(*list, path_of(kPath, "behavior"), read.behavior, read_behavior));
  }
  out.golden.correctness_gates = std::move(read);
  return {};
}

Status read_benchmark(const Value& object, ParsedGolden& out) {
  constexpr std::string_view kPath = "benchmark";
  TRY_DO(object.expect(Kind::object, kPath));
  TRY_DO(object.expect_only(
      {"prefill_prompt_tokens", "expected_prefill_token", "decode_seed_tokens",
       "expected_decode_seed_token", "expected_decode_tokens", "baseline_prefill_seconds_per_token",
       "baseline_decode_seconds_per_token"},
      kPath));
  Benchmark read;
  TRY(prefill_prompt, tokens_at(object, "prefill_prompt_tokens", kPath));
  TRY(prefill_token, token_at(object, "expected_prefill_token", kPath));
  TRY(seed, tokens_at(object, "decode_seed_tokens", kPath));
  TRY(seed_token, token_at(object, "expected_decode_seed_token", kPath));
  TRY(decode, tokens_at(object, "expected_decode_tokens", kPath));
  read.prefill_prompt_tokens = std::move(prefill_prompt);
  read.expected_prefill_token = prefill_token;
  read.decode_seed_tokens = std::move(seed);
  read.expected_decode_seed_token = seed_token;
  read.expected_decode_tokens = std::move(decode);
  std::optional<double> prefill_baseline, decode_baseline;
  TRY_DO(read_optional(object, "baseline_prefill_seconds_per_token", kPath, prefill_baseline));
  TRY_DO(read_optional(object, "baseline_decode_seconds_per_token", kPath, decode_baseline));
  if (prefill_baseline && decode_baseline) {
    read.baseline = BaselinePair{*prefill_baseline, *decode_baseline};
  }
  out.half_baseline = prefill_baseline.has_value() != decode_baseline.has_value();
  out.golden.benchmark = std::move(read);
  return {};
}

}  // namespace

Result<ParsedGolden> parse_golden(std::string_view bytes) {
  TRY(document, json::parse(bytes));
  TRY_DO(document.expect(Kind::object, "golden"));
  TRY_DO(document.expect_only(
      {"version", "model_type", "model_provenance", "cases", "correctness_gates", "benchmark"},
      ""));
  ParsedGolden out;
  if (const Value* version = optional_at(document, "version")) {
    TRY(number, version->as_int64("version"));
    out.version = number;
  }
  if (const Value* type = document.find("model_type")) {
    TRY(text, type->as_string("model_type"));
    out.golden.model_type = text;
  }
  if (const Value* provenance = document.find("model_provenance")) {
    constexpr std::string_view kPath = "model_provenance";
    TRY_DO(provenance->expect(Kind::object, kPath));
    TRY_DO(provenance->expect_only({"repository", "revision"}, kPath));
    TRY(repository, string_at(*provenance, "repository", kPath));
    TRY(revision, string_at(*provenance, "revision", kPath));
    out.golden.model_provenance = ModelProvenance{repository, revision};
  }
  TRY(cases, document.at("cases", ""));
  TRY_DO(read_list(*cases, "cases", out.golden.cases, read_case));
  if (const Value* gates = document.find("correctness_gates")) TRY_DO(read_gates(*gates, out));
  if (const Value* benchmark = document.find("benchmark")) TRY_DO(read_benchmark(*benchmark, out));
  return out;
}

}  // namespace assay::scoring
