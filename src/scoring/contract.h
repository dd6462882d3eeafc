// Contract: the track fixture, the one file that says what a track's score means.
//
// In      the exact bytes of one JSON object, read once per run
// Out     a parsed and certified Contract: every declared value is usable, every group is whole or
// absent Then    resolvers: each gives a group, or refuses by name where the run needs it and it is
// not there Format  docs/formats/contract.md. Unknown keys are ignored; `null` for a scalar means
// absent. Errors  JSON-* (base) for text and types; CONTRACT-* and the names in refusals.h. Threads
// a Contract is plain data.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace assay::scoring {

enum class PairCombine { lower_median, mean, ratio_of_sums };
enum class PairOrder { control_first, counterbalanced };
[[nodiscard]] std::string_view name_of(PairCombine combine);
[[nodiscard]] std::string_view name_of(PairOrder order);
[[nodiscard]] std::optional<PairCombine> pair_combine_named(std::string_view name);
[[nodiscard]] std::optional<PairOrder> pair_order_named(std::string_view name);

/// Whether the control leg of pair `pair` (1-based) runs before the candidate leg: C K K C C K K C
/// … when counterbalanced.
[[nodiscard]] constexpr bool control_runs_first(PairOrder order, uint32_t pair) {
  return order == PairOrder::control_first || pair % 2 == 1;
}

struct TimedPrompt {
  std::string sha256;
  std::optional<uint64_t> bytes;
  std::optional<double> noop_decode_speedup;
};
struct ScoredRegime {
  uint32_t batch_size = 1;
  double prefill_gain_exponent = 0.0;
  double decode_gain_exponent = 0.0;
};
struct BaselinePair {
  double prefill_seconds_per_token = 0.0;
  double decode_seconds_per_token = 0.0;
};
struct AcceptanceBands {
  double prefill_up_tolerance = 0.0;
  double prefill_down_tolerance = 0.0;
  double decode_up_tolerance = 0.0;
  double decode_down_tolerance = 0.0;
  bool decode_down_enabled = false;
  bool prefill_down_enabled = false;
};
struct OfficialBaseline {
  BaselinePair pair;
  AcceptanceBands bands;
};
struct ScoringWeights {
  double decode = 0.75;
  double prefill = 0.25;
};
struct SpeedupFloors {
  double decode = 0.95;
  double prefill = 0.95;
};
struct WindowShape {
  uint32_t correctness_steps = 64;
  uint32_t benchmark_decode_steps = 128;
  uint32_t local_submit_benchmark_decode_steps = 1023;
  uint32_t official_prefill_warmup_runs = 0;
  uint32_t official_prefill_timed_runs = 1;
};
struct ModelShape {
  uint32_t vocab_size = 0;
  uint32_t num_hidden_layers = 0;
  uint32_t seed_tokens = 0;
  std::string golden_model_type;  // trimmed
};
/// Limits of the gate that waits for a quiet machine.
struct Quiescence {
  double load_max = 2.0;           // one-minute load average, passes below
  double gpu_max = 0.10;           // utilisation as a fraction, passes below
  double timeout_seconds = 900.0;  // QUIESCENCE-TIMEOUT after this
};
/// The reference model that a golden must have been recorded from.
struct ReferenceModelPin {
  std::string repository;  // target.upstream_model_id
  std::string revision;    // target.upstream_revision, hex40
};
/// Digest and size of a file's exact bytes.
struct IntegrityPin {
  std::string sha256;
  uint64_t bytes = 0;
};

/// One certified contract. Optional = the fixture does not declare it.
struct Contract {
  std::string sha256;    // of the bytes that were parsed
  json::Value document;  // the whole object, for readers of keys that are not modelled here

  std::optional<std::string> track_id;  // trimmed
  std::optional<std::string> track_name;
  std::optional<bool> official_scoring_enabled;
  std::vector<std::string> allowed_modes;  // {"serial", "mtp"} when undeclared
  std::vector<TimedPrompt> timed_prompt_pool;

  std::optional<uint32_t> official_pairs;
  PairCombine official_pair_combine = PairCombine::lower_median;
  PairOrder official_pair_order = PairOrder::control_first;
  std::optional<bool> scores_against_live_control_leg;
  std::optional<bool> paired_flow_retired;
  std::optional<uint32_t> timed_token_tolerance_per_thousand;
  std::optional<double> timed_token_near_tie_relative_gap;

  std::optional<double> decode_speedup_floor;
  std::optional<double> prefill_speedup_floor;
  std::optional<uint32_t> scored_batch_size;  // legal alone; declares no regime
  std::optional<ScoredRegime> scored_regime;
  std::optional<BaselinePair> official_baseline;
  std::optional<AcceptanceBands> acceptance_bands;
  std::optional<ScoringWeights> scoring_weights;
  std::optional<WindowShape> window_shape;
  std::optional<ModelShape> model_shape;

  double calibration_cv_max = 0.01;  // fraction
  Quiescence quiescence;
  std::optional<double> cool_limit_c;  // °C; the platform's limit when undeclared
  std::optional<bool> thermal_reader;  // false: the box has none and the cool gate is skipped
};

