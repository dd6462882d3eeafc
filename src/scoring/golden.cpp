// Golden, rules: one function per step of the order in golden.h, called top to bottom by
// load_golden.
#include "scoring/golden.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/sha256.h"
#include "base/text.h"
#include "scoring/golden_read.h"
#include "scoring/refusals.h"

namespace assay::scoring {

namespace {

using json::path_of;

Status check_model_type(const Golden& golden) {
  if (!golden.model_type) return {};
  if (golden.model_type->empty()) {
    return Refusal(kGoldenModelType, "`model_type` is empty, expected a model type or no key");
  }
  if (trim(*golden.model_type) != *golden.model_type) {
    return Refusal(kGoldenModelType, "`model_type` is padded with white space");
  }
  return {};
}

Status check_provenance_shape(const Golden& golden) {
  if (!golden.model_provenance) return {};
  if (golden.model_provenance->repository.empty()) {
    return Refusal(kGoldenProvenanceInvalid, "`model_provenance.repository` is empty");
  }
  if (!is_lower_hex(golden.model_provenance->revision, 40)) {
    return Refusal(kGoldenProvenanceInvalid,
                   "`model_provenance.revision` must be 40 lower-case hex digits");
  }
  return {};
}

Status check_required_model_type(const Golden& golden, const GoldenRequirements& required) {
  if (!required.required_model_type || golden.model_type == required.required_model_type) return {};
  const std::string found =
      golden.model_type ? cat("is \"", *golden.model_type, "\"") : std::string("is absent");
  return Refusal(kGoldenModelType,
                 cat("`model_type` ", found, ", expected \"", *required.required_model_type, "\""));
}

Status check_provenance_identity(const Golden& golden, const GoldenRequirements& required) {
  if (!golden.model_provenance || !required.reference_model_pin) return {};
  const ModelProvenance& found = *golden.model_provenance;
  const ReferenceModelPin& pin = *required.reference_model_pin;
  if (found.repository == pin.repository && found.revision == pin.revision) return {};
  return Refusal(kGoldenProvenanceMismatch,
                 cat("model_provenance does not match the pinned reference model: the golden says ",
                     found.repository, " at ", found.revision, ", the contract pins ",
                     pin.repository, " at ", pin.revision));
}

Status check_name(const std::string& name, std::set<std::string>& seen, std::string_view path) {
  const std::string where = path_of(path, "name");
  if (trim(name).empty()) return Refusal(kGoldenNameInvalid, cat("`", where, "` is blank"));
  if (trim(name) != name) {
    return Refusal(kGoldenNameInvalid, cat("`", where, "` is padded with white space"));
  }
  if (has_control_character(name)) {
    return Refusal(kGoldenNameInvalid, cat("`", where, "` holds a control character"));
  }
  if (!seen.insert(name).second) {
    return Refusal(kGoldenNameDuplicate,
                   cat("`", where, "` is \"", name, "\", which an earlier case of its kind has"));
  }
  return {};
}

Status check_token(int64_t token, uint32_t vocab_size, std::string_view path) {
  if (token >= 0 && token < static_cast<int64_t>(vocab_size)) return {};
  return Refusal(kGoldenTokenOutOfRange,
                 cat("`", path, "` lies outside the vocabulary of ", vocab_size, " tokens"));
}
Status check_tokens(const Tokens& tokens, uint32_t vocab_size, std::string_view path) {
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] < 0 || tokens[i] >= static_cast<int64_t>(vocab_size)) {
      return check_token(tokens[i], vocab_size, path_of(path, i));
    }
  }
  return {};
}

// The number of elements of `path` must be in [low, high].
Status check_count(const RefusalInfo& info, size_t count, size_t low, size_t high,
                   std::string_view path) {
  if (count >= low && count <= high) return {};
  return Refusal(info, cat("`", path, "` has ", count, count == 1 ? " entry" : " entries",
                           ", expected ", low == high ? cat(low) : cat(low, " to ", high)));
}
Status check_count_min(const RefusalInfo& info, size_t count, size_t low, std::string_view path) {
  if (count >= low) return {};
  return Refusal(info, cat("`", path, "` has ", count, count == 1 ? " entry" : " entries",
                           ", expected at least ", low));
}
Status check_value(uint32_t value, size_t low, size_t high, std::string_view path) {
  if (value >= low && value <= high) return {};
  return Refusal(kGoldenGateInvalid,
                 cat("`", path, "` is ", value, ", expected ", low, " to ", high));
}

