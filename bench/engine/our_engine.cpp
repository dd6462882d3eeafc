#include "bench/engine/our_engine.h"

#include <cstdlib>
#include <utility>

namespace assay::bench {

Result<std::unique_ptr<OurEngine>> OurEngine::load(const std::filesystem::path& path, int n_ctx) {
  TRY(files, engine::gguf::open_model(path));
  TRY(model, engine::model::Model::load(std::move(files.model)));
  std::unique_ptr<OurEngine> engine(new OurEngine(std::move(model), n_ctx));
  engine->model_.prefault();
  TRY_DO(engine->set_threads(1));
  return engine;
}

Status OurEngine::set_threads(int threads) {
  const char* force_isa = std::getenv("ASSAY_FORCE_ISA");
  session_.reset();
  TRY(backend,
      engine::backend::create_cpu({.threads = threads, .force_isa = force_isa ? force_isa : ""}));
  backend_ = std::move(backend);
  TRY(session, engine::decode::Session::open(model_, *backend_, {.n_ctx = n_ctx_}));
  session_ = std::make_unique<engine::decode::Session>(std::move(session));
  return reset();
}

Status OurEngine::reset() {
  session_->invalidate();
  timeline_.clear();
  return {};
}

Status OurEngine::feed(std::span<const int32_t> tokens) {
  timeline_.insert(timeline_.end(), tokens.begin(), tokens.end());
  return tokens.size() == 1 ? session_->eval(tokens[0]) : session_->sync(timeline_);
}

Result<std::vector<float>> OurEngine::all_rows(std::span<const int32_t> tokens) {
  std::vector<float> rows;
  TRY_DO(session_->score(tokens, 0,
                         [&](int64_t /*first*/, int64_t /*n_rows*/, std::span<const float> logits) {
                           rows.insert(rows.end(), logits.begin(), logits.end());
                         }));
  TRY_DO(reset());
  return rows;
}

uint64_t OurEngine::weight_bytes_per_token() const {
  const engine::gguf::File& file = model_.file();
  const bool tied = file.find("output.weight") == nullptr;
  uint64_t bytes = 0;
  for (const engine::gguf::Tensor& tensor : file.tensors()) {
    const bool row_only = tensor.name == "token_embd.weight" && !tied;
    bytes += row_only ? tensor.row_bytes() : tensor.data.size();
  }
  return bytes;
}

}  // namespace assay::bench