/// Parses and certifies. First violation wins, in this order: JSON and types; decode floor, prefill
/// floor, official_pairs, token tolerance, near-tie gap, scored_batch_size, scored regime, official
/// baseline, acceptance bands, scoring weights, window shape, model shape; then allowed_modes and
/// our own keys. Refuses  JSON-*, CONTRACT-VALUE-INVALID, CONTRACT-FIELD-MISSING,
/// CONTRACT-FIELDS-EXCLUSIVE,
///          CONTRACT-PAIR-COMBINE-UNKNOWN, CONTRACT-PAIR-ORDER-UNKNOWN,
///          CONTRACT-ALLOWED-MODES-EMPTY
[[nodiscard]] Result<Contract> parse_contract(std::string_view bytes);

/// The declared track id, or "<no declared track_id>".
[[nodiscard]] std::string contract_label(const Contract& contract);

// Resolvers. Each refuses by name when the fixture does not declare what the run needs.
[[nodiscard]] Result<ScoredRegime> resolve_scored_regime(const Contract& contract);
[[nodiscard]] Result<bool> resolve_live_control_leg(const Contract& contract);
[[nodiscard]] Result<bool> resolve_paired_flow_retired(const Contract& contract);
[[nodiscard]] Result<OfficialBaseline> resolve_official_baseline(const Contract& contract);
[[nodiscard]] Result<AcceptanceBands> resolve_acceptance_bands(const Contract& contract);
[[nodiscard]] Result<ScoringWeights> resolve_scoring_weights(const Contract& contract);
[[nodiscard]] Result<WindowShape> resolve_window_shape(const Contract& contract);
[[nodiscard]] Result<ModelShape> resolve_model_shape(const Contract& contract);
[[nodiscard]] Result<SpeedupFloors> resolve_speedup_floors(const Contract& contract);
[[nodiscard]] Result<uint32_t> resolve_official_pairs(const Contract& contract);

/// The pin in `target`: none without that key. Refuses CONTRACT-TARGET-INVALID (null, not an
/// object, one half, blank or padded, revision not hex40).
[[nodiscard]] Result<std::optional<ReferenceModelPin>> resolve_reference_model_pin(
    const Contract& contract);
/// The pin in `hidden_correctness_golden`: none without that key. Refuses
/// CONTRACT-HIDDEN-GOLDEN-INVALID.
[[nodiscard]] Result<std::optional<IntegrityPin>> resolve_hidden_golden_pin(
    const Contract& contract);
/// `mtp_head.permitted_draft_depths`: none without it. Refuses JSON-TYPE, CONTRACT-VALUE-INVALID
/// (empty, 0, or above 32).
[[nodiscard]] Result<std::optional<std::vector<uint32_t>>> resolve_permitted_draft_depths(
    const Contract& contract);
/// `target.upstream_model_id` when it is a non-blank string, else the track id, else "".
[[nodiscard]] std::string model_id_of(const Contract& contract);

/// The track of a run: the flag, else the environment's name, else the contract's own id; all
/// trimmed, blank = absent. Refuses TRACK-ID-MISMATCH (two that differ), TRACK-ID-UNRESOLVED
/// (none).
[[nodiscard]] Result<std::string> resolve_track_id(const Contract& contract,
                                                   std::optional<std::string_view> flag,
                                                   std::optional<std::string_view> environment);

/// Whether an official run may score here. Not official, or armed: yes.
/// Refuses  OFFICIAL-SCORING-DISARMED (declared false), OFFICIAL-SCORING-NO-ARM-STATE (undeclared)
[[nodiscard]] Status arm_gate(bool official, const Contract& contract);

enum class Platform { mlx, cuda, cpu };
[[nodiscard]] std::string_view name_of(Platform platform);
/// `…-mlx-v3` → mlx, `…-cuda-v12` → cuda, `…-cpu-v1` → cpu; case-sensitive. Refuses
/// TRACK-PLATFORM-UNKNOWN.
[[nodiscard]] Result<Platform> platform_of_track(std::string_view track_id);
/// Cool-gate limit in °C: mlx 40, cuda 60; none for cpu, which has no thermal reader.
[[nodiscard]] std::optional<double> platform_cool_limit_c(Platform platform);

/// The pool-based flow is refused on a track that declares it retired. Refuses
/// PAIRED-FLOW-RETIRED-FOR-TRACK, CONTRACT-KEY-UNDECLARED
[[nodiscard]] Status refuse_retired_paired_flow(const Contract& contract);

/// A feature that this version does not run: cohorts, token tolerance, a scored regime, a prompt
/// pool. Such a contract parses; call this where a run resolves it. Refuses
/// CONTRACT-FEATURE-NOT-SUPPORTED naming the key
[[nodiscard]] Status refuse_unsupported(const Contract& contract);

/// metrics.contract_sources: eight keys in a fixed order, "contract" where the fixture declares the
/// whole group, else "device". Null pointer = a run without a fixture: all "device".
using ContractSources = std::array<std::pair<std::string_view, std::string_view>, 8>;
[[nodiscard]] ContractSources contract_sources(const Contract* contract);

}  // namespace assay::scoring
