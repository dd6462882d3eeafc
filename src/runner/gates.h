// Gates before a measured phase: the machine is quiet, and the GPU is cool.
//
// Both wait, sample through injected readers and the World's clock, and leave one row in the gate
// log. A gate that cannot apply says `skipped` and why; nothing is skipped silently.
// Refuses   QUIESCENCE-TIMEOUT, GATE_REJECTED (after one retry), TEMPERATURE-READER-MISSING,
//           RUN-INTERRUPTED.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "runner/world.h"
#include "scoring/contract.h"
#include "scoring/gate_record.h"

namespace assay::runner {

/// A reader returns nothing when the value cannot be read now.
using Reader = std::function<std::optional<double>()>;
struct GateReaders {
  Reader load_1min;        // processes, as in /proc/loadavg
  Reader gpu_utilisation;  // fraction, 0..1; empty where the track's platform has no GPU
  Reader gpu_temp_c;       // empty: there is no reader
};

/// The readers of this machine. Temperature: MLXFAST_GPU_TEMP_CMD, then MLXFAST_MACMON_BIN, then
/// nvidia-smi. None of the GPU's on platform cpu. `world` must outlive them.
[[nodiscard]] GateReaders machine_readers(World& world, scoring::Platform platform);

struct GatePlan {
  scoring::Platform platform = scoring::Platform::cpu;
  bool operator_off = false;   // both gates skipped, reason "operator"
  bool official = false;       // a missing temperature reader refuses instead of skipping
  bool thermal_reader = true;  // the contract's word; false: the cool gate is skipped

  double load_max = 2.0;  // the gate passes below these two
  double gpu_max = 0.10;
  Duration quiescence_interval = std::chrono::seconds(15);
  Duration quiescence_timeout = std::chrono::seconds(900);

  double cool_limit_c =
      60.0;  // passes at or below; scoring::platform_cool_limit_c has the defaults
  Duration cool_interval = std::chrono::seconds(10);
  Duration cool_interval_near = std::chrono::seconds(1);  // within 1 degree of the limit
  Duration cool_ceiling = std::chrono::seconds(900);
};
inline constexpr std::string_view kSkipOperator = "operator";
inline constexpr std::string_view kSkipCpuTrack = "cpu track";
inline constexpr std::string_view kSkipNoThermalReader = "no thermal reader";
inline constexpr std::string_view kSkipNoTemperature = "no temperature reading";

/// Waits until both gates pass or are skipped; the record lacks pair, pass, leg and phase, which
/// are the caller's to set.
[[nodiscard]] Result<scoring::GateRecord> pass_gates(World& world, const GateReaders& readers,
                                                     const GatePlan& plan);

}  // namespace assay::runner
