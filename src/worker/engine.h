// Engine: what a program must be able to do to be judged. Implement this, call serve_stdio
// (serve.h), and the program speaks the Engine Protocol: messages, state machine, counters and
// refusals are the SDK's work.
//
// Six functions make a serial engine: facts, drop_session, drain, forward, step, top_logits. All
// others have a default built on them.
//
// Tokens      greedy choice, lowest id among equals. The engine checks that ids lie in its
//             vocabulary and refuses one that does not.
// Errors      a Refusal's text goes to the judge as it is; the SDK then calls drop_session and the
//             phase is over, because a failed forward may have half advanced the state.
// Order       the SDK opens every phase with drop_session, drain, then one of forward,
//             decode_begin, correctness_begin, correctness_free, free_begin.
// Threads     the SDK calls from one thread, one call at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "protocol/message.h"
#include "protocol/verb.h"

namespace assay::worker {

/// Draft depths of mode `mtp`.
struct DepthRange {
  uint32_t least = 1;
  uint32_t most = 6;
  uint32_t chosen = 2;  // when the judge leaves it open
};

/// What the hello says. Advertise a mode only if its drafter is really loaded.
struct Facts {
  std::string backend{};  // compute backend: "cpu", "cuda", "mock"
  std::string device{};   // "none" when there is nothing to say
  std::vector<std::string> capabilities = {std::string(protocol::kFreeRunDecode)};
  std::vector<std::string> spec_modes = {std::string(protocol::kSerial)};
  DepthRange mtp_depth{};  // used when spec_modes holds `mtp`
  std::optional<protocol::HeadProvenance> head_provenance{};
  std::optional<protocol::RunnerIdentity> runner{};
  std::optional<protocol::ResidentIdentity> resident{};
};

/// One free run. The SDK checks tokens.size() == count and sum(acceptance_lengths) == count.
struct FreeRun {
  std::vector<int64_t> tokens{};  // the tokens after the seed token; the seed is not repeated
  std::vector<uint32_t>
      acceptance_lengths{};     // committed tokens of each round; a round is one forward
  uint64_t drafted_total = 0;   // real drafts; 0 on a serial run
  uint64_t accepted_total = 0;  // drafts that were committed
  std::optional<std::string> spec_decoder{};  // which drafter produced the rounds
  std::optional<uint64_t> verify_replay_disagreements{};
  std::optional<std::string> verification_mode{};  // "rectangular" or "serial"
  std::optional<uint64_t> rectangular_verification_rounds{};
  std::optional<uint64_t> serial_verification_rounds{};
};

/// Allocator watermarks before a drain, in bytes.
struct MemoryBytes {
  uint64_t active = 0;
  uint64_t cache = 0;
  uint64_t peak = 0;
};

class Engine {
 public:
  virtual ~Engine() = default;

  [[nodiscard]] virtual Facts facts() const = 0;

  /// Forgets everything about the tokens seen so far: the next forward computes its whole prompt.
  virtual void drop_session() = 0;

  /// Gives every free cached buffer back and returns the bytes that are still held free (0 = done).
  /// Weights and the state of a live session are not cache.
  [[nodiscard]] virtual Result<uint64_t> drain() = 0;

  /// One forward over a whole prompt (never empty) from the empty session; the next token.
  [[nodiscard]] virtual Result<int64_t> forward(std::span<const int64_t> prompt) = 0;

  /// Appends one token of the caller to the session and evaluates it; the next token. The same
  /// forward serves decode and correctness, so that the checked path is the timed one.
  [[nodiscard]] virtual Result<int64_t> step(int64_t token) = 0;

  /// The `n` best logits at the session's end: logit descending, ties by lower id; the first is the
  /// token that forward or step has just returned.
  [[nodiscard]] virtual Result<std::vector<protocol::TopLogit>> top_logits(size_t n) = 0;

  // --- with defaults

  /// Verb `decode_begin` and `correctness_begin`. Default: forward.
  [[nodiscard]] virtual Result<int64_t> decode_begin(std::span<const int64_t> seed);
  [[nodiscard]] virtual Result<int64_t> correctness_begin(std::span<const int64_t> prompt);

  /// Verb `correctness`: `steps` greedy tokens after the prompt; never ends early at an
  /// end-of-text token. Default: forward, then step.
  [[nodiscard]] virtual Result<std::vector<int64_t>> correctness_free(
      std::span<const int64_t> prompt, int64_t steps);

  /// The spec that would really run when `wanted` is asked for: honours it exactly or refuses it,
  /// never clamps. Called for a spec whose mode facts() lists. Default: serial, and mtp within
  /// facts().mtp_depth.
  [[nodiscard]] virtual Result<protocol::SpecConfig> resolve_spec(
      const protocol::SpecConfig& wanted);

  /// One forward over the seed; returns the seed token. `effective` comes from resolve_spec.
  /// Default: forward, and free_run continues serially.
  [[nodiscard]] virtual Result<int64_t> free_begin(std::span<const int64_t> seed,
                                                   const protocol::SpecConfig& effective);

  /// Commits exactly `count` greedy tokens of the engine's own choice; a last round that would
  /// overshoot is cut. May be called again and then continues. Default: `count` serial rounds.
  [[nodiscard]] virtual Result<FreeRun> free_run(uint32_t count);

  /// Default: all zero (weights fully resident).
  [[nodiscard]] virtual protocol::ExpertStats expert_stats() const { return {}; }
  /// Peak memory in 1e9 bytes. Default: the process's peak resident set.
  [[nodiscard]] virtual double peak_ram_gb() const;
  /// Default: not reported.
  [[nodiscard]] virtual std::optional<MemoryBytes> memory_bytes() const { return std::nullopt; }

 private:
  int64_t free_run_last_ = 0;  // last committed token of the default free run
};

/// Fills `out` with the `n` best of `logits` in wire order (logit descending, ties by lower id);
/// floats are widened exactly. Needs 0 < n <= logits.size(). Refuses WORKER-LOGIT-NOT-FINITE.
[[nodiscard]] Result<std::vector<protocol::TopLogit>> best_logits(std::span<const float> logits,
                                                                  size_t n);

}  // namespace assay::worker
