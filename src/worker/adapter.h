// Adapter: the engine side of the protocol as a strict state machine, without any input or output.
// One request line in, one response line out.
//
//   idle ──opener──► its phase ──phase_diagnostics──► idle        a second opener is refused
//   (only prefill may be repeated inside its own phase)           any refusal ──► idle, counter 0
//
// Every opener forgets the session, drains, and sets the counter to 0. The counter grows by one on
// decode_begin, decode_step, correctness_begin, correctness_step, free_decode_begin, and by the
// rounds on free_decode_run. Source: docs/protocol.md, "Phases".
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "protocol/message.h"
#include "protocol/verb.h"
#include "worker/engine.h"
#include "worker/serve.h"

namespace assay::worker {

class Adapter {
 public:
  enum class Phase { idle, prefill, decode, correctness_free, correctness, free_run };

  /// Needs an options.nonce; capabilities other than free_run_decode are not served (ENSURE).
  Adapter(Engine& engine, const ServeOptions& options);

  /// Appends the hello and an LF.
  void hello(std::string& out);
  /// Appends the answer to one request line and an LF; never more than kLineSizeMax + 1 bytes.
  void answer(std::string_view line, std::string& out);
  /// Appends a refusal that answers no particular request, and an LF.
  void refuse_stream(const Refusal& refusal, std::string& out);

  [[nodiscard]] Phase phase() const { return phase_; }
  [[nodiscard]] int64_t completed_work() const { return completed_work_; }

 private:
  bool answer_step(std::string_view line, std::string& out);
  Status dispatch();
  Status check_posture(protocol::Verb verb) const;
  Status open(Phase phase);
  Status need(Phase phase, std::string_view opener) const;
  Result<protocol::SpecConfig> resolve_spec(protocol::Verb verb);
  Status answer_logits(int64_t token);

  Status prefill();
  Status decode_begin();
  Status step(Phase phase, std::string_view opener);
  Status correctness();
  Status correctness_begin();
  Status phase_diagnostics();
  Status free_decode_begin();
  Status free_decode_run();

  void refuse(int64_t id, const Refusal& refusal);
  void write(std::string& out);

  Engine& engine_;
  const ServeOptions options_;
  const Facts facts_;
  const std::string answer_middle_;  // protocol/step_lines.h
  Phase phase_ = Phase::idle;
  int64_t completed_work_ = 0;
  protocol::Request request_;    // being answered
  protocol::Response response_;  // being made
  std::string unknown_spec_key_;
};

}  // namespace assay::worker
