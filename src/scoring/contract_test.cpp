#include "scoring/contract.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/json.h"

namespace assay::scoring {
namespace {

using json::Value;

std::string with(std::string_view members) {
  return "{" + std::string(members) + "}";
}

std::string code_of(std::string_view members) {
  const auto parsed = parse_contract(with(members));
  return parsed ? "accepted" : std::string(parsed.refusal().code);
}
std::string detail_of(std::string_view members) {
  const auto parsed = parse_contract(with(members));
  return parsed ? "accepted" : parsed.refusal().detail;
}
Contract parsed(std::string_view members) {
  auto contract = parse_contract(with(members));
  EXPECT_TRUE(contract) << contract.refusal().text();
  return *std::move(contract);
}

// A contract that declares every group; members can be removed or replaced by key.
Value full() {
  return *json::parse(R"({
    "track_id": "t-cuda-v1", "official_scoring_enabled": true, "official_pairs": 2,
    "decode_speedup_floor": 0.95, "prefill_speedup_floor": 0.95,
    "scores_against_live_control_leg": false, "paired_flow_retired": false,
    "scored_batch_size": 1, "prefill_gain_exponent": 0.0, "decode_gain_exponent": 1.0,
    "official_baseline_prefill_seconds_per_token": 0.0006,
    "official_baseline_decode_seconds_per_token": 0.033,
    "prefill_band_up_tolerance": 0.05, "prefill_band_down_tolerance": 0.05,
    "decode_band_up_tolerance": 0.02, "decode_band_down_tolerance": 0.05,
    "decode_band_down_enabled": false, "prefill_band_down_enabled": false,
    "score_decode_weight": 0.75, "score_prefill_weight": 0.25,
    "correctness_steps": 64, "benchmark_decode_steps": 128,
    "local_submit_benchmark_decode_steps": 1023, "official_prefill_warmup_runs": 0,
    "vocab_size": 248320, "num_hidden_layers": 48, "seed_tokens": 1024,
    "golden_model_type": "qwen4_exp_text"})");
}
std::string without(std::string_view key) {
  Value document = full();
  std::erase_if(document.members(), [key](const json::Member& m) { return m.first == key; });
  return json::write(document);
}
std::string replaced(std::string_view key, Value value) {
  Value document = full();
  document.set(key, std::move(value));
  return json::write(document);
}

TEST(Contract, EveryGroupWithOneMemberMissingRefusesAndNamesIt) {
  ASSERT_TRUE(parse_contract(json::write(full())));
  for (const std::string_view key : {"scored_batch_size",
                                     "prefill_gain_exponent",
                                     "decode_gain_exponent",
                                     "official_baseline_prefill_seconds_per_token",
                                     "official_baseline_decode_seconds_per_token",
                                     "prefill_band_up_tolerance",
                                     "prefill_band_down_tolerance",
                                     "decode_band_up_tolerance",
                                     "decode_band_down_tolerance",
                                     "decode_band_down_enabled",
                                     "prefill_band_down_enabled",
                                     "score_decode_weight",
                                     "score_prefill_weight",
                                     "correctness_steps",
                                     "benchmark_decode_steps",
                                     "local_submit_benchmark_decode_steps",
                                     "official_prefill_warmup_runs",
                                     "vocab_size",
                                     "num_hidden_layers",
                                     "seed_tokens",
                                     "golden_model_type"}) {
    const auto contract = parse_contract(without(key));
    ASSERT_FALSE(contract) << key;
    EXPECT_EQ(contract.refusal().code, "CONTRACT-FIELD-MISSING");
    EXPECT_NE(contract.refusal().detail.find("`" + std::string(key) + "` is missing"),
              std::string::npos)
        << contract.refusal().detail;
    // An explicit null is the same as no key.
    const auto null_member = parse_contract(replaced(key, Value()));
    ASSERT_FALSE(null_member) << key;
    EXPECT_EQ(null_member.refusal().detail, contract.refusal().detail);
  }
}

TEST(Contract, BatchSizeAloneDeclaresNoRegime) {
  const Contract contract = parsed(R"("scored_batch_size": 8)");
  EXPECT_EQ(contract.scored_batch_size, 8u);
  EXPECT_FALSE(contract.scored_regime);
  EXPECT_EQ(resolve_scored_regime(contract).refusal().code, "SCORED-REGIME-PENDING-DECLARATION");
}

TEST(Contract, BothExponentsZeroRefuse) {
  EXPECT_EQ(
      code_of(R"("scored_batch_size":1,"prefill_gain_exponent":0,"decode_gain_exponent":0.0)"),
      "CONTRACT-VALUE-INVALID");
}

TEST(Contract, StoredPairExcludesALiveControlLeg) {
  EXPECT_EQ(parse_contract(replaced("scores_against_live_control_leg", true)).refusal().code,
            "CONTRACT-FIELDS-EXCLUSIVE");
  EXPECT_TRUE(parse_contract(without("scores_against_live_control_leg")));
}

TEST(Contract, ValuesThatNoRunCouldUse) {
  const std::map<std::string, std::vector<Value>> bad{
      {"decode_speedup_floor", {Value(0), Value(-1)}},
      {"prefill_speedup_floor", {Value(0.0), Value(-0.5)}},
      {"official_pairs", {Value(0)}},
      {"timed_token_tolerance_per_thousand", {Value(1001)}},
      {"scored_batch_size", {Value(0)}},
      {"prefill_gain_exponent", {Value(-0.25)}},
      {"official_baseline_decode_seconds_per_token", {Value(0), Value(-1.0)}},
      {"prefill_band_up_tolerance", {Value(-0.01)}},
      {"score_decode_weight", {Value(-0.75)}},
      {"correctness_steps", {Value(0)}},
      {"benchmark_decode_steps", {Value(0)}},
      {"local_submit_benchmark_decode_steps", {Value(0)}},
      {"official_prefill_timed_runs", {Value(0)}},
      {"vocab_size", {Value(0)}},
      {"num_hidden_layers", {Value(0)}},
      {"seed_tokens", {Value(0)}},
      {"golden_model_type", {Value(" "), Value("")}},
      {"calibration_cv_max", {Value(0.0), Value(-0.01)}},
      {"cool_limit_c", {Value(0)}}};
  for (const auto& [key, values] : bad) {
    for (const Value& value : values) {
      const auto contract = parse_contract(replaced(key, value));
      ASSERT_FALSE(contract) << key << " " << json::write(value);
      EXPECT_EQ(contract.refusal().code, "CONTRACT-VALUE-INVALID") << key;
      EXPECT_NE(contract.refusal().detail.find("`" + key + "`"), std::string::npos);
    }
  }
}

TEST(Contract, TypesAreStrict) {
  // A literal beyond binary64 is already no JSON number to the reader.
  EXPECT_EQ(code_of(R"("decode_speedup_floor": 1e400)"), "JSON-SYNTAX");
  EXPECT_EQ(code_of(R"("official_pairs": 2.0)"), "JSON-TYPE");
  EXPECT_EQ(code_of(R"("official_pairs": "2")"), "JSON-TYPE");
  EXPECT_EQ(code_of(R"("official_pairs": -1)"), "JSON-RANGE");
  EXPECT_EQ(code_of(R"("official_pairs": 4294967296)"), "JSON-RANGE");
  EXPECT_EQ(code_of(R"("official_scoring_enabled": 1)"), "JSON-TYPE");
  EXPECT_EQ(code_of(R"("timed_prompt_pool": null)"), "JSON-TYPE");
  EXPECT_EQ(code_of(R"("official_pair_combine": null)"), "JSON-TYPE");
  EXPECT_EQ(code_of(R"("timed_prompt_pool": [{"bytes": 1}])"), "JSON-MISSING-KEY");
  EXPECT_EQ(code_of(R"("track_id": "a", "track_id": "b")"), "JSON-DUPLICATE-KEY");
  EXPECT_EQ(parse_contract("[]").refusal().code, "JSON-TYPE");
  EXPECT_EQ(parse_contract("{} x").refusal().code, "JSON-SYNTAX");
  EXPECT_EQ(parse_contract("").refusal().code, "JSON-SYNTAX");
}

TEST(Contract, NearTieGap) {
  EXPECT_EQ(code_of(R"("timed_token_near_tie_relative_gap": 0.05)"), "CONTRACT-FIELD-MISSING");
  constexpr std::string_view kTolerance = R"("timed_token_tolerance_per_thousand": 100,)";
  for (const char* gap : {"1.0", "-0.1"}) {
    EXPECT_EQ(code_of(std::string(kTolerance) + R"("timed_token_near_tie_relative_gap": )" + gap),
              "CONTRACT-VALUE-INVALID");
  }
  EXPECT_EQ(code_of(std::string(kTolerance) + R"("timed_token_near_tie_relative_gap": 0.0)"),
            "accepted");
  EXPECT_EQ(code_of(R"("timed_token_tolerance_per_thousand": 1000)"), "accepted");
}

TEST(Contract, FirstViolationWinsInTheCertificationOrder) {
  // Each adjacent pair of the order, both broken: the earlier one is reported.
  const std::vector<std::pair<std::string, std::string>> order{
      {"decode_speedup_floor", "0"},
      {"prefill_speedup_floor", "0"},
      {"official_pairs", "0"},
      {"timed_token_tolerance_per_thousand", "1001"},
      {"timed_token_near_tie_relative_gap", "1.5"},
      {"scored_batch_size", "0"},
      {"prefill_gain_exponent", "-1"},
      {"official_baseline_prefill_seconds_per_token", "0"},
      {"prefill_band_up_tolerance", "-1"},
      {"score_decode_weight", "-1"},
      {"correctness_steps", "0"},
      {"vocab_size", "0"}};
  for (size_t i = 0; i + 1 < order.size(); ++i) {
    Value document = full();
    document.set("timed_token_tolerance_per_thousand", 100);
    // The later defect first in the file: source order must not matter.
    document.set(order[i + 1].first, Value::number(order[i + 1].second));
    document.set(order[i].first, Value::number(order[i].second));
    const auto contract = parse_contract(json::write(document));
    ASSERT_FALSE(contract);
    EXPECT_NE(contract.refusal().detail.find("`" + order[i].first + "`"), std::string::npos)
        << contract.refusal().detail;
  }
}

TEST(Contract, MessagesNameTheTrack) {
  EXPECT_NE(detail_of(R"("official_pairs": 0)").find("<no declared track_id>"), std::string::npos);
  EXPECT_NE(detail_of(R"("track_id": "  t-cpu-v1 ", "official_pairs": 0)").find("track t-cpu-v1:"),
            std::string::npos);
}

TEST(Contract, WeightsAreFiniteAndNotBothZero) {
  EXPECT_EQ(code_of(R"("score_decode_weight": 0, "score_prefill_weight": 0)"),
            "CONTRACT-VALUE-INVALID");
  EXPECT_EQ(code_of(R"("score_decode_weight": 0, "score_prefill_weight": 1)"), "accepted");
  EXPECT_EQ(code_of(R"("score_decode_weight": 1e308, "score_prefill_weight": 1e308)"),
            "CONTRACT-VALUE-INVALID");
}

TEST(Contract, AllowedModes) {
  EXPECT_EQ(parsed("").allowed_modes, (std::vector<std::string>{"serial", "mtp"}));
  EXPECT_EQ(parsed(R"("allowed_modes": ["mtp"])").allowed_modes, std::vector<std::string>{"mtp"});
  EXPECT_EQ(code_of(R"("allowed_modes": [])"), "CONTRACT-ALLOWED-MODES-EMPTY");
  EXPECT_EQ(code_of(R"("allowed_modes": [1])"), "JSON-TYPE");
}

TEST(Contract, PairRules) {
  EXPECT_EQ(parsed("").official_pair_combine, PairCombine::lower_median);
  EXPECT_EQ(parsed(R"("official_pair_combine": "mean")").official_pair_combine, PairCombine::mean);
  EXPECT_EQ(parsed(R"("official_pair_combine": "ratio_of_sums")").official_pair_combine,
            PairCombine::ratio_of_sums);
  EXPECT_EQ(code_of(R"("official_pair_combine": "median")"), "CONTRACT-PAIR-COMBINE-UNKNOWN");
  EXPECT_EQ(parsed("").official_pair_order, PairOrder::control_first);
  EXPECT_EQ(parsed(R"("official_pair_order": "counterbalanced")").official_pair_order,
            PairOrder::counterbalanced);
  EXPECT_EQ(code_of(R"("official_pair_order": "abba")"), "CONTRACT-PAIR-ORDER-UNKNOWN");
  // C K K C C K K C: control first in pairs 1, 3, 5 …
  EXPECT_TRUE(control_runs_first(PairOrder::counterbalanced, 1));
  EXPECT_FALSE(control_runs_first(PairOrder::counterbalanced, 2));
  EXPECT_TRUE(control_runs_first(PairOrder::counterbalanced, 3));
  EXPECT_TRUE(control_runs_first(PairOrder::control_first, 2));
}

TEST(Contract, WindowShapeCountsTimedRuns) {
  EXPECT_EQ(parse_contract(json::write(full()))->window_shape->official_prefill_timed_runs, 1u);
  EXPECT_EQ(parse_contract(replaced("official_prefill_timed_runs", 3))
                ->window_shape->official_prefill_timed_runs,
            3u);
  // Without the four window values it is a half-declared window.
  EXPECT_EQ(code_of(R"("official_prefill_timed_runs": 3)"), "CONTRACT-FIELD-MISSING");
}

TEST(Contract, OwnKeys) {
  const Contract plain = parsed("");
  EXPECT_EQ(plain.calibration_cv_max, 0.01);
  EXPECT_EQ(plain.quiescence.load_max, 2.0);
  EXPECT_EQ(plain.quiescence.gpu_max, 0.10);
  EXPECT_EQ(plain.quiescence.timeout_seconds, 900.0);
  EXPECT_EQ(plain.cool_limit_c, std::nullopt);
  EXPECT_EQ(plain.thermal_reader, std::nullopt);
  const Contract ours = parsed(
      R"("calibration_cv_max":0.15,"quiescence":{"load_max":4,"timeout_seconds":60},
         "cool_limit_c":55,"thermal_reader":false)");
  EXPECT_EQ(ours.calibration_cv_max, 0.15);
  EXPECT_EQ(ours.quiescence.load_max, 4.0);
  EXPECT_EQ(ours.quiescence.gpu_max, 0.10);
  EXPECT_EQ(ours.quiescence.timeout_seconds, 60.0);
  EXPECT_EQ(ours.cool_limit_c, 55.0);
  EXPECT_EQ(ours.thermal_reader, false);
  EXPECT_EQ(code_of(R"("quiescence": {"load_maximum": 4})"), "JSON-UNKNOWN-KEY");
  EXPECT_EQ(code_of(R"("quiescence": {"load_max": 0})"), "CONTRACT-VALUE-INVALID");
  EXPECT_EQ(code_of(R"("quiescence": 3)"), "JSON-TYPE");
}

TEST(Contract, UnknownKeysAreIgnoredAndKept) {
  const Contract contract = parsed(R"("runner": {"x": [1]}, "schema_version": "any")");
  EXPECT_NE(contract.document.find("runner"), nullptr);
}

TEST(Contract, DigestIsOfTheExactBytes) {
  const auto contract = parse_contract(R"({"track_id":"t","official_scoring_enabled":true})");
  EXPECT_EQ(contract->sha256, "973ac90ba790775b25f09712e1e9ba8d35feee3ef251a242e1bf23943fb1eff4");
  const auto spaced = parse_contract(R"({"track_id":"t","official_scoring_enabled":true} )");
  EXPECT_NE(spaced->sha256, contract->sha256);
}

TEST(Contract, ResolversRefuseByName) {
  const Contract none = parsed(R"("track_id": "t-cpu-v1")");
  EXPECT_EQ(resolve_scored_regime(none).refusal().code, "SCORED-REGIME-PENDING-DECLARATION");
  EXPECT_EQ(resolve_official_baseline(none).refusal().code, "OFFICIAL-BASELINE-PENDING-CAPTURE");
  EXPECT_EQ(resolve_acceptance_bands(none).refusal().code, "ACCEPTANCE-BANDS-UNDECLARED-FOR-TRACK");
  EXPECT_EQ(resolve_window_shape(none).refusal().code, "WINDOW-SHAPE-UNDECLARED-FOR-TRACK");
  EXPECT_EQ(resolve_model_shape(none).refusal().code, "MODEL-IDENTITY-UNDECLARED-FOR-TRACK");
  const auto names = [](const auto& result, std::initializer_list<const char*> keys) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.refusal().code, "CONTRACT-KEY-UNDECLARED");
    for (const char* key : keys) {
      EXPECT_NE(result.refusal().detail.find(key), std::string::npos) << result.refusal().detail;
    }
  };
  names(resolve_live_control_leg(none), {"scores_against_live_control_leg"});
  names(resolve_paired_flow_retired(none), {"paired_flow_retired"});
  names(resolve_scoring_weights(none), {"score_decode_weight", "score_prefill_weight"});
  names(resolve_official_pairs(none), {"official_pairs"});
  names(resolve_speedup_floors(none), {"decode_speedup_floor"});
  names(resolve_speedup_floors(parsed(R"("decode_speedup_floor": 0.9)")),
        {"prefill_speedup_floor"});
}

