#include "worker/engine.h"

#include <sys/resource.h>

#include <algorithm>
#include <bit>

#include "base/text.h"
#include "protocol/spec.h"
#include "worker/refusals.h"

namespace assay::worker {

using protocol::SpecConfig;
using protocol::TopLogit;

Result<int64_t> Engine::decode_begin(std::span<const int64_t> seed) {
  return forward(seed);
}
Result<int64_t> Engine::correctness_begin(std::span<const int64_t> prompt) {
  return forward(prompt);
}

Result<std::vector<int64_t>> Engine::correctness_free(std::span<const int64_t> prompt,
                                                      int64_t steps) {
  std::vector<int64_t> tokens;
  if (steps == 0) return tokens;
  tokens.reserve(static_cast<size_t>(steps));
  TRY(first, forward(prompt));
  tokens.push_back(first);
  while (static_cast<int64_t>(tokens.size()) < steps) {
    TRY(token, step(tokens.back()));
    tokens.push_back(token);
  }
  return tokens;
}

Result<SpecConfig> Engine::resolve_spec(const SpecConfig& wanted) {
  if (wanted.mode == protocol::kSerial) return protocol::serial_spec();
  if (wanted.mode != protocol::kMtp) {
    return Refusal(kModeNotRunnable, cat("mode `", wanted.mode, "` is listed but not served"));
  }
  const DepthRange range = facts().mtp_depth;
  const uint32_t depth = wanted.mtp && wanted.mtp->depth ? *wanted.mtp->depth : range.chosen;
  if (depth < range.least || depth > range.most) {
    return Refusal(kDepthOutOfRange, cat("depth ", depth, " was asked for, expected ", range.least,
                                         " to ", range.most));
  }
  // Without a block the echo must not grow one, although a depth was chosen.
  return wanted.mtp ? protocol::mtp_spec(depth) : wanted;
}

Result<int64_t> Engine::free_begin(std::span<const int64_t> seed, const SpecConfig&) {
  TRY(token, forward(seed));
  free_run_last_ = token;
  return token;
}

Result<FreeRun> Engine::free_run(uint32_t count) {
  FreeRun run;
  run.tokens.reserve(count);
  for (uint32_t i = 0; i < count; ++i) {
    TRY(token, step(free_run_last_));
    free_run_last_ = token;
    run.tokens.push_back(token);
  }
  run.acceptance_lengths.assign(count, 1);
  return run;
}

double Engine::peak_ram_gb() const {
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) != 0) return 0;
  return static_cast<double>(usage.ru_maxrss) * 1024.0 / 1e9;  // ru_maxrss is in KiB
}

Result<std::vector<TopLogit>> best_logits(std::span<const float> logits, size_t n) {
  ENSURE(n > 0 && n <= logits.size());
  // All exponent bits set: infinity or NaN. As an integer reduction it costs next to nothing.
  constexpr uint32_t kExponent = 0x7f800000;
  uint32_t not_finite = 0;
  for (const float logit : logits) {
    not_finite |= static_cast<uint32_t>((std::bit_cast<uint32_t>(logit) & kExponent) == kExponent);
  }
  if (not_finite != 0) return Refusal(kLogitNotFinite, "among the logits of one position");

  // Ids come in rising order, so a later equal logit goes behind an earlier one.
  std::vector<TopLogit> best;
  best.reserve(n + 1);
  float least = 0;
  for (size_t id = 0; id < logits.size(); ++id) {
    if (best.size() == n && !(logits[id] > least)) continue;
    const TopLogit entry{static_cast<int64_t>(id), static_cast<double>(logits[id])};
    const auto place =
        std::upper_bound(best.begin(), best.end(), entry,
                         [](const TopLogit& a, const TopLogit& b) { return a.logit > b.logit; });
    best.insert(place, entry);
    if (best.size() > n) best.pop_back();
    least = static_cast<float>(best.back().logit);
  }
  return best;
}

}  // namespace assay::worker
