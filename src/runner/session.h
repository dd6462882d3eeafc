// Session: one conversation with one engine, from its hello to its end.
//
// It numbers requests, checks every response (id -1, then nonce, id, ok, then what the verb needs),
// counts timed steps, closes phases with the barrier checks, and is dead after the first fault:
// later calls refuse SESSION_DISCARDED and write nothing. It reads no clock for a figure.
//
// Refusals  of every verb: SESSION_DISCARDED, UNSOLICITED_LINE, IO, JSON, PROTOCOL, NONCE_MISMATCH,
//           ENGINE, LINE_TOO_LONG, RUN_TIMEOUT, RUN-INTERRUPTED. Further ones stand at the verb.
//           No text ever names a token value.
// Source    docs/protocol.md.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "protocol/hello.h"
#include "protocol/message.h"
#include "runner/transport.h"
#include "runner/world.h"
#include "scoring/free_run.h"

namespace assay::runner {

struct SessionOptions {
  Duration hello_wait = std::chrono::seconds(900);    // covers the engine's loading
  Duration request_wait = std::chrono::seconds(900);  // a request outside any armed deadline
};

/// What `phase_diagnostics` reported when a phase was closed and passed its checks.
struct PhaseClose {
  int64_t completed_work = 0;
  bool drain_reported = false;  // cache_memory was there, and 0; else sealed as "not reported"
  std::optional<double> peak_ram_gb;
  std::optional<uint64_t> active_memory_bytes, cache_memory_bytes, peak_memory_bytes;
};

/// The engine's own account of a free run; nothing of it is scored.
struct FreeRun {
  std::vector<int64_t> tokens;
  std::vector<uint32_t> acceptance_lengths;  // committed tokens per verify round
  uint64_t drafted_total = 0;
  uint64_t accepted_total = 0;
  uint64_t committed_total = 0;
  std::optional<std::string> spec_decoder;
  std::optional<uint64_t> verify_replay_disagreements;
  std::optional<std::string> verification_mode;
  std::optional<uint64_t> rectangular_verification_rounds, serial_verification_rounds;
};

/// What the audit of a free run looks at.
[[nodiscard]] scoring::FreeRunCounters counters_of(const FreeRun& run, const PhaseClose& close);

/// One teacher-forced position: the engine's choice and its eight best logits.
struct Prediction {
  int64_t token = 0;
  std::vector<protocol::TopLogit> top_logits;  // exactly eight
};

class Session {
 public:
  /// Waits for the hello and checks it: id 0, ok, nonce, protocol_version 1.
  /// Refuses  HELLO_TIMEOUT, and what every verb refuses. The transport is closed on a refusal.
  [[nodiscard]] static Result<Session> open(World& world, std::unique_ptr<LineTransport> transport,
                                            const SessionOptions& options = {});
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();  // ends the engine patiently

  [[nodiscard]] const protocol::Hello& hello() const;
  /// Refuses CAPABILITY_NOT_ADVERTISED. Writes nothing; the session stays usable.
  [[nodiscard]] Status require_capability(std::string_view capability) const;

  /// Refuses SPEC_MODE_NOT_RUNNABLE, as require_capability.
  [[nodiscard]] Status require_spec(const protocol::SpecConfig& spec) const;

  // --- deadlines
  /// All requests until disarm() share this deadline.
  void arm(Instant deadline, Duration budget);
  void disarm();

  // --- phases
  void begin_phase();
  /// phase_diagnostics with the checks of an ordinary phase.
  /// Refuses  ALLOCATOR_CACHE_NOT_DRAINED, COMPLETED_WORK_MISMATCH.
  [[nodiscard]] Result<PhaseClose> close_phase();
  /// phase_diagnostics with the checks of a free run of `count` tokens.
  /// Refuses  ALLOCATOR_CACHE_NOT_DRAINED, FREE_RUN_CONSISTENCY.
  [[nodiscard]] Result<PhaseClose> close_free_run(const FreeRun& run, uint32_t count);

  // --- verbs
  [[nodiscard]] Result<int64_t> prefill(std::span<const int64_t> prompt);
  /// Refuses  SPEC_MODE_NOT_RUNNABLE (nothing is written), SPEC_ECHO_DIVERGENCE.
  [[nodiscard]] Result<int64_t> decode_begin(std::span<const int64_t> seed,
                                             const std::optional<protocol::SpecConfig>& spec);
  [[nodiscard]] Result<int64_t> decode_step(int64_t token);
  [[nodiscard]] Result<std::vector<int64_t>> correctness(std::span<const int64_t> prompt,
                                                         int64_t steps);
  [[nodiscard]] Result<Prediction> correctness_begin(std::span<const int64_t> prompt);
  [[nodiscard]] Result<Prediction> correctness_step(int64_t token);
  /// Refuses  CAPABILITY_NOT_ADVERTISED and SPEC_MODE_NOT_RUNNABLE (nothing is written),
  ///          SPEC_ECHO_DIVERGENCE.
  [[nodiscard]] Result<int64_t> free_decode_begin(std::span<const int64_t> seed,
                                                  const std::optional<protocol::SpecConfig>& spec);
  /// The engine's answer as it came; only its shape on the wire was checked, so that nothing but
  /// the wait lies inside the timed window. account_of() turns it into a FreeRun.
  [[nodiscard]] Result<protocol::Response> free_decode_run(uint32_t count);
  /// The counters that a free run must carry. Refuses PROTOCOL.
  [[nodiscard]] Result<FreeRun> account_of(protocol::Response response);

  /// Ends the session because of a fault that the caller found (a wrong token). Returns it.
  [[nodiscard]] Refusal discard(Refusal refusal);
  [[nodiscard]] bool discarded() const;
  /// Timed steps handed to the transport since the phase began.
  [[nodiscard]] int64_t issued_steps() const;

  /// Ends the engine now. Idempotent.
  void close();

 private:
  struct State;
  explicit Session(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Refuses resident_identity_changed_within_window when two hellos name different residents; one
/// that names none differs from one that does.
[[nodiscard]] Status check_same_resident(const protocol::Hello& first,
                                         const protocol::Hello& second);

}  // namespace assay::runner