TEST(Contract, AStoredPairWithoutBandsRefuses) {
  const Contract pair = parsed(
      R"("official_baseline_prefill_seconds_per_token":0.1,"official_baseline_decode_seconds_per_token":0.2)");
  EXPECT_EQ(resolve_official_baseline(pair).refusal().code,
            "ACCEPTANCE-BANDS-UNDECLARED-FOR-TRACK");
  const auto whole = resolve_official_baseline(*parse_contract(json::write(full())));
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->pair.decode_seconds_per_token, 0.033);
  EXPECT_EQ(whole->bands.decode_up_tolerance, 0.02);
}

TEST(Contract, ArmGate) {
  const Contract armed = parsed(R"("official_scoring_enabled": true)");
  const Contract disarmed = parsed(R"("track_id":"t-v1","official_scoring_enabled": false)");
  const Contract silent = parsed(R"("track_id":"t-v1")");
  EXPECT_TRUE(arm_gate(true, armed));
  for (const Contract* contract : {&armed, &disarmed, &silent}) {
    EXPECT_TRUE(arm_gate(false, *contract));
  }
  const Status off = arm_gate(true, disarmed);
  const Status absent = arm_gate(true, silent);
  ASSERT_FALSE(off);
  ASSERT_FALSE(absent);
  EXPECT_EQ(off.refusal().code, "OFFICIAL-SCORING-DISARMED");
  EXPECT_EQ(absent.refusal().code, "OFFICIAL-SCORING-NO-ARM-STATE");
  EXPECT_NE(off.refusal().detail, absent.refusal().detail);
  EXPECT_NE(off.refusal().detail.find("declares the track unarmed"), std::string::npos);
  EXPECT_NE(absent.refusal().detail.find("declares no arm state"), std::string::npos);
  for (const Status* status : {&off, &absent}) {
    for (const char* part : {"official scoring is not enabled for this track",
                             "official_scoring_enabled", "t-v1", "--local-dev"}) {
      EXPECT_NE(status->refusal().detail.find(part), std::string::npos) << part;
    }
  }
}

