// One leg of a run: what one engine is measured to do, in one session, with its weights loaded
// once.
//
//   warm-up (other prompts, unmeasured) -> gates -> timed prefill -> gates -> free-run decode
//
// The warm-up prompts have the same length as the timed ones and other content, so that an engine
// that remembers answers gains nothing from it.
// Refuses   what Session, windows and gates refuse; FRONT-LOADED-DECODE, DEFERRED-PREFILL. Details
//           of a fault in the warm-up begin with "<warmup_label> warmup leg failed: ".
// Source    docs/run.md.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "runner/gates.h"
#include "runner/session.h"
#include "runner/windows.h"
#include "runner/worker_command.h"
#include "scoring/golden.h"
#include "scoring/score.h"

namespace assay::runner {

struct LegPlan {
  std::string leg = "candidate";          // "control" or "candidate", as the gate log names it
  std::string warmup_label = "official";  // "official", or "reference" for a control leg
  std::optional<uint32_t> pair;           // 1-based; of a paired run
  std::optional<uint32_t> pass;           // of a calibration
  PrefillPlan prefill;
  DecodePlan decode;
  bool warm_up = true;
  int64_t vocab_size = 0;  // of the contract; warm-up tokens stay below it
  GatePlan gates;
  GateReaders readers;
  bool check_seed_prefill = true;  // front-loading and deferred prefill
};

struct MeasuredLeg {
  protocol::Hello hello;
  PrefillWindow prefill;
  DecodeWindow decode;
  std::vector<scoring::GateRecord> gates;  // two rows: prefill, decode
  double seed_to_prefill_ratio = 0;        // seed prefill over timed prefill, per token
  [[nodiscard]] bool drain_reported() const {
    return prefill.close.drain_reported && decode.close.drain_reported;
  }
};

/// Takes prompts and expected tokens from the golden's oracle; `decode.steps` is its length.
void set_oracle(LegPlan& plan, const scoring::TimedOracle& oracle);

/// Measures on an open session; the caller may go on with it (correctness) or end it.
[[nodiscard]] Result<MeasuredLeg> measure_leg(World& world, Session& session, const LegPlan& plan);

/// Starts the engine and waits for its hello. The second form measures one leg and ends the engine.
struct OpenWorker {
  Session session;
  std::vector<std::string> environment_overrides;  // names, sealed in local modes
};
[[nodiscard]] Result<OpenWorker> open_worker(World& world, const WorkerCommand& command,
                                             const SessionOptions& options = {});
[[nodiscard]] Result<MeasuredLeg> measure_leg(World& world, const WorkerCommand& command,
                                              const LegPlan& plan,
                                              const SessionOptions& options = {});

/// The warm-up's prompt: the timed prompt's own tokens in an order fixed by the prompt's SHA-256
/// (the first stays in front), so the same length and vocabulary, and the timed order cannot be
/// told from it. Where that gives the prompt itself again, each token is moved up by one within
/// the vocabulary.
[[nodiscard]] std::vector<int64_t> warm_up_prompt(const std::vector<int64_t>& prompt,
                                                  int64_t vocab_size);

/// How far the seed prefill may exceed the timed prefill of the same number of tokens. Both are the
/// same forward; on quiet machines they agree within a few percent. One run of the one stands
/// against a median of a few of the other, and an honest engine may stall to twice its time
/// once: 1.25 times more is allowed (2.25 in all). Work that is put off or done ahead shows as a
/// multiple of that. An excess below 5 ms is scheduling noise however large the ratio.
inline constexpr double kSeedPrefillExcessMax = 1.25;
inline constexpr double kSeedPrefillSlackSeconds = 0.005;
/// The same for medians over at least kSeedPrefillPairsMin pairs, where one stall no longer counts.
/// Beside the control leg's own figures: what the machine does to both forwards alike is no excess.
inline constexpr double kSeedPrefillMedianExcessMax = 0.25;
inline constexpr size_t kSeedPrefillPairsMin = 3;
/// Refuses FRONT-LOADED-DECODE (the decode run took less time than the excess, which could hide
/// its work), DEFERRED-PREFILL (any other excess). Pure; also good for medians over pairs.
[[nodiscard]] Status check_seed_prefill(double prefill_seconds, double seed_seconds,
                                        double decode_seconds,
                                        double excess_max = kSeedPrefillExcessMax);
/// The candidate's medians over the pairs, held by check_seed_prefill to
/// kSeedPrefillMedianExcessMax; fewer than kSeedPrefillPairsMin pairs, or a leg without a seed
/// window, pass. Seed and timed prompt have `prompt_tokens` each, a decode run `decode_tokens`.
[[nodiscard]] Status check_seed_prefill_medians(std::span<const scoring::MeasuredPair> pairs,
                                                size_t prompt_tokens, size_t decode_tokens);

}  // namespace assay::runner
