// Golden: the document of expected tokens that a run is judged against.
//
// In      the exact bytes of one JSON file, and what the caller requires of it
// Out     a validated Golden with the digest and size of those bytes; or text for a new one
// Order   pin, caller's numbers, strict typed parse, version, model_type, provenance shape,
// required model
//         type, provenance identity, cases, gates, names over all kinds, benchmark
//         (docs/formats/golden.md)
// Errors  JSON-* (base) for text, types and unknown keys; GOLDEN-* for the rest. Details name the
// key;
//         never a token value, never a hidden golden's name.
// Threads plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "scoring/contract.h"

namespace assay::scoring {

inline constexpr size_t kAnchorContextMax = 1024;
inline constexpr size_t kFreeRunStepsMax = 256;
inline constexpr size_t kBehaviorPromptMax = 2048;
inline constexpr size_t kBehaviorStepsMax = 64;
inline constexpr size_t kTopLogitsMax = 8;

using Tokens = std::vector<int64_t>;

struct ModelProvenance {
  std::string repository;
  std::string revision;  // hex40
};
struct BaseCase {
  std::string name;
  Tokens prompt_tokens;
  Tokens expected_tokens;
};
struct AnchorCase {
  std::string name;
  Tokens context_tokens;
  int64_t expected_token = 0;
  std::optional<Tokens> accepted_tokens;
  std::optional<uint32_t> max_expected_rank;
  std::optional<double> max_top_logit_delta;
};
struct FreeRunCase {
  std::string name;
  Tokens prompt_tokens;
  Tokens expected_tokens;
  std::optional<uint32_t> exact_prefix_tokens;
};
struct BehaviorCase {
  std::string name;
  Tokens prompt_tokens;
  std::vector<Tokens> accepted_token_sequences;
  uint32_t max_new_tokens = 0;
  std::optional<std::string> semantic_prompt;
  std::optional<std::string> semantic_answer_key;
  std::optional<std::string> semantic_reference_answer;
  std::optional<std::string> semantic_domain;
  std::optional<std::string> semantic_subdomain;
};
/// A section that is absent is an empty list here; a declared section is never empty.
struct CorrectnessGates {
  std::vector<AnchorCase> anchors;
  std::vector<FreeRunCase> free_run;
  std::vector<BehaviorCase> behavior;
};
struct Benchmark {
  Tokens prefill_prompt_tokens;
  int64_t expected_prefill_token = 0;
  Tokens decode_seed_tokens;
  int64_t expected_decode_seed_token = 0;
  Tokens expected_decode_tokens;
  std::optional<BaselinePair> baseline;  // both keys, or neither
};
struct Golden {
  std::optional<std::string> model_type;
  std::optional<ModelProvenance> model_provenance;
  std::vector<BaseCase> cases;
  std::optional<CorrectnessGates> correctness_gates;
  std::optional<Benchmark> benchmark;

  /// Base cases + anchors + free_run + behavior.
  [[nodiscard]] size_t total_correctness_case_count() const;
};

/// What the caller requires. The defaults are those of the pure loader without a contract.
struct GoldenRequirements {
  uint32_t required_steps = 64;         // expected tokens of every base case, at least
  uint32_t required_prompt_tokens = 0;  // prompt length of base and free-run cases, exactly
  uint32_t vocab_size = 0;
  uint32_t seed_tokens = 0;               // length of both benchmark prompts, exactly
  uint32_t benchmark_decode_steps = 128;  // expected decode tokens of the benchmark, at least
  std::optional<std::string> required_model_type;
  std::optional<IntegrityPin> integrity_pin;
  std::optional<ReferenceModelPin> reference_model_pin;
};
/// The requirements that the contract's model and window shape give, for `required_steps`.
[[nodiscard]] GoldenRequirements golden_requirements(const ModelShape& model,
                                                     const WindowShape& window,
                                                     uint32_t required_steps);

struct LoadedGolden {
  Golden golden;
  std::string sha256;  // of the exact bytes
  uint64_t size_bytes = 0;
};

/// Structural load. Refuses in the order above: GOLDEN-PIN-BYTES-MISMATCH,
/// GOLDEN-PIN-DIGEST-MISMATCH, GOLDEN-REQUIREMENTS-INVALID, JSON-*, GOLDEN-VERSION,
/// GOLDEN-MODEL-TYPE, GOLDEN-PROVENANCE-INVALID, GOLDEN-PROVENANCE-MISMATCH, GOLDEN-CASE-INVALID,
/// GOLDEN-GATE-INVALID, GOLDEN-NAME-INVALID, GOLDEN-NAME-DUPLICATE, GOLDEN-TOKEN-OUT-OF-RANGE,
/// GOLDEN-BENCHMARK-INVALID.
[[nodiscard]] Result<LoadedGolden> load_golden(std::string_view bytes,
                                               const GoldenRequirements& requirements);

/// Refuses GOLDEN-BENCHMARK-MISSING: "benchmark golden file must contain a benchmark oracle".
[[nodiscard]] Status require_benchmark(const Golden& golden);
/// Refuses GOLDEN-CARRIES-STORED-BASELINE.
[[nodiscard]] Status refuse_stored_baseline(const Golden& golden);
/// Bytes first, then digest (case does not matter, the pin is trimmed).
[[nodiscard]] Status check_integrity_pin(std::string_view bytes, const IntegrityPin& pin);
/// What a run attested about the hidden golden against the contract's pin. Refuses
/// HIDDEN-GOLDEN-NOT-ATTESTED, HIDDEN-GOLDEN-NOT-PINNED, HIDDEN-GOLDEN-WRONG-DIGEST.
[[nodiscard]] Status check_hidden_golden(const std::optional<IntegrityPin>& attested,
                                         const std::optional<IntegrityPin>& pin);

/// The text of a golden: keys in schema order, 2 spaces, final newline; the same bytes for equal
/// documents.
[[nodiscard]] std::string write_golden(const Golden& golden);

/// "botany.mtp3.golden.json" → "botany"; a path's last part counts. Empty when nothing is left.
[[nodiscard]] std::string prompt_name_of(std::string_view file_name);

/// The tokens that a timed decode of N steps must give: [expected_decode_seed_token] then N decode
/// tokens.
struct TimedOracle {
  Tokens prefill_prompt_tokens;
  int64_t expected_prefill_token = 0;
  Tokens decode_seed_tokens;
  int64_t expected_decode_seed_token = 0;
  Tokens expected_decode_tokens;  // exactly `decode_steps`
};
/// From the benchmark block, else from the first base case (its first expected token is prefill's
/// and the seed's). Refuses GOLDEN-ORACLE-TOO-SHORT.
[[nodiscard]] Result<TimedOracle> timed_oracle(const Golden& golden, uint32_t decode_steps);

}  // namespace assay::scoring
