// Properties of scoring: what must hold for every input, not only for worked numbers. A failure
// prints the seed that repeats it (RC_PARAMS="seed=…").
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/json.h"
#include "scoring/conformance.h"
#include "scoring/gain.h"
#include "scoring/golden.h"
#include "scoring/score.h"
#include "scoring/seal.h"
#include "scoring/statistics.h"
#include "scoring/verify.h"

namespace assay::scoring {
namespace {

// Unit round-off of binary64: every rounded operation is off by at most this, relatively.
constexpr double kU = std::numeric_limits<double>::epsilon() / 2;
// The C library states less than one unit in the last place, so two round-offs, for pow.
constexpr double kPowError = 2 * kU;

bool close(double a, double b, double relative) {
  return std::abs(a - b) <= relative * std::max(std::abs(a), std::abs(b));
}

// Seconds per token of real engines: a microsecond to ten seconds, all magnitudes alike.
rc::Gen<double> seconds() {
  return rc::gen::map(rc::gen::inRange(0, 7'000'000),
                      [](int x) { return 1e-6 * std::pow(10.0, x / 1e6); });
}
rc::Gen<LegFigures> leg() {
  return rc::gen::apply(
      [](double prefill, double decode) {
        return LegFigures{{prefill}, {decode}, std::nullopt};
      },
      seconds(), seconds());
}
rc::Gen<std::vector<MeasuredPair>> pairs() {
  return rc::gen::exec([] {
    std::vector<MeasuredPair> list(*rc::gen::inRange<size_t>(1, 9));
    for (size_t i = 0; i < list.size(); ++i) {
      list[i] = {static_cast<uint32_t>(i + 1), std::string(64, '1'), *leg(), *leg()};
    }
    return list;
  });
}
rc::Gen<PairCombine> rule() {
  return rc::gen::element(PairCombine::lower_median, PairCombine::mean, PairCombine::ratio_of_sums);
}
rc::Gen<PairOrder> order() {
  return rc::gen::element(PairOrder::control_first, PairOrder::counterbalanced);
}
rc::Gen<ScoringWeights> weights() {
  return rc::gen::map(rc::gen::inRange(1, 100), [](int percent) {
    return ScoringWeights{percent / 100.0, 1.0 - percent / 100.0};
  });
}
// Gates that every finite score passes.
PairedTerms open_terms(PairCombine combine, const ScoringWeights& w) {
  constexpr double kAlways = 1e-300;
  return {{w, {kAlways, kAlways}, {}}, combine};
}

double score_of(const LegFigures& control, const LegFigures& candidate, const ScoringWeights& w) {
  return composite(speedup(control.prefill, candidate.prefill),
                   speedup(control.decode, candidate.decode), w);
}

TEST(ScoringProperty, ScoreRisesWhenACandidateTimeFalls) {
  EXPECT_TRUE(rc::check("a faster candidate never scores lower", [] {
    const LegFigures control = *leg();
    const LegFigures slow = *leg();
    const ScoringWeights w = *weights();
    // At least one part in a million faster: well above the rounding of pow.
    const double factor = *rc::gen::inRange(1, 999'999) / 1e6;
    LegFigures fast = slow;
    (*rc::gen::arbitrary<bool>() ? fast.decode : fast.prefill).value *= factor;
    RC_ASSERT(score_of(control, fast, w) > score_of(control, slow, w));
  }));
}

TEST(ScoringProperty, CompositeIsMonotoneInEachGain) {
  EXPECT_TRUE(rc::check("composite rises with each weighted gain", [] {
    const double prefill = *seconds();
    const double decode = *seconds();
    const ScoringWeights w = *weights();
    const double more = 1.0 + *rc::gen::inRange(1, 1'000'000) / 1e6;
    const double before = composite(prefill, decode, w);
    RC_ASSERT(composite(prefill * more, decode, w) > before);
    RC_ASSERT(composite(prefill, decode * more, w) > before);
  }));
}

TEST(ScoringProperty, ScalingBothLegsLeavesTheGains) {
  EXPECT_TRUE(rc::check("a power of two changes no bit, any constant only the rounding", [] {
    const LegFigures control = *leg();
    const LegFigures candidate = *leg();
    const double gain = speedup(control.decode, candidate.decode);
    const double power = std::ldexp(1.0, *rc::gen::inRange(-20, 20));
    RC_ASSERT(speedup({control.decode.value * power}, {candidate.decode.value * power}) == gain);
    const double any = *seconds();
    const double scaled = speedup({control.decode.value * any}, {candidate.decode.value * any});
    // Four rounded operations: two products and two quotients.
    RC_ASSERT(close(scaled, gain, 4 * kU * (1 + kU)));
  }));
}

TEST(ScoringProperty, SwappingTheLegsInvertsTheComposite) {
  EXPECT_TRUE(rc::check("composite(a, b) * composite(b, a) == 1 up to rounding", [] {
    const LegFigures a = *leg();
    const LegFigures b = *leg();
    const ScoringWeights w = *weights();
    const double there = score_of(a, b, w);
    const double back = score_of(b, a, w);
    // Each side: quotients (their errors weighted to one), the shares' rounding times the
    // logarithm, two pows, one product; then the division here.
    const double logs = std::abs(std::log(there)) + 20.0;
    RC_ASSERT(close(there, 1.0 / back, 2 * (kU + 2 * kPowError + kU) + kU + 4 * kU * logs));
  }));
}

TEST(ScoringProperty, AnIdentityRunScoresExactlyOne) {
  EXPECT_TRUE(rc::check("equal legs", [] {
    std::vector<MeasuredPair> list = *pairs();
    for (MeasuredPair& pair : list) pair.candidate = pair.control;
    const auto score = combine_pairs(list, open_terms(*rule(), *weights()));
    RC_ASSERT(bool(score));
    RC_ASSERT(score->verdict.score == 1.0);
    RC_ASSERT(score->verdict.decode_speedup == 1.0);
  }));
}

TEST(ScoringProperty, RulesAgreeOnEqualPairsAndStayWithinThePairs) {
  EXPECT_TRUE(rc::check("every rule lies between the lowest and the highest pair", [] {
    const std::vector<MeasuredPair> list = *pairs();
    const ScoringWeights w = *weights();
    const PairCombine combine = *rule();
    const auto score = combine_pairs(list, open_terms(combine, w));
    RC_ASSERT(bool(score));
    const auto [low, high] =
        std::minmax_element(score->composites.begin(), score->composites.end());
    const double slack = 64 * kU;
    if (combine == PairCombine::ratio_of_sums) {
      // Sums weigh each axis by time, so only the gains are bounded by the pairs' gains.
      double gain_low = INFINITY, gain_high = 0;
      for (const MeasuredPair& pair : list) {
        const double gain = speedup(pair.control.decode, pair.candidate.decode);
        gain_low = std::min(gain_low, gain);
        gain_high = std::max(gain_high, gain);
      }
      RC_ASSERT(score->verdict.decode_speedup >= gain_low * (1 - slack));
      RC_ASSERT(score->verdict.decode_speedup <= gain_high * (1 + slack));
    } else {
      RC_ASSERT(score->verdict.score >= *low * (1 - slack));
      RC_ASSERT(score->verdict.score <= *high * (1 + slack));
    }
    const std::vector<MeasuredPair> same(list.size(), list.front());
    RC_ASSERT(close(combine_pairs(same, open_terms(combine, w))->verdict.score,
                    score->composites.front(), slack));
  }));
}

TEST(ScoringProperty, MediansDoNotDependOnTheOrder) {
  EXPECT_TRUE(rc::check("permutation", [] {
    const auto values = *rc::gen::nonEmpty(rc::gen::container<std::vector<double>>(seconds()));
    auto sorted = values;
    std::sort(sorted.begin(), sorted.end());
    RC_ASSERT(even_n_median(values) == even_n_median(sorted));
    RC_ASSERT(values[*lower_median_index(values)] == sorted[(sorted.size() - 1) / 2]);
  }));
}

TEST(ScoringProperty, ToleranceIsExactIntegerArithmetic) {
  EXPECT_TRUE(rc::check("against 128-bit products", [] {
    const auto mismatches = *rc::gen::arbitrary<uint64_t>();
    const auto tokens = *rc::gen::arbitrary<uint64_t>();
    const auto tolerance = *rc::gen::inRange<uint64_t>(0, 1001);
    using Wide = __uint128_t;
    const bool wide = Wide{mismatches} * 1000 > Wide{tolerance} * tokens;
    RC_ASSERT(exceeds_tolerance(mismatches, tokens, tolerance) == wide);
    // And on the edge: the largest count that passes, and the next.
    const auto edge = static_cast<uint64_t>(Wide{tolerance} * tokens / 1000);
    RC_ASSERT(!exceeds_tolerance(edge, tokens, tolerance));
    if (edge < std::numeric_limits<uint64_t>::max()) {
      RC_ASSERT(exceeds_tolerance(edge + 1, tokens, tolerance));
    }
  }));
}

TEST(ScoringProperty, UntrustworthyLogitsNeverWidenAcceptance) {
  EXPECT_TRUE(rc::check("accepting with logits needs a trustworthy list or the exact token", [] {
    const auto token = rc::gen::inRange<int64_t>(-1, 6);
    const auto logit = rc::gen::map(rc::gen::inRange(0, 4), [](int x) { return x * 1e-6; });
    const auto entry = rc::gen::apply(
        [](int64_t t, double l) {
          return TopLogit{t, l};
        },
        token, logit);
    Prediction got;
    got.token = *token;
    got.top_logits = *rc::gen::container<std::vector<TopLogit>>(entry);
    BaseCase expected{"c", {1}, {*rc::gen::inRange<int64_t>(0, 5)}};
    const bool passed = judge_base_case(expected, std::vector{got}, 5).passed;
    const bool exact = got.token == expected.expected_tokens[0];
    RC_ASSERT(!passed || exact || trustworthy(got.top_logits, got.token, 5));
  }));
}

TEST(ScoringProperty, GoldensSurviveWritingAndReading) {
  EXPECT_TRUE(rc::check("write, load, write", [] {
    const auto token = rc::gen::inRange<int64_t>(0, 1000);
    Golden golden;
    golden.model_type = "llama";
    const size_t cases = *rc::gen::inRange<size_t>(1, 4);
    for (size_t i = 0; i < cases; ++i) {
      golden.cases.push_back({"case " + std::to_string(i), *rc::gen::container<Tokens>(5, token),
                              *rc::gen::container<Tokens>(7, token)});
    }
    if (*rc::gen::arbitrary<bool>()) {
      golden.benchmark = Benchmark{golden.cases[0].prompt_tokens,         *token,
                                   golden.cases[0].prompt_tokens,         *token,
                                   *rc::gen::container<Tokens>(9, token), std::nullopt};
    }
    const std::string text = write_golden(golden);
    GoldenRequirements required;
    required.required_steps = 7;
    required.required_prompt_tokens = required.seed_tokens = 5;
    required.vocab_size = 1000;
    required.benchmark_decode_steps = 9;
    const auto loaded = load_golden(text, required);
    RC_ASSERT(bool(loaded));
    RC_ASSERT(write_golden(loaded->golden) == text);
  }));
}

// A finished run over random pairs, sealed.
SealedFiles sealed_run(const std::vector<MeasuredPair>& list, PairCombine combine,
                       PairOrder pair_order, const ScoringWeights& w) {
  const PairedTerms terms = open_terms(combine, w);
  ScoreDocument document;
  set_paired(document, list, *combine_pairs(list, terms), terms, pair_order);
  document.metrics.passed_correctness = true;
  document.metrics.golden_hash = std::string(64, '1');
  Integrity facts;
  facts.score_path = "score.json";
  facts.candidate_executable_resolution = "canonical";
  const SealedScore sealed = seal(document, facts, "score.json", "benchmark-integrity.json");
  return {sealed.score, sealed.score_sidecar.bytes, sealed.integrity,
          sealed.integrity_sidecar.bytes, std::nullopt};
}

TEST(ScoringProperty, EverySealHoldsAndEveryChangedBitIsFound) {
  EXPECT_TRUE(rc::check("seal, verify, flip one bit", [] {
    SealedFiles files = sealed_run(*pairs(), *rule(), *order(), *weights());
    for (const Refusal& problem : verify_seal(files)) RC_FAIL(problem.text());
    std::string* all[] = {&files.score.bytes, &files.score_sidecar, &files.integrity.bytes,
                          &files.integrity_sidecar};
    std::string& bytes = *all[*rc::gen::inRange(0, 4)];
    char& byte = bytes[*rc::gen::inRange<size_t>(0, bytes.size())];
    byte = static_cast<char>(byte ^ (1 << *rc::gen::inRange(0, 8)));
    RC_ASSERT(!verify_seal(files).empty());
  }));
}

}  // namespace
}  // namespace assay::scoring
