#include "scoring/score_fixture.h"

#include "base/ensure.h"

namespace assay::scoring {

std::vector<MeasuredPair> worked_pairs() {
  const auto leg = [](double prefill, double decode) {
    return LegFigures{{prefill}, {decode}, SecondsPerToken{prefill * 1.0625}};
  };
  const std::string prompt(64, '1');
  return {{1, prompt, leg(0.00063, 0.0330), leg(0.00060, 0.0220)},
          {2, prompt, leg(0.00064, 0.0331), leg(0.00061, 0.0215)},
          {3, prompt, leg(0.00062, 0.0329), leg(0.00062, 0.0225)}};
}

PairedTerms worked_terms(PairCombine combine) {
  return {{{0.75, 0.25}, {0.95, 0.95}, {0.05, 0.05, 0.02, 0.05, false, false}}, combine};
}

ScoreDocument sealed_pairs(PairCombine combine, std::vector<MeasuredPair> pairs, PairOrder order) {
  const PairedTerms terms = worked_terms(combine);
  const auto score = combine_pairs(pairs, terms);
  ENSURE(score);
  ScoreDocument document;
  Metrics& m = document.metrics;
  m.commit = "0123456";
  m.timestamp = "2026-10-08T00:00:00Z";
  m.harness_hash = std::string(64, 'a');
  m.weights_hash = std::string(64, 'b');
  m.weights_byte_count = 7;
  m.weights_file_count = 4;
  m.runtime = "rust";
  set_paired(document, pairs, *score, terms, order);
  if (!document.passed) return document;
  m.passed_correctness = true;
  m.golden_hash = std::string(64, 'c');
  m.case_count = 1;
  m.checked_steps = 64;
  return document;
}

ScoreDocument every_metric_set() {
  ScoreDocument document = sealed_pairs(PairCombine::mean);
  Metrics& m = document.metrics;
  m.first_failing_layer = 1;
  m.first_failing_case = "c";
  m.first_failing_step = 2;
  m.expected_token = -3;
  m.actual_token = 4;
  m.contract_sha256 = std::string(64, 'd');
  m.contract_sources.emplace();
  for (const auto& [key, source] : contract_sources(nullptr)) {
    m.contract_sources->emplace_back(std::string(key), std::string(source));
  }
  m.per_prompt = {PerPrompt{std::string(64, '1'), 2.4, 0.022, 5, 15, 9, std::string(64, 'e')}};
  m.effective_spec_mode = "mtp";
  m.effective_spec_depth = 3;
  m.spec_rounds = 5;
  m.spec_drafted_total = 15;
  m.spec_accepted_total = 9;
  m.acceptance_lengths = {3, 2, 3, 1, 3};
  m.spec_acceptance_rate = 0.6;
  m.spec_verify_replay_disagreements = 0;
  m.spec_verification_mode = "rectangular";
  m.spec_rectangular_verification_rounds = 5;
  m.spec_serial_verification_rounds = 0;
  m.engine_backend = "cpu";
  m.engine_device = "avx2, 2 threads";
  m.engine_protocol_version = "1";
  m.head_provenance_sha256 = std::string(64, 'e');
  m.runner_id = "r";
  m.runner_model_type = "llama";
  m.runner_manifest_sha256 = std::string(64, 'f');
  m.runner_build = "b";
  m.resident_pid = 7;
  m.resident_load_epoch = 1;
  m.baseline_box = "box-1";
  m.baseline_calibration_sha256 = std::string(64, '2');
  m.baseline_golden_sha256 = std::string(64, 'c');
  m.baseline_reference_commit = std::string(40, '0');
  m.baseline_band_passed = true;
  m.timed_token_tolerance_per_thousand = 100;
  m.timed_token_near_tie_relative_gap = 0.05;
  m.token_mismatch_count = 1;
  m.token_mismatch_first_step = 0;
  m.token_mismatch_near_tie_count = 1;
  m.token_mismatch_second_choice_count = 1;
  m.token_mismatch_second_choice_max_relative_gap = 0.01;
  GateRecord gate;
  gate.pair = 1;
  gate.leg = "control";
  gate.phase = "prefill";
  gate.quiescence = {"passed", 0.0, 0.25, std::nullopt, std::nullopt};
  gate.cool = {"skipped", 0.0, std::nullopt, "cpu track"};
  m.gates = {gate};
  m.local_phases = LocalPhases{"passed", 64, "measured"};
  m.track_id = "t-cpu-v1";
  m.track_name = "T";
  m.model_id = "o/m";
  m.seed_tokens = 512;
  m.decode_tokens = 128;
  m.uncertainty->aa_composite = 1.001;
  m.environment_read = std::vector<std::string>{"RUNNER_NAME"};
  m.engine_environment.emplace().emplace_back("ASSAY_FORCE_ISA", "scalar");
  return document;
}

}  // namespace assay::scoring
