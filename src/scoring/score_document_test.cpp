#include "scoring/score_document.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "scoring/score_fixture.h"

namespace assay::scoring {
namespace {

using json::Value;

std::set<std::string> keys_of(const Value& object) {
  std::set<std::string> out;
  for (const auto& member : object.members()) out.insert(member.first);
  return out;
}
std::set<std::string> strings(const std::vector<std::string_view>& list) {
  return {list.begin(), list.end()};
}

// The 56 names as the format document lists them, written here a second time on purpose.
const std::set<std::string> kAlwaysPresent{"peak_ram_gb",
                                           "bandwidth_gb_per_token",
                                           "decode_seconds_per_token",
                                           "prefill_seconds_per_token",
                                           "baseline_decode_seconds_per_token",
                                           "baseline_prefill_seconds_per_token",
                                           "decode_speedup",
                                           "prefill_speedup",
                                           "decode_speedup_floor",
                                           "prefill_speedup_floor",
                                           "benchmark_wall_seconds",
                                           "preflight_seconds",
                                           "correctness_seconds",
                                           "timed_benchmark_seconds",
                                           "gpqa_ttft_seconds",
                                           "gpqa_ttft_p50_seconds",
                                           "gpqa_ttft_max_seconds",
                                           "process_resident_memory_gb",
                                           "expert_read_seconds",
                                           "expert_hit_rate",
                                           "max_abs_diff",
                                           "gpqa_ttft_pass_count",
                                           "gpqa_ttft_case_count",
                                           "semantic_gpqa_pass_count",
                                           "semantic_gpqa_case_count",
                                           "num_layers",
                                           "checked_steps",
                                           "case_count",
                                           "expert_cache_hits",
                                           "expert_cache_misses",
                                           "expert_cache_evictions",
                                           "expert_bytes_read",
                                           "expert_peak_cached_tensors",
                                           "weights_byte_count",
                                           "weights_file_count",
                                           "passed_decode_speedup_floor",
                                           "passed_prefill_speedup_floor",
                                           "passed_correctness",
                                           "partial_result",
                                           "gpqa_ttft_passed",
                                           "semantic_gpqa_passed",
                                           "gpqa_ttft_source",
                                           "semantic_gpqa_model",
                                           "bandwidth_source",
                                           "golden_hash",
                                           "error",
                                           "commit",
                                           "timestamp",
                                           "harness_hash",
                                           "weights_hash",
                                           "runtime",
                                           "first_failing_layer",
                                           "first_failing_case",
                                           "first_failing_step",
                                           "expected_token",
                                           "actual_token"};

TEST(ScoreDocument, AnEmptyDocumentHasExactlyTheAlwaysPresentKeys) {
  const Value written = to_json(ScoreDocument{});
  EXPECT_EQ(keys_of(written), (std::set<std::string>{"metrics", "passed", "score"}));
  EXPECT_TRUE(written.find("score")->is_null());
  EXPECT_EQ(kAlwaysPresent.size(), 56u);
  EXPECT_EQ(keys_of(*written.find("metrics")), kAlwaysPresent);
  EXPECT_EQ(strings(always_present_metrics()), kAlwaysPresent);
  std::set<std::string> nulls;
  for (const auto& [key, value] : written.find("metrics")->members()) {
    if (value.is_null()) nulls.insert(key);
  }
  EXPECT_EQ(nulls, (std::set<std::string>{"first_failing_layer", "first_failing_case",
                                          "first_failing_step", "expected_token", "actual_token"}));
}

TEST(ScoreDocument, AFullDocumentHasEveryKeyAndReadsBack) {
  const ScoreDocument full = every_metric_set();
  const Value written = to_json(full);
  std::set<std::string> all = kAlwaysPresent;
  for (const std::string_view key : optional_metrics()) {
    EXPECT_TRUE(all.insert(std::string(key)).second) << key;
  }
  EXPECT_EQ(keys_of(*written.find("metrics")), all);
  const auto read = read_score_document(written);
  ASSERT_TRUE(read) << read.refusal().text();
  EXPECT_EQ(json::write(to_json(*read)), json::write(written));
}

TEST(ScoreDocument, RowsWriteTokenFieldsAsNullAndOmitOptionalOnes) {
  ScoreDocument document;
  PairedLeg row;
  row.pair = 1;
  document.metrics.paired_legs = {row};
  document.metrics.per_prompt = {PerPrompt{"aa", 1.0, 0.02, {}, {}, {}, {}}};
  const Value written = to_json(document);
  const Value& metrics = *written.find("metrics");
  const Value& leg = metrics.find("paired_legs")->items()[0];
  for (const char* key :
       {"token_mismatch_count", "token_mismatch_first_step", "token_mismatch_near_tie_count",
        "token_mismatch_second_choice_count", "token_mismatch_second_choice_max_relative_gap"}) {
    ASSERT_NE(leg.find(key), nullptr) << key;
    EXPECT_TRUE(leg.find(key)->is_null());
  }
  EXPECT_EQ(leg.find("control_seed_prefill_window_seconds_per_token"), nullptr);
  EXPECT_EQ(keys_of(metrics.find("per_prompt")->items()[0]),
            (std::set<std::string>{"prompt_sha256", "effective_mean_draft_len",
                                   "mtp_seconds_per_token_mean"}));
}

TEST(ScoreDocument, ReadingIsClosedAndTyped) {
  const auto code = [](auto&& change) {
    Value document = to_json(every_metric_set());
    change(document);
    const auto read = read_score_document(document);
    return read ? "accepted" : std::string(read.refusal().code);
  };
  const auto set = [&](std::string_view key, Value value) {
    return code([&](Value& d) { d.find("metrics")->set(key, value); });
  };
  EXPECT_EQ(set("unknown_metric", 1), "SCORE-DOCUMENT-INVALID");
  EXPECT_EQ(code([](Value& d) { d.set("extra", 1); }), "JSON-UNKNOWN-KEY");
  EXPECT_EQ(code([](Value& d) {
              std::erase_if(d.find("metrics")->members(),
                            [](const json::Member& m) { return m.first == "num_layers"; });
            }),
            "JSON-MISSING-KEY");
  EXPECT_EQ(set("num_layers", Value::number("3.0")), "JSON-TYPE");
  EXPECT_EQ(set("num_layers", -1), "JSON-RANGE");
  EXPECT_EQ(set("decode_speedup", Value()), "JSON-TYPE");
  EXPECT_EQ(set("passed_correctness", 1), "JSON-TYPE");
  EXPECT_EQ(set("error", Value()), "JSON-TYPE");
  EXPECT_EQ(set("first_failing_case", 3), "JSON-TYPE");
  EXPECT_EQ(set("paired_legs", Value::object()), "JSON-TYPE");
  EXPECT_EQ(set("contract_sources", Value::object({{"scored_regime", "device"}})),
            "SCORE-DOCUMENT-INVALID");
  EXPECT_EQ(code([](Value& d) {
              d.find("metrics")->find("contract_sources")->set("scored_regime", "guess");
            }),
            "SCORE-DOCUMENT-INVALID");
  EXPECT_EQ(code([](Value& d) {
              d.find("metrics")->find("gates")->items()[0].find("cool")->set("state", "hot");
            }),
            "GATE-RECORD-INVALID");
  EXPECT_EQ(code([](Value& d) { d.set("score", "1"); }), "JSON-TYPE");
  EXPECT_EQ(code([](Value& d) { d.set("passed", Value()); }), "JSON-TYPE");
}

TEST(Coarsening, TwoSignificantFiguresCorrectlyRounded) {
  EXPECT_EQ(coarsen(20.25), 20.0);
  EXPECT_EQ(coarsen(0.0106), 0.011);
  EXPECT_EQ(coarsen(0.384), 0.38);
  EXPECT_EQ(coarsen(-0.0106), -0.011);
  EXPECT_EQ(coarsen(99.5), 100.0);  // 9.95e1 is exact in binary: half to even gives 1.0e2
  EXPECT_EQ(coarsen(0.0), 0.0);
  EXPECT_EQ(coarsen(1e-320), 1e-320);
  EXPECT_TRUE(std::isnan(coarsen(std::nan(""))));
  EXPECT_EQ(coarsen(std::numeric_limits<double>::infinity()),
            std::numeric_limits<double>::infinity());
}

TEST(Coarsening, OnlyDiagnosticsAndNeverBelowWhatTheyContain) {
  ScoreDocument document;
  Metrics& m = document.metrics;
  m.decode_seconds_per_token = 0.0329123;
  m.weights_byte_count = 123456789;
  m.timed_benchmark_seconds = 12.6;
  m.benchmark_wall_seconds = 12.4;
  m.gpqa_ttft_p50_seconds = 0.0256;
  m.gpqa_ttft_max_seconds = 0.0254;
  m.peak_ram_gb = 1.2345;
  const Metrics c = coarsened(document).metrics;
  EXPECT_EQ(c.decode_seconds_per_token, 0.0329123);
  EXPECT_EQ(c.weights_byte_count, 123456789u);
  EXPECT_EQ(c.timed_benchmark_seconds, 13.0);
  EXPECT_EQ(c.benchmark_wall_seconds, 13.0);  // 12 alone, never below the timed part
  EXPECT_EQ(c.gpqa_ttft_max_seconds, 0.026);
  EXPECT_EQ(c.peak_ram_gb, 1.2);
}

TEST(FiniteNonneg, Guards) {
  EXPECT_EQ(finite_nonneg(1.5), 1.5);
  EXPECT_EQ(finite_nonneg(-1.5), 0.0);
  EXPECT_EQ(finite_nonneg(std::nan("")), 0.0);
  EXPECT_EQ(finite_nonneg(std::numeric_limits<double>::infinity()), 0.0);
}

TEST(Compose, PairedRunCarriesItsTermsAndRows) {
  const ScoreDocument document = sealed_pairs(PairCombine::lower_median);
  const Metrics& m = document.metrics;
  EXPECT_EQ(document.score, 1.372036828843042);
  EXPECT_TRUE(document.passed);
  EXPECT_EQ(m.error, "");
  EXPECT_EQ(m.decode_seconds_per_token, 0.0220);
  EXPECT_EQ(m.baseline_decode_seconds_per_token, 0.0330);
  EXPECT_EQ(m.candidate_leg_decode_window_seconds_per_token, 0.0220);
  EXPECT_EQ(m.baseline_leg_prefill_seconds_per_token, 0.00063);
  EXPECT_EQ(m.decode_speedup, 1.5000000000000002);
  EXPECT_EQ(m.decode_speedup_floor, 0.95);
  EXPECT_TRUE(m.passed_decode_speedup_floor && m.passed_prefill_speedup_floor);
  EXPECT_EQ(m.baseline_source, "serial-control-leg");
  EXPECT_EQ(m.official_pair_combine, "lower_median");
  EXPECT_EQ(m.official_pair_order, "control_first");
  EXPECT_EQ(m.score_decode_weight, 0.75);
  EXPECT_EQ(m.paired_legs->size(), 3u);
  EXPECT_EQ(m.uncertainty->pairs, 3u);
}

TEST(Compose, AFailedGateKeepsTheFiguresAndHasNoScore) {
  auto pairs = worked_pairs();
  for (MeasuredPair& pair : pairs) pair.candidate.decode.value = 0.05;
  const ScoreDocument document = sealed_pairs(PairCombine::lower_median, pairs);
  EXPECT_EQ(document.score, std::nullopt);
  EXPECT_FALSE(document.passed);
  EXPECT_EQ(document.metrics.error.find("performance floor failed:"), 0u);
  EXPECT_EQ(document.metrics.decode_seconds_per_token, 0.05);
  EXPECT_FALSE(document.metrics.passed_decode_speedup_floor);
  EXPECT_EQ(document.metrics.golden_hash, "");
}

TEST(Compose, ARefusalBetweenPairsKeepsTheRowsOnly) {
  ScoreDocument document;
  auto pairs = worked_pairs();
  pairs.pop_back();
  set_paired_refusal(document, pairs, worked_terms(PairCombine::mean), PairOrder::control_first,
                     "SERIAL-CONTROL-LEG-FAILED: pair 3 of 3");
  EXPECT_EQ(document.metrics.paired_legs->size(), 2u);
  EXPECT_EQ(document.metrics.decode_seconds_per_token, 0.0);
  EXPECT_EQ(document.score, std::nullopt);
  EXPECT_FALSE(document.passed);
}

TEST(Compose, UnscoredLocalRun) {
  ScoreDocument document;
  set_unscored(document, {{0.0006}, {0.02}, SecondsPerToken{0.0007}});
  EXPECT_EQ(document.score, std::nullopt);
  EXPECT_EQ(document.metrics.error, "");
  EXPECT_EQ(document.metrics.baseline_source, "none (local mode: unscored)");
  EXPECT_EQ(document.metrics.decode_seconds_per_token, 0.02);
  EXPECT_EQ(document.metrics.baseline_decode_seconds_per_token, 0.0);
  EXPECT_EQ(document.metrics.candidate_leg_seed_prefill_window_seconds_per_token, 0.0007);
}

TEST(Compose, ContractFacts) {
  const auto contract = parse_contract(
      R"({"track_id":"t-cpu-v1","track_name":"T","official_pairs":4,"decode_speedup_floor":0.9,
          "target":{"upstream_model_id":"o/m"},"vocab_size":10,"num_hidden_layers":30,
          "seed_tokens":512,"golden_model_type":"llama"})");
  ASSERT_TRUE(contract);
  Metrics m;
  set_contract(m, *contract);
  EXPECT_EQ(m.contract_sha256, contract->sha256);
  EXPECT_EQ(m.track_id, "t-cpu-v1");
  EXPECT_EQ(m.model_id, "o/m");
  EXPECT_EQ(m.official_pairs, 4u);
  EXPECT_EQ(m.seed_tokens, 512u);
  EXPECT_EQ(m.num_layers, 30u);
  EXPECT_EQ(m.decode_speedup_floor, 0.9);
  EXPECT_EQ(m.prefill_speedup_floor, 0.0);
  EXPECT_EQ(m.contract_sources->size(), 8u);
  EXPECT_EQ(model_id_of(*parse_contract(R"({"track_id":"t-cpu-v1"})")), "t-cpu-v1");
}

}  // namespace
}  // namespace assay::scoring
