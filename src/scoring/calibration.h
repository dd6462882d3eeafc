// Calibration: what the reference costs on one box. A health band for the control leg, never a
// denominator.
//
// In      the file's bytes, or the legs of a calibration run
// Out     a validated Calibration (version 3), its text, and the checks of a control leg against it
// Errors
// BASELINE-CALIBRATION-{INVALID,WHOLE-WINDOW-DECODE,TRACK-MISMATCH,BOX-MISMATCH,PROMPT-MISMATCH},
//         CALIBRATION-CV-EXCEEDED, SERIAL-CONTROL-LEG-OUTSIDE-BAND
// Format  docs/formats/calibration.md
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "scoring/contract.h"
#include "scoring/gain.h"
#include "scoring/gate_record.h"

namespace assay::scoring {

inline constexpr uint32_t kCalibrationVersion = 3;
inline constexpr uint32_t kCalibrationPassesDefault = 4;

struct CalibrationPrompt {
  std::string prompt;
  uint32_t passes = 0;
  double prefill_seconds_per_token_mean = 0.0;
  double decode_seconds_per_token_mean = 0.0;
  double prefill_cv = 0.0;  // fraction
  double decode_cv = 0.0;
  double prefill_band_low = 0.0;  // factors of the mean; a record only, never used by a check
  double prefill_band_high = 0.0;
  double decode_band_low = 0.0;
  double decode_band_high = 0.0;
};
struct Calibration {
  std::string track_id;
  std::string box;
  std::string reference_commit;  // hex40
  std::string captured_at;
  std::string benchd_source_commit;  // hex40
  std::vector<CalibrationPrompt> prompts;
  std::vector<GateRecord> gates;
  std::string sha256;  // of the bytes that were parsed or written
};

/// `cv_max` [fraction] is the contract's calibration_cv_max.
[[nodiscard]] Result<Calibration> parse_calibration(std::string_view bytes, double cv_max);

/// The prompt's entry, after track and box agree (in that order).
[[nodiscard]] Result<CalibrationPrompt> select_prompt(const Calibration& calibration,
                                                      std::string_view track_id,
                                                      std::string_view box,
                                                      std::string_view prompt);

/// Health band of the control leg as factors of the calibrated mean.
struct HealthBand {
  double prefill_low = 0.95;
  double prefill_high = 1.05;
  double decode_low = 0.98;
  double decode_high = 1.02;
};
/// high = 1 + up, low = 1 - down; the defaults above when the contract declares no bands.
[[nodiscard]] HealthBand health_band(const std::optional<AcceptanceBands>& bands);

/// measured <= mean * high on both axes, prefill first; a fast control is fine.
/// Refuses SERIAL-CONTROL-LEG-OUTSIDE-BAND
[[nodiscard]] Status check_control_leg(const CalibrationPrompt& entry, const HealthBand& band,
                                       const LegFigures& control);

/// The legs of one prompt, in pass order: as many prefill as decode figures.
struct CalibrationLegs {
  std::string prompt;
  std::vector<double> prefill_seconds_per_token;
  std::vector<double> decode_seconds_per_token;
};
struct CalibrationHeader {
  std::string track_id;
  std::string box;
  std::string reference_commit;
  std::string captured_at;
  std::string benchd_source_commit;
};
struct AuthoredCalibration {
  Calibration calibration;
  std::string bytes;  // pretty JSON and a newline; calibration.sha256 is their digest
};
/// Means and CVs of the legs, checked by the same rules as a file. Refuses as parse_calibration.
[[nodiscard]] Result<AuthoredCalibration> author_calibration(
    const CalibrationHeader& header, const std::vector<CalibrationLegs>& legs,
    const std::vector<GateRecord>& gates, const HealthBand& band, double cv_max);

/// The deadline ceiling that a calibration gives: mean * high, seconds per decoded token.
[[nodiscard]] double decode_ceiling(const CalibrationPrompt& entry, const HealthBand& band);

}  // namespace assay::scoring
