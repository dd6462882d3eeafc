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

#include "base/json.h"
#include "base/result.h"
#include "runner/world.h"

namespace assay::runner {

/// A reader returns nothing when the value cannot be read now.
using Reader = std::function<std::optional<double>()>;
struct GateReaders {
  Reader load_1min;        // processes, as in /proc/loadavg
  Reader gpu_utilisation;  // fraction, 0..1; empty where the track's platform has no GPU
  Reader gpu_temp_c;       // empty: there is no reader
};

enum class Platform { mlx, cuda, cpu };

/// The readers of this machine. Temperature: MLXFAST_GPU_TEMP_CMD, then MLXFAST_MACMON_BIN, then
/// nvidia-smi. None of the GPU's on platform cpu. `world` must outlive them.
[[nodiscard]] GateReaders machine_readers(World& world, Platform platform);

struct GatePlan {
  Platform platform = Platform::cpu;
  bool operator_off = false;  // both gates skipped, reason "operator"
  bool official = false;      // a missing temperature reader refuses instead of skipping

  double load_max = 2.0;  // the gate passes below these two
  double gpu_max = 0.10;
  Duration quiescence_interval = std::chrono::seconds(15);
  Duration quiescence_timeout = std::chrono::seconds(900);

  double cool_limit_c = 60.0;  // passes at or below; 40 mlx, 60 cuda unless the contract says
  Duration cool_interval = std::chrono::seconds(10);
  Duration cool_interval_near = std::chrono::seconds(1);  // within 1 degree of the limit
  Duration cool_ceiling = std::chrono::seconds(900);
};
/// 40 on mlx, 60 on cuda and cpu.
[[nodiscard]] double default_cool_limit_c(Platform platform);

struct GateOutcome {
  bool passed = false;      // else skipped
  std::string skip_reason;  // "operator", "cpu track", "no GPU temperature reader"
  double waited_seconds = 0;
};

/// One row of the gate log.
struct GateRow {
  int pair = 0;       // 1-based; 0 outside a paired run
  std::string leg;    // "control" or "candidate"
  std::string phase;  // "prefill" or "decode"
  GateOutcome quiescence;
  std::optional<double> load, gpu_util;
  GateOutcome cool;
  std::optional<double> gpu_temp_c;
  /// {pair, leg, phase, quiescence:{state,…}, cool:{state,…}}; `first_key` is "pair" or "pass".
  [[nodiscard]] json::Value to_json(std::string_view first_key = "pair") const;
};

/// Waits until both gates pass or are skipped, and fills the row's outcomes.
[[nodiscard]] Status pass_gates(World& world, const GateReaders& readers, const GatePlan& plan,
                                GateRow& row);

}  // namespace assay::runner
