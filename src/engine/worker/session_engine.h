// SessionEngine: our engine behind the worker SDK. Serial decoding over one session.
//
// In:      a loaded model, a backend, an open session; verbs from the SDK's state machine
// Out:     greedy tokens, logits, counters
// Promise  an opener computes its whole prompt: drop_session forgets every token, and nothing is
//          kept by what a prompt looks like
// Errors   WORKER-TOKEN-OUT-OF-VOCABULARY; the session's DECODE-* go through as they are
// Threads  as the SDK calls: one thread, one call at a time
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/backend/backend.h"
#include "engine/decode/session.h"
#include "engine/model/model.h"
#include "worker/engine.h"

namespace assay::engine::worker {

class SessionEngine final : public assay::worker::Engine {
 public:
  /// All three must outlive the engine.
  SessionEngine(const model::Model& model, const backend::Backend& backend,
                decode::Session& session);

  [[nodiscard]] assay::worker::Facts facts() const override;
  void drop_session() override;
  [[nodiscard]] Result<uint64_t> drain() override;
  [[nodiscard]] Result<int64_t> forward(std::span<const int64_t> prompt) override;
  [[nodiscard]] Result<int64_t> step(int64_t token) override;
  [[nodiscard]] Result<std::vector<protocol::TopLogit>> top_logits(size_t n) override;
  [[nodiscard]] std::optional<assay::worker::MemoryBytes> memory_bytes() const override;

 private:
  [[nodiscard]] Result<int32_t> narrow(int64_t token) const;

  const model::Model& model_;
  const backend::Backend& backend_;
  decode::Session& session_;
  std::vector<int32_t> prompt_;  // kept for its memory
};

/// "AMD EPYC, avx2, 2 threads": what hello and results call the device.
[[nodiscard]] std::string device_text(const backend::Backend& backend);

}  // namespace assay::engine::worker
