// Score fields: the one list of the metrics of score.json. Writer, reader, coarsening and key
// tables are visitors of it, so that a key, its type and its member are written down once.
//
// A visitor has four templates:
//   required(key, member)   always there           coarse(key, member)     the same, a diagnostic
//   number nullable(key, member)   always there, or null  optional(key, member)   omitted when
//   unset
#pragma once

#include <concepts>
#include <type_traits>

#include "scoring/score_document.h"

namespace assay::scoring {

// Each list is templated on the document, so that one list serves reading (mutable) and writing
// (const).

template <class M, class V>
void visit_always_present(M& m, V& v) {
  v.coarse("peak_ram_gb", m.peak_ram_gb);
  v.coarse("bandwidth_gb_per_token", m.bandwidth_gb_per_token);
  v.required("decode_seconds_per_token", m.decode_seconds_per_token);
  v.required("prefill_seconds_per_token", m.prefill_seconds_per_token);
  v.required("baseline_decode_seconds_per_token", m.baseline_decode_seconds_per_token);
  v.required("baseline_prefill_seconds_per_token", m.baseline_prefill_seconds_per_token);
  v.required("decode_speedup", m.decode_speedup);
  v.required("prefill_speedup", m.prefill_speedup);
  v.required("decode_speedup_floor", m.decode_speedup_floor);
  v.required("prefill_speedup_floor", m.prefill_speedup_floor);
  v.coarse("benchmark_wall_seconds", m.benchmark_wall_seconds);
  v.coarse("preflight_seconds", m.preflight_seconds);
  v.coarse("correctness_seconds", m.correctness_seconds);
  v.coarse("timed_benchmark_seconds", m.timed_benchmark_seconds);
  v.coarse("gpqa_ttft_seconds", m.gpqa_ttft_seconds);
  v.coarse("gpqa_ttft_p50_seconds", m.gpqa_ttft_p50_seconds);
  v.coarse("gpqa_ttft_max_seconds", m.gpqa_ttft_max_seconds);
  v.coarse("process_resident_memory_gb", m.process_resident_memory_gb);
  v.coarse("expert_read_seconds", m.expert_read_seconds);
  v.coarse("expert_hit_rate", m.expert_hit_rate);
  v.coarse("max_abs_diff", m.max_abs_diff);

  v.required("gpqa_ttft_pass_count", m.gpqa_ttft_pass_count);
  v.required("gpqa_ttft_case_count", m.gpqa_ttft_case_count);
  v.required("semantic_gpqa_pass_count", m.semantic_gpqa_pass_count);
  v.required("semantic_gpqa_case_count", m.semantic_gpqa_case_count);
  v.required("num_layers", m.num_layers);
  v.required("checked_steps", m.checked_steps);
  v.required("case_count", m.case_count);
  v.required("expert_cache_hits", m.expert_cache_hits);
  v.required("expert_cache_misses", m.expert_cache_misses);
  v.required("expert_cache_evictions", m.expert_cache_evictions);
  v.required("expert_bytes_read", m.expert_bytes_read);
  v.required("expert_peak_cached_tensors", m.expert_peak_cached_tensors);
  v.required("weights_byte_count", m.weights_byte_count);
  v.required("weights_file_count", m.weights_file_count);

  v.required("passed_decode_speedup_floor", m.passed_decode_speedup_floor);
  v.required("passed_prefill_speedup_floor", m.passed_prefill_speedup_floor);
  v.required("passed_correctness", m.passed_correctness);
  v.required("partial_result", m.partial_result);
  v.required("gpqa_ttft_passed", m.gpqa_ttft_passed);
  v.required("semantic_gpqa_passed", m.semantic_gpqa_passed);

  v.required("gpqa_ttft_source", m.gpqa_ttft_source);
  v.required("semantic_gpqa_model", m.semantic_gpqa_model);
  v.required("bandwidth_source", m.bandwidth_source);
  v.required("golden_hash", m.golden_hash);
  v.required("error", m.error);
  v.required("commit", m.commit);
  v.required("timestamp", m.timestamp);
  v.required("harness_hash", m.harness_hash);
  v.required("weights_hash", m.weights_hash);
  v.required("runtime", m.runtime);

  v.nullable("first_failing_layer", m.first_failing_layer);
  v.nullable("first_failing_case", m.first_failing_case);
  v.nullable("first_failing_step", m.first_failing_step);
  v.nullable("expected_token", m.expected_token);
  v.nullable("actual_token", m.actual_token);
}

template <class M, class V>
void visit_omitted_when_unset(M& m, V& v) {
  v.optional("contract_sha256", m.contract_sha256);
  v.optional("contract_sources", m.contract_sources);
  v.optional("per_prompt", m.per_prompt);
  v.optional("effective_spec_mode", m.effective_spec_mode);
  v.optional("effective_spec_depth", m.effective_spec_depth);
  v.optional("spec_rounds", m.spec_rounds);
  v.optional("spec_drafted_total", m.spec_drafted_total);
  v.optional("spec_accepted_total", m.spec_accepted_total);
  v.optional("acceptance_lengths", m.acceptance_lengths);
  v.optional("spec_acceptance_rate", m.spec_acceptance_rate);
  v.optional("spec_verify_replay_disagreements", m.spec_verify_replay_disagreements);
  v.optional("spec_verification_mode", m.spec_verification_mode);
  v.optional("spec_rectangular_verification_rounds", m.spec_rectangular_verification_rounds);
  v.optional("spec_serial_verification_rounds", m.spec_serial_verification_rounds);
  v.optional("engine_backend", m.engine_backend);
  v.optional("engine_device", m.engine_device);
  v.optional("engine_protocol_version", m.engine_protocol_version);
  v.optional("head_provenance_sha256", m.head_provenance_sha256);
  v.optional("runner_id", m.runner_id);
  v.optional("runner_model_type", m.runner_model_type);
  v.optional("runner_manifest_sha256", m.runner_manifest_sha256);
  v.optional("runner_build", m.runner_build);
  v.optional("resident_pid", m.resident_pid);
  v.optional("resident_load_epoch", m.resident_load_epoch);
  v.optional("baseline_source", m.baseline_source);
  v.optional("baseline_box", m.baseline_box);
  v.optional("baseline_calibration_sha256", m.baseline_calibration_sha256);
  v.optional("baseline_golden_sha256", m.baseline_golden_sha256);
  v.optional("baseline_reference_commit", m.baseline_reference_commit);
  v.optional("baseline_band_passed", m.baseline_band_passed);
  v.optional("baseline_leg_prefill_seconds_per_token", m.baseline_leg_prefill_seconds_per_token);
  v.optional("baseline_leg_decode_seconds_per_token", m.baseline_leg_decode_seconds_per_token);
  v.optional("candidate_leg_prefill_seconds_per_token", m.candidate_leg_prefill_seconds_per_token);
  v.optional("candidate_leg_decode_seconds_per_token", m.candidate_leg_decode_seconds_per_token);
  v.optional("baseline_leg_decode_window_seconds_per_token",
             m.baseline_leg_decode_window_seconds_per_token);
  v.optional("candidate_leg_decode_window_seconds_per_token",
             m.candidate_leg_decode_window_seconds_per_token);
  v.optional("baseline_leg_seed_prefill_window_seconds_per_token",
             m.baseline_leg_seed_prefill_window_seconds_per_token);
  v.optional("candidate_leg_seed_prefill_window_seconds_per_token",
             m.candidate_leg_seed_prefill_window_seconds_per_token);
  v.optional("official_pair_combine", m.official_pair_combine);
  v.optional("timed_token_tolerance_per_thousand", m.timed_token_tolerance_per_thousand);
  v.optional("timed_token_near_tie_relative_gap", m.timed_token_near_tie_relative_gap);
  v.optional("token_mismatch_count", m.token_mismatch_count);
  v.optional("token_mismatch_first_step", m.token_mismatch_first_step);
  v.optional("token_mismatch_near_tie_count", m.token_mismatch_near_tie_count);
  v.optional("token_mismatch_second_choice_count", m.token_mismatch_second_choice_count);
  v.optional("token_mismatch_second_choice_max_relative_gap",
             m.token_mismatch_second_choice_max_relative_gap);
  v.optional("paired_legs", m.paired_legs);
  v.optional("gates", m.gates);
  v.optional("local_phases", m.local_phases);
  v.optional("track_id", m.track_id);
  v.optional("track_name", m.track_name);
  v.optional("model_id", m.model_id);
  v.optional("official_pairs", m.official_pairs);
  v.optional("seed_tokens", m.seed_tokens);
  v.optional("decode_tokens", m.decode_tokens);
  v.optional("official_pair_order", m.official_pair_order);
  v.optional("score_decode_weight", m.score_decode_weight);
  v.optional("score_prefill_weight", m.score_prefill_weight);
  v.optional("acceptance_bands", m.acceptance_bands);
  v.optional("uncertainty", m.uncertainty);
  v.optional("environment_read", m.environment_read);
  v.optional("engine_environment", m.engine_environment);
}

// Structured members: the same visitors, one list a struct.

template <class M, class T>
concept FieldsOf = std::same_as<std::remove_const_t<M>, T>;

template <FieldsOf<Metrics> M, class V>
void visit_fields(M& m, V& v) {
  visit_always_present(m, v);
  visit_omitted_when_unset(m, v);
}

template <FieldsOf<PerPrompt> M, class V>
void visit_fields(M& m, V& v) {
  v.required("prompt_sha256", m.prompt_sha256);
  v.required("effective_mean_draft_len", m.effective_mean_draft_len);
  v.required("mtp_seconds_per_token_mean", m.mtp_seconds_per_token_mean);
  v.optional("spec_rounds", m.spec_rounds);
  v.optional("spec_drafted_total", m.spec_drafted_total);
  v.optional("spec_accepted_total", m.spec_accepted_total);
  v.optional("head_provenance_sha256", m.head_provenance_sha256);
}

template <FieldsOf<PairedLeg> M, class V>
void visit_fields(M& m, V& v) {
  v.required("pair", m.pair);
  v.required("prompt_sha256", m.prompt_sha256);
  v.required("control_prefill_seconds_per_token", m.control_prefill_seconds_per_token);
  v.required("control_decode_seconds_per_token", m.control_decode_seconds_per_token);
  v.required("candidate_prefill_seconds_per_token", m.candidate_prefill_seconds_per_token);
  v.required("candidate_decode_seconds_per_token", m.candidate_decode_seconds_per_token);
  v.optional("control_seed_prefill_window_seconds_per_token",
             m.control_seed_prefill_window_seconds_per_token);
  v.optional("control_decode_window_seconds_per_token", m.control_decode_window_seconds_per_token);
  v.optional("candidate_seed_prefill_window_seconds_per_token",
             m.candidate_seed_prefill_window_seconds_per_token);
  v.optional("candidate_decode_window_seconds_per_token",
             m.candidate_decode_window_seconds_per_token);
  v.nullable("token_mismatch_count", m.token_mismatch_count);
  v.nullable("token_mismatch_first_step", m.token_mismatch_first_step);
  v.nullable("token_mismatch_near_tie_count", m.token_mismatch_near_tie_count);
  v.nullable("token_mismatch_second_choice_count", m.token_mismatch_second_choice_count);
  v.nullable("token_mismatch_second_choice_max_relative_gap",
             m.token_mismatch_second_choice_max_relative_gap);
}

template <FieldsOf<LocalPhases> M, class V>
void visit_fields(M& m, V& v) {
  v.required("correctness", m.correctness);
  v.required("correctness_checked_steps", m.correctness_checked_steps);
  v.required("timing", m.timing);
}

template <FieldsOf<AcceptanceBands> M, class V>
void visit_fields(M& m, V& v) {
  v.required("prefill_band_up_tolerance", m.prefill_up_tolerance);
  v.required("prefill_band_down_tolerance", m.prefill_down_tolerance);
  v.required("decode_band_up_tolerance", m.decode_up_tolerance);
  v.required("decode_band_down_tolerance", m.decode_down_tolerance);
  v.required("decode_band_down_enabled", m.decode_down_enabled);
  v.required("prefill_band_down_enabled", m.prefill_down_enabled);
}

template <FieldsOf<Interval> M, class V>
void visit_fields(M& m, V& v) {
  v.required("low", m.low);
  v.required("center", m.center);
  v.required("high", m.high);
}

template <FieldsOf<Uncertainty> M, class V>
void visit_fields(M& m, V& v) {
  v.required("method", m.method);
  v.required("confidence", m.confidence);
  v.required("pairs", m.pairs);
  v.nullable("composite", m.composite);
  v.nullable("decode_speedup", m.decode_speedup);
  v.nullable("prefill_speedup", m.prefill_speedup);
  v.nullable("detectable_change", m.detectable_change);
  v.nullable("order_effect", m.order_effect);
  v.optional("aa_composite", m.aa_composite);
}

}  // namespace assay::scoring
