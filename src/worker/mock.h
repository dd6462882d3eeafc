// Deterministic engines without a model: for transcripts, for tests of a judge, and for measuring
// what the harness itself costs.
//
//   AdapterMock  "M1": every token is a function of the last input alone; its transcript is pinned
//                byte by byte in docs/protocol.md.
//   ContextMock  the next token is one function of all tokens so far, so that teacher forcing, free
//                runs and goldens agree with each other as they do with a model.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "worker/engine.h"

namespace assay::worker {

/// Ways to misbehave, for tests.
struct MockOptions {
  std::vector<std::string> spec_modes = {std::string(protocol::kSerial),
                                         std::string(protocol::kMtp)};
  uint64_t residual_bytes = 0;              // what a drain leaves behind
  std::optional<int64_t> fault_token{};     // an input with this id fails (WORKER-MOCK-FAULT)
  std::vector<std::string>* log = nullptr;  // gets "Dropped", "Drained", "Created", "Forward"
};

/// What both mocks share: facts, drains, faults, and the pattern of accepted drafts. Round 0, 2, 4…
/// of mode mtp accepts every draft, the others none.
class MockEngine : public Engine {
 public:
  explicit MockEngine(MockOptions options) : options_(std::move(options)) {}

  [[nodiscard]] Facts facts() const override;
  void drop_session() override;
  [[nodiscard]] Result<uint64_t> drain() override;
  [[nodiscard]] Result<std::vector<protocol::TopLogit>> top_logits(size_t n) override;
  [[nodiscard]] Result<int64_t> free_begin(std::span<const int64_t> seed,
                                           const protocol::SpecConfig& effective) override;
  [[nodiscard]] Result<FreeRun> free_run(uint32_t count) override;
  [[nodiscard]] double peak_ram_gb() const override { return 18.5; }

 protected:
  /// Logs a forward; refuses the fault token.
  [[nodiscard]] Status take_input(std::span<const int64_t> tokens, bool creates_session);

  /// The next token of a free run after `last`.
  virtual int64_t continue_run(int64_t last) = 0;
  /// The i-th best token when `token` is the best.
  virtual int64_t runner_up(int64_t token, int64_t i) const = 0;

  int64_t last_ = 0;  // the token chosen last

 private:
  void note(const char* event);

  MockOptions options_;
  uint32_t depth_ = 0;  // of the open free run; 0 = serial
  uint64_t round_ = 0;
};

class AdapterMock final : public MockEngine {
 public:
  explicit AdapterMock(MockOptions options = {}) : MockEngine(std::move(options)) {}

  [[nodiscard]] Result<int64_t> forward(std::span<const int64_t> prompt) override;
  [[nodiscard]] Result<int64_t> decode_begin(std::span<const int64_t> seed) override;
  [[nodiscard]] Result<int64_t> step(int64_t token) override;
  [[nodiscard]] Result<std::vector<int64_t>> correctness_free(std::span<const int64_t> prompt,
                                                              int64_t steps) override;

 protected:
  int64_t continue_run(int64_t last) override;
  int64_t runner_up(int64_t token, int64_t i) const override;
};

class ContextMock final : public MockEngine {
 public:
  /// Token ids lie in [0, vocabulary). Needs vocabulary >= 8: the wire wants eight distinct ids.
  explicit ContextMock(int64_t vocabulary, MockOptions options = {});

  [[nodiscard]] Result<int64_t> forward(std::span<const int64_t> prompt) override;
  [[nodiscard]] Result<int64_t> step(int64_t token) override;

 protected:
  int64_t continue_run(int64_t last) override;
  int64_t runner_up(int64_t token, int64_t i) const override;

 private:
  [[nodiscard]] Status check_vocabulary(std::span<const int64_t> tokens) const;
  int64_t absorb(int64_t token);

  int64_t vocabulary_;
  uint64_t state_ = 0;  // of all tokens so far
};

}  // namespace assay::worker
