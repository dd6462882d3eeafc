#include "scoring/calibration.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "base/files.h"
#include "base/json.h"
#include "base/sha256.h"

namespace assay::scoring {
namespace {

using json::Value;

constexpr double kCvMax = 0.01;

// The published sample's content.
Value valid() {
  return *json::parse(R"({
    "version": 3, "track_id": "qwen3.8-125b-a6b-cuda-v1", "box": "spark-1",
    "reference_commit": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "captured_at": "2026-10-08T00:00:00Z",
    "benchd_source_commit": "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
    "prompts": [{"prompt": "botany", "passes": 4,
      "prefill_seconds_per_token_mean": 0.0006284999999999999,
      "decode_seconds_per_token_mean": 0.032975, "prefill_cv": 0.0020540882239233685,
      "decode_cv": 0.002903493882505945, "prefill_band_low": 0.95, "prefill_band_high": 1.05,
      "decode_band_low": 0.95, "decode_band_high": 1.02}]})");
}
Value& prompt_of(Value& document) {
  return document.find("prompts")->items()[0];
}
std::string code_of(const Value& document, double cv_max = kCvMax) {
  const auto parsed = parse_calibration(json::write(document), cv_max);
  return parsed ? "accepted" : std::string(parsed.refusal().code);
}
std::string with(std::string_view key, Value value) {
  Value document = valid();
  document.set(key, std::move(value));
  return code_of(document);
}
std::string with_prompt(std::string_view key, Value value) {
  Value document = valid();
  prompt_of(document).set(key, std::move(value));
  return code_of(document);
}

TEST(Calibration, ASampleParses) {
  const std::string bytes = json::write(valid());
  const auto parsed = parse_calibration(bytes, kCvMax);
  ASSERT_TRUE(parsed) << parsed.refusal().text();
  EXPECT_EQ(parsed->sha256, sha256_hex(bytes));
  EXPECT_EQ(parsed->box, "spark-1");
  EXPECT_EQ(parsed->prompts[0].decode_seconds_per_token_mean, 0.032975);
}

TEST(Calibration, PublishedSampleParses) {
  const std::filesystem::path path = std::filesystem::path(ASSAY_SOURCE_DIR) /
                                     "../shared/samples/scoring/baseline_calibration_v3.json";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is missing";
  const auto parsed = parse_calibration(*read_file(path), kCvMax);
  ASSERT_TRUE(parsed) << parsed.refusal().text();
  EXPECT_EQ(parsed->prompts[0].prompt, "botany");
}

TEST(Calibration, VersionComesFirst) {
  for (const int version : {0, 1, 2}) {
    // An old file has other keys; its version alone decides.
    EXPECT_EQ(code_of(*json::parse("{\"version\":" + std::to_string(version) + ",\"old\":1}")),
              "BASELINE-CALIBRATION-WHOLE-WINDOW-DECODE");
  }
  EXPECT_EQ(with("version", 4), "BASELINE-CALIBRATION-INVALID");
  EXPECT_EQ(with("version", -1), "BASELINE-CALIBRATION-INVALID");
  EXPECT_EQ(with("version", "3"), "BASELINE-CALIBRATION-INVALID");
  EXPECT_EQ(with("version", Value::number("3.0")), "BASELINE-CALIBRATION-INVALID");
  EXPECT_EQ(code_of(Value::object()), "BASELINE-CALIBRATION-INVALID");
  EXPECT_EQ(parse_calibration("{", kCvMax).refusal().code, "BASELINE-CALIBRATION-INVALID");
  EXPECT_EQ(parse_calibration("[]", kCvMax).refusal().code, "BASELINE-CALIBRATION-INVALID");
}

TEST(Calibration, ClosedAndComplete) {
  EXPECT_EQ(with("extra", 1), "BASELINE-CALIBRATION-INVALID");
  EXPECT_EQ(with_prompt("extra", 1), "BASELINE-CALIBRATION-INVALID");
  for (const auto& member : valid().members()) {
    Value document = valid();
    std::erase_if(document.members(),
                  [&](const json::Member& m) { return m.first == member.first; });
    EXPECT_EQ(code_of(document), "BASELINE-CALIBRATION-INVALID") << member.first;
  }
  Value whole = valid();
  for (const auto& member : prompt_of(whole).members()) {
    Value document = valid();
    std::erase_if(prompt_of(document).members(),
                  [&](const json::Member& m) { return m.first == member.first; });
    const auto refused = parse_calibration(json::write(document), kCvMax);
    ASSERT_FALSE(refused) << member.first;
    EXPECT_NE(refused.refusal().detail.find(member.first), std::string::npos);
  }
}

TEST(Calibration, FieldRules) {
  EXPECT_EQ(with("reference_commit", "abc"), "BASELINE-CALIBRATION-INVALID");
  EXPECT_EQ(with("benchd_source_commit", std::string(40, 'B')), "BASELINE-CALIBRATION-INVALID");
  EXPECT_EQ(with("captured_at", " "), "BASELINE-CALIBRATION-INVALID");
  EXPECT_EQ(with("box", ""), "BASELINE-CALIBRATION-INVALID");
  EXPECT_EQ(with("track_id", " "), "BASELINE-CALIBRATION-INVALID");
  EXPECT_EQ(with("prompts", Value::array()), "BASELINE-CALIBRATION-INVALID");
  EXPECT_EQ(with_prompt("passes", 1), "BASELINE-CALIBRATION-INVALID");
  EXPECT_EQ(with_prompt("passes", 2), "accepted");
  EXPECT_EQ(with_prompt("decode_seconds_per_token_mean", 0), "BASELINE-CALIBRATION-INVALID");
  EXPECT_EQ(with_prompt("prefill_seconds_per_token_mean", -1.0), "BASELINE-CALIBRATION-INVALID");
  EXPECT_EQ(with_prompt("decode_cv", -0.001), "BASELINE-CALIBRATION-INVALID");
  EXPECT_EQ(with_prompt("prefill_band_low", 1.01), "BASELINE-CALIBRATION-INVALID");
  EXPECT_EQ(with_prompt("prefill_band_low", 0), "BASELINE-CALIBRATION-INVALID");
  EXPECT_EQ(with_prompt("decode_band_high", 0.99), "BASELINE-CALIBRATION-INVALID");
  EXPECT_EQ(with_prompt("prompt", " "), "BASELINE-CALIBRATION-INVALID");
  Value twice = valid();
  twice.find("prompts")->items().push_back(prompt_of(twice));
  EXPECT_EQ(code_of(twice), "BASELINE-CALIBRATION-INVALID");
}

TEST(Calibration, CvLimitIsTheContractsAndInclusive) {
  EXPECT_EQ(with_prompt("decode_cv", 0.01), "accepted");
  EXPECT_EQ(with_prompt("decode_cv", 0.0101), "CALIBRATION-CV-EXCEEDED");
  EXPECT_EQ(with_prompt("prefill_cv", 0.0101), "CALIBRATION-CV-EXCEEDED");
  Value wide = valid();
  prompt_of(wide).set("decode_cv", 0.15);
  EXPECT_EQ(code_of(wide, 0.15), "accepted");
  EXPECT_EQ(code_of(wide, 0.1), "CALIBRATION-CV-EXCEEDED");
}

TEST(Calibration, IdentityIsTrackThenBoxThenPrompt) {
  const auto c = parse_calibration(json::write(valid()), kCvMax);
  const auto code = [&](std::string_view track, std::string_view box, std::string_view prompt) {
    const auto entry = select_prompt(*c, track, box, prompt);
    return entry ? "accepted" : std::string(entry.refusal().code);
  };
  const std::string_view track = "qwen3.8-125b-a6b-cuda-v1";
  EXPECT_EQ(code(track, "spark-1", "botany"), "accepted");
  EXPECT_EQ(code("other", "other", "other"), "BASELINE-CALIBRATION-TRACK-MISMATCH");
  EXPECT_EQ(code(track, "other", "other"), "BASELINE-CALIBRATION-BOX-MISMATCH");
  EXPECT_EQ(code(track, "spark-1", "other"), "BASELINE-CALIBRATION-PROMPT-MISMATCH");
}

TEST(Calibration, ControlCeilingComesFromTheContractAndIsInclusive) {
  CalibrationPrompt entry;
  entry.prompt = "botany";
  entry.prefill_seconds_per_token_mean = 0.0006282488193359375;
  entry.decode_seconds_per_token_mean = 0.0329116748046875;
  entry.decode_band_high = 99.0;  // the file's own band is a record only
  const HealthBand band = health_band(AcceptanceBands{0.05, 0.05, 0.02, 0.05, false, false});
  const auto code = [&](double prefill, double decode) {
    const Status s = check_control_leg(entry, band, {{prefill}, {decode}, std::nullopt});
    return s ? std::string("accepted") : s.refusal().text();
  };
  EXPECT_EQ(code(0.0006596612603027344, 0.03356990830078125), "accepted");  // both at the ceiling
  EXPECT_EQ(code(1e-9, 1e-9), "accepted");                                  // a fast box is fine
  EXPECT_NE(code(0.0006596612603027344, std::nextafter(0.03356990830078125, 1.0)).find("decode"),
            std::string::npos);
  // Prefill is checked first.
  const std::string both = code(1.0, 1.0);
  EXPECT_EQ(both.find("SERIAL-CONTROL-LEG-OUTSIDE-BAND: the control leg's prefill"), 0u);
  EXPECT_NE(code(0.0, 0.03), "accepted");
  EXPECT_NE(code(0.0006, std::nan("")), "accepted");
  EXPECT_EQ(decode_ceiling(entry, band), 0.0329116748046875 * 1.02);
}

TEST(Calibration, HealthBandDefaults) {
  const HealthBand none = health_band(std::nullopt);
  EXPECT_EQ(none.prefill_low, 0.95);
  EXPECT_EQ(none.prefill_high, 1.05);
  EXPECT_EQ(none.decode_low, 0.98);
  EXPECT_EQ(none.decode_high, 1.02);
  const HealthBand wide = health_band(AcceptanceBands{0.25, 0.1, 0.25, 0.2, false, false});
  EXPECT_EQ(wide.prefill_high, 1.25);
  EXPECT_EQ(wide.decode_low, 0.8);
}

// --- authoring

CalibrationHeader header() {
  return {"t-cpu-v1", "box-1", std::string(40, 'a'), "2026-10-08T00:00:00Z", std::string(40, 'b')};
}
CalibrationLegs legs(std::vector<double> decode) {
  return {"botany", {0.000628, 0.000629, 0.000627, 0.00063}, std::move(decode)};
}

TEST(CalibrationAuthor, MeansAndSpreadOfTheWorkedLegs) {
  const auto authored = author_calibration(header(), {legs({0.0329, 0.0330, 0.0329, 0.0331})}, {},
                                           HealthBand{}, kCvMax);
  ASSERT_TRUE(authored) << authored.refusal().text();
  const CalibrationPrompt& p = authored->calibration.prompts[0];
  EXPECT_EQ(p.passes, 4u);
  EXPECT_EQ(p.decode_seconds_per_token_mean, 0.032975);
  EXPECT_EQ(p.decode_cv, 0.0029034938825059453);
  EXPECT_EQ(p.prefill_seconds_per_token_mean, 0.0006284999999999999);
  EXPECT_EQ(authored->bytes.back(), '\n');
  EXPECT_EQ(authored->calibration.sha256, sha256_hex(authored->bytes));
  EXPECT_TRUE(parse_calibration(authored->bytes, kCvMax));
}

TEST(CalibrationAuthor, GateRecordsAreNumberedByPass) {
  GateRecord gate;
  gate.pair = 2;
  gate.leg = "control";
  gate.phase = "decode";
  gate.quiescence = {"passed", 1.5, 0.5, std::nullopt, std::nullopt};
  gate.cool = {"skipped", 0.0, std::nullopt, "cpu track"};
  const auto authored = author_calibration(header(), {legs({0.0329, 0.0330, 0.0329, 0.0331})},
                                           {gate}, HealthBand{}, kCvMax);
  ASSERT_TRUE(authored) << authored.refusal().text();
  const GateRecord& read = authored->calibration.gates.at(0);
  EXPECT_EQ(read.pass, 2u);
  EXPECT_EQ(read.pair, std::nullopt);
  EXPECT_EQ(read.leg, std::nullopt);
  EXPECT_EQ(read.cool.skip_reason, "cpu track");
  EXPECT_EQ(read.quiescence.load, 0.5);
}

TEST(CalibrationAuthor, Refusals) {
  const auto code = [](const CalibrationHeader& h, const std::vector<CalibrationLegs>& all) {
    const auto authored = author_calibration(h, all, {}, HealthBand{}, kCvMax);
    return authored ? "accepted" : std::string(authored.refusal().code);
  };
  const CalibrationLegs good = legs({0.0329, 0.0330, 0.0329, 0.0331});
  // 1.2877 % > 1 %.
  EXPECT_EQ(code(header(), {legs({0.0329, 0.0338, 0.0329, 0.0331})}), "CALIBRATION-CV-EXCEEDED");
  EXPECT_EQ(code(header(), {legs({0.0329, 0.0330})}), "BASELINE-CALIBRATION-INVALID");
  EXPECT_EQ(code(header(), {{"p", {0.1}, {0.1}}}), "BASELINE-CALIBRATION-INVALID");
  EXPECT_EQ(code(header(), {{"p", {0.0, 0.0}, {0.1, 0.1}}}), "BASELINE-CALIBRATION-INVALID");
  EXPECT_EQ(code(header(), {good, good}), "BASELINE-CALIBRATION-INVALID");
  EXPECT_EQ(code(header(), {}), "BASELINE-CALIBRATION-INVALID");
  CalibrationHeader bad = header();
  bad.reference_commit = "HEAD";
  EXPECT_EQ(code(bad, {good}), "BASELINE-CALIBRATION-INVALID");
}

}  // namespace
}  // namespace assay::scoring
