// Our engine as a Contender, in process: the libraries that assay-engine is made of.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "bench/engine/contender.h"
#include "engine/backend/backend.h"
#include "engine/decode/session.h"
#include "engine/model/model.h"

namespace assay::bench {

class OurEngine final : public Contender {
 public:
  /// The kernel table is the best one here, or ASSAY_FORCE_ISA. Refuses as its libraries do.
  [[nodiscard]] static Result<std::unique_ptr<OurEngine>> load(const std::filesystem::path& model,
                                                               int n_ctx);

  [[nodiscard]] std::string variant() const override { return std::string(backend_->isa()); }
  [[nodiscard]] Status set_threads(int threads) override;
  [[nodiscard]] Status reset() override;
  [[nodiscard]] Status feed(std::span<const int32_t> tokens) override;
  [[nodiscard]] std::span<const float> logits() override { return session_->logits(); }
  /// Its helper threads sleep by themselves soon after a call.
  void rest() override {}

  /// Forgets the context, runs `tokens`, and returns every row, tokens.size() * n_vocab values.
  [[nodiscard]] Result<std::vector<float>> all_rows(std::span<const int32_t> tokens);
  /// Bytes of weights that one decoded token reads: every matrix once, of the embedding one row.
  [[nodiscard]] uint64_t weight_bytes_per_token() const;

 private:
  OurEngine(engine::model::Model model, int n_ctx) : model_(std::move(model)), n_ctx_(n_ctx) {}

  engine::model::Model model_;
  int n_ctx_;
  std::unique_ptr<engine::backend::Backend> backend_;
  std::unique_ptr<engine::decode::Session> session_;
  std::vector<int32_t> timeline_;
};

}  // namespace assay::bench
