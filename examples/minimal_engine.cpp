// A whole third-party engine: copy this file, put your model where the toy stands, and `benchd` can
// judge it. Try it by hand:
//
//   $ build/release/bin/minimal-engine runtime-worker --weights any --speculative-protocol v1.1
//   {"id":0,"nonce":"…","ok":true,…}
//   {"id":1,"kind":"prefill","prompt_tokens":[3,1,4]}          <- type this line
//   {"id":1,"nonce":"…","ok":true,"token":…}
//
// The SDK (src/worker) reads and writes the wire, keeps the order of phases, counts the work, and
// answers everything that is not allowed. You write the six functions below.
#include <array>
#include <iostream>
#include <string>

#include "base/text.h"
#include "worker/engine.h"
#include "worker/refusals.h"
#include "worker/serve.h"

namespace {

using assay::Refusal;
using assay::Result;

constexpr int64_t kVocabulary = 256;

/// The toy model: three leaky sums of the tokens seen so far give each id a score. Like a real
/// model it is deterministic, depends on the whole context, and yields one float32 logit per id.
class ToyModel {
 public:
  void clear() { state_.fill(0.0f); }

  void append(int64_t token) {
    constexpr std::array<float, 3> kKeep = {0.25f, 0.5f, 0.75f};
    for (size_t i = 0; i < state_.size(); ++i) {
      const int64_t value = (token * 37 + static_cast<int64_t>(i) * 11) % 101;
      state_[i] = state_[i] * kKeep[i] + static_cast<float>(value) / 64.0f;
    }
  }

  const std::array<float, kVocabulary>& logits() {
    for (size_t id = 0; id < logits_.size(); ++id) {
      const float x = static_cast<float>(id % 17) * state_[0] +
                      static_cast<float>(id % 13) * state_[1] + static_cast<float>(id) * state_[2];
      logits_[id] = x - 16.0f * static_cast<float>(static_cast<int>(x / 16.0f));
    }
    return logits_;
  }

 private:
  std::array<float, 3> state_{};
  std::array<float, kVocabulary> logits_{};
};

class MinimalEngine final : public assay::worker::Engine {
 public:
  // 1. What the hello says about you. Serial decoding and free runs are the defaults.
  assay::worker::Facts facts() const override {
    return {.backend = "cpu", .device = "toy model, 1 thread"};
  }

  // 2. Forget the tokens seen so far; the next forward starts from nothing.
  void drop_session() override { model_.clear(); }

  // 3. Give cached buffers back; how many bytes you still hold free (must be 0).
  Result<uint64_t> drain() override { return uint64_t{0}; }

  // 4. One forward over a whole prompt; the greedy next token.
  Result<int64_t> forward(std::span<const int64_t> prompt) override {
    for (const int64_t token : prompt) TRY_DO(check(token));
    model_.clear();
    for (const int64_t token : prompt) model_.append(token);
    return greedy();
  }

  // 5. One more token, chosen by the caller; the greedy next token.
  Result<int64_t> step(int64_t token) override {
    TRY_DO(check(token));
    model_.append(token);
    return greedy();
  }

  // 6. The best logits behind the token that was just returned. best_logits puts them in the order
  //    of the wire and refuses NaN and infinity.
  Result<std::vector<assay::protocol::TopLogit>> top_logits(size_t n) override {
    return assay::worker::best_logits(model_.logits(), n);
  }

  // Free runs are built on forward and step by the SDK. Override free_begin and free_run when you
  // have something faster, such as drafting; list the mode in facts().spec_modes then.

 private:
  // Refuse what you cannot compute; the text goes to the judge as it is.
  static assay::Status check(int64_t token) {
    if (token >= 0 && token < kVocabulary) return {};
    return Refusal(assay::worker::kTokenOutOfVocabulary,
                   assay::cat("a token lies outside 0 to ", kVocabulary - 1));
  }

  Result<int64_t> greedy() {
    TRY(best, assay::worker::best_logits(model_.logits(), 1));
    return best.front().token;
  }

  ToyModel model_;
};

assay::Status run(int argc, char** argv) {
  // First of all, before a library can print: the protocol gets private copies of stdin and stdout.
  TRY(channel, assay::worker::StdioChannel::take());
  TRY(command, assay::worker::parse_worker_command(argc, argv));
  // Load command.weights here, before the hello: loading is never part of a timed window.
  MinimalEngine engine;
  assay::worker::ServeOptions options;
  options.speculative = command.speculative;
  return assay::worker::serve_stdio(engine, channel, options);
}

}  // namespace

int main(int argc, char** argv) {
  const assay::Status done = run(argc, argv);
  if (done) return 0;
  std::cerr << "minimal-engine: " << done.refusal().text() << '\n';
  return done.refusal().code == assay::worker::kCommand.code ? 2 : 3;
}