TEST(Contract, PlatformIsTheSecondLastPartOfTheTrackId) {
  EXPECT_EQ(*platform_of_track("qwen3.8-125b-a6b-cuda-v12"), Platform::cuda);
  EXPECT_EQ(*platform_of_track(" qwen3.8-125b-a6b-mlx-v1 "), Platform::mlx);
  EXPECT_EQ(*platform_of_track("smollm2-135m-cpu-v1"), Platform::cpu);
  for (const char* id : {"", "qwen3.8-125b-a6b-v1", "qwen3.8-125b-a6b-spark-v1",
                         "qwen3.8-125b-a6b-mlx", "qwen3.8-125b-a6b-mlx-v",
                         "qwen3.8-125b-a6b-mlx-vX", "gemma4-26b-a4b-MLX-v1", "v1", "cuda"}) {
    const auto platform = platform_of_track(id);
    ASSERT_FALSE(platform) << id;
    EXPECT_EQ(platform.refusal().code, "TRACK-PLATFORM-UNKNOWN");
  }
  EXPECT_EQ(platform_cool_limit_c(Platform::mlx), 40.0);
  EXPECT_EQ(platform_cool_limit_c(Platform::cuda), 60.0);
  EXPECT_EQ(platform_cool_limit_c(Platform::cpu), std::nullopt);
}

