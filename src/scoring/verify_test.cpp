#include "scoring/verify.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "base/sha256.h"
#include "scoring/score_fixture.h"

namespace assay::scoring {
namespace {

using json::Value;

Integrity integrity() {
  Integrity out;
  out.score_path = "out/score.json";
  out.candidate_executable_resolution = "canonical";
  out.golden_sha256 = std::string(64, 'c');
  out.sandbox = "none (linux)";
  return out;
}
SealedFiles files_of(const SealedScore& sealed) {
  return {sealed.score, sealed.score_sidecar.bytes, sealed.integrity,
          sealed.integrity_sidecar.bytes, std::nullopt};
}
SealedFiles sealed(const ScoreDocument& document) {
  return files_of(seal(document, integrity(), "score.json", "benchmark-integrity.json"));
}
// Seals whatever document is given, as a forger who can compute digests would.
SealedFiles forged(const Value& document, Integrity facts = integrity()) {
  const auto read = read_score_document(document);
  EXPECT_TRUE(read) << read.refusal().text();
  return files_of(seal(*read, std::move(facts), "score.json", "benchmark-integrity.json"));
}
std::string text_of(const std::vector<Refusal>& problems) {
  std::string out;
  for (const Refusal& problem : problems) out += problem.text() + "\n";
  return out;
}
bool has_code(const std::vector<Refusal>& problems, std::string_view code) {
  for (const Refusal& problem : problems) {
    if (problem.code == code) return true;
  }
  return false;
}

TEST(Verify, SealedRunsOfEveryRuleHold) {
  for (const PairCombine rule :
       {PairCombine::lower_median, PairCombine::mean, PairCombine::ratio_of_sums}) {
    for (const PairOrder order : {PairOrder::control_first, PairOrder::counterbalanced}) {
      const auto problems = verify_seal(sealed(sealed_pairs(rule, worked_pairs(), order)));
      EXPECT_TRUE(problems.empty()) << text_of(problems);
    }
  }
  const auto problems = verify_seal(sealed([] {
    ScoreDocument full = every_metric_set();
    full.metrics.first_failing_case.reset();
    return full;
  }()));
  EXPECT_TRUE(problems.empty()) << text_of(problems);
}

TEST(Verify, FailedRefusedAndUnscoredRunsHold) {
  auto slow = worked_pairs();
  for (MeasuredPair& pair : slow) pair.candidate.decode.value = 0.05;
  for (const PairCombine rule :
       {PairCombine::lower_median, PairCombine::mean, PairCombine::ratio_of_sums}) {
    EXPECT_EQ(text_of(verify_seal(sealed(sealed_pairs(rule, slow)))), "");
  }
  // Correctness failed after the gates had passed.
  ScoreDocument wrong = sealed_pairs(PairCombine::mean);
  wrong.score.reset();
  wrong.passed = false;
  wrong.metrics.passed_correctness = false;
  wrong.metrics.error = "teacher-forced token mismatch";
  EXPECT_EQ(text_of(verify_seal(sealed(wrong))), "");
  // Refused in the third pair; what was measured would have failed a floor.
  slow.pop_back();
  ScoreDocument partial = sealed_pairs(PairCombine::mean, slow);
  partial.metrics.error = "SERIAL-CONTROL-LEG-FAILED: pair 3 of 3: ENGINE: died";
  EXPECT_EQ(text_of(verify_seal(sealed(partial))), "");
  ScoreDocument rows_only;
  set_paired_refusal(rows_only, slow, worked_terms(PairCombine::mean), PairOrder::control_first,
                     "SERIAL-CONTROL-LEG-FAILED: pair 3 of 3: ENGINE: died");
  EXPECT_EQ(text_of(verify_seal(sealed(rows_only))), "");
  ScoreDocument unscored;
  set_unscored(unscored, {{0.0006}, {0.02}, std::nullopt});
  unscored.passed = unscored.metrics.passed_correctness = true;
  unscored.metrics.golden_hash = std::string(64, 'c');
  EXPECT_EQ(text_of(verify_seal(sealed(unscored))), "");
}

TEST(Verify, ASingleLegAgainstAStoredPairHolds) {
  const TimedTerms terms = worked_terms(PairCombine::mean).timed;
  const LegFigures base{{0.00063}, {0.033}, std::nullopt};
  const LegFigures candidate{{0.00060}, {0.022}, SecondsPerToken{0.0007}};
  ScoreDocument document;
  set_stored_pair(document, base, candidate, evaluate_timed_run(base, candidate, terms), terms);
  document.metrics.passed_correctness = true;
  document.metrics.golden_hash = std::string(64, 'c');
  EXPECT_EQ(text_of(verify_seal(sealed(document))), "");
  Value changed = to_json(document);
  changed.set("score", 1.5);
  EXPECT_TRUE(has_code(verify_seal(forged(changed)), "SEAL-ARITHMETIC"));
}

TEST(Verify, EveryByteOfTheFourFilesCounts) {
  const SealedFiles good = sealed(sealed_pairs(PairCombine::lower_median));
  ASSERT_EQ(text_of(verify_seal(good)), "");
  SealedFiles changed = good;
  for (std::string* bytes : {&changed.score.bytes, &changed.score_sidecar, &changed.integrity.bytes,
                             &changed.integrity_sidecar}) {
    const std::string original = *bytes;
    for (size_t i = 0; i < original.size(); ++i) {
      (*bytes)[i] = static_cast<char>(original[i] ^ 1);
      EXPECT_FALSE(verify_seal(changed).empty()) << "byte " << i;
      *bytes = original;
    }
    for (const std::string& other : {original + "\n", original + " ", std::string(),
                                     original.substr(0, original.size() - 1)}) {
      *bytes = other;
      EXPECT_FALSE(verify_seal(changed).empty());
    }
    *bytes = original;
  }
}

TEST(Verify, SidecarsAreExactlyOneLineWithTheBareName) {
  const SealedFiles good = sealed(sealed_pairs(PairCombine::mean));
  const std::string hex = sha256_hex(good.score.bytes);
  const auto code = [&](std::string sidecar) {
    SealedFiles changed = good;
    changed.score_sidecar = std::move(sidecar);
    const auto problems = verify_seal(changed);
    return problems.empty() ? "" : std::string(problems.front().code);
  };
  EXPECT_EQ(code(hex + "  score.json\n"), "");
  EXPECT_EQ(code(hex + "  out/score.json\n"), "SEAL-SIDECAR");
  EXPECT_EQ(code(hex + " *score.json\n"), "SEAL-SIDECAR");
  EXPECT_EQ(code(hex + "  score.json"), "SEAL-SIDECAR");
  EXPECT_EQ(code(hex + "  score.json\n\n"), "SEAL-SIDECAR");
  EXPECT_EQ(code(""), "SEAL-SIDECAR");
  EXPECT_EQ(code(std::string(64, '0') + "  score.json\n"), "SEAL-DIGEST");
}

TEST(Verify, AForgerWithGoodDigestsIsFoundByTheArithmetic) {
  const Value good = to_json(sealed_pairs(PairCombine::lower_median));
  const auto problems_with = [&](auto&& change) {
    Value document = good;
    change(document, *document.find("metrics"));
    return verify_seal(forged(document));
  };
  const auto caught = [&](auto&& change) {
    return has_code(problems_with(change), "SEAL-ARITHMETIC");
  };
  EXPECT_TRUE(caught([](Value& d, Value&) { d.set("score", 1.4); }));
  EXPECT_TRUE(caught([](Value&, Value& m) { m.set("decode_speedup", 1.6); }));
  EXPECT_TRUE(caught([](Value&, Value& m) { m.set("prefill_speedup", 1.06); }));
  EXPECT_TRUE(caught([](Value&, Value& m) { m.set("decode_seconds_per_token", 0.0215); }));
  EXPECT_TRUE(caught([](Value&, Value& m) { m.set("baseline_decode_seconds_per_token", 0.034); }));
  EXPECT_TRUE(caught([](Value&, Value& m) { m.set("official_pair_combine", "mean"); }));
  EXPECT_TRUE(caught([](Value&, Value& m) { m.set("score_decode_weight", 0.5); }));
  EXPECT_TRUE(caught([](Value&, Value& m) { m.set("decode_speedup_floor", 1.6); }));
  EXPECT_TRUE(caught([](Value&, Value& m) { m.set("passed_decode_speedup_floor", false); }));
  EXPECT_TRUE(caught([](Value&, Value& m) { m.set("official_pairs", 4); }));
  EXPECT_TRUE(caught([](Value&, Value& m) {
    m.find("paired_legs")->items()[0].set("candidate_decode_seconds_per_token", 0.0221);
  }));
  EXPECT_TRUE(caught([](Value&, Value& m) { m.find("paired_legs")->items().pop_back(); }));
  EXPECT_TRUE(caught([](Value&, Value& m) { m.find("paired_legs")->items()[1].set("pair", 7); }));
  EXPECT_TRUE(caught([](Value&, Value& m) {
    m.find("paired_legs")->items()[0].set("candidate_decode_window_seconds_per_token", 0.01);
  }));
  EXPECT_TRUE(
      caught([](Value&, Value& m) { m.find("uncertainty")->set("detectable_change", 0.0); }));
  EXPECT_TRUE(caught([](Value&, Value& m) { m.find("uncertainty")->set("composite", Value()); }));
  EXPECT_TRUE(caught([](Value&, Value& m) { m.set("error", "something"); }));
  EXPECT_TRUE(caught([](Value&, Value& m) { m.set("passed_correctness", false); }));
  EXPECT_TRUE(caught([](Value& d, Value&) { d.set("score", Value()); }));
  EXPECT_TRUE(caught([](Value& d, Value&) { d.set("passed", false); }));
  EXPECT_TRUE(
      caught([](Value&, Value& m) { m.set("baseline_source", "none (local mode: unscored)"); }));
  EXPECT_TRUE(has_code(
      problems_with([](Value&, Value& m) { m.set("official_pair_order", "abba"); }), "SEAL-FORM"));
  EXPECT_TRUE(has_code(problems_with([](Value&, Value& m) {
                         std::erase_if(m.members(), [](const json::Member& member) {
                           return member.first == "acceptance_bands";
                         });
                       }),
                       "SEAL-FORM"));
}

TEST(Verify, LastPlaceDifferencesOfPowAreForgiven) {
  Value document = to_json(sealed_pairs(PairCombine::lower_median));
  document.set("score", 1.3720368288430422);  // one unit in the last place above
  EXPECT_EQ(text_of(verify_seal(forged(document))), "");
}

TEST(Verify, AFailureMessageIsRecomputed) {
  auto slow = worked_pairs();
  for (MeasuredPair& pair : slow) pair.candidate.decode.value = 0.05;
  Value document = to_json(sealed_pairs(PairCombine::lower_median, slow));
  document.find("metrics")->set(
      "error",
      "performance floor failed: decode_speedup=0.999999 floor=0.950000 prefill_speedup=1.000000 "
      "floor=0.950000");
  EXPECT_TRUE(has_code(verify_seal(forged(document)), "SEAL-ARITHMETIC"));
}

TEST(Verify, FormIsExact) {
  const SealedFiles good = sealed(sealed_pairs(PairCombine::mean));
  const auto reseal_score = [&](std::string bytes) {
    SealedFiles out = good;
    out.score.bytes = std::move(bytes);
    out.score_sidecar = sidecar_line(sha256_hex(out.score.bytes), "score.json");
    Integrity facts = *read_integrity(out.integrity.bytes);
    facts.score_sha256 = sha256_hex(out.score.bytes);
    out.integrity.bytes = write_integrity(facts);
    out.integrity_sidecar = sidecar_line(sha256_hex(out.integrity.bytes), out.integrity.name);
    return verify_seal(out);
  };
  const Value document = *json::parse(good.score.bytes);
  EXPECT_EQ(text_of(reseal_score(good.score.bytes)), "");
  EXPECT_TRUE(has_code(reseal_score(json::write(document)), "SEAL-FORM"));    // compact
  EXPECT_TRUE(has_code(reseal_score(good.score.bytes + "\n"), "SEAL-FORM"));  // a newline
  EXPECT_TRUE(has_code(reseal_score("{}"), "SEAL-FORM"));
  EXPECT_TRUE(has_code(reseal_score("nonsense"), "SEAL-FORM"));
  Value unknown = document;
  unknown.find("metrics")->set("zzz", 1);
  EXPECT_TRUE(
      has_code(reseal_score(json::write(unknown, {.indent = 2, .sort_keys = true})), "SEAL-FORM"));
  Value uncoarse = document;
  uncoarse.find("metrics")->set("preflight_seconds", 1.2345);
  EXPECT_TRUE(
      has_code(reseal_score(json::write(uncoarse, {.indent = 2, .sort_keys = true})), "SEAL-FORM"));
}

TEST(Verify, FactsAgreeAcrossFiles) {
  const SealedFiles good = sealed(sealed_pairs(PairCombine::mean));
  const auto with = [&](auto&& change) {
    SealedFiles out = good;
    Integrity facts = *read_integrity(out.integrity.bytes);
    change(facts);
    out.integrity.bytes = write_integrity(facts);
    out.integrity_sidecar = sidecar_line(sha256_hex(out.integrity.bytes), out.integrity.name);
    return has_code(verify_seal(out), "SEAL-CROSS");
  };
  EXPECT_FALSE(with([](Integrity&) {}));
  EXPECT_TRUE(with([](Integrity& i) { i.score_sha256 = std::string(64, '0'); }));
  EXPECT_TRUE(with([](Integrity& i) { i.score_path = "out/other.json"; }));
  EXPECT_TRUE(with([](Integrity& i) { i.weights_sha256 = std::string(64, '0'); }));
  EXPECT_TRUE(with([](Integrity& i) { i.weights_file_count += 1; }));
  EXPECT_TRUE(with([](Integrity& i) { i.weights_byte_count += 1; }));
  EXPECT_TRUE(with([](Integrity& i) { i.golden_sha256 = std::string(64, '0'); }));
}

TEST(Verify, TheContractIsHeldAgainstTheScore) {
  constexpr std::string_view kContract =
      R"({"track_id":"t-cpu-v1","official_pairs":3,"decode_speedup_floor":0.95,
          "prefill_speedup_floor":0.95,"score_decode_weight":0.75,"score_prefill_weight":0.25,
          "prefill_band_up_tolerance":0.05,"prefill_band_down_tolerance":0.05,
          "decode_band_up_tolerance":0.02,"decode_band_down_tolerance":0.05,
          "decode_band_down_enabled":false,"prefill_band_down_enabled":false})";
  ScoreDocument document = sealed_pairs(PairCombine::lower_median);
  set_contract(document.metrics, *parse_contract(kContract));
  SealedFiles files = sealed(document);
  files.contract = std::string(kContract);
  EXPECT_EQ(text_of(verify_seal(files)), "");
  // Another contract, even by one byte of white space.
  files.contract = std::string(kContract) + " ";
  EXPECT_TRUE(has_code(verify_seal(files), "SEAL-CONTRACT"));
  files.contract = "{";
  EXPECT_TRUE(has_code(verify_seal(files), "SEAL-CONTRACT"));
  // Terms that are not the contract's, under its own digest and with consistent arithmetic.
  ScoreDocument lenient = document;
  lenient.metrics.decode_speedup_floor = 0.5;
  files = sealed(lenient);
  files.contract = std::string(kContract);
  const auto problems = verify_seal(files);
  EXPECT_TRUE(has_code(problems, "SEAL-CONTRACT")) << text_of(problems);
}

}  // namespace
}  // namespace assay::scoring
