// Parsing has two steps: first every modelled key is read by type, then every declared value is
// certified in the fixed order of the header. A defect of type therefore always comes before a
// defect of value.
#include "scoring/contract.h"

#include <cmath>

#include "base/sha256.h"
#include "base/text.h"
#include "scoring/refusals.h"

namespace assay::scoring {

namespace {

constexpr std::string_view kNoTrackId = "<no declared track_id>";

// A member whose value is null counts as not there.
const json::Value* declared(const json::Value& object, std::string_view key) {
  const json::Value* value = object.find(key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

// One declared scalar that belongs to a group, under its key, so that a message can name it.
template <class T>
struct Key {
  std::string_view name;
  std::optional<T> value;
};

template <class T>
Result<T> read_as(const json::Value& value, std::string_view path) {
  if constexpr (std::is_same_v<T, bool>) return value.as_bool(path);
  if constexpr (std::is_same_v<T, uint32_t>) return value.as_uint32(path);
  if constexpr (std::is_same_v<T, uint64_t>) return value.as_uint64(path);
  if constexpr (std::is_same_v<T, double>) return value.as_double(path);
  if constexpr (std::is_same_v<T, std::string>) return value.as_string(path);
}

template <class T>
Status read(const json::Value& object, std::string_view key, std::optional<T>& out,
            std::string_view parent = "") {
  if (const json::Value* value = declared(object, key)) {
    TRY(read_value, read_as<T>(*value, json::path_of(parent, key)));
    out = std::move(read_value);
  }
  return {};
}
template <class T>
Status read(const json::Value& object, Key<T>& key) {
  return read(object, key.name, key.value);
}

// Everything that is declared, by type only.
struct Declared {
  std::optional<std::string> track_id;
  Key<double> decode_floor{"decode_speedup_floor", {}};
  Key<double> prefill_floor{"prefill_speedup_floor", {}};
  Key<uint32_t> official_pairs{"official_pairs", {}};
  Key<uint32_t> token_tolerance{"timed_token_tolerance_per_thousand", {}};
  Key<double> near_tie_gap{"timed_token_near_tie_relative_gap", {}};
  Key<uint32_t> batch_size{"scored_batch_size", {}};
  Key<double> prefill_exponent{"prefill_gain_exponent", {}};
  Key<double> decode_exponent{"decode_gain_exponent", {}};
  Key<double> baseline_prefill{"official_baseline_prefill_seconds_per_token", {}};
  Key<double> baseline_decode{"official_baseline_decode_seconds_per_token", {}};
  Key<double> prefill_up{"prefill_band_up_tolerance", {}};
  Key<double> prefill_down{"prefill_band_down_tolerance", {}};
  Key<double> decode_up{"decode_band_up_tolerance", {}};
  Key<double> decode_down{"decode_band_down_tolerance", {}};
  Key<bool> decode_down_enabled{"decode_band_down_enabled", {}};
  Key<bool> prefill_down_enabled{"prefill_band_down_enabled", {}};
  Key<double> decode_weight{"score_decode_weight", {}};
  Key<double> prefill_weight{"score_prefill_weight", {}};
  Key<uint32_t> correctness_steps{"correctness_steps", {}};
  Key<uint32_t> decode_steps{"benchmark_decode_steps", {}};
  Key<uint32_t> local_submit_steps{"local_submit_benchmark_decode_steps", {}};
  Key<uint32_t> warmup_runs{"official_prefill_warmup_runs", {}};
  Key<uint32_t> timed_runs{"official_prefill_timed_runs", {}};
  Key<uint32_t> vocab_size{"vocab_size", {}};
  Key<uint32_t> num_hidden_layers{"num_hidden_layers", {}};
  Key<uint32_t> seed_tokens{"seed_tokens", {}};
  Key<std::string> golden_model_type{"golden_model_type", {}};
  Key<double> calibration_cv_max{"calibration_cv_max", {}};
  Key<double> cool_limit_c{"cool_limit_c", {}};
};

// --- certification of one value

std::string shown(double value) {
  return format_double(value);
}
std::string shown(uint32_t value) {
  return cat(value);
}

template <class T>
Refusal invalid(const Key<T>& key, std::string_view expected) {
  return Refusal(kContractValueInvalid,
                 cat("`", key.name, "` is ", shown(*key.value), ", expected ", expected));
}
Status positive(const Key<double>& key) {
  if (key.value && !(*key.value > 0.0)) return invalid(key, "a number above 0");
  return {};
}
Status not_negative(const Key<double>& key) {
  if (key.value && !(*key.value >= 0.0)) return invalid(key, "a number of at least 0");
  return {};
}
Status at_least_one(const Key<uint32_t>& key) {
  if (key.value && *key.value == 0) return invalid(key, "at least 1");
  return {};
}
template <class T>
Status present(const Key<T>& key, std::string_view group) {
  if (key.value) return {};
  return Refusal(kContractFieldMissing, cat("`", key.name, "` is missing, but other keys of the ",
                                            group, " are declared: the group is all or nothing"));
}
template <class... Keys>
bool any(const Keys&... keys) {
  return (keys.value.has_value() || ...);
}

// --- certification of the groups, in order

Status certify_pair_keys(const Declared& d) {
  TRY_DO(positive(d.decode_floor));
  TRY_DO(positive(d.prefill_floor));
  TRY_DO(at_least_one(d.official_pairs));
  if (d.token_tolerance.value && *d.token_tolerance.value > 1000) {
    return invalid(d.token_tolerance, "0 to 1000");
  }
  if (d.near_tie_gap.value) {
    if (!(*d.near_tie_gap.value >= 0.0 && *d.near_tie_gap.value < 1.0)) {
      return invalid(d.near_tie_gap, "0 <= gap < 1");
    }
    if (!d.token_tolerance.value) {
      return Refusal(kContractFieldMissing, cat("`", d.token_tolerance.name, "` is missing, but `",
                                                d.near_tie_gap.name, "` needs it"));
    }
  }
  return at_least_one(d.batch_size);
}

Status certify_regime(const Declared& d, Contract& out) {
  out.scored_batch_size = d.batch_size.value;
  // The batch size alone is legal and declares no regime.
  if (!any(d.prefill_exponent, d.decode_exponent)) return {};
  constexpr std::string_view kGroup = "scored regime";
  TRY_DO(present(d.batch_size, kGroup));
  TRY_DO(present(d.prefill_exponent, kGroup));
  TRY_DO(not_negative(d.prefill_exponent));
  TRY_DO(present(d.decode_exponent, kGroup));
  TRY_DO(not_negative(d.decode_exponent));
  if (*d.prefill_exponent.value == 0.0 && *d.decode_exponent.value == 0.0) {
    return Refusal(kContractValueInvalid,
                   cat("`", d.prefill_exponent.name, "` and `", d.decode_exponent.name,
                       "` are both 0, expected one above 0"));
  }
  out.scored_regime =
      ScoredRegime{*d.batch_size.value, *d.prefill_exponent.value, *d.decode_exponent.value};
  return {};
}

Status certify_baseline(const Declared& d, Contract& out) {
  if (!any(d.baseline_prefill, d.baseline_decode)) return {};
  constexpr std::string_view kGroup = "official baseline";
  TRY_DO(present(d.baseline_prefill, kGroup));
  TRY_DO(positive(d.baseline_prefill));
  TRY_DO(present(d.baseline_decode, kGroup));
  TRY_DO(positive(d.baseline_decode));
  if (out.scores_against_live_control_leg.value_or(false)) {
    return Refusal(kContractFieldsExclusive,
                   cat("`", d.baseline_prefill.name, "` and `", d.baseline_decode.name,
                       "` are declared together with `scores_against_live_control_leg`: true"));
  }
  out.official_baseline = BaselinePair{*d.baseline_prefill.value, *d.baseline_decode.value};
  return {};
}

Status certify_bands(const Declared& d, Contract& out) {
  if (!any(d.prefill_up, d.prefill_down, d.decode_up, d.decode_down, d.decode_down_enabled,
           d.prefill_down_enabled)) {
    return {};
  }
  constexpr std::string_view kGroup = "acceptance bands";
  for (const auto* key : {&d.prefill_up, &d.prefill_down, &d.decode_up, &d.decode_down}) {
    TRY_DO(present(*key, kGroup));
    TRY_DO(not_negative(*key));
  }
  TRY_DO(present(d.decode_down_enabled, kGroup));
  TRY_DO(present(d.prefill_down_enabled, kGroup));
  out.acceptance_bands = AcceptanceBands{
      *d.prefill_up.value,  *d.prefill_down.value,        *d.decode_up.value,
      *d.decode_down.value, *d.decode_down_enabled.value, *d.prefill_down_enabled.value};
  return {};
}

Status certify_weights(const Declared& d, Contract& out) {
  if (!any(d.decode_weight, d.prefill_weight)) return {};
  constexpr std::string_view kGroup = "scoring weights";
  TRY_DO(present(d.decode_weight, kGroup));
  TRY_DO(not_negative(d.decode_weight));
  TRY_DO(present(d.prefill_weight, kGroup));
  TRY_DO(not_negative(d.prefill_weight));
  const double sum = *d.decode_weight.value + *d.prefill_weight.value;
  if (!(sum > 0.0) || !std::isfinite(sum)) {
    return Refusal(kContractValueInvalid,
                   cat("`", d.decode_weight.name, "` + `", d.prefill_weight.name,
                       "` must be a finite number above 0"));
  }
  out.scoring_weights = ScoringWeights{*d.decode_weight.value, *d.prefill_weight.value};
  return {};
}

Status certify_window(const Declared& d, Contract& out) {
  if (!any(d.correctness_steps, d.decode_steps, d.local_submit_steps, d.warmup_runs,
           d.timed_runs)) {
    return {};
  }
  constexpr std::string_view kGroup = "window shape";
  for (const auto* key : {&d.correctness_steps, &d.decode_steps, &d.local_submit_steps}) {
    TRY_DO(present(*key, kGroup));
    TRY_DO(at_least_one(*key));
  }
  TRY_DO(present(d.warmup_runs, kGroup));
  TRY_DO(at_least_one(d.timed_runs));
  out.window_shape =
      WindowShape{*d.correctness_steps.value, *d.decode_steps.value, *d.local_submit_steps.value,
                  *d.warmup_runs.value, d.timed_runs.value.value_or(1)};
  return {};
}

Status certify_model(const Declared& d, Contract& out) {
  if (!any(d.vocab_size, d.num_hidden_layers, d.seed_tokens, d.golden_model_type)) return {};
  constexpr std::string_view kGroup = "model shape";
  for (const auto* key : {&d.vocab_size, &d.num_hidden_layers, &d.seed_tokens}) {
    TRY_DO(present(*key, kGroup));
    TRY_DO(at_least_one(*key));
  }
  TRY_DO(present(d.golden_model_type, kGroup));
  const std::string_view type = trim(*d.golden_model_type.value);
  if (type.empty()) {
    return Refusal(kContractValueInvalid,
                   cat("`", d.golden_model_type.name, "` is blank, expected a model type"));
  }
  out.model_shape = ModelShape{*d.vocab_size.value, *d.num_hidden_layers.value,
                               *d.seed_tokens.value, std::string(type)};
  return {};
}

Status certify_quiescence(const Quiescence& q) {
  const auto check = [](std::string_view name, double value) -> Status {
    if (value > 0.0) return {};
    return Refusal(kContractValueInvalid, cat("`quiescence.", name, "` is ", format_double(value),
                                              ", expected a number above 0"));
  };
  TRY_DO(check("load_max", q.load_max));
  TRY_DO(check("gpu_max", q.gpu_max));
  return check("timeout_seconds", q.timeout_seconds);
}

Status certify_own_keys(const Declared& d, Contract& out) {
  if (out.document.find("allowed_modes") != nullptr && out.allowed_modes.empty()) {
    return Refusal(kContractAllowedModesEmpty, "`allowed_modes` is an empty list");
  }
  TRY_DO(positive(d.calibration_cv_max));
  if (d.calibration_cv_max.value) out.calibration_cv_max = *d.calibration_cv_max.value;
  TRY_DO(certify_quiescence(out.quiescence));
  TRY_DO(positive(d.cool_limit_c));
  out.cool_limit_c = d.cool_limit_c.value;
  return {};
}

// --- reading by type

Status read_scalars(const json::Value& object, Declared& d) {
  for (auto* key : {&d.decode_floor, &d.prefill_floor, &d.near_tie_gap, &d.prefill_exponent,
                    &d.decode_exponent, &d.baseline_prefill, &d.baseline_decode, &d.prefill_up,
                    &d.prefill_down, &d.decode_up, &d.decode_down, &d.decode_weight,
                    &d.prefill_weight, &d.calibration_cv_max, &d.cool_limit_c}) {
    TRY_DO(read(object, *key));
  }
  for (auto* key : {&d.official_pairs, &d.token_tolerance, &d.batch_size, &d.correctness_steps,
                    &d.decode_steps, &d.local_submit_steps, &d.warmup_runs, &d.timed_runs,
                    &d.vocab_size, &d.num_hidden_layers, &d.seed_tokens}) {
    TRY_DO(read(object, *key));
  }
  TRY_DO(read(object, d.decode_down_enabled));
  TRY_DO(read(object, d.prefill_down_enabled));
  return read(object, d.golden_model_type);
}

Status read_pool(const json::Value& object, Contract& out) {
  const json::Value* pool = object.find("timed_prompt_pool");
  if (pool == nullptr) return {};
  TRY_DO(pool->expect(json::Kind::array, "timed_prompt_pool"));
  for (size_t i = 0; i < pool->items().size(); ++i) {
    const json::Value& entry = pool->items()[i];
    const std::string path = json::path_of("timed_prompt_pool", i);
    TRY_DO(entry.expect(json::Kind::object, path));
    TimedPrompt prompt;
    TRY(sha256_value, entry.at("sha256", path));
    TRY(sha256, sha256_value->as_string(json::path_of(path, "sha256")));
    prompt.sha256 = sha256;
    TRY_DO(read(entry, "bytes", prompt.bytes, path));
    TRY_DO(read(entry, "noop_decode_speedup", prompt.noop_decode_speedup, path));
    out.timed_prompt_pool.push_back(std::move(prompt));
  }
  return {};
}

Status read_modes(const json::Value& object, Contract& out) {
  const json::Value* modes = declared(object, "allowed_modes");
  if (modes == nullptr) {
    out.allowed_modes = {"serial", "mtp"};
    return {};
  }
  TRY_DO(modes->expect(json::Kind::array, "allowed_modes"));
  for (size_t i = 0; i < modes->items().size(); ++i) {
    TRY(mode, modes->items()[i].as_string(json::path_of("allowed_modes", i)));
    out.allowed_modes.push_back(mode);
  }
  return {};
}

// The two enumerations: null is a type error here, unlike for the scalars.
Status read_rules(const json::Value& object, Contract& out) {
  if (const json::Value* value = object.find("official_pair_combine")) {
    TRY(name, value->as_string("official_pair_combine"));
    const auto combine = pair_combine_named(name);
    if (!combine) {
      return Refusal(kContractPairCombineUnknown,
                     cat("`official_pair_combine` is \"", name,
                         "\", expected lower_median, mean or ratio_of_sums"));
    }
    out.official_pair_combine = *combine;
  }
  if (const json::Value* value = object.find("official_pair_order")) {
    TRY(name, value->as_string("official_pair_order"));
    const auto order = pair_order_named(name);
    if (!order) {
      return Refusal(kContractPairOrderUnknown,
                     cat("`official_pair_order` is \"", name,
                         "\", expected control_first or counterbalanced"));
    }
    out.official_pair_order = *order;
  }
  return {};
}

Status read_quiescence(const json::Value& object, Contract& out) {
  const json::Value* value = declared(object, "quiescence");
  if (value == nullptr) return {};
  TRY_DO(value->expect(json::Kind::object, "quiescence"));
  // Our own object: closed, so that a misspelt limit does not become a default.
  TRY_DO(value->expect_only({"load_max", "gpu_max", "timeout_seconds"}, "quiescence"));
  std::optional<double> load_max, gpu_max, timeout_seconds;
  TRY_DO(read(*value, "load_max", load_max, "quiescence"));
  TRY_DO(read(*value, "gpu_max", gpu_max, "quiescence"));
  TRY_DO(read(*value, "timeout_seconds", timeout_seconds, "quiescence"));
  out.quiescence = Quiescence{load_max.value_or(out.quiescence.load_max),
                              gpu_max.value_or(out.quiescence.gpu_max),
                              timeout_seconds.value_or(out.quiescence.timeout_seconds)};
  return {};
}

Status read_all(const json::Value& object, Declared& d, Contract& out) {
  TRY_DO(read(object, "track_id", d.track_id));
  TRY_DO(read(object, "track_name", out.track_name));
  TRY_DO(read(object, "official_scoring_enabled", out.official_scoring_enabled));
  TRY_DO(read(object, "scores_against_live_control_leg", out.scores_against_live_control_leg));
  TRY_DO(read(object, "paired_flow_retired", out.paired_flow_retired));
  TRY_DO(read(object, "thermal_reader", out.thermal_reader));
  TRY_DO(read_scalars(object, d));
  TRY_DO(read_modes(object, out));
  TRY_DO(read_pool(object, out));
  TRY_DO(read_rules(object, out));
  return read_quiescence(object, out);
}

Status certify(const Declared& d, Contract& out) {
  TRY_DO(certify_pair_keys(d));
  out.decode_speedup_floor = d.decode_floor.value;
  out.prefill_speedup_floor = d.prefill_floor.value;
  out.official_pairs = d.official_pairs.value;
  out.timed_token_tolerance_per_thousand = d.token_tolerance.value;
  out.timed_token_near_tie_relative_gap = d.near_tie_gap.value;
  TRY_DO(certify_regime(d, out));
  TRY_DO(certify_baseline(d, out));
  TRY_DO(certify_bands(d, out));
  TRY_DO(certify_weights(d, out));
  TRY_DO(certify_window(d, out));
  TRY_DO(certify_model(d, out));
  return certify_own_keys(d, out);
}

}  // namespace

std::string_view name_of(PairCombine combine) {
  switch (combine) {
    case PairCombine::lower_median: return "lower_median";
    case PairCombine::mean: return "mean";
    case PairCombine::ratio_of_sums: return "ratio_of_sums";
  }
  return "";
}
std::string_view name_of(PairOrder order) {
  switch (order) {
    case PairOrder::control_first: return "control_first";
    case PairOrder::counterbalanced: return "counterbalanced";
  }
  return "";
}
std::optional<PairCombine> pair_combine_named(std::string_view name) {
  for (const PairCombine combine :
       {PairCombine::lower_median, PairCombine::mean, PairCombine::ratio_of_sums}) {
    if (name == name_of(combine)) return combine;
  }
  return std::nullopt;
}
std::optional<PairOrder> pair_order_named(std::string_view name) {
  for (const PairOrder order : {PairOrder::control_first, PairOrder::counterbalanced}) {
    if (name == name_of(order)) return order;
  }
  return std::nullopt;
}

std::string contract_label(const Contract& contract) {
  return contract.track_id.value_or(std::string(kNoTrackId));
}

Result<Contract> parse_contract(std::string_view bytes) {
  TRY(document, json::parse(bytes));
  TRY_DO(document.expect(json::Kind::object, "contract"));
  Contract contract;
  contract.sha256 = sha256_hex(bytes);
  contract.document = std::move(document);

  Declared d;
  const Status read_status = read_all(contract.document, d, contract);
  if (d.track_id && !trim(*d.track_id).empty()) contract.track_id = std::string(trim(*d.track_id));
  const std::string place = cat("contract of track ", contract_label(contract));
  if (!read_status) return at(place, read_status.refusal());
  if (const Status certified = certify(d, contract); !certified) {
    return at(place, certified.refusal());
  }
  return contract;
}

ContractSources contract_sources(const Contract* contract) {
  const auto source = [contract](bool is_declared) -> std::string_view {
    return contract != nullptr && is_declared ? "contract" : "device";
  };
  const Contract none;
  const Contract& c = contract != nullptr ? *contract : none;
  return {{{"scored_regime", source(c.scored_regime.has_value())},
           {"live_control_leg", source(c.scores_against_live_control_leg.has_value())},
           {"paired_flow", source(c.paired_flow_retired.has_value())},
           {"official_baseline", source(c.official_baseline.has_value())},
           {"acceptance_bands", source(c.acceptance_bands.has_value())},
           {"scoring_weights", source(c.scoring_weights.has_value())},
           {"window_shape", source(c.window_shape.has_value())},
           {"model_shape", source(c.model_shape.has_value())}}};
}

}  // namespace assay::scoring