TEST(Contract, TrackIdOfARun) {
  const Contract contract = parsed(R"("track_id": "a-cpu-v1")");
  EXPECT_EQ(*resolve_track_id(contract, std::nullopt, std::nullopt), "a-cpu-v1");
  EXPECT_EQ(*resolve_track_id(contract, " a-cpu-v1 ", "a-cpu-v1"), "a-cpu-v1");
  EXPECT_EQ(*resolve_track_id(parsed(""), std::nullopt, "b-cpu-v1"), "b-cpu-v1");
  EXPECT_EQ(resolve_track_id(contract, "b-cpu-v1", std::nullopt).refusal().code,
            "TRACK-ID-MISMATCH");
  EXPECT_EQ(resolve_track_id(contract, std::nullopt, "b-cpu-v1").refusal().code,
            "TRACK-ID-MISMATCH");
  EXPECT_EQ(resolve_track_id(parsed(""), " ", std::nullopt).refusal().code, "TRACK-ID-UNRESOLVED");
}

TEST(Contract, ReferenceModelPin) {
  const auto pin = [](std::string_view members) {
    return resolve_reference_model_pin(parsed(members));
  };
  const std::string revision(40, 'a');
  EXPECT_EQ(*pin(""), std::nullopt);
  const auto whole = pin(R"("target":{"upstream_model_id":"o/m","upstream_revision":")" + revision +
                         R"(","files":[]})");
  ASSERT_TRUE(whole);
  EXPECT_EQ((*whole)->repository, "o/m");
  for (const std::string& target :
       {std::string("null"), std::string("[]"), std::string("{}"),
        R"({"upstream_model_id":"o/m"})" + std::string(),
        R"({"upstream_revision":")" + revision + "\"}",
        R"({"upstream_model_id":"o/m","upstream_revision":null})" + std::string(),
        R"({"upstream_model_id":"","upstream_revision":")" + revision + "\"}",
        R"({"upstream_model_id":" o/m","upstream_revision":")" + revision + "\"}",
        R"({"upstream_model_id":1,"upstream_revision":")" + revision + "\"}",
        std::string(R"({"upstream_model_id":"o/m","upstream_revision":"PENDING"})")}) {
    const auto refused = pin("\"target\":" + target);
    ASSERT_FALSE(refused) << target;
    EXPECT_EQ(refused.refusal().code, "CONTRACT-TARGET-INVALID");
  }
  EXPECT_NE(pin(R"("target":{"upstream_model_id":"o/m","upstream_revision":"PENDING"})")
                .refusal()
                .detail.find("contract defect"),
            std::string::npos);
}

