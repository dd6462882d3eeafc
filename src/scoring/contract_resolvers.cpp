// Resolvers: what a run needs from a certified contract, or a refusal that names what is not
// declared.
#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "scoring/contract.h"
#include "scoring/refusals.h"

namespace assay::scoring {

namespace {

constexpr uint32_t kDraftDepthMax = 32;

Refusal undeclared(const RefusalInfo& info, const Contract& contract, std::string_view keys) {
  return Refusal(info,
                 cat("track ", contract_label(contract), ": the contract does not declare ", keys));
}

template <class T>
Result<T> declared_or(const std::optional<T>& value, const RefusalInfo& info,
                      const Contract& contract, std::string_view keys) {
  if (!value) return undeclared(info, contract, keys);
  return *value;
}

// A string member of a pin object: null counts as absent. The value stays as written.
Result<std::optional<std::string>> pin_half(const json::Value& object, std::string_view key,
                                            const RefusalInfo& info, std::string_view path) {
  const json::Value* value = object.find(key);
  if (value == nullptr || value->is_null()) return std::optional<std::string>();
  if (!value->is_string()) {
    return Refusal(info, cat("`", json::path_of(path, key), "` must be a string, found ",
                             json::kind_name(value->kind())));
  }
  return std::optional<std::string>(value->string());
}

}  // namespace

Result<ScoredRegime> resolve_scored_regime(const Contract& contract) {
  return declared_or(contract.scored_regime, kScoredRegimePending, contract,
                     "`scored_batch_size`, `prefill_gain_exponent` and `decode_gain_exponent`");
}
Result<bool> resolve_live_control_leg(const Contract& contract) {
  return declared_or(contract.scores_against_live_control_leg, kContractKeyUndeclared, contract,
                     "`scores_against_live_control_leg`");
}
Result<bool> resolve_paired_flow_retired(const Contract& contract) {
  return declared_or(contract.paired_flow_retired, kContractKeyUndeclared, contract,
                     "`paired_flow_retired`");
}
Result<AcceptanceBands> resolve_acceptance_bands(const Contract& contract) {
  return declared_or(contract.acceptance_bands, kAcceptanceBandsUndeclared, contract,
                     "the four band tolerances (`prefill_band_up_tolerance` …), "
                     "`decode_band_down_enabled` and `prefill_band_down_enabled`");
}
Result<OfficialBaseline> resolve_official_baseline(const Contract& contract) {
  TRY(pair, declared_or(contract.official_baseline, kOfficialBaselinePending, contract,
                        "`official_baseline_prefill_seconds_per_token` and "
                        "`official_baseline_decode_seconds_per_token`"));
  TRY(bands, resolve_acceptance_bands(contract));
  return OfficialBaseline{pair, bands};
}
Result<ScoringWeights> resolve_scoring_weights(const Contract& contract) {
  return declared_or(contract.scoring_weights, kContractKeyUndeclared, contract,
                     "`score_decode_weight` and `score_prefill_weight`");
}
Result<WindowShape> resolve_window_shape(const Contract& contract) {
  return declared_or(contract.window_shape, kWindowShapeUndeclared, contract,
                     "`correctness_steps`, `benchmark_decode_steps`, "
                     "`local_submit_benchmark_decode_steps` and `official_prefill_warmup_runs`");
}
Result<ModelShape> resolve_model_shape(const Contract& contract) {
  return declared_or(contract.model_shape, kModelIdentityUndeclared, contract,
                     "`vocab_size`, `num_hidden_layers`, `seed_tokens` and `golden_model_type`");
}
Result<SpeedupFloors> resolve_speedup_floors(const Contract& contract) {
  TRY(decode, declared_or(contract.decode_speedup_floor, kContractKeyUndeclared, contract,
                          "`decode_speedup_floor`"));
  TRY(prefill, declared_or(contract.prefill_speedup_floor, kContractKeyUndeclared, contract,
                           "`prefill_speedup_floor`"));
  return SpeedupFloors{decode, prefill};
}
Result<uint32_t> resolve_official_pairs(const Contract& contract) {
  return declared_or(contract.official_pairs, kContractKeyUndeclared, contract, "`official_pairs`");
}

Result<std::optional<ReferenceModelPin>> resolve_reference_model_pin(const Contract& contract) {
  if (!contract.document.is_object()) return std::optional<ReferenceModelPin>();
  const json::Value* target = contract.document.find("target");
  if (target == nullptr) return std::optional<ReferenceModelPin>();
  if (!target->is_object()) {
    return Refusal(kContractTargetInvalid,
                   cat("contract defect: `target` must be an object, found ",
                       json::kind_name(target->kind())));
  }
  TRY(repository, pin_half(*target, "upstream_model_id", kContractTargetInvalid, "target"));
  TRY(revision, pin_half(*target, "upstream_revision", kContractTargetInvalid, "target"));
  if (!repository || !revision) {
    return Refusal(kContractTargetInvalid,
                   cat("contract defect: `target` does not declare ",
                       repository ? "`upstream_revision`"
                       : revision ? "`upstream_model_id`"
                                  : "`upstream_model_id` and `upstream_revision`"));
  }
  for (const auto& [key, value] :
       {std::pair<std::string_view, const std::string&>{"upstream_model_id", *repository},
        std::pair<std::string_view, const std::string&>{"upstream_revision", *revision}}) {
    if (value.empty() || trim(value) != value) {
      return Refusal(kContractTargetInvalid, cat("contract defect: `target.", key,
                                                 "` is empty or padded with white space"));
    }
  }
  if (!is_lower_hex(*revision, 40)) {
    return Refusal(kContractTargetInvalid, cat("contract defect: `target.upstream_revision` is \"",
                                               *revision, "\", expected 40 lower-case hex digits"));
  }
  return std::optional(ReferenceModelPin{*repository, *revision});
}

Result<std::optional<IntegrityPin>> resolve_hidden_golden_pin(const Contract& contract) {
  constexpr std::string_view kKey = "hidden_correctness_golden";
  if (!contract.document.is_object()) return std::optional<IntegrityPin>();
  const json::Value* pin = contract.document.find(kKey);
  if (pin == nullptr) return std::optional<IntegrityPin>();
  if (!pin->is_object()) {
    return Refusal(kContractHiddenGoldenInvalid,
                   cat("`", kKey, "` must be an object, found ", json::kind_name(pin->kind())));
  }
  TRY(sha256, pin_half(*pin, "sha256", kContractHiddenGoldenInvalid, kKey));
  const json::Value* bytes_value = pin->find("bytes");
  const bool has_bytes = bytes_value != nullptr && !bytes_value->is_null();
  if (!sha256 || !has_bytes) {
    return Refusal(kContractHiddenGoldenInvalid, cat("`", kKey, "` does not declare ",
                                                     sha256      ? "`bytes`"
                                                     : has_bytes ? "`sha256`"
                                                                 : "`sha256` and `bytes`"));
  }
  if (!is_lower_hex(*sha256, 64)) {
    return Refusal(kContractHiddenGoldenInvalid,
                   cat("`", kKey, ".sha256` must be 64 lower-case hex digits"));
  }
  const auto bytes = bytes_value->as_uint64(cat(kKey, ".bytes"));
  if (!bytes) return Refusal(kContractHiddenGoldenInvalid, bytes.refusal().detail);
  if (*bytes == 0) {
    return Refusal(kContractHiddenGoldenInvalid,
                   cat("`", kKey, ".bytes` is 0, expected at least 1"));
  }
  return std::optional(IntegrityPin{*sha256, *bytes});
}

Result<std::optional<std::vector<uint32_t>>> resolve_permitted_draft_depths(
    const Contract& contract) {
  using Depths = std::optional<std::vector<uint32_t>>;
  constexpr std::string_view kPath = "mtp_head.permitted_draft_depths";
  if (!contract.document.is_object()) return Depths();
  const json::Value* head = contract.document.find("mtp_head");
  if (head == nullptr || head->is_null()) return Depths();
  TRY_DO(head->expect(json::Kind::object, "mtp_head"));
  const json::Value* list = head->find("permitted_draft_depths");
  if (list == nullptr || list->is_null()) return Depths();
  TRY_DO(list->expect(json::Kind::array, kPath));
  std::vector<uint32_t> depths;
  for (size_t i = 0; i < list->items().size(); ++i) {
    TRY(depth, list->items()[i].as_uint32(json::path_of(kPath, i)));
    if (depth == 0 || depth > kDraftDepthMax) {
      return Refusal(kContractValueInvalid, cat("`", json::path_of(kPath, i), "` is ", depth,
                                                ", expected 1 to ", kDraftDepthMax));
    }
    depths.push_back(depth);
  }
  if (depths.empty()) {
    return Refusal(kContractValueInvalid,
                   cat("`", kPath, "` is empty, expected at least one depth"));
  }
  return Depths(std::move(depths));
}

std::string model_id_of(const Contract& contract) {
  if (contract.document.is_object()) {
    const json::Value* target = contract.document.find("target");
    if (target != nullptr && target->is_object()) {
      const json::Value* id = target->find("upstream_model_id");
      if (id != nullptr && id->is_string() && !trim(id->string()).empty()) {
        return std::string(trim(id->string()));
      }
    }
  }
  return contract.track_id.value_or("");
}

Result<std::string> resolve_track_id(const Contract& contract, std::optional<std::string_view> flag,
                                     std::optional<std::string_view> environment) {
  struct Source {
    std::string_view name;
    std::string value;
  };
  std::vector<Source> sources;
  const auto add = [&](std::string_view name, std::optional<std::string_view> value) {
    if (value && !trim(*value).empty()) sources.push_back({name, std::string(trim(*value))});
  };
  add("--track", flag);
  add("MLXFAST_QWEN_MTP_TRACK_ID", environment);
  if (contract.track_id) add("the contract's track_id", *contract.track_id);
  if (sources.empty()) {
    return Refusal(kTrackIdUnresolved,
                   "neither --track, nor MLXFAST_QWEN_MTP_TRACK_ID, nor the contract's `track_id` "
                   "names a track");
  }
  for (const Source& source : sources) {
    if (source.value != sources.front().value) {
      return Refusal(kTrackIdMismatch, cat(sources.front().name, " is \"", sources.front().value,
                                           "\", but ", source.name, " is \"", source.value, "\""));
    }
  }
  return sources.front().value;
}

Status arm_gate(bool official, const Contract& contract) {
  if (!official || contract.official_scoring_enabled.value_or(false)) return {};
  const std::string head = cat("official scoring is not enabled for this track (",
                               contract_label(contract), "): the contract ");
  constexpr std::string_view kTail = "; a participant runs a local mode (`--local-dev`)";
  if (contract.official_scoring_enabled) {
    return Refusal(
        kOfficialScoringDisarmed,
        cat(head, "declares the track unarmed with `official_scoring_enabled`: false", kTail));
  }
  return Refusal(
      kOfficialScoringNoArmState,
      cat(head, "declares no arm state: it does not declare official_scoring_enabled: true",
          kTail));
}

std::string_view name_of(Platform platform) {
  switch (platform) {
    case Platform::mlx: return "mlx";
    case Platform::cuda: return "cuda";
    case Platform::cpu: return "cpu";
  }
  return "";
}

Result<Platform> platform_of_track(std::string_view track_id) {
  const std::string_view id = trim(track_id);
  const std::vector<std::string_view> parts = split(id, '-');
  const std::string_view version = parts.back();
  const bool versioned = version.size() >= 2 && version.front() == 'v' &&
                         version.find_first_not_of("0123456789", 1) == std::string_view::npos;
  if (versioned && parts.size() >= 2) {
    for (const Platform platform : {Platform::mlx, Platform::cuda, Platform::cpu}) {
      if (parts[parts.size() - 2] == name_of(platform)) return platform;
    }
  }
  return Refusal(kTrackPlatformUnknown,
                 cat("track id \"", id, "\" must end with -mlx-vN, -cuda-vN or -cpu-vN"));
}

std::optional<double> platform_cool_limit_c(Platform platform) {
  switch (platform) {
    case Platform::mlx: return 40.0;
    case Platform::cuda: return 60.0;
    case Platform::cpu: return std::nullopt;
  }
  return std::nullopt;
}

Status refuse_retired_paired_flow(const Contract& contract) {
  TRY(retired, resolve_paired_flow_retired(contract));
  if (!retired) return {};
  return Refusal(kPairedFlowRetired,
                 cat("track ", contract_label(contract), " declares `paired_flow_retired`: true"));
}

Status refuse_unsupported(const Contract& contract) {
  const auto refuse = [&](std::string_view key, std::string_view what) {
    return Refusal(kContractFeatureNotSupported,
                   cat("track ", contract_label(contract), ": `", key, "` declares ", what,
                       ", which this version does not run"));
  };
  if (contract.scored_batch_size.value_or(1) > 1) {
    return refuse("scored_batch_size", "a cohort");
  }
  if (contract.scored_regime) {
    if (contract.scored_regime->prefill_gain_exponent != 0.0) {
      return refuse("prefill_gain_exponent", "a scored regime with a certified prefill window");
    }
    return refuse("decode_gain_exponent", "a decode-only scored regime");
  }
  if (contract.timed_token_tolerance_per_thousand) {
    return refuse("timed_token_tolerance_per_thousand", "a token tolerance");
  }
  if (!contract.timed_prompt_pool.empty()) return refuse("timed_prompt_pool", "a prompt pool");
  return {};
}

}  // namespace assay::scoring
