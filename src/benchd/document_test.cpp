#include "benchd/document.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "benchd/refusals.h"
#include "protocol/refusals.h"
#include "runner/refusals.h"
#include "runner/scrub.h"

namespace assay::benchd {
namespace {

Run local_run() {
  Run run;
  run.options.mode = Mode::local_iterate;
  run.goldens.emplace_back();
  run.goldens.front().prompt = "a";
  run.goldens.front().sha256 = std::string(64, 'a');
  run.decode_steps = 16;
  run.harness_hash = std::string(64, 'h');
  run.weights = {std::string(64, 'b'), 7, 1};
  return run;
}

scoring::LegFigures figures(double prefill, double decode) {
  scoring::LegFigures leg;
  leg.prefill.value = prefill;
  leg.decode.value = decode;
  return leg;
}

scoring::ConformanceReport report_of(bool passed, uint64_t cases, uint64_t steps) {
  scoring::ConformanceReport report;
  report.passed = passed;
  report.case_count = cases;
  report.checked_steps = steps;
  return report;
}

// --- reasons

TEST(SealedReason, OurOwnCodesSurviveTheScrubber) {
  EXPECT_EQ(sealed_reason(
                Refusal(runner::kTokenMismatch, "pair 2 of 4: benchmark prefill token mismatch")),
            "TOKEN_MISMATCH: pair 2 of 4: benchmark prefill token mismatch");
  EXPECT_EQ(sealed_reason(Refusal(kSerialControlLegFailed,
                                  "pair 1 of 2: TOKEN_MISMATCH: reference warmup leg failed: "
                                  "benchmark prefill token mismatch")),
            "SERIAL-CONTROL-LEG-FAILED: pair 1 of 2: TOKEN_MISMATCH: reference warmup leg failed: "
            "benchmark prefill token mismatch");
}

TEST(SealedReason, PlacesDoNot) {
  const std::string reason =
      sealed_reason(Refusal(runner::kEngineNotExecutable, "`/home/ann/secret/engine` is a folder"));
  EXPECT_EQ(reason.find("ann"), std::string::npos) << reason;
  EXPECT_TRUE(reason.starts_with("ENGINE-NOT-EXECUTABLE: "));
}

TEST(SealedReason, HasALimit) {
  EXPECT_LE(sealed_reason(Refusal(protocol::kProtocol, std::string(100000, 'x'))).size(),
            runner::kSealedReasonSizeMax);
}

// --- documents

TEST(Document, NothingMeasuredHasZeroTimingsAndTheReason) {
  const auto document =
      make_document(local_run(), {}, Refusal(runner::kHelloTimeout, "no hello in 900 s"));
  EXPECT_FALSE(document.passed);
  EXPECT_FALSE(document.score);
  EXPECT_EQ(document.metrics.error, "HELLO_TIMEOUT: no hello in 900 s");
  EXPECT_EQ(document.metrics.golden_hash, "");
  EXPECT_EQ(document.metrics.checked_steps, 0U);
  EXPECT_EQ(document.metrics.decode_seconds_per_token, 0.0);
  EXPECT_EQ(document.metrics.baseline_source, "none (local mode: unscored)");
  EXPECT_EQ(document.metrics.local_phases->timing, "not run");
  EXPECT_EQ(document.metrics.weights_byte_count, 7U);
}

TEST(Document, AnUnscoredPassCountsTheTimedPositions) {
  RunRecord record;
  record.single = figures(0.001, 0.02);
  record.candidates.emplace_back();
  record.correctness = report_of(true, 3, 64);
  const auto document = make_document(local_run(), record, std::nullopt);
  EXPECT_TRUE(document.passed);
  EXPECT_FALSE(document.score);
  EXPECT_EQ(document.metrics.case_count, 1U);
  EXPECT_EQ(document.metrics.checked_steps, 18U);  // 16 + 2
  EXPECT_EQ(document.metrics.decode_tokens, 16U);  // with the prompt, what a rate is a rate of
  EXPECT_EQ(document.metrics.golden_hash, std::string(64, 'a'));
  EXPECT_EQ(document.metrics.decode_seconds_per_token, 0.02);
  EXPECT_EQ(document.metrics.effective_spec_mode, "serial");
  EXPECT_EQ(document.metrics.effective_spec_depth, 0U);
}

TEST(Document, AFailedCheckKeepsTheTimings) {
  RunRecord record;
  record.single = figures(0.001, 0.02);
  record.candidates.emplace_back();
  scoring::ConformanceReport report = report_of(false, 1, 3);
  report.first_failing_case = "a";
  report.first_failing_step = 2;
  report.error = "teacher-forced token mismatch";
  record.correctness = report;
  const auto document = make_document(local_run(), record, std::nullopt);
  EXPECT_FALSE(document.passed);
  EXPECT_EQ(document.metrics.error, "local-iterate teacher-forced token mismatch");
  EXPECT_EQ(document.metrics.first_failing_step, 2U);
  EXPECT_EQ(document.metrics.decode_seconds_per_token, 0.02);
}

// Control (p 0.00063, d 0.0330) over candidate (p 0.00060, d 0.0220), weights 0.25 and 0.75:
// gains 1.05 and 1.5, composite 1.05^0.25 * 1.5^0.75 = 1.372036828843042.
class PairedDocument : public testing::Test {
 protected:
  PairedDocument() {
    run.path = Path::paired;
    run.options.mode = Mode::local_submit;
    run.reference.emplace();
    run.reference->box = "local";
    run.terms = scoring::PairedTerms{{{0.75, 0.25}, {0.95, 0.95}, {}}, {}};
    record.pairs.push_back(
        {1, std::string(64, 'a'), figures(0.00063, 0.0330), figures(0.00060, 0.0220)});
    record.candidates.emplace_back();
    record.band_passed = true;
  }
  benchd::Run run = local_run();
  RunRecord record;
};

TEST_F(PairedDocument, ACompleteRunIsScored) {
  record.paired_score = *scoring::combine_pairs(record.pairs, *run.terms);
  record.correctness = report_of(true, 1, 64);
  const auto document = make_document(run, record, std::nullopt);
  EXPECT_TRUE(document.passed);
  ASSERT_TRUE(document.score);
  EXPECT_DOUBLE_EQ(*document.score, 1.372036828843042);
  EXPECT_EQ(document.metrics.checked_steps, 64U);
  EXPECT_EQ(document.metrics.baseline_source, "serial-control-leg");
  EXPECT_EQ(document.metrics.baseline_golden_sha256, std::string(64, 'a'));
}

TEST_F(PairedDocument, ARefusalKeepsThePairsWithoutAScore) {
  const auto document =
      make_document(run, record, Refusal(runner::kRunTimeout, "pair 2 of 4: no answer"));
  EXPECT_FALSE(document.passed);
  EXPECT_FALSE(document.score);
  ASSERT_TRUE(document.metrics.paired_legs);
  EXPECT_EQ(document.metrics.paired_legs->size(), 1U);
  EXPECT_EQ(document.metrics.error, "RUN_TIMEOUT: pair 2 of 4: no answer");
  EXPECT_EQ(document.metrics.decode_speedup, 0.0);
  EXPECT_EQ(document.metrics.official_pair_combine, "lower_median");
  EXPECT_EQ(document.metrics.golden_hash, "");
}

TEST_F(PairedDocument, AWrongCandidateHasNoScoreHoweverFast) {
  record.paired_score = *scoring::combine_pairs(record.pairs, *run.terms);
  scoring::ConformanceReport report = report_of(false, 1, 1);
  report.error = "teacher-forced token mismatch";
  record.correctness = report;
  const auto document = make_document(run, record, std::nullopt);
  EXPECT_FALSE(document.passed);
  EXPECT_FALSE(document.score);
  EXPECT_EQ(document.metrics.error, "teacher-forced token mismatch");
}

TEST(Document, WhatIsPassedOnOrSaidNamesNoPlace) {
  auto run = local_run();
  run.environment = {{"ASSAY_KERNELS", "/home/ann/kernels/fast.so"}, {"ASSAY_FORCE_ISA", "avx2"}};
  RunRecord record;
  record.single = figures(0.001, 0.02);
  record.engine_environment = {"ASSAY_KERNELS", "ASSAY_FORCE_ISA"};
  record.candidates.emplace_back();
  record.candidates.front().hello.backend = "cpu\n/home/ann/engine";
  record.candidates.front().hello.device = std::string(100000, 'x');
  record.correctness = report_of(true, 3, 64);
  const auto document = make_document(run, record, std::nullopt);
  ASSERT_TRUE(document.metrics.engine_environment);
  EXPECT_EQ((*document.metrics.engine_environment)[0].second.find("ann"), std::string::npos);
  EXPECT_EQ((*document.metrics.engine_environment)[1].second, "avx2");
  ASSERT_TRUE(document.metrics.engine_backend && document.metrics.engine_device);
  EXPECT_EQ(document.metrics.engine_backend->find("ann"), std::string::npos);
  EXPECT_EQ(document.metrics.engine_backend->find('\n'), std::string::npos);
  EXPECT_LE(document.metrics.engine_device->size(), 256U);
}

TEST_F(PairedDocument, AMissedFloorSealsNoCorrectness) {
  run.terms->timed.floors.decode = 1.6;
  record.paired_score = *scoring::combine_pairs(record.pairs, *run.terms);
  record.correctness = report_of(true, 1, 64);
  const auto document = make_document(run, record, std::nullopt);
  EXPECT_EQ(document.metrics.error,
            "performance floor failed: decode_speedup=1.500000 floor=1.600000 "
            "prefill_speedup=1.050000 floor=0.950000");
  EXPECT_EQ(document.metrics.golden_hash, "");
  EXPECT_FALSE(document.metrics.passed_correctness);
  EXPECT_EQ(document.metrics.local_phases->correctness, "passed");
}

TEST_F(PairedDocument, AControlLegWithoutItsPairIsKept) {
  record.pairs.clear();
  record.candidates.clear();
  record.half_control = figures(0.00063, 0.0330);
  const auto document =
      make_document(run, record, Refusal(protocol::kProtocol, "pair 1 of 4: ended"));
  EXPECT_EQ(document.metrics.baseline_leg_decode_seconds_per_token, 0.0330);
  EXPECT_FALSE(document.metrics.candidate_leg_decode_seconds_per_token);
  EXPECT_FALSE(document.metrics.paired_legs);
}

}  // namespace
}  // namespace assay::benchd