TEST(Contract, HiddenGoldenPin) {
  const auto pin = [](std::string_view value) {
    return resolve_hidden_golden_pin(parsed("\"hidden_correctness_golden\":" + std::string(value)));
  };
  const std::string hex(64, 'b');
  EXPECT_EQ(*resolve_hidden_golden_pin(parsed("")), std::nullopt);
  EXPECT_EQ((*pin(R"({"sha256":")" + hex + R"(","bytes":9})"))->bytes, 9u);
  for (const std::string& value :
       {std::string("null"), std::string("{}"), R"({"sha256":")" + hex + "\"}",
        std::string(R"({"bytes":9})"), R"({"sha256":")" + hex + R"(","bytes":0})",
        R"({"sha256":")" + hex + R"(","bytes":"9"})",
        std::string(R"({"sha256":"xyz","bytes":9})")}) {
    const auto refused = pin(value);
    ASSERT_FALSE(refused) << value;
    EXPECT_EQ(refused.refusal().code, "CONTRACT-HIDDEN-GOLDEN-INVALID");
  }
}

TEST(Contract, PermittedDraftDepths) {
  EXPECT_EQ(*resolve_permitted_draft_depths(parsed("")), std::nullopt);
  EXPECT_EQ(
      **resolve_permitted_draft_depths(parsed(R"("mtp_head": {"permitted_draft_depths": [1, 3]})")),
      (std::vector<uint32_t>{1, 3}));
  for (const char* list : {"[]", "[0]", "[33]"}) {
    EXPECT_EQ(resolve_permitted_draft_depths(
                  parsed(R"("mtp_head": {"permitted_draft_depths": )" + std::string(list) + "}"))
                  .refusal()
                  .code,
              "CONTRACT-VALUE-INVALID");
  }
}