Status check_cases(const Golden& golden, const GoldenRequirements& required) {
  if (golden.cases.empty()) return Refusal(kGoldenCaseInvalid, "`cases` is an empty list");
  std::set<std::string> names;
  for (size_t i = 0; i < golden.cases.size(); ++i) {
    const BaseCase& one = golden.cases[i];
    const std::string path = path_of("cases", i);
    const std::string prompt_path = path_of(path, "prompt_tokens");
    const std::string expected_path = path_of(path, "expected_tokens");
    TRY_DO(check_name(one.name, names, path));
    TRY_DO(check_count(kGoldenCaseInvalid, one.prompt_tokens.size(),
                       required.required_prompt_tokens, required.required_prompt_tokens,
                       prompt_path));
    TRY_DO(check_count_min(kGoldenCaseInvalid, one.expected_tokens.size(), required.required_steps,
                           expected_path));
    TRY_DO(check_tokens(one.prompt_tokens, required.vocab_size, prompt_path));
    TRY_DO(check_tokens(one.expected_tokens, required.vocab_size, expected_path));
  }
  return {};
}

Status check_anchor(const AnchorCase& anchor, uint32_t vocab_size, std::string_view path) {
  const std::string context_path = path_of(path, "context_tokens");
  TRY_DO(check_count(kGoldenGateInvalid, anchor.context_tokens.size(), 1, kAnchorContextMax,
                     context_path));
  TRY_DO(check_tokens(anchor.context_tokens, vocab_size, context_path));
  TRY_DO(check_token(anchor.expected_token, vocab_size, path_of(path, "expected_token")));
  if (anchor.accepted_tokens) {
    const std::string accepted_path = path_of(path, "accepted_tokens");
    TRY_DO(check_count_min(kGoldenGateInvalid, anchor.accepted_tokens->size(), 1, accepted_path));
    TRY_DO(check_tokens(*anchor.accepted_tokens, vocab_size, accepted_path));
  }
  if (anchor.max_expected_rank) {
    TRY_DO(check_value(*anchor.max_expected_rank, 1, kTopLogitsMax,
                       path_of(path, "max_expected_rank")));
  }
  if (anchor.max_top_logit_delta) {
    const std::string delta_path = path_of(path, "max_top_logit_delta");
    if (!(std::isfinite(*anchor.max_top_logit_delta) && *anchor.max_top_logit_delta >= 0.0)) {
      return Refusal(kGoldenGateInvalid, cat("`", delta_path, "` must be finite and at least 0"));
    }
    if (!anchor.max_expected_rank) {
      return Refusal(kGoldenGateInvalid,
                     cat("`", delta_path, "` needs `", path_of(path, "max_expected_rank"), "`"));
    }
  }
  return {};
}

Status check_free_run(const FreeRunCase& one, const GoldenRequirements& required,
                      std::string_view path) {
  const std::string prompt_path = path_of(path, "prompt_tokens");
  const std::string expected_path = path_of(path, "expected_tokens");
  TRY_DO(check_count(kGoldenGateInvalid, one.prompt_tokens.size(), required.required_prompt_tokens,
                     required.required_prompt_tokens, prompt_path));
  TRY_DO(check_count(kGoldenGateInvalid, one.expected_tokens.size(), 1, kFreeRunStepsMax,
                     expected_path));
  if (one.exact_prefix_tokens) {
    TRY_DO(check_value(*one.exact_prefix_tokens, 1, one.expected_tokens.size(),
                       path_of(path, "exact_prefix_tokens")));
  }
  TRY_DO(check_tokens(one.prompt_tokens, required.vocab_size, prompt_path));
  return check_tokens(one.expected_tokens, required.vocab_size, expected_path);
}

