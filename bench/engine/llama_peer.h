// llama.cpp as a Contender: its prebuilt library, opened at run time, run as its users run it.
//
// Best CPU variant of the package (the library's own choice by CPUID), weights mapped and repacked
// where it wants to, F16 cache, batches of 512, a thread pool that lives as long as the context.
// Errors    BENCH-PEER-UNREADABLE, BENCH-PEER-LAYOUT, BENCH-PEER-FAILED.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/engine/contender.h"
#include "bench/engine/llama_api.h"

namespace assay::bench {

/// The opened library. One per process; it stays open until the process ends.
class LlamaLibrary {
 public:
  /// `folder` holds libllama*.so and one libggml-cpu-*.so for each CPU level.
  [[nodiscard]] static Result<const LlamaLibrary*> open(const std::filesystem::path& folder);

  [[nodiscard]] const llama::Api& api() const { return api_; }
  /// Which libggml-cpu-*.so the library chose: "haswell".
  [[nodiscard]] const std::string& cpu_variant() const { return cpu_variant_; }

 private:
  llama::Api api_{};
  std::string cpu_variant_;
};

struct PeerOptions {
  bool flash_attention = true;
  bool f32_cache = false;  // its nearest to exact arithmetic, for comparing answers
  int n_ctx = 1024;
};

class LlamaPeer final : public Contender {
 public:
  [[nodiscard]] static Result<std::unique_ptr<LlamaPeer>> load(const LlamaLibrary& library,
                                                               const std::filesystem::path& model,
                                                               const PeerOptions& options);
  ~LlamaPeer() override;
  LlamaPeer(const LlamaPeer&) = delete;
  LlamaPeer& operator=(const LlamaPeer&) = delete;

  [[nodiscard]] std::string variant() const override;
  [[nodiscard]] Status set_threads(int threads) override;
  [[nodiscard]] Status reset() override;
  [[nodiscard]] Status feed(std::span<const int32_t> tokens) override;
  [[nodiscard]] std::span<const float> logits() override;
  void rest() override;

  /// Forgets the context, runs `tokens` in one call, and returns the first `n_rows` rows, n_rows *
  /// n_vocab values.
  [[nodiscard]] Result<std::vector<float>> rows(std::span<const int32_t> tokens, size_t n_rows);
  /// No BOS is added; "<|im_start|>" and its like are plain text unless `special`.
  [[nodiscard]] std::vector<int32_t> tokenize(std::string_view text, bool special) const;
  [[nodiscard]] int32_t n_vocab() const { return n_vocab_; }

 private:
  LlamaPeer(const LlamaLibrary& library, const PeerOptions& options);
  [[nodiscard]] Status run(std::span<const int32_t> tokens, size_t n_rows);
  void drop_pool();
  void wake();

  const LlamaLibrary& library_;
  PeerOptions options_;
  llama::Model* model_ = nullptr;
  llama::Context* context_ = nullptr;
  llama::Threadpool* pool_ = nullptr;
  llama::Batch batch_{};
  int32_t n_vocab_ = 0;
  int32_t position_ = 0;
  int32_t last_row_ = 0;
  bool resting_ = false;
};

}  // namespace assay::bench
