// Score document: score.json as typed fields.
//
// In / Out  ScoreDocument ↔ json::Value. One field list (score_fields.cpp) gives the writer, the
// reader,
//           the coarsening and the key table, so that they cannot disagree.
// Rules     56 keys are always there (five of them may be null); optional members are omitted when
// unset.
//           Numbers are never NaN or infinite in a document that verifies.
// Format    docs/formats/score.md
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "scoring/contract.h"
#include "scoring/free_run.h"
#include "scoring/gate_record.h"
#include "scoring/score.h"
#include "scoring/uncertainty.h"

namespace assay::scoring {

/// One row of metrics.per_prompt: the drafting facts of a distinct golden.
struct PerPrompt {
  std::string prompt_sha256;
  double effective_mean_draft_len = 0.0;
  double mtp_seconds_per_token_mean = 0.0;
  std::optional<uint64_t> spec_rounds;
  std::optional<uint64_t> spec_drafted_total;
  std::optional<uint64_t> spec_accepted_total;
  std::optional<std::string> head_provenance_sha256;
};

/// One row of metrics.paired_legs. Token fields are written as null when unset.
struct PairedLeg {
  uint32_t pair = 0;
  std::string prompt_sha256;
  double control_prefill_seconds_per_token = 0.0;
  double control_decode_seconds_per_token = 0.0;
  double candidate_prefill_seconds_per_token = 0.0;
  double candidate_decode_seconds_per_token = 0.0;
  std::optional<double> control_seed_prefill_window_seconds_per_token;
  std::optional<double> control_decode_window_seconds_per_token;
  std::optional<double> candidate_seed_prefill_window_seconds_per_token;
  std::optional<double> candidate_decode_window_seconds_per_token;
  std::optional<uint64_t> token_mismatch_count;
  std::optional<uint64_t> token_mismatch_first_step;
  std::optional<uint64_t> token_mismatch_near_tie_count;
  std::optional<uint64_t> token_mismatch_second_choice_count;
  std::optional<double> token_mismatch_second_choice_max_relative_gap;
};

/// State of each phase of a local run.
struct LocalPhases {
  std::string correctness;
  uint64_t correctness_checked_steps = 0;
  std::string timing;
};

/// metrics.contract_sources, in the document's own strings.
using SealedSources = std::vector<std::pair<std::string, std::string>>;

struct Metrics {
  // Always present: numbers. The coarsened ones carry two significant figures once sealed.
  double peak_ram_gb = 0.0;
  double bandwidth_gb_per_token = 0.0;
  double decode_seconds_per_token = 0.0;
  double prefill_seconds_per_token = 0.0;
  double baseline_decode_seconds_per_token = 0.0;
  double baseline_prefill_seconds_per_token = 0.0;
  double decode_speedup = 0.0;
  double prefill_speedup = 0.0;
  double decode_speedup_floor = 0.0;
  double prefill_speedup_floor = 0.0;
  double benchmark_wall_seconds = 0.0;
  double preflight_seconds = 0.0;
  double correctness_seconds = 0.0;
  double timed_benchmark_seconds = 0.0;
  double gpqa_ttft_seconds = 0.0;
  double gpqa_ttft_p50_seconds = 0.0;
  double gpqa_ttft_max_seconds = 0.0;
  double process_resident_memory_gb = 0.0;
  double expert_read_seconds = 0.0;
  double expert_hit_rate = 0.0;
  double max_abs_diff = 0.0;
  // Always present: integers.
  uint64_t gpqa_ttft_pass_count = 0;
  uint64_t gpqa_ttft_case_count = 0;
  uint64_t semantic_gpqa_pass_count = 0;
  uint64_t semantic_gpqa_case_count = 0;
  uint64_t num_layers = 0;
  uint64_t checked_steps = 0;
  uint64_t case_count = 0;
  uint64_t expert_cache_hits = 0;
  uint64_t expert_cache_misses = 0;
  uint64_t expert_cache_evictions = 0;
  uint64_t expert_bytes_read = 0;
  uint64_t expert_peak_cached_tensors = 0;
  uint64_t weights_byte_count = 0;
  uint64_t weights_file_count = 0;
  // Always present: booleans.
  bool passed_decode_speedup_floor = false;
  bool passed_prefill_speedup_floor = false;
  bool passed_correctness = false;
  bool partial_result = false;
  bool gpqa_ttft_passed = false;
  bool semantic_gpqa_passed = false;
  // Always present: strings.
  std::string gpqa_ttft_source;
  std::string semantic_gpqa_model;
  std::string bandwidth_source = "not-measured";
  std::string golden_hash;
  std::string error;
  std::string commit;
  std::string timestamp;  // UTC YYYY-MM-DDThh:mm:ssZ
  std::string harness_hash;
  std::string weights_hash;
  std::string runtime;
  // Always present, may be null.
  std::optional<uint64_t> first_failing_layer;
  std::optional<std::string> first_failing_case;
  std::optional<uint64_t> first_failing_step;
  std::optional<int64_t> expected_token;
  std::optional<int64_t> actual_token;