Status check_behavior(const BehaviorCase& one, uint32_t vocab_size, std::string_view path) {
  const std::string prompt_path = path_of(path, "prompt_tokens");
  const std::string sequences_path = path_of(path, "accepted_token_sequences");
  TRY_DO(check_count(kGoldenGateInvalid, one.prompt_tokens.size(), 1, kBehaviorPromptMax,
                     prompt_path));
  TRY_DO(check_value(one.max_new_tokens, 1, kBehaviorStepsMax, path_of(path, "max_new_tokens")));
  TRY_DO(
      check_count_min(kGoldenGateInvalid, one.accepted_token_sequences.size(), 1, sequences_path));
  for (size_t i = 0; i < one.accepted_token_sequences.size(); ++i) {
    const Tokens& sequence = one.accepted_token_sequences[i];
    const std::string sequence_path = path_of(sequences_path, i);
    TRY_DO(check_count(kGoldenGateInvalid, sequence.size(), 1, one.max_new_tokens, sequence_path));
    TRY_DO(check_tokens(sequence, vocab_size, sequence_path));
  }
  return check_tokens(one.prompt_tokens, vocab_size, prompt_path);
}

Status check_sections(const ParsedGolden& parsed) {
  if (!parsed.has_anchors && !parsed.has_free_run && !parsed.has_behavior) {
    return Refusal(kGoldenGateInvalid,
                   "`correctness_gates` declares none of `anchors`, `free_run`, `behavior`");
  }
  const CorrectnessGates& gates = *parsed.golden.correctness_gates;
  const auto empty = [](std::string_view section) {
    return Refusal(kGoldenGateInvalid, cat("`correctness_gates.", section, "` is an empty list"));
  };
  if (parsed.has_anchors && gates.anchors.empty()) return empty("anchors");
  if (parsed.has_free_run && gates.free_run.empty()) return empty("free_run");
  if (parsed.has_behavior && gates.behavior.empty()) return empty("behavior");
  return {};
}

Status check_names_across_kinds(const Golden& golden) {
  std::set<std::string_view> seen;
  Status status;
  const auto add = [&](const auto& list, std::string_view kind) {
    for (size_t i = 0; i < list.size() && status; ++i) {
      if (!seen.insert(list[i].name).second) {
        status = Refusal(kGoldenNameDuplicate,
                         cat("`", path_of(path_of(kind, i), "name"), "` is \"", list[i].name,
                             "\", which a case of another kind has"));
      }
    }
  };
  add(golden.cases, "cases");
  add(golden.correctness_gates->anchors, "correctness_gates.anchors");
  add(golden.correctness_gates->free_run, "correctness_gates.free_run");
  add(golden.correctness_gates->behavior, "correctness_gates.behavior");
  return status;
}

Status check_gates(const ParsedGolden& parsed, const GoldenRequirements& required) {
  if (!parsed.golden.correctness_gates) return {};
  TRY_DO(check_sections(parsed));
  const CorrectnessGates& gates = *parsed.golden.correctness_gates;
  const auto check_kind = [&](const auto& list, std::string_view kind,
                              const auto& check) -> Status {
    std::set<std::string> names;
    for (size_t i = 0; i < list.size(); ++i) {
      const std::string path = path_of(path_of("correctness_gates", kind), i);
      TRY_DO(check_name(list[i].name, names, path));
      TRY_DO(check(list[i], path));
    }
    return {};
  };
  TRY_DO(check_kind(gates.anchors, "anchors", [&](const AnchorCase& one, std::string_view path) {
    return check_anchor(one, required.vocab_size, path);
  }));
  TRY_DO(check_kind(gates.free_run, "free_run", [&](const FreeRunCase& one, std::string_view path) {
    return check_free_run(one, required, path);
  }));
  TRY_DO(
      check_kind(gates.behavior, "behavior", [&](const BehaviorCase& one, std::string_view path) {
        return check_behavior(one, required.vocab_size, path);
      }));
  return check_names_across_kinds(parsed.golden);
}