TEST(Contract, RetiredPairedFlow) {
  EXPECT_TRUE(refuse_retired_paired_flow(parsed(R"("paired_flow_retired": false)")));
  EXPECT_EQ(refuse_retired_paired_flow(parsed(R"("paired_flow_retired": true)")).refusal().code,
            "PAIRED-FLOW-RETIRED-FOR-TRACK");
  EXPECT_EQ(refuse_retired_paired_flow(parsed("")).refusal().code, "CONTRACT-KEY-UNDECLARED");
}

TEST(Contract, FeaturesOfLaterVersionsParseAndAreRefusedByName) {
  const std::vector<std::pair<std::string, std::string>> later{
      {R"("scored_batch_size": 8)", "scored_batch_size"},
      {R"("scored_batch_size":1,"prefill_gain_exponent":0.25,"decode_gain_exponent":0.75)",
       "prefill_gain_exponent"},
      {R"("scored_batch_size":1,"prefill_gain_exponent":0,"decode_gain_exponent":1)",
       "decode_gain_exponent"},
      {R"("timed_token_tolerance_per_thousand": 100)", "timed_token_tolerance_per_thousand"},
      {R"("timed_prompt_pool": [{"sha256": "aa"}])", "timed_prompt_pool"}};
  for (const auto& [members, key] : later) {
    const Status refused = refuse_unsupported(parsed(members));
    ASSERT_FALSE(refused) << members;
    EXPECT_EQ(refused.refusal().code, "CONTRACT-FEATURE-NOT-SUPPORTED");
    EXPECT_NE(refused.refusal().detail.find("`" + key + "`"), std::string::npos);
  }
  EXPECT_TRUE(refuse_unsupported(parsed(R"("scored_batch_size": 1, "timed_prompt_pool": [])")));
}

