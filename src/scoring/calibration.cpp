#include "scoring/calibration.h"

#include <cmath>
#include <set>

#include "base/json.h"
#include "base/sha256.h"
#include "base/text.h"
#include "scoring/refusals.h"
#include "scoring/statistics.h"

namespace assay::scoring {

namespace {

using json::Kind;
using json::path_of;
using json::Value;

constexpr int64_t kLastWholeWindowVersion = 2;

Refusal invalid(std::string text) {
  return Refusal(kCalibrationInvalid, std::move(text));
}

// Whatever the JSON layer refuses is an invalid calibration; its detail already names the key.
template <class T>
Result<T> field(Result<T> read) {
  if (!read) return invalid(read.refusal().detail);
  return read;
}
Status field(Status read) {
  if (!read) return invalid(read.refusal().detail);
  return read;
}

Result<std::string> string_at(const Value& object, std::string_view key, std::string_view path) {
  TRY(value, field(object.at(key, path)));
  return field(value->as_string(path_of(path, key)));
}
Result<double> number_at(const Value& object, std::string_view key, std::string_view path) {
  TRY(value, field(object.at(key, path)));
  return field(value->as_double(path_of(path, key)));
}
Result<uint32_t> count_at(const Value& object, std::string_view key, std::string_view path) {
  TRY(value, field(object.at(key, path)));
  return field(value->as_uint32(path_of(path, key)));
}

Result<CalibrationPrompt> read_prompt(const Value& object, std::string_view path) {
  TRY_DO(field(object.expect(Kind::object, path)));
  TRY_DO(field(object.expect_only(
      {"prompt", "passes", "prefill_seconds_per_token_mean", "decode_seconds_per_token_mean",
       "prefill_cv", "decode_cv", "prefill_band_low", "prefill_band_high", "decode_band_low",
       "decode_band_high"},
      path)));
  CalibrationPrompt out;
  TRY(prompt, string_at(object, "prompt", path));
  out.prompt = prompt;
  const std::string place = cat(path, " (prompt ", prompt, ")");
  TRY(passes, count_at(object, "passes", place));
  out.passes = passes;
  struct Slot {
    std::string_view key;
    double* value;
  };
  for (const Slot& slot :
       {Slot{"prefill_seconds_per_token_mean", &out.prefill_seconds_per_token_mean},
        Slot{"decode_seconds_per_token_mean", &out.decode_seconds_per_token_mean},
        Slot{"prefill_cv", &out.prefill_cv}, Slot{"decode_cv", &out.decode_cv},
        Slot{"prefill_band_low", &out.prefill_band_low},
        Slot{"prefill_band_high", &out.prefill_band_high},
        Slot{"decode_band_low", &out.decode_band_low},
        Slot{"decode_band_high", &out.decode_band_high}}) {
    TRY(number, number_at(object, slot.key, place));
    *slot.value = number;
  }
  return out;
}

Status check_header(const Calibration& c) {
  const auto blank = [](std::string_view key) { return invalid(cat("`", key, "` is blank")); };
  if (trim(c.track_id).empty()) return blank("track_id");
  if (trim(c.box).empty()) return blank("box");
  if (!is_lower_hex(c.reference_commit, 40)) {
    return invalid("`reference_commit` must be 40 lower-case hex digits");
  }
  if (trim(c.captured_at).empty()) return blank("captured_at");
  if (!is_lower_hex(c.benchd_source_commit, 40)) {
    return invalid("`benchd_source_commit` must be 40 lower-case hex digits");
  }
  return {};
}

Status check_prompt(const CalibrationPrompt& p, double cv_max) {
  const std::string place = cat("prompt ", p.prompt, ": ");
  if (trim(p.prompt).empty()) return invalid("`prompt` is blank");
  if (p.passes < 2) return invalid(cat(place, "`passes` is ", p.passes, ", expected at least 2"));
  struct Named {
    std::string_view key;
    double value;
  };
  const auto positive = [](double v) { return std::isfinite(v) && v > 0.0; };
  for (const Named& mean :
       {Named{"prefill_seconds_per_token_mean", p.prefill_seconds_per_token_mean},
        Named{"decode_seconds_per_token_mean", p.decode_seconds_per_token_mean}}) {
    if (!positive(mean.value)) {
      return invalid(cat(place, "`", mean.key, "` must be finite and above 0"));
    }
  }
  for (const Named& cv : {Named{"prefill_cv", p.prefill_cv}, Named{"decode_cv", p.decode_cv}}) {
    if (!(std::isfinite(cv.value) && cv.value >= 0.0)) {
      return invalid(cat(place, "`", cv.key, "` must be finite and at least 0"));
    }
    if (cv.value > cv_max) {
      return Refusal(kCalibrationCvExceeded,
                     cat(place, "`", cv.key, "` is ", format_double(cv.value), ", the limit is ",
                         format_double(cv_max)));
    }
  }
  for (const Named& low : {Named{"prefill_band_low", p.prefill_band_low},
                           Named{"decode_band_low", p.decode_band_low}}) {
    if (!(positive(low.value) && low.value <= 1.0)) {
      return invalid(cat(place, "`", low.key, "` must be above 0 and at most 1"));
    }
  }
  for (const Named& high : {Named{"prefill_band_high", p.prefill_band_high},
                            Named{"decode_band_high", p.decode_band_high}}) {
    if (!(std::isfinite(high.value) && high.value >= 1.0)) {
      return invalid(cat(place, "`", high.key, "` must be finite and at least 1"));
    }
  }
  return {};
}

Status check_calibration(const Calibration& c, double cv_max) {
  TRY_DO(check_header(c));
  if (c.prompts.empty()) return invalid("`prompts` is an empty list");
  std::set<std::string_view> names;
  for (const CalibrationPrompt& prompt : c.prompts) {
    TRY_DO(check_prompt(prompt, cv_max));
    if (!names.insert(prompt.prompt).second) {
      return invalid(cat("`prompts` has two entries for prompt ", prompt.prompt));
    }
  }
  return {};
}

Result<Calibration> read_fields(const Value& document) {
  TRY_DO(field(document.expect_only({"version", "track_id", "box", "reference_commit",
                                     "captured_at", "benchd_source_commit", "prompts", "gates"},
                                    "")));
  Calibration out;
  struct Slot {
    std::string_view key;
    std::string* value;
  };
  for (const Slot& slot :
       {Slot{"track_id", &out.track_id}, Slot{"box", &out.box},
        Slot{"reference_commit", &out.reference_commit}, Slot{"captured_at", &out.captured_at},
        Slot{"benchd_source_commit", &out.benchd_source_commit}}) {
    TRY(text, string_at(document, slot.key, ""));
    *slot.value = text;
  }
  TRY(prompts, field(document.at("prompts", "")));
  TRY_DO(field(prompts->expect(Kind::array, "prompts")));
  for (size_t i = 0; i < prompts->items().size(); ++i) {
    TRY(prompt, read_prompt(prompts->items()[i], path_of("prompts", i)));
    out.prompts.push_back(std::move(prompt));
  }
  if (const Value* gates = document.find("gates")) {
    TRY_DO(field(gates->expect(Kind::array, "gates")));
    for (size_t i = 0; i < gates->items().size(); ++i) {
      TRY(gate, field(read_gate_record(gates->items()[i], path_of("gates", i), true)));
      out.gates.push_back(std::move(gate));
    }
  }
  return out;
}

std::string write_calibration(const Calibration& c) {
  Value out = Value::object({{"version", kCalibrationVersion},
                             {"track_id", c.track_id},
                             {"box", c.box},
                             {"reference_commit", c.reference_commit},
                             {"captured_at", c.captured_at},
                             {"benchd_source_commit", c.benchd_source_commit}});
  std::vector<Value> prompts;
  for (const CalibrationPrompt& p : c.prompts) {
    prompts.push_back(
        Value::object({{"prompt", p.prompt},
                       {"passes", p.passes},
                       {"prefill_seconds_per_token_mean", p.prefill_seconds_per_token_mean},
                       {"decode_seconds_per_token_mean", p.decode_seconds_per_token_mean},
                       {"prefill_cv", p.prefill_cv},
                       {"decode_cv", p.decode_cv},
                       {"prefill_band_low", p.prefill_band_low},
                       {"prefill_band_high", p.prefill_band_high},
                       {"decode_band_low", p.decode_band_low},
                       {"decode_band_high", p.decode_band_high}}));
  }
  out.set("prompts", Value::array(std::move(prompts)));
  if (!c.gates.empty()) {
    std::vector<Value> gates;
    for (const GateRecord& gate : c.gates) gates.push_back(to_json(gate));
    out.set("gates", Value::array(std::move(gates)));
  }
  return json::write(out, {.indent = 2, .sort_keys = false}) + "\n";
}

// Mean, and sample CV as a fraction, of one axis.
Status summarize(std::span<const double> legs, std::string_view prompt, std::string_view axis,
                 double& out_mean, double& out_cv) {
  out_mean = mean(legs);
  const auto cv_percent = sample_cv_percent(legs);
  if (!cv_percent || !std::isfinite(*cv_percent)) {
    return invalid(cat("prompt ", prompt, ": the ", axis, " legs have no finite, positive mean"));
  }
  out_cv = *cv_percent / 100.0;
  return {};
}

// A leg's gate record in a calibration's shape: numbered by pass, and always the control leg.
GateRecord record_of_pass(GateRecord record) {
  if (!record.pass) record.pass = record.pair;
  record.pair.reset();
  record.leg.reset();
  return record;
}

}  // namespace

Result<Calibration> parse_calibration(std::string_view bytes, double cv_max) {
  auto parsed = json::parse(bytes);
  if (!parsed) return invalid(cat(parsed.refusal().code, ": ", parsed.refusal().detail));
  const Value& document = *parsed;
  TRY_DO(field(document.expect(Kind::object, "calibration")));
  TRY(version_value, field(document.at("version", "")));
  TRY(version, field(version_value->as_int64("version")));
  if (version >= 0 && version <= kLastWholeWindowVersion) {
    return Refusal(kCalibrationWholeWindow,
                   cat("`version` is ", version, ", expected ", kCalibrationVersion,
                       ": the file's decode figures include the seed prefill"));
  }
  if (version != kCalibrationVersion) {
    return invalid(cat("`version` is ", version, ", expected ", kCalibrationVersion));
  }
  TRY(calibration, read_fields(document));
  TRY_DO(check_calibration(calibration, cv_max));
  calibration.sha256 = sha256_hex(bytes);
  return calibration;
}

Result<CalibrationPrompt> select_prompt(const Calibration& calibration, std::string_view track_id,
                                        std::string_view box, std::string_view prompt) {
  if (calibration.track_id != track_id) {
    return Refusal(
        kCalibrationTrackMismatch,
        cat("the calibration is for track ", calibration.track_id, ", the run is on ", track_id));
  }
  if (calibration.box != box) {
    return Refusal(kCalibrationBoxMismatch,
                   cat("the calibration is for box ", calibration.box, ", the run is on ", box));
  }
  for (const CalibrationPrompt& entry : calibration.prompts) {
    if (entry.prompt == prompt) return entry;
  }
  return Refusal(kCalibrationPromptMismatch,
                 cat("the calibration has no entry for prompt ", prompt));
}

HealthBand health_band(const std::optional<AcceptanceBands>& bands) {
  if (!bands) return HealthBand{};
  return HealthBand{1.0 - bands->prefill_down_tolerance, 1.0 + bands->prefill_up_tolerance,
                    1.0 - bands->decode_down_tolerance, 1.0 + bands->decode_up_tolerance};
}

Status check_control_leg(const CalibrationPrompt& entry, const HealthBand& band,
                         const LegFigures& control) {
  struct Axis {
    std::string_view name;
    double measured, mean, high;
  };
  for (const Axis& axis : {Axis{"prefill", control.prefill.value,
                                entry.prefill_seconds_per_token_mean, band.prefill_high},
                           Axis{"decode", control.decode.value, entry.decode_seconds_per_token_mean,
                                band.decode_high}}) {
    if (!(std::isfinite(axis.measured) && axis.measured > 0.0)) {
      return Refusal(kControlLegOutsideBand, cat("the control leg's ", axis.name,
                                                 " time per token must be finite and above 0"));
    }
    const double ceiling = axis.mean * axis.high;
    if (!(axis.measured <= ceiling)) {
      return Refusal(kControlLegOutsideBand,
                     cat("the control leg's ", axis.name, " took ", format_double(axis.measured),
                         " s/token, the ceiling is ", format_double(ceiling), " (calibrated mean ",
                         format_double(axis.mean), " * ", format_double(axis.high), ", prompt ",
                         entry.prompt, ")"));
    }
  }
  return {};
}

Result<AuthoredCalibration> author_calibration(const CalibrationHeader& header,
                                               const std::vector<CalibrationLegs>& legs,
                                               const std::vector<GateRecord>& gates,
                                               const HealthBand& band, double cv_max) {
  Calibration c{header.track_id,
                header.box,
                header.reference_commit,
                header.captured_at,
                header.benchd_source_commit,
                {},
                {},
                {}};
  for (const GateRecord& gate : gates) c.gates.push_back(record_of_pass(gate));
  for (const CalibrationLegs& one : legs) {
    if (one.prefill_seconds_per_token.size() != one.decode_seconds_per_token.size()) {
      return invalid(cat("prompt ", one.prompt, ": ", one.prefill_seconds_per_token.size(),
                         " prefill legs and ", one.decode_seconds_per_token.size(),
                         " decode legs, expected as many of both"));
    }
    if (one.decode_seconds_per_token.size() < 2) {
      return invalid(cat("prompt ", one.prompt, ": ", one.decode_seconds_per_token.size(),
                         " passes, expected at least 2"));
    }
    CalibrationPrompt p;
    p.prompt = one.prompt;
    p.passes = static_cast<uint32_t>(one.decode_seconds_per_token.size());
    TRY_DO(summarize(one.prefill_seconds_per_token, one.prompt, "prefill",
                     p.prefill_seconds_per_token_mean, p.prefill_cv));
    TRY_DO(summarize(one.decode_seconds_per_token, one.prompt, "decode",
                     p.decode_seconds_per_token_mean, p.decode_cv));
    p.prefill_band_low = band.prefill_low;
    p.prefill_band_high = band.prefill_high;
    p.decode_band_low = band.decode_low;
    p.decode_band_high = band.decode_high;
    c.prompts.push_back(std::move(p));
  }
  AuthoredCalibration out;
  out.bytes = write_calibration(c);
  // What was written must be what every reader will accept.
  TRY(read_back, parse_calibration(out.bytes, cv_max));
  out.calibration = std::move(read_back);
  return out;
}

double decode_ceiling(const CalibrationPrompt& entry, const HealthBand& band) {
  return entry.decode_seconds_per_token_mean * band.decode_high;
}

}  // namespace assay::scoring
