#include "benchd/document.h"

#include <algorithm>

#include "base/text.h"
#include "benchd/provenance.h"
#include "runner/scrub.h"
#include "runner/worker_command.h"
#include "scoring/free_run.h"
#include "scoring/statistics.h"

namespace assay::benchd {

namespace {

using scoring::Metrics;

scoring::FreeRunCounters counters_of(const runner::FreeRun& account) {
  scoring::FreeRunCounters counters;
  counters.tokens_len = account.tokens.size();
  counters.acceptance_lengths.assign(account.acceptance_lengths.begin(),
                                     account.acceptance_lengths.end());
  counters.drafted_total = account.drafted_total;
  counters.accepted_total = account.accepted_total;
  counters.committed_total = account.committed_total;
  counters.completed_work = static_cast<int64_t>(account.acceptance_lengths.size()) + 1;
  return counters;
}

// The drafting of one distinct golden: counters of the lower-median pair among its pairs.
scoring::PerPrompt prompt_row(const GoldenFile& golden, const std::vector<size_t>& pairs,
                              const RunRecord& record, const std::vector<double>& composites,
                              const std::vector<double>& decode, bool drafting) {
  std::vector<double> own;
  for (const size_t i : pairs) own.push_back(composites[i]);
  const CandidateFacts& facts = record.candidates[pairs[*scoring::lower_median_index(own)]];
  scoring::PerPrompt row;
  row.prompt_sha256 = golden.sha256;
  row.mtp_seconds_per_token_mean = scoring::mean(decode);
  if (facts.account) {
    const auto metrics =
        scoring::free_run_metrics(counters_of(*facts.account), facts.account->tokens.size());
    row.effective_mean_draft_len = metrics.effective_mean_draft_len;
    if (drafting) {
      row.spec_rounds = metrics.rounds;
      row.spec_drafted_total = metrics.drafted_total;
      row.spec_accepted_total = metrics.accepted_total;
    }
  }
  if (facts.hello.head_provenance) row.head_provenance_sha256 = facts.hello.head_provenance->sha256;
  return row;
}

void set_per_prompt(Metrics& metrics, const Run& run, const RunRecord& record, bool drafting) {
  std::vector<scoring::PerPrompt> rows;
  for (const GoldenFile& golden : run.goldens) {
    std::vector<size_t> pairs;
    std::vector<double> composites, decode;
    if (record.single) {
      pairs.push_back(0);
      composites.push_back(1.0);
      decode.push_back(record.single->decode.value);
    }
    if (record.paired_score) composites = record.paired_score->composites;
    for (size_t i = 0; i < record.pairs.size(); ++i) {
      if (!record.paired_score) composites.push_back(1.0);
      if (record.pairs[i].prompt_sha256 != golden.sha256) continue;
      pairs.push_back(i);
      decode.push_back(record.pairs[i].candidate.decode.value);
    }
    if (pairs.empty()) continue;
    rows.push_back(prompt_row(golden, pairs, record, composites, decode, drafting));
  }
  if (!rows.empty()) metrics.per_prompt = std::move(rows);
}

void set_speculation(Metrics& metrics, const Run& run, const CandidateFacts& facts, bool drafting) {
  metrics.effective_spec_mode = run.options.spec ? run.options.spec->mode : "serial";
  if (!run.options.spec || run.options.spec->mode == "serial") {
    metrics.effective_spec_depth = 0;
  } else if (run.options.spec->mtp && run.options.spec->mtp->depth) {
    metrics.effective_spec_depth = *run.options.spec->mtp->depth;
  }
  if (!facts.account) return;
  const runner::FreeRun& account = *facts.account;
  metrics.spec_verify_replay_disagreements = account.verify_replay_disagreements;
  metrics.spec_verification_mode = account.verification_mode;
  metrics.spec_rectangular_verification_rounds = account.rectangular_verification_rounds;
  metrics.spec_serial_verification_rounds = account.serial_verification_rounds;
  if (!drafting) return;
  const auto figures = scoring::free_run_metrics(counters_of(account), account.tokens.size());
  metrics.spec_rounds = figures.rounds;
  metrics.spec_drafted_total = figures.drafted_total;
  metrics.spec_accepted_total = figures.accepted_total;
  metrics.acceptance_lengths =
      std::vector<uint64_t>(account.acceptance_lengths.begin(), account.acceptance_lengths.end());
  metrics.spec_acceptance_rate = figures.acceptance_rate;
}

constexpr size_t kEngineTextSizeMax = 256;

void set_engine(Metrics& metrics, const CandidateFacts& facts) {
  const protocol::Hello& hello = facts.hello;
  // Free text of the engine's: it is published, so it goes through the same filter as its stderr.
  const auto said = [](const std::optional<std::string>& text) -> std::optional<std::string> {
    if (!text) return std::nullopt;
    return runner::clip(runner::scrub(*text), kEngineTextSizeMax);
  };
  metrics.engine_backend = said(hello.backend);
  metrics.engine_device = said(hello.device);
  metrics.engine_protocol_version = "1";
  if (hello.head_provenance) metrics.head_provenance_sha256 = hello.head_provenance->sha256;
  if (hello.runner) {
    metrics.runner_id = hello.runner->id;
    metrics.runner_model_type = hello.runner->model_type;
    metrics.runner_manifest_sha256 = hello.runner->manifest_sha256;
    metrics.runner_build = hello.runner->build;
  }
  if (hello.resident) {
    metrics.resident_pid = hello.resident->pid;
    metrics.resident_load_epoch = hello.resident->load_epoch;
  }
  if (hello.expert_stats) {
    metrics.expert_cache_hits = hello.expert_stats->expert_cache_hits;
    metrics.expert_cache_misses = hello.expert_stats->expert_cache_misses;
    metrics.expert_cache_evictions = hello.expert_stats->expert_cache_evictions;
    metrics.expert_bytes_read = hello.expert_stats->expert_bytes_read;
    metrics.expert_read_seconds = scoring::finite_nonneg(hello.expert_stats->expert_read_seconds);
    metrics.expert_peak_cached_tensors = hello.expert_stats->expert_peak_cached_tensors;
  }
  metrics.peak_ram_gb = scoring::finite_nonneg(facts.close.peak_ram_gb.value_or(0));
  if (facts.close.peak_memory_bytes) {
    metrics.process_resident_memory_gb = static_cast<double>(*facts.close.peak_memory_bytes) / 1e9;
  }
}

// The leg whose engine facts stand at run level: the scored pair's, else the last that was
// measured.
const CandidateFacts* facts_at_run_level(const RunRecord& record) {
  if (record.candidates.empty()) return nullptr;
  if (record.paired_score) return &record.candidates[record.paired_score->lower_median_pair];
  return &record.candidates.back();
}

void set_timings(Metrics& metrics, const Run& run, const RunRecord& record) {
  double timed = 0;
  for (const CandidateFacts& facts : record.candidates) timed += facts.timed_seconds;
  metrics.timed_benchmark_seconds = scoring::finite_nonneg(timed);
  metrics.benchmark_wall_seconds = metrics.timed_benchmark_seconds;
  metrics.preflight_seconds = scoring::finite_nonneg(run.preflight_seconds);
  metrics.correctness_seconds = scoring::finite_nonneg(record.correctness_seconds);
}

void set_identity(Metrics& metrics, const Run& run, const RunRecord& record) {
  scoring::set_contract(metrics, run.track.contract);
  metrics.track_id = run.track.id;
  if (run.decode_steps > 0) metrics.decode_tokens = run.decode_steps;
  metrics.num_layers = run.track.model.num_hidden_layers;
  metrics.harness_hash = run.harness_hash;
  metrics.commit = run.commit;
  metrics.timestamp = utc_now();
  metrics.weights_hash = run.weights.sha256;
  metrics.weights_byte_count = run.weights.byte_count;
  metrics.weights_file_count = run.weights.file_count;
  metrics.runtime =
      run.options.mode == Mode::official ? "rust" : cat("rust-", name_of(run.options.mode));
  if (!record.gates.empty()) metrics.gates = record.gates;
  if (run.options.mode == Mode::official) {
    metrics.environment_read = run.environment_read;
  } else if (!record.engine_environment.empty()) {
    std::vector<std::pair<std::string, std::string>> passed;
    for (const std::string& name : record.engine_environment) {
      const std::string value(runner::find_variable(run.environment, name).value_or(""));
      passed.emplace_back(name, value.starts_with('/') ? sealed_path(value) : value);
    }
    metrics.engine_environment = std::move(passed);
  }
}

void set_reference(Metrics& metrics, const Run& run, const RunRecord& record) {
  const Reference& reference = *run.reference;
  metrics.baseline_box = reference.box;
  metrics.baseline_calibration_sha256 = reference.calibration.sha256;
  const size_t pair = record.paired_score ? record.paired_score->lower_median_pair : 0;
  metrics.baseline_golden_sha256 =
      run.control_golden(
             scoring::golden_index_of_pair(static_cast<uint32_t>(pair + 1), run.goldens.size()))
          .sha256;
  metrics.baseline_reference_commit = reference.calibration.reference_commit;
  if (record.band_passed.value_or(false)) metrics.baseline_band_passed = true;
  if (record.half_control) {
    metrics.baseline_leg_prefill_seconds_per_token = record.half_control->prefill.value;
    metrics.baseline_leg_decode_seconds_per_token = record.half_control->decode.value;
  }
  if (record.half_candidate) {
    metrics.candidate_leg_prefill_seconds_per_token = record.half_candidate->prefill.value;
    metrics.candidate_leg_decode_seconds_per_token = record.half_candidate->decode.value;
  }
}

std::string phase_state(const std::optional<bool>& passed) {
  if (!passed) return "not run";
  return *passed ? "passed" : "failed";
}

void set_local_phases(Metrics& metrics, const RunRecord& record) {
  scoring::LocalPhases phases;
  std::optional<bool> correctness;
  if (record.correctness) {
    correctness = record.correctness->passed;
    phases.correctness_checked_steps = record.correctness->checked_steps;
  }
  phases.correctness = phase_state(correctness);
  phases.timing = record.single || record.paired_score ? "measured" : "not run";
  metrics.local_phases = std::move(phases);
}

void set_correctness(scoring::ScoreDocument& document, const Run& run, const RunRecord& record,
                     const GoldenFile& golden) {
  const scoring::ConformanceReport& report = *record.correctness;
  Metrics& metrics = document.metrics;
  metrics.golden_hash = golden.sha256;
  metrics.passed_correctness = report.passed;
  metrics.case_count = report.case_count;
  metrics.checked_steps = report.checked_steps;
  if (report.passed) return;
  metrics.first_failing_case = report.first_failing_case;
  metrics.first_failing_step = report.first_failing_step;
  metrics.error =
      run.path == Path::paired ? report.error : cat(name_of(run.options.mode), " ", report.error);
  document.passed = false;
  document.score.reset();
}

void set_single(scoring::ScoreDocument& document, const Run& run, const RunRecord& record) {
  bool gates_passed = true;
  if (run.path == Path::decided) {
    const auto& stored = *run.goldens.front().golden.benchmark->baseline;
    scoring::LegFigures baseline;
    baseline.prefill.value = stored.prefill_seconds_per_token;
    baseline.decode.value = stored.decode_seconds_per_token;
    const auto verdict = scoring::evaluate_timed_run(baseline, *record.single, run.terms->timed);
    scoring::set_stored_pair(document, baseline, *record.single, verdict, run.terms->timed);
    gates_passed = verdict.passed();
  } else {
    scoring::set_unscored(document, *record.single);
    document.passed = true;  // an unscored run passes when correctness does
  }
  // A wrong engine is reported as wrong, however fast; a right one that missed a gate as that.
  if (!record.correctness || (record.correctness->passed && !gates_passed)) return;
  set_correctness(document, run, record, run.goldens.front());
  // A local pass counts the positions of its timed windows: prefill, seed and every decode token.
  if (record.correctness->passed) {
    document.metrics.case_count = 1;
    document.metrics.checked_steps = run.decode_steps + 2;
  }
}

void set_pairs(scoring::ScoreDocument& document, const Run& run, const RunRecord& record) {
  const scoring::PairOrder order = run.track.contract.official_pair_order;
  if (!record.paired_score) {  // ended early: the rows stand, nothing is computed from them
    scoring::set_paired_refusal(document, record.pairs, *run.terms, order, "");
    return;
  }
  scoring::set_paired(document, record.pairs, *record.paired_score, *run.terms, order);
  // A run that failed a timed gate seals no correctness result, only the state of its phases.
  if (!record.correctness || !record.paired_score->verdict.passed()) return;
  const uint32_t pair = record.pairs[record.paired_score->lower_median_pair].pair;
  set_correctness(document, run, record,
                  run.goldens[scoring::golden_index_of_pair(pair, run.goldens.size())]);
}

bool is_code(std::string_view segment) {
  return !segment.empty() && std::all_of(segment.begin(), segment.end(), [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

}  // namespace

CandidateFacts facts_of(const runner::MeasuredLeg& leg) {
  CandidateFacts facts;
  facts.hello = leg.hello;
  facts.account = leg.decode.account;
  facts.close = leg.decode.close;
  runner::Duration timed = leg.decode.whole();
  for (const runner::Duration run : leg.prefill.timed) timed += run;
  facts.timed_seconds = runner::to_seconds(timed);
  return facts;
}

scoring::ScoreDocument make_document(const Run& run, const RunRecord& record,
                                     const std::optional<Refusal>& refusal) {
  scoring::ScoreDocument document;
  set_identity(document.metrics, run, record);
  if (record.single) set_single(document, run, record);
  if (run.path == Path::paired) {
    set_pairs(document, run, record);
    set_reference(document.metrics, run, record);
  }
  if (run.path == Path::unscored) {
    document.metrics.baseline_source = "none (local mode: unscored)";
  }
  if (run.options.mode != Mode::official) set_local_phases(document.metrics, record);
  if (const CandidateFacts* facts = facts_at_run_level(record)) {
    const bool drafting = run.options.spec && run.options.spec->mode != "serial";
    set_per_prompt(document.metrics, run, record, drafting);
    set_speculation(document.metrics, run, *facts, drafting);
    set_engine(document.metrics, *facts);
  }
  set_timings(document.metrics, run, record);
  if (refusal) {
    document.passed = false;
    document.score.reset();
    document.metrics.error = sealed_reason(*refusal);
  }
  return document;
}

// The scrubber takes what stands behind a word like TOKEN for a secret, so our own codes are kept
// away from it: "CODE: pair 1 of 4: CODE: text".
std::string sealed_reason(const Refusal& refusal) {
  std::string kept;
  std::string rest = refusal.text();
  for (;;) {
    const size_t colon = rest.find(": ");
    if (colon == std::string::npos) break;
    const std::string segment = rest.substr(0, colon);
    if (!is_code(segment) && segment != refusal.code && !segment.starts_with("pair ") &&
        !segment.ends_with(" warmup leg failed")) {
      break;
    }
    kept += segment + ": ";
    rest = rest.substr(colon + 2);
  }
  return runner::clip(kept + runner::scrub(rest), runner::kSealedReasonSizeMax);
}

}  // namespace assay::benchd
