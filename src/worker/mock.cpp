#include "worker/mock.h"

#include <algorithm>

#include "base/text.h"
#include "worker/refusals.h"

namespace assay::worker {

using protocol::TopLogit;

Facts MockEngine::facts() const {
  Facts facts;
  facts.backend = "mock";
  facts.device = "none";
  facts.spec_modes = options_.spec_modes;
  return facts;
}

void MockEngine::note(const char* event) {
  if (options_.log != nullptr) options_.log->emplace_back(event);
}

void MockEngine::drop_session() {
  note("Dropped");
  last_ = 0;
  depth_ = 0;
  round_ = 0;
}

Result<uint64_t> MockEngine::drain() {
  note("Drained");
  return options_.residual_bytes;
}

Status MockEngine::take_input(std::span<const int64_t> tokens, bool creates_session) {
  if (creates_session) note("Created");
  note("Forward");
  if (options_.fault_token &&
      std::find(tokens.begin(), tokens.end(), *options_.fault_token) != tokens.end()) {
    return Refusal(kMockFault, "the input holds the token that is set to fail");
  }
  return {};
}

Result<std::vector<TopLogit>> MockEngine::top_logits(size_t n) {
  std::vector<TopLogit> logits;
  for (size_t i = 0; i < n; ++i) {
    logits.push_back({runner_up(last_, static_cast<int64_t>(i)), 10.0 - static_cast<double>(i)});
  }
  return logits;
}

Result<int64_t> MockEngine::free_begin(std::span<const int64_t> seed,
                                       const protocol::SpecConfig& effective) {
  TRY(token, decode_begin(seed));
  const DepthRange range = facts().mtp_depth;
  if (effective.mode == protocol::kMtp) {
    depth_ = effective.mtp ? effective.mtp->depth.value_or(range.chosen) : range.chosen;
  }
  return token;
}

Result<FreeRun> MockEngine::free_run(uint32_t count) {
  FreeRun run;
  run.tokens.reserve(count);
  while (run.tokens.size() < count) {
    const uint32_t accepted = round_++ % 2 == 0 ? depth_ : 0;
    const uint32_t remaining = count - static_cast<uint32_t>(run.tokens.size());
    const uint32_t committed = std::min(accepted + 1, remaining);
    run.drafted_total += depth_;
    run.accepted_total += accepted;
    run.acceptance_lengths.push_back(committed);
    for (uint32_t i = 0; i < committed; ++i) {
      last_ = continue_run(last_);
      run.tokens.push_back(last_);
    }
  }
  return run;
}

// --- M1

namespace {
int64_t plus(int64_t token, int64_t n) {  // wraps
  return static_cast<int64_t>(static_cast<uint64_t>(token) + static_cast<uint64_t>(n));
}
}  // namespace

Result<int64_t> AdapterMock::forward(std::span<const int64_t> prompt) {
  TRY_DO(take_input(prompt, true));
  return last_ = 100000 + static_cast<int64_t>(prompt.size());
}
Result<int64_t> AdapterMock::decode_begin(std::span<const int64_t> seed) {
  TRY_DO(take_input(seed, true));
  return last_ = 200000 + static_cast<int64_t>(seed.size());
}
Result<int64_t> AdapterMock::step(int64_t token) {
  TRY_DO(take_input({&token, 1}, false));
  return last_ = plus(token, 1);
}
Result<std::vector<int64_t>> AdapterMock::correctness_free(std::span<const int64_t> prompt,
                                                           int64_t steps) {
  TRY_DO(take_input(prompt, true));
  std::vector<int64_t> tokens;
  for (int64_t i = 0; i < steps; ++i) tokens.push_back(100000 + i);
  return tokens;
}
int64_t AdapterMock::continue_run(int64_t last) {
  return plus(last, 1);
}
int64_t AdapterMock::runner_up(int64_t token, int64_t i) const {
  return plus(token, i);
}

// --- context

ContextMock::ContextMock(int64_t vocabulary, MockOptions options)
    : MockEngine(std::move(options)), vocabulary_(vocabulary) {
  ENSURE(vocabulary >= static_cast<int64_t>(protocol::kTopLogitCount));
}

Status ContextMock::check_vocabulary(std::span<const int64_t> tokens) const {
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] < 0 || tokens[i] >= vocabulary_) {
      return Refusal(kTokenOutOfVocabulary,
                     cat("token ", i, " of the input lies outside 0 to ", vocabulary_ - 1));
    }
  }
  return {};
}

// SplitMix64's finalizer over state and token: any token of the past changes every later choice.
int64_t ContextMock::absorb(int64_t token) {
  uint64_t x = state_ * 0x9E3779B97F4A7C15u + static_cast<uint64_t>(token) + 1;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  state_ = x ^ (x >> 31);
  return static_cast<int64_t>(state_ % static_cast<uint64_t>(vocabulary_));
}

Result<int64_t> ContextMock::forward(std::span<const int64_t> prompt) {
  TRY_DO(take_input(prompt, true));
  TRY_DO(check_vocabulary(prompt));
  state_ = 0;
  for (const int64_t token : prompt) last_ = absorb(token);
  return last_;
}
Result<int64_t> ContextMock::step(int64_t token) {
  TRY_DO(take_input({&token, 1}, false));
  TRY_DO(check_vocabulary({&token, 1}));
  return last_ = absorb(token);
}
int64_t ContextMock::continue_run(int64_t last) {
  return absorb(last);
}
int64_t ContextMock::runner_up(int64_t token, int64_t i) const {
  return (token + i) % vocabulary_;
}

}  // namespace assay::worker