Status check_benchmark(const ParsedGolden& parsed, const GoldenRequirements& required) {
  if (!parsed.golden.benchmark) return {};
  const Benchmark& one = *parsed.golden.benchmark;
  const RefusalInfo& info = kGoldenBenchmarkInvalid;
  const uint32_t seed = required.seed_tokens;
  TRY_DO(check_count(info, one.prefill_prompt_tokens.size(), seed, seed,
                     "benchmark.prefill_prompt_tokens"));
  TRY_DO(
      check_count(info, one.decode_seed_tokens.size(), seed, seed, "benchmark.decode_seed_tokens"));
  TRY_DO(check_count_min(info, one.expected_decode_tokens.size(), required.benchmark_decode_steps,
                         "benchmark.expected_decode_tokens"));
  const uint32_t vocab = required.vocab_size;
  TRY_DO(check_tokens(one.prefill_prompt_tokens, vocab, "benchmark.prefill_prompt_tokens"));
  TRY_DO(check_token(one.expected_prefill_token, vocab, "benchmark.expected_prefill_token"));
  TRY_DO(check_tokens(one.decode_seed_tokens, vocab, "benchmark.decode_seed_tokens"));
  TRY_DO(
      check_token(one.expected_decode_seed_token, vocab, "benchmark.expected_decode_seed_token"));
  TRY_DO(check_tokens(one.expected_decode_tokens, vocab, "benchmark.expected_decode_tokens"));
  if (parsed.half_baseline) {
    return Refusal(
        info,
        "only one of `benchmark.baseline_prefill_seconds_per_token` and "
        "`benchmark.baseline_decode_seconds_per_token` is given, expected both or neither");
  }
  if (!one.baseline) return {};
  for (const auto& [key, value] :
       {std::pair<std::string_view, double>{"baseline_prefill_seconds_per_token",
                                            one.baseline->prefill_seconds_per_token},
        std::pair<std::string_view, double>{"baseline_decode_seconds_per_token",
                                            one.baseline->decode_seconds_per_token}}) {
    if (!(std::isfinite(value) && value > 0.0)) {
      return Refusal(info, cat("`benchmark.", key, "` must be finite and above 0"));
    }
  }
  return {};
}

}  // namespace

size_t Golden::total_correctness_case_count() const {
  size_t count = cases.size();
  if (correctness_gates) {
    count += correctness_gates->anchors.size() + correctness_gates->free_run.size() +
             correctness_gates->behavior.size();
  }
  return count;
}

GoldenRequirements golden_requirements(const ModelShape& model, const WindowShape& window,
                                       uint32_t required_steps) {
  GoldenRequirements out;
  out.required_steps = required_steps;
  out.required_prompt_tokens = model.seed_tokens;
  out.vocab_size = model.vocab_size;
  out.seed_tokens = model.seed_tokens;
  out.benchmark_decode_steps = window.benchmark_decode_steps;
  out.required_model_type = model.golden_model_type;
  return out;
}

Status check_integrity_pin(std::string_view bytes, const IntegrityPin& pin) {
  if (bytes.size() != pin.bytes) {
    return Refusal(kGoldenPinBytesMismatch,
                   cat("the file has ", bytes.size(), " bytes, the pin says ", pin.bytes));
  }
  std::string wanted(trim(pin.sha256));
  for (char& c : wanted) {
    if (c >= 'A' && c <= 'F') c = static_cast<char>(c - 'A' + 'a');
  }
  const std::string found = sha256_hex(bytes);
  if (found != wanted) {
    return Refusal(kGoldenPinDigestMismatch,
                   cat("the file's SHA-256 is ", found, ", the pin says ", wanted));
  }
  return {};
}

Result<LoadedGolden> load_golden(std::string_view bytes, const GoldenRequirements& required) {
  if (required.integrity_pin) TRY_DO(check_integrity_pin(bytes, *required.integrity_pin));
  if (required.required_steps == 0 || required.required_prompt_tokens == 0) {
    return Refusal(kGoldenRequirementsInvalid,
                   cat("required steps ", required.required_steps, " and prompt tokens ",
                       required.required_prompt_tokens, ", expected both at least 1"));
  }
  TRY(parsed, parse_golden(bytes));
  if (parsed.version != 1) {
    return Refusal(
        kGoldenVersion,
        cat("`version` ", parsed.version ? cat("is ", *parsed.version) : "is absent or null",
            ", expected 1"));
  }
  TRY_DO(check_model_type(parsed.golden));
  TRY_DO(check_provenance_shape(parsed.golden));
  TRY_DO(check_required_model_type(parsed.golden, required));
  TRY_DO(check_provenance_identity(parsed.golden, required));
  TRY_DO(check_cases(parsed.golden, required));
  TRY_DO(check_gates(parsed, required));
  TRY_DO(check_benchmark(parsed, required));
  return LoadedGolden{std::move(parsed.golden), sha256_hex(bytes), bytes.size()};
}

