#include "engine/worker/session_engine.h"

#include "base/text.h"
#include "engine/worker/host.h"
#include "worker/refusals.h"

namespace assay::engine::worker {

SessionEngine::SessionEngine(const model::Model& model, const backend::Backend& backend,
                             decode::Session& session)
    : model_(model), backend_(backend), session_(session) {}

assay::worker::Facts SessionEngine::facts() const {
  assay::worker::Facts facts;
  facts.backend = backend_.name();
  facts.device = device_text(backend_);
  return facts;
}

void SessionEngine::drop_session() {
  session_.invalidate();
}

Result<uint64_t> SessionEngine::drain() {
  return static_cast<uint64_t>(session_.drain());
}

Result<int32_t> SessionEngine::narrow(int64_t token) const {
  if (token < 0 || token >= model_.hyper().n_vocab) {
    return Refusal(assay::worker::kTokenOutOfVocabulary,
                   cat("a token id is not in 0..", model_.hyper().n_vocab - 1));
  }
  return static_cast<int32_t>(token);
}

Result<int64_t> SessionEngine::forward(std::span<const int64_t> prompt) {
  prompt_.clear();
  for (const int64_t token : prompt) {
    TRY(id, narrow(token));
    prompt_.push_back(id);
  }
  session_.invalidate();
  TRY_DO(session_.sync(prompt_));
  return session_.greedy();
}

Result<int64_t> SessionEngine::step(int64_t token) {
  TRY(id, narrow(token));
  TRY_DO(session_.eval(id));
  return session_.greedy();
}

Result<std::vector<protocol::TopLogit>> SessionEngine::top_logits(size_t n) {
  return assay::worker::best_logits(session_.logits(), n);
}

std::optional<assay::worker::MemoryBytes> SessionEngine::memory_bytes() const {
  const ResidentBytes resident = resident_bytes();
  return assay::worker::MemoryBytes{resident.now, static_cast<uint64_t>(session_.scratch_bytes()),
                                    resident.peak};
}

std::string device_text(const backend::Backend& backend) {
  return cat(cpu_name(), ", ", backend.isa(), ", ", backend.threads(),
             backend.threads() == 1 ? " thread" : " threads");
}

}  // namespace assay::engine::worker
