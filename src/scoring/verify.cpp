// One function per check, in the order of verify.h. A check that cannot run because an earlier one
// found the file unreadable says nothing: the first problem is already on the list.
#include "scoring/verify.h"

#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "base/sha256.h"
#include "base/text.h"
#include "scoring/contract.h"
#include "scoring/refusals.h"
#include "scoring/total_order.h"

namespace assay::scoring {

namespace {

using json::Value;
using Problems = std::vector<Refusal>;

// A figure may differ by this many units in the last place: pow and log differ by one between C
// libraries, and a composite is a product of two of them.
constexpr int64_t kUlpsMax = 8;
// Intervals pass through a quantile found by bisection, logarithms and exponentials.
constexpr double kUncertaintyRelativeMax = 1e-9;
constexpr double kUncertaintyAbsoluteMax = 1e-12;

bool same_within_ulps(double a, double b) {
  if (a == b) return true;
  if (!std::isfinite(a) || !std::isfinite(b) || std::signbit(a) != std::signbit(b)) return false;
  const int64_t key_a = total_order_key(a);
  const int64_t key_b = total_order_key(b);
  return std::max(key_a, key_b) - std::min(key_a, key_b) <= kUlpsMax;
}
bool same_within_uncertainty(double a, double b) {
  const double gap = std::abs(a - b);
  return gap <= kUncertaintyAbsoluteMax ||
         gap <= kUncertaintyRelativeMax * std::max(std::abs(a), std::abs(b));
}

// --- files

void check_sidecar(const NamedBytes& file, const std::string& sidecar, Problems& problems) {
  const std::string expected = sidecar_line(sha256_hex(file.bytes), file.name);
  if (sidecar == expected) return;
  const std::string name = sidecar_name(file.name);
  const bool well_formed =
      sidecar.size() == expected.size() &&
      is_lower_hex(std::string_view(sidecar).substr(0, 64), 64) &&
      std::string_view(sidecar).substr(64) == std::string_view(expected).substr(64);
  if (well_formed) {
    problems.emplace_back(kSealDigest, cat(file.name, ": its SHA-256 is ", expected.substr(0, 64),
                                           ", ", name, " says ", sidecar.substr(0, 64)));
  } else {
    problems.emplace_back(kSealSidecar,
                          cat(name, ": expected exactly 64 hex digits, two spaces, \"", file.name,
                              "\" and a newline"));
  }
}

std::optional<ScoreDocument> check_score_form(const NamedBytes& file, Problems& problems) {
  auto parsed = json::parse(file.bytes);
  if (!parsed) {
    problems.emplace_back(kSealForm, cat(file.name, ": ", parsed.refusal().text()));
    return std::nullopt;
  }
  auto document = read_score_document(*parsed);
  if (!document) {
    problems.emplace_back(kSealForm, cat(file.name, ": ", document.refusal().text()));
    return std::nullopt;
  }
  if (score_bytes(*document) != file.bytes) {
    problems.emplace_back(kSealForm,
                          cat(file.name,
                              ": the same document is written with other bytes (sorted keys, "
                              "2 spaces, coarsened diagnostics, no final newline)"));
  }
  return *std::move(document);
}

std::optional<Integrity> check_integrity_form(const NamedBytes& file, Problems& problems) {
  auto integrity = read_integrity(file.bytes);
  if (!integrity) {
    problems.emplace_back(kSealForm, cat(file.name, ": ", integrity.refusal().text()));
    return std::nullopt;
  }
  if (write_integrity(*integrity) != file.bytes) {
    problems.emplace_back(kSealForm, cat(file.name,
                                         ": the same document is written with other bytes (keys in "
                                         "order, 2 spaces, a final newline)"));
  }
  return *std::move(integrity);
}

std::string_view base_name(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

void check_across(const SealedFiles& files, const ScoreDocument& score, const Integrity& integrity,
                  Problems& problems) {
  const auto compare = [&](std::string_view key, const std::string& sealed, std::string_view what,
                           const std::string& expected) {
    if (sealed == expected) return;
    problems.emplace_back(kSealCross, cat(files.integrity.name, ": `", key, "` is \"", sealed,
                                          "\", ", what, " is \"", expected, "\""));
  };
  const Metrics& m = score.metrics;
  compare("score_sha256", integrity.score_sha256, "the score file's SHA-256",
          sha256_hex(files.score.bytes));
  compare("score_path", std::string(base_name(integrity.score_path)), "the score file's name",
          files.score.name);
  compare("weights_sha256", integrity.weights_sha256, "metrics.weights_hash", m.weights_hash);
  compare("weights_file_count", cat(integrity.weights_file_count), "metrics.weights_file_count",
          cat(m.weights_file_count));
  compare("weights_byte_count", cat(integrity.weights_byte_count), "metrics.weights_byte_count",
          cat(m.weights_byte_count));
  if (score.passed) {
    compare("golden_sha256", integrity.golden_sha256, "metrics.golden_hash", m.golden_hash);
  }
}

// --- verdict

void check_verdict(const ScoreDocument& score, Problems& problems) {
  const Metrics& m = score.metrics;
  const auto wrong = [&problems](std::string text) {
    problems.emplace_back(kSealArithmetic, std::move(text));
  };
  if (score.score && !score.passed) wrong("`score` is a number, but `passed` is false");
  if (score.passed && !m.error.empty()) wrong("`passed` is true, but `metrics.error` is not empty");
  if (score.passed && !m.passed_correctness) {
    wrong("`passed` is true, but `metrics.passed_correctness` is false");
  }
  if (!score.passed && m.error.empty() && !m.partial_result) {
    wrong("`passed` is false, but `metrics.error` is empty");
  }
  const bool unscored = m.baseline_source == "none (local mode: unscored)";
  if (score.score && unscored) wrong("an unscored run carries a `score`");
  if (score.passed && !score.score && !unscored && !m.partial_result) {
    wrong("`passed` is true, but `score` is null");
  }
}

// --- arithmetic: the sealed document against the same document composed again

constexpr std::string_view kLegsGive = "the sealed legs give";
constexpr std::string_view kContractGives = "the contract gives";

void compare_numbers(const Value& sealed, const Value& computed, const std::string& path,
                     std::string_view source, Problems& problems) {
  if (sealed.literal() == computed.literal()) return;
  const auto a = sealed.as_double(path);
  const auto b = computed.as_double(path);
  const bool uncertain = path.starts_with("metrics.uncertainty.");
  if (a && b && (uncertain ? same_within_uncertainty(*a, *b) : same_within_ulps(*a, *b))) return;
  problems.emplace_back(kSealArithmetic, cat("`", path, "` is ", sealed.literal(), ", ", source,
                                             " ", computed.literal()));
}

void compare_values(const Value& sealed, const Value& computed, const std::string& path,
                    std::string_view source, Problems& problems) {
  if (sealed.is_number() && computed.is_number()) {
    return compare_numbers(sealed, computed, path, source, problems);
  }
  if (sealed.is_object() && computed.is_object()) {
    for (const auto& [key, value] : computed.members()) {
      const Value* other = sealed.find(key);
      if (other != nullptr) {
        compare_values(*other, value, json::path_of(path, key), source, problems);
      } else {
        problems.emplace_back(kSealArithmetic,
                              cat("`", json::path_of(path, key), "` is missing, ", source, " it"));
      }
    }
    for (const auto& member : sealed.members()) {
      if (computed.find(member.first) != nullptr) continue;
      problems.emplace_back(kSealArithmetic,
                            cat("`", json::path_of(path, member.first),
                                "` is there, but it does not follow from what ", source, ""));
    }
    return;
  }
  if (sealed.is_array() && computed.is_array() &&
      sealed.items().size() == computed.items().size()) {
    for (size_t i = 0; i < sealed.items().size(); ++i) {
      compare_values(sealed.items()[i], computed.items()[i], json::path_of(path, i), source,
                     problems);
    }
    return;
  }
  if (sealed == computed) return;
  problems.emplace_back(kSealArithmetic, cat("`", path, "` is ", json::write(sealed), ", ", source,
                                             " ", json::write(computed)));
}

std::optional<TimedTerms> sealed_terms(const Metrics& m, Problems& problems) {
  if (!m.score_decode_weight || !m.score_prefill_weight || !m.acceptance_bands) {
    problems.emplace_back(kSealForm,
                          "`metrics` lacks `score_decode_weight`, `score_prefill_weight` or "
                          "`acceptance_bands`: the score cannot be recomputed");
    return std::nullopt;
  }
  return TimedTerms{{*m.score_decode_weight, *m.score_prefill_weight},
                    {m.decode_speedup_floor, m.prefill_speedup_floor},
                    *m.acceptance_bands};
}

bool is_gate_failure(std::string_view error) {
  return error.find("performance floor failed") != std::string_view::npos ||
         error.find("acceptance band failed") != std::string_view::npos ||
         error.find("computed score was not finite") != std::string_view::npos;
}

// A run without a score failed at a gate, which is recomputed, or at something that the legs do not
// tell (correctness, an engine's fault, a control leg outside its band): then its own error stands.
void settle_verdict(const ScoreDocument& sealed, ScoreDocument& computed) {
  if (sealed.score || is_gate_failure(sealed.metrics.error)) return;
  computed.score.reset();
  computed.passed = sealed.passed;
  computed.metrics.error = sealed.metrics.error;
}

void check_rows(const std::vector<PairedLeg>& rows, Problems& problems) {
  for (size_t i = 0; i < rows.size(); ++i) {
    const PairedLeg& row = rows[i];
    const std::string path = json::path_of("metrics.paired_legs", i);
    if (row.pair != i + 1) {
      problems.emplace_back(kSealArithmetic,
                            cat("`", path, ".pair` is ", row.pair, ", expected ", i + 1));
    }
    const auto same = [&](std::string_view leg, const std::optional<double>& window,
                          double figure) {
      if (!window || *window == figure) return;
      problems.emplace_back(kSealArithmetic, cat("`", path, ".", leg,
                                                 "_decode_window_seconds_per_token` differs from `",
                                                 leg, "_decode_seconds_per_token`"));
    };
    same("control", row.control_decode_window_seconds_per_token,
         row.control_decode_seconds_per_token);
    same("candidate", row.candidate_decode_window_seconds_per_token,
         row.candidate_decode_seconds_per_token);
  }
}

void check_paired(const ScoreDocument& sealed, Problems& problems) {
  const Metrics& m = sealed.metrics;
  check_rows(*m.paired_legs, problems);
  const auto combine = pair_combine_named(m.official_pair_combine.value_or(""));
  const auto order = pair_order_named(m.official_pair_order.value_or(""));
  if (!combine || !order) {
    problems.emplace_back(
        kSealForm,
        "`metrics.official_pair_combine` or `metrics.official_pair_order` names no "
        "known rule: the score cannot be recomputed");
    return;
  }
  const auto terms = sealed_terms(m, problems);
  if (!terms) return;
  // A run that was refused between two pairs keeps its rows but has no run-level figures.
  const bool refused_midway = !sealed.score && m.decode_seconds_per_token == 0.0;
  if (refused_midway) return;

  const std::vector<MeasuredPair> pairs = measured_pairs_of(*m.paired_legs);
  const PairedTerms paired_terms{*terms, *combine};
  const auto score = combine_pairs(pairs, paired_terms);
  if (!score) {
    problems.emplace_back(kSealArithmetic, score.refusal().text());
    return;
  }
  ScoreDocument computed = sealed;
  set_paired(computed, pairs, *score, paired_terms, *order);
  // Token fields of the rows belong to another judgement and are not recomputed here.
  computed.metrics.paired_legs = m.paired_legs;
  settle_verdict(sealed, computed);
  compare_values(to_json(sealed), to_json(computed), "", kLegsGive, problems);
}

void check_single(const ScoreDocument& sealed, Problems& problems) {
  const Metrics& m = sealed.metrics;
  const auto terms = sealed_terms(m, problems);
  if (!terms) return;
  const LegFigures baseline{
      {m.baseline_prefill_seconds_per_token}, {m.baseline_decode_seconds_per_token}, std::nullopt};
  LegFigures candidate{{m.prefill_seconds_per_token}, {m.decode_seconds_per_token}, std::nullopt};
  if (const auto& seed = m.candidate_leg_seed_prefill_window_seconds_per_token) {
    candidate.seed_prefill_window = SecondsPerToken{*seed};
  }
  ScoreDocument computed = sealed;
  set_stored_pair(computed, baseline, candidate, evaluate_timed_run(baseline, candidate, *terms),
                  *terms);
  settle_verdict(sealed, computed);
  compare_values(to_json(sealed), to_json(computed), "", kLegsGive, problems);
}

void check_arithmetic(const ScoreDocument& sealed, Problems& problems) {
  check_verdict(sealed, problems);
  if (sealed.metrics.paired_legs) {
    check_paired(sealed, problems);
  } else if (sealed.score) {
    check_single(sealed, problems);
  }
}

// --- contract

void check_contract(const std::string& bytes, const ScoreDocument& sealed, Problems& problems) {
  const auto contract = parse_contract(bytes);
  if (!contract) {
    problems.emplace_back(kSealContract, contract.refusal().text());
    return;
  }
  const Metrics& m = sealed.metrics;
  if (m.contract_sha256 != contract->sha256) {
    problems.emplace_back(kSealContract, cat("the contract's SHA-256 is ", contract->sha256,
                                             ", `metrics.contract_sha256` is ",
                                             m.contract_sha256.value_or("absent")));
    return;
  }
  ScoreDocument computed = sealed;
  set_contract(computed.metrics, *contract);
  computed.metrics.official_pairs = m.official_pairs;
  // The track of a run may come from its flag when the contract names none.
  if (!contract->track_id) {
    computed.metrics.track_id = m.track_id;
    computed.metrics.model_id = m.model_id;
  }
  computed.metrics.track_name = m.track_name;  // the environment may override the label
  if (m.score_decode_weight && contract->scoring_weights) {
    computed.metrics.score_decode_weight = contract->scoring_weights->decode;
    computed.metrics.score_prefill_weight = contract->scoring_weights->prefill;
  }
  if (m.acceptance_bands && contract->acceptance_bands) {
    computed.metrics.acceptance_bands = contract->acceptance_bands;
  }
  if (m.official_pair_combine) {
    computed.metrics.official_pair_combine = std::string(name_of(contract->official_pair_combine));
    computed.metrics.official_pair_order = std::string(name_of(contract->official_pair_order));
  }
  if (sealed.score && m.paired_legs && contract->official_pairs) {
    computed.metrics.official_pairs = contract->official_pairs;
  }
  Problems differences;
  compare_values(to_json(sealed), to_json(computed), "", kContractGives, differences);
  for (const Refusal& difference : differences) {
    problems.emplace_back(kSealContract, difference.detail);
  }
}

}  // namespace

std::vector<Refusal> verify_seal(const SealedFiles& files) {
  Problems problems;
  const auto score = check_score_form(files.score, problems);
  check_sidecar(files.score, files.score_sidecar, problems);
  const auto integrity = check_integrity_form(files.integrity, problems);
  check_sidecar(files.integrity, files.integrity_sidecar, problems);
  if (score && integrity) check_across(files, *score, *integrity, problems);
  if (score) check_arithmetic(*score, problems);
  if (score && files.contract) check_contract(*files.contract, *score, problems);
  return problems;
}

}  // namespace assay::scoring
