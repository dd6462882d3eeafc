// Legs as benchd runs them: which engine in which workspace, what it must produce, and what it
// cost.
//
// Source  docs/run.md, steps 8 to 11.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "benchd/goldens.h"
#include "benchd/leg_server.h"
#include "benchd/track.h"
#include "runner/leg.h"
#include "scoring/calibration.h"
#include "scoring/gain.h"

namespace assay::benchd {

/// One side of a comparison: where it lives and how its worker is started.
struct Side {
  std::filesystem::path workspace;  // the worker's working folder
  runner::WorkerCommand command;    // absolute paths
  std::optional<protocol::SpecConfig> spec;
};

/// A started engine. The worker ends before its resident does (members in this order).
struct LiveLeg {
  std::optional<LegServer> server;
  runner::OpenWorker worker;
};

/// Boots the side's resident if its workspace has one, starts the worker and waits for its hello.
/// Refuses  what LegServer::boot and open_worker refuse.
[[nodiscard]] Result<LiveLeg> open_leg(runner::World& world, scoring::Platform platform,
                                       const Side& side);

/// How one leg is measured.
struct LegTerms {
  const Track& track;
  runner::GatePlan gates;
  runner::GateReaders readers;
};

/// The runner's plan for one golden: prompts and oracle, prefill runs of the contract, gates. The
/// caller sets leg, labels, pair or pass, spec, verify modes and budget.
[[nodiscard]] runner::LegPlan plan_leg(const LegTerms& terms, const GoldenFile& golden);

/// Deadline of a decode window with a calibration: what the reference needs for the seed prefill
/// and the decode run together, as seconds per decoded token. Without one the runner's default
/// holds.
[[nodiscard]] runner::RunBudget calibrated_budget(const scoring::CalibrationPrompt& entry,
                                                  const scoring::HealthBand& band,
                                                  const scoring::TimedOracle& oracle);

/// Seconds per token of both phases. Refuses SCORE-WINDOW-NOT-POSITIVE, SCORE-NO-COMMITTED-TOKENS.
[[nodiscard]] Result<scoring::LegFigures> figures_of(const runner::MeasuredLeg& leg);

}  // namespace assay::benchd