Status require_benchmark(const Golden& golden) {
  if (golden.benchmark) return {};
  return Refusal(kGoldenBenchmarkMissing,
                 "benchmark golden file must contain a benchmark oracle (key `benchmark`)");
}

Status refuse_stored_baseline(const Golden& golden) {
  if (!golden.benchmark || !golden.benchmark->baseline) return {};
  return Refusal(
      kGoldenCarriesStoredBaseline,
      "the golden declares `benchmark.baseline_prefill_seconds_per_token` and "
      "`benchmark.baseline_decode_seconds_per_token`, but this track measures its control leg");
}

Status check_hidden_golden(const std::optional<IntegrityPin>& attested,
                           const std::optional<IntegrityPin>& pin) {
  if (!attested && !pin) return {};
  if (!attested) {
    return Refusal(kHiddenGoldenNotAttested,
                   "`hidden_correctness_golden` is pinned, but the run attests no hidden golden");
  }
  if (!pin) {
    return Refusal(kHiddenGoldenNotPinned,
                   "the run attests a hidden golden, but the contract has no "
                   "`hidden_correctness_golden`");
  }
  if (attested->sha256 == pin->sha256 && attested->bytes == pin->bytes) return {};
  return Refusal(
      kHiddenGoldenWrongDigest,
      "wrong-digest: the attested hidden golden differs from `hidden_correctness_golden`");
}

std::string prompt_name_of(std::string_view file_name) {
  const size_t slash = file_name.rfind('/');
  if (slash != std::string_view::npos) file_name.remove_prefix(slash + 1);
  constexpr std::string_view kSuffix = ".golden.json";
  if (file_name.ends_with(kSuffix)) file_name.remove_suffix(kSuffix.size());
  return std::string(file_name.substr(0, file_name.find('.')));
}

Result<TimedOracle> timed_oracle(const Golden& golden, uint32_t decode_steps) {
  TimedOracle out;
  if (golden.benchmark && golden.benchmark->expected_decode_tokens.size() >= decode_steps) {
    const Benchmark& block = *golden.benchmark;
    out.prefill_prompt_tokens = block.prefill_prompt_tokens;
    out.expected_prefill_token = block.expected_prefill_token;
    out.decode_seed_tokens = block.decode_seed_tokens;
    out.expected_decode_seed_token = block.expected_decode_seed_token;
    out.expected_decode_tokens.assign(block.expected_decode_tokens.begin(),
                                      block.expected_decode_tokens.begin() + decode_steps);
    return out;
  }
  // The first case continues the same prompt, so its first expected token is the seed token.
  const size_t needed = size_t{decode_steps} + 1;
  if (golden.cases.empty() || golden.cases.front().expected_tokens.size() < needed) {
    const size_t found = golden.cases.empty() ? 0 : golden.cases.front().expected_tokens.size();
    return Refusal(
        kGoldenOracleTooShort,
        cat("a decode of ", decode_steps, " steps needs ", needed,
            " tokens in `cases[0].expected_tokens`, found ", found,
            golden.benchmark ? "; `benchmark.expected_decode_tokens` is too short too" : ""));
  }
  const BaseCase& first = golden.cases.front();
  out.prefill_prompt_tokens = first.prompt_tokens;
  out.expected_prefill_token = first.expected_tokens.front();
  out.decode_seed_tokens = first.prompt_tokens;
  out.expected_decode_seed_token = first.expected_tokens.front();
  out.expected_decode_tokens.assign(first.expected_tokens.begin() + 1,
                                    first.expected_tokens.begin() + 1 + decode_steps);
  return out;
}

}  // namespace assay::scoring
