// A run: everything that is settled before the first engine starts, and the record of what was
// measured.
//
// The two are separate on purpose. Settling refuses without a trace on disk; once measuring has
// begun, whatever stands in the record is sealed, also when a refusal ends the run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "benchd/console.h"
#include "benchd/iterate_options.h"
#include "benchd/legs.h"
#include "benchd/provenance.h"
#include "benchd/weights.h"
#include "scoring/calibration.h"
#include "scoring/conformance.h"
#include "scoring/digests.h"
#include "scoring/score.h"

namespace assay::benchd {

enum class Path {
  unscored,  // local, one leg, no reference: timings only
  decided,   // local, one leg against the golden's stored pair
  paired,    // a live control leg before (or after) each candidate leg
};

/// The control leg of a paired run.
struct Reference {
  Side side;
  ProgramIdentity engine;
  std::string box;
  scoring::Calibration calibration;
  std::vector<scoring::CalibrationPrompt> entries;  // one a golden, in their order
  scoring::HealthBand band;
};

struct Run {
  IterateOptions options;
  Track track;
  scoring::Platform platform = scoring::Platform::cpu;
  std::vector<GoldenFile> goldens;
  std::vector<GoldenFile> control_goldens;  // empty: the goldens themselves
  Path path = Path::unscored;
  std::optional<Reference> reference;         // paired
  std::optional<scoring::PairedTerms> terms;  // paired and decided: weights, floors, bands, rule
  Side candidate;
  runner::GatePlan gates;
  uint32_t decode_steps = 0;

  // Provenance, sealed.
  std::string harness_hash;
  std::string commit;
  std::string sandbox;
  scoring::WeightsDigest weights;
  std::vector<WeightsEntry> weights_entries;
  std::string transform_source;
  ProgramIdentity candidate_program;
  ProgramIdentity benchd_program;
  std::vector<std::string> environment_read;
  runner::Environment environment;
  double preflight_seconds = 0;

  /// The serial tape of golden `index`, which the control leg is judged against.
  [[nodiscard]] const GoldenFile& control_golden(size_t index) const {
    return control_goldens.empty() ? goldens[index] : control_goldens[index];
  }
};

/// What the candidate's engine said about itself and its drafting, of one leg.
struct CandidateFacts {
  protocol::Hello hello;
  std::optional<runner::FreeRun> account;
  runner::PhaseClose close;
  double timed_seconds = 0;  // prefill runs and decode window together
};

[[nodiscard]] CandidateFacts facts_of(const runner::MeasuredLeg& leg);

struct RunRecord {
  std::vector<scoring::MeasuredPair> pairs;         // complete ones
  std::vector<CandidateFacts> candidates;           // one a pair; one for a single leg
  std::optional<scoring::LegFigures> single;        // of a run without pairs
  std::optional<scoring::LegFigures> half_control;  // of a pair that was not completed
  std::optional<scoring::LegFigures> half_candidate;
  std::optional<scoring::PairedScore> paired_score;
  std::vector<scoring::GateRecord> gates;
  std::optional<bool> band_passed;
  std::optional<scoring::ConformanceReport> correctness;
  double correctness_seconds = 0;
  std::vector<std::string>
      engine_environment;  // names that passed to an engine beyond the fixed list
};

/// Settles a run, top to bottom: contract, goldens, path, reference, programs, weights. Nothing is
/// started. Refuses  what its parts refuse; see docs/run.md, steps 1 to 7.
[[nodiscard]] Result<Run> settle_run(runner::World& world, EnvironmentReader& environment,
                                     FileDigests& digests, const IterateOptions& options,
                                     Console& console);

/// Runs the path's measurement; the record holds what was measured even when this refuses.
[[nodiscard]] Status measure_single(runner::World& world, const Run& run, Console& console,
                                    RunRecord& record);
[[nodiscard]] Status measure_pairs(runner::World& world, const Run& run, Console& console,
                                   RunRecord& record);

}  // namespace assay::benchd
