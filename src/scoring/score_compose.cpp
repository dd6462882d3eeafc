// Composition: measured figures and verdicts become the metrics that are sealed, each in one place,
// so that the verifier can recompute exactly what the judge wrote.
#include "base/ensure.h"
#include "scoring/score_document.h"

namespace assay::scoring {

namespace {

std::optional<double> number(const std::optional<SecondsPerToken>& figure) {
  if (!figure) return std::nullopt;
  return figure->value;
}

// The terms that a reader needs to compute the score again.
void set_terms(Metrics& m, const TimedTerms& terms) {
  m.decode_speedup_floor = terms.floors.decode;
  m.prefill_speedup_floor = terms.floors.prefill;
  m.score_decode_weight = terms.weights.decode;
  m.score_prefill_weight = terms.weights.prefill;
  m.acceptance_bands = terms.bands;
}

void set_candidate(Metrics& m, const LegFigures& candidate) {
  m.prefill_seconds_per_token = finite_nonneg(candidate.prefill.value);
  m.decode_seconds_per_token = finite_nonneg(candidate.decode.value);
  m.candidate_leg_decode_window_seconds_per_token = m.decode_seconds_per_token;
  m.candidate_leg_seed_prefill_window_seconds_per_token = number(candidate.seed_prefill_window);
}
void set_baseline(Metrics& m, SecondsPerToken prefill, SecondsPerToken decode) {
  m.baseline_prefill_seconds_per_token = finite_nonneg(prefill.value);
  m.baseline_decode_seconds_per_token = finite_nonneg(decode.value);
}

void set_verdict(ScoreDocument& document, const TimedVerdict& verdict) {
  Metrics& m = document.metrics;
  m.decode_speedup = finite_nonneg(verdict.decode_speedup);
  m.prefill_speedup = finite_nonneg(verdict.prefill_speedup);
  m.passed_decode_speedup_floor = verdict.passed_decode_floor;
  m.passed_prefill_speedup_floor = verdict.passed_prefill_floor;
  document.passed = verdict.passed();
  document.score.reset();
  if (verdict.passed()) document.score = verdict.score;
  m.error = verdict.failure;
}

void set_pair_rows(Metrics& m, std::span<const MeasuredPair> pairs, const PairedTerms& terms,
                   PairOrder order) {
  set_terms(m, terms.timed);
  m.baseline_source = "serial-control-leg";
  m.official_pair_combine = std::string(name_of(terms.combine));
  m.official_pair_order = std::string(name_of(order));
  if (!pairs.empty()) m.paired_legs = paired_legs_of(pairs);
}

}  // namespace

std::vector<PairedLeg> paired_legs_of(std::span<const MeasuredPair> pairs) {
  std::vector<PairedLeg> rows;
  for (const MeasuredPair& pair : pairs) {
    PairedLeg row;
    row.pair = pair.pair;
    row.prompt_sha256 = pair.prompt_sha256;
    row.control_prefill_seconds_per_token = pair.control.prefill.value;
    row.control_decode_seconds_per_token = pair.control.decode.value;
    row.candidate_prefill_seconds_per_token = pair.candidate.prefill.value;
    row.candidate_decode_seconds_per_token = pair.candidate.decode.value;
    row.control_seed_prefill_window_seconds_per_token = number(pair.control.seed_prefill_window);
    row.control_decode_window_seconds_per_token = pair.control.decode.value;
    row.candidate_seed_prefill_window_seconds_per_token =
        number(pair.candidate.seed_prefill_window);
    row.candidate_decode_window_seconds_per_token = pair.candidate.decode.value;
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<MeasuredPair> measured_pairs_of(std::span<const PairedLeg> rows) {
  const auto leg = [](double prefill, double decode, const std::optional<double>& seed) {
    LegFigures out{{prefill}, {decode}, std::nullopt};
    if (seed) out.seed_prefill_window = SecondsPerToken{*seed};
    return out;
  };
  std::vector<MeasuredPair> pairs;
  for (const PairedLeg& row : rows) {
    pairs.push_back(
        {row.pair, row.prompt_sha256,
         leg(row.control_prefill_seconds_per_token, row.control_decode_seconds_per_token,
             row.control_seed_prefill_window_seconds_per_token),
         leg(row.candidate_prefill_seconds_per_token, row.candidate_decode_seconds_per_token,
             row.candidate_seed_prefill_window_seconds_per_token)});
  }
  return pairs;
}

void set_paired(ScoreDocument& document, std::span<const MeasuredPair> pairs,
                const PairedScore& score, const PairedTerms& terms, PairOrder order) {
  ENSURE(!pairs.empty());
  Metrics& m = document.metrics;
  set_pair_rows(m, pairs, terms, order);
  set_candidate(m, score.candidate);
  set_baseline(m, score.control.prefill, score.control.decode);
  set_verdict(document, score.verdict);
  m.official_pairs = static_cast<uint32_t>(pairs.size());
  m.baseline_leg_prefill_seconds_per_token = m.baseline_prefill_seconds_per_token;
  m.baseline_leg_decode_seconds_per_token = m.baseline_decode_seconds_per_token;
  m.baseline_leg_decode_window_seconds_per_token = m.baseline_decode_seconds_per_token;
  m.baseline_leg_seed_prefill_window_seconds_per_token = number(score.control.seed_prefill_window);
  m.candidate_leg_prefill_seconds_per_token = m.prefill_seconds_per_token;
  m.candidate_leg_decode_seconds_per_token = m.decode_seconds_per_token;
  const auto aa_composite = m.uncertainty ? m.uncertainty->aa_composite : std::nullopt;
  m.uncertainty = estimate_uncertainty(pairs, terms.timed.weights, order);
  m.uncertainty->aa_composite = aa_composite;
}

void set_paired_refusal(ScoreDocument& document, std::span<const MeasuredPair> pairs,
                        const PairedTerms& terms, PairOrder order, std::string error) {
  set_pair_rows(document.metrics, pairs, terms, order);
  document.passed = false;
  document.score.reset();
  document.metrics.error = std::move(error);
}

void set_stored_pair(ScoreDocument& document, const LegFigures& baseline,
                     const LegFigures& candidate, const TimedVerdict& verdict,
                     const TimedTerms& terms) {
  set_terms(document.metrics, terms);
  set_candidate(document.metrics, candidate);
  set_baseline(document.metrics, baseline.prefill, baseline.decode);
  set_verdict(document, verdict);
}

void set_unscored(ScoreDocument& document, const LegFigures& candidate) {
  set_candidate(document.metrics, candidate);
  document.score.reset();
  document.metrics.baseline_source = "none (local mode: unscored)";
}

void set_contract(Metrics& m, const Contract& contract) {
  m.contract_sha256 = contract.sha256;
  m.contract_sources.emplace();
  for (const auto& [key, source] : contract_sources(&contract)) {
    m.contract_sources->emplace_back(std::string(key), std::string(source));
  }
  m.track_id = contract.track_id;
  m.track_name = contract.track_name;
  const std::string model = model_id_of(contract);
  if (!model.empty()) m.model_id = model;
  m.official_pairs = contract.official_pairs;
  if (contract.model_shape) {
    m.seed_tokens = contract.model_shape->seed_tokens;
    m.num_layers = contract.model_shape->num_hidden_layers;
  }
  m.decode_speedup_floor = contract.decode_speedup_floor.value_or(0.0);
  m.prefill_speedup_floor = contract.prefill_speedup_floor.value_or(0.0);
}

}  // namespace assay::scoring