// --- published samples

Contract sample(const std::string& name) {
  const std::filesystem::path path =
      std::filesystem::path(ASSAY_SOURCE_DIR) / "../shared/samples/scoring" / name;
  if (!std::filesystem::exists(path)) return {};
  const auto bytes = read_file(path);
  auto contract = parse_contract(*bytes);
  EXPECT_TRUE(contract) << contract.refusal().text();
  return *std::move(contract);
}
std::map<std::string, std::string> sources(const Contract* contract) {
  std::map<std::string, std::string> out;
  for (const auto& [key, source] : contract_sources(contract)) {
    out[std::string(key)] = std::string(source);
  }
  return out;
}

TEST(ContractSamples, SourcesOfThePublishedFixtures) {
  const Contract live = sample("contract_125b_cuda_live_control.json");
  if (live.sha256.empty()) GTEST_SKIP() << "../shared/samples/scoring is missing";
  auto expected = sources(nullptr);
  EXPECT_EQ(expected.size(), 8u);
  for (auto& [key, source] : expected) {
    EXPECT_EQ(source, "device");
    if (key != "scored_regime" && key != "official_baseline") source = "contract";
  }
  EXPECT_EQ(sources(&live), expected);
  EXPECT_EQ(live.scoring_weights->decode, 0.75);
  EXPECT_EQ(live.window_shape->local_submit_benchmark_decode_steps, 1023u);

  const Contract stored = sample("contract_27b_stored_pair.json");
  for (auto& [key, source] : expected) source = key == "window_shape" ? "device" : "contract";
  EXPECT_EQ(sources(&stored), expected);
  EXPECT_EQ(resolve_window_shape(stored).refusal().code, "WINDOW-SHAPE-UNDECLARED-FOR-TRACK");
  EXPECT_EQ(stored.scored_regime->decode_gain_exponent, 1.0);

  const Contract cohort = sample("contract_b8_cohort.json");
  for (auto& [key, source] : expected) source = "contract";
  EXPECT_EQ(sources(&cohort), expected);
  EXPECT_EQ(cohort.scored_regime->batch_size, 8u);
  EXPECT_FALSE(refuse_unsupported(cohort));
}

}  // namespace
}  // namespace assay::scoring
