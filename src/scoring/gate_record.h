// Gate record: what the gates before one measured phase saw. Sealed in scores and calibrations.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace assay::scoring {

struct QuiescenceRecord {
  std::string state;  // "passed" or "skipped"
  double waited_seconds = 0.0;
  std::optional<double> load;      // null when nothing was read
  std::optional<double> gpu_util;  // fraction
  std::optional<std::string> skip_reason;
};
struct CoolRecord {
  std::string state;  // "passed" or "skipped"
  double waited_seconds = 0.0;
  std::optional<double> gpu_temp_c;
  std::optional<std::string> skip_reason;
};
/// A record of a score has `leg`, and `pair` in a paired run; a record of a calibration has `pass`.
struct GateRecord {
  std::optional<uint32_t> pair;  // 1-based
  std::optional<uint32_t> pass;
  std::optional<std::string> leg;  // "control" or "candidate"
  std::string phase;               // "prefill" or "decode"
  QuiescenceRecord quiescence;
  CoolRecord cool;
};

[[nodiscard]] json::Value to_json(const GateRecord& record);
/// Closed. `calibration` chooses which of the two shapes is accepted. Refuses JSON-*,
/// GATE-RECORD-INVALID.
[[nodiscard]] Result<GateRecord> read_gate_record(const json::Value& value, std::string_view path,
                                                  bool calibration);

}  // namespace assay::scoring