  // Omitted when unset.
  std::optional<std::string> contract_sha256;
  std::optional<SealedSources> contract_sources;
  std::optional<std::vector<PerPrompt>> per_prompt;
  std::optional<std::string> effective_spec_mode;
  std::optional<uint64_t> effective_spec_depth;
  std::optional<uint64_t> spec_rounds;
  std::optional<uint64_t> spec_drafted_total;
  std::optional<uint64_t> spec_accepted_total;
  std::optional<std::vector<uint64_t>> acceptance_lengths;
  std::optional<double> spec_acceptance_rate;
  std::optional<uint64_t> spec_verify_replay_disagreements;
  std::optional<std::string> spec_verification_mode;
  std::optional<uint64_t> spec_rectangular_verification_rounds;
  std::optional<uint64_t> spec_serial_verification_rounds;
  std::optional<std::string> engine_backend;
  std::optional<std::string> engine_device;
  std::optional<std::string> engine_protocol_version;
  std::optional<std::string> head_provenance_sha256;
  std::optional<std::string> runner_id;
  std::optional<std::string> runner_model_type;
  std::optional<std::string> runner_manifest_sha256;
  std::optional<std::string> runner_build;
  std::optional<int64_t> resident_pid;
  std::optional<uint64_t> resident_load_epoch;
  std::optional<std::string> baseline_source;
  std::optional<std::string> baseline_box;
  std::optional<std::string> baseline_calibration_sha256;
  std::optional<std::string> baseline_golden_sha256;
  std::optional<std::string> baseline_reference_commit;
  std::optional<bool> baseline_band_passed;
  std::optional<double> baseline_leg_prefill_seconds_per_token;
  std::optional<double> baseline_leg_decode_seconds_per_token;
  std::optional<double> candidate_leg_prefill_seconds_per_token;
  std::optional<double> candidate_leg_decode_seconds_per_token;
  std::optional<double> baseline_leg_decode_window_seconds_per_token;
  std::optional<double> candidate_leg_decode_window_seconds_per_token;
  std::optional<double> baseline_leg_seed_prefill_window_seconds_per_token;
  std::optional<double> candidate_leg_seed_prefill_window_seconds_per_token;
  std::optional<std::string> official_pair_combine;
  std::optional<uint32_t> timed_token_tolerance_per_thousand;
  std::optional<double> timed_token_near_tie_relative_gap;
  std::optional<uint64_t> token_mismatch_count;
  std::optional<uint64_t> token_mismatch_first_step;
  std::optional<uint64_t> token_mismatch_near_tie_count;
  std::optional<uint64_t> token_mismatch_second_choice_count;
  std::optional<double> token_mismatch_second_choice_max_relative_gap;
  std::optional<std::vector<PairedLeg>> paired_legs;
  std::optional<std::vector<GateRecord>> gates;
  std::optional<LocalPhases> local_phases;
  // Ours, omitted when unset: a score alone says what it is a score of, and can be recomputed.
  std::optional<std::string> track_id;
  std::optional<std::string> track_name;
  std::optional<std::string> model_id;
  std::optional<uint32_t> official_pairs;
  std::optional<uint32_t> seed_tokens;    // prompt tokens of both windows
  std::optional<uint32_t> decode_tokens;  // tokens that a timed decode commits
  std::optional<std::string> official_pair_order;
  std::optional<double> score_decode_weight;
  std::optional<double> score_prefill_weight;
  std::optional<AcceptanceBands> acceptance_bands;
  std::optional<Uncertainty> uncertainty;
  std::optional<std::vector<std::string>> environment_read;  // names the judge took a value from
  std::optional<std::vector<std::pair<std::string, std::string>>> engine_environment;  // passed on
};

struct ScoreDocument {
  Metrics metrics;
  bool passed = false;
  std::optional<double> score;
};

/// `v` when finite and >= 0, else 0: every timing number passes through it.
[[nodiscard]] double finite_nonneg(double v);
/// Two significant figures, correctly rounded; 0 and non-finite values unchanged.
[[nodiscard]] double coarsen(double v);
/// The document with its diagnostic figures coarsened; then wall >= timed and ttft max >= p50.
[[nodiscard]] ScoreDocument coarsened(ScoreDocument document);

[[nodiscard]] json::Value to_json(const ScoreDocument& document);
/// Closed and typed: every always-present key, no unknown key. Refuses JSON-*,
/// SCORE-DOCUMENT-INVALID.
[[nodiscard]] Result<ScoreDocument> read_score_document(const json::Value& value);

/// Names of the always-present metrics, in document order (56).
[[nodiscard]] std::vector<std::string_view> always_present_metrics();
/// Names of the metrics that are omitted when unset.
[[nodiscard]] std::vector<std::string_view> optional_metrics();

// Composition helpers, so that the sealed figures have one meaning.

/// Rows of paired_legs from measured pairs (token fields unset).
[[nodiscard]] std::vector<PairedLeg> paired_legs_of(std::span<const MeasuredPair> pairs);
[[nodiscard]] std::vector<MeasuredPair> measured_pairs_of(std::span<const PairedLeg> rows);
/// Figures, gains, floors and flags of a paired run: leg keys, window keys, combine, order,
/// weights, bands, rows, uncertainty. Sets `score`, `passed` and `error` from the gates alone;
/// correctness comes after.
void set_paired(ScoreDocument& document, std::span<const MeasuredPair> pairs,
                const PairedScore& score, const PairedTerms& terms, PairOrder order);
/// Figures of a single leg against a stored pair (score, gains, floors, flags, weights, bands).
void set_stored_pair(ScoreDocument& document, const LegFigures& baseline,
                     const LegFigures& candidate, const TimedVerdict& verdict,
                     const TimedTerms& terms);
/// Figures of an unscored local run: candidate figures, score null, `none (local mode: unscored)`.
void set_unscored(ScoreDocument& document, const LegFigures& candidate);
/// What a refusal after the first measured pair keeps: rows, rule, order, weights and bands; score
/// null, run-level figures untouched.
void set_paired_refusal(ScoreDocument& document, std::span<const MeasuredPair> pairs,
                        const PairedTerms& terms, PairOrder order, std::string error);
/// The contract's facts: contract_sha256, contract_sources, track, model, pairs, seed tokens,
/// floors.
void set_contract(Metrics& metrics, const Contract& contract);

}  // namespace assay::scoring
