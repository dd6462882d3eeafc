// The track of a run: its contract, read once, and what every verb needs resolved from it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/result.h"
#include "benchd/environment.h"
#include "runner/gates.h"
#include "runner/world.h"
#include "scoring/contract.h"
#include "scoring/golden.h"

namespace assay::benchd {

struct Track {
  scoring::Contract contract;
  std::string id;
  scoring::WindowShape window;
  scoring::ModelShape model;
  std::optional<scoring::ReferenceModelPin> reference_pin;
};

/// Reads and certifies the contract, settles the track id (flag, MLXFAST_QWEN_MTP_TRACK_ID, the
/// contract's own), resolves window and model shape and the reference-model pin. Refuses
/// FILE-UNREADABLE; what parse_contract, resolve_track_id, resolve_window_shape,
///          resolve_model_shape and resolve_reference_model_pin refuse.
[[nodiscard]] Result<Track> load_track(runner::World& world, EnvironmentReader& environment,
                                       const std::filesystem::path& contract_path,
                                       const std::optional<std::string>& track_flag);

/// Gates of this track: limits from the contract, off when the operator says so.
[[nodiscard]] runner::GatePlan gate_plan(const Track& track, scoring::Platform platform,
                                         bool official, bool operator_off);

}  // namespace assay::benchd
