#include "engine/decode/sampling.h"

#include <algorithm>
#include <cmath>

#include "base/ensure.h"
#include "base/text.h"
#include "engine/decode/refusals.h"

namespace assay::engine::decode {

namespace {

// exp(x) for x <= 0 from additions and multiplications alone: x = k ln 2 + r, |r| <= ln 2 / 2, and
// the Taylor series of exp(r) to r^13 (the next term is below 2^-56). Libraries differ in the last
// bit between processors; this does not.
double exp_of_negative(double x) {
  constexpr double kLog2E = 1.4426950408889634;
  constexpr double kLn2High = 0x1.62e42fefa3800p-1;  // 42 bits: k * kLn2High is exact
  constexpr double kLn2Low = 0x1.ef35793c76730p-45;
  static constexpr double kInverseFactorial[] = {1.0,
                                                 1.0,
                                                 1.0 / 2,
                                                 1.0 / 6,
                                                 1.0 / 24,
                                                 1.0 / 120,
                                                 1.0 / 720,
                                                 1.0 / 5040,
                                                 1.0 / 40320,
                                                 1.0 / 362880,
                                                 1.0 / 3628800,
                                                 1.0 / 39916800,
                                                 1.0 / 479001600,
                                                 1.0 / 6227020800.0};
  const double k = std::floor(x * kLog2E + 0.5);
  const double r = (x - k * kLn2High) - k * kLn2Low;
  double sum = kInverseFactorial[13];
  for (int i = 12; i >= 0; --i) sum = sum * r + kInverseFactorial[i];
  return std::ldexp(sum, static_cast<int>(k));
}

// A candidate further below the best than this has less than e^-40 = 4e-18 of its probability:
// all such together cannot be drawn by a 53-bit random number.
constexpr double kDepthMax = 40.0;

}  // namespace

int32_t argmax(std::span<const float> logits) {
  ENSURE(!logits.empty());
  size_t best = 0;
  for (size_t i = 1; i < logits.size(); ++i) {
    if (logits[i] > logits[best]) best = i;
  }
  return static_cast<int32_t>(best);
}

Sampler::Sampler(const SamplingOptions& options) : options_(options), random_(options.seed) {}

Result<Sampler> Sampler::make(const SamplingOptions& o) {
  if (!(o.temperature <= 100.0) || !std::isfinite(o.temperature)) {
    return Refusal(kSampling, cat("temperature must be a finite number of at most 100"));
  }
  if (o.top_k < 0 || o.top_k > kTopKMax) {
    return Refusal(kSampling, cat("top_k is ", o.top_k, ", expected 0 (all) to ", kTopKMax));
  }
  if (!(o.top_p > 0.0 && o.top_p <= 1.0)) {
    return Refusal(kSampling, "top_p must be above 0 and at most 1");
  }
  if (!(o.min_p >= 0.0 && o.min_p <= 1.0)) {
    return Refusal(kSampling, "min_p must be from 0 to 1");
  }
  return Sampler(o);
}

int32_t Sampler::next(std::span<const float> logits) {
  const int32_t best = argmax(logits);
  if (options_.temperature <= 0.0) return best;
  const double largest = logits[static_cast<size_t>(best)];

  // Candidates. With a top_p the whole sum is needed; else nothing below min_p is (the margin
  // covers the library's log; the exact test is on the weight, below).
  double depth = kDepthMax;
  if (options_.top_p == 1.0 && options_.min_p > 0.0) {
    depth = std::min(depth, 1e-6 - std::log(options_.min_p));
  }
  const double least = largest - depth * options_.temperature;
  candidates_.clear();
  double total = 0.0;
  for (size_t i = 0; i < logits.size(); ++i) {
    const double logit = logits[i];
    if (logit < least) continue;
    const double weight = exp_of_negative((logit - largest) / options_.temperature);
    candidates_.push_back({logits[i], static_cast<int32_t>(i), weight});
    total += weight;
  }

  // Best first, as many as are needed: the heap's top goes to the end of the vector.
  const auto worse = [](const Candidate& a, const Candidate& b) {
    return a.logit != b.logit ? a.logit < b.logit : a.id > b.id;
  };
  std::make_heap(candidates_.begin(), candidates_.end(), worse);
  const auto n = static_cast<int64_t>(candidates_.size());
  const auto ranked = [&](int64_t rank) -> const Candidate& {
    return candidates_.end()[-1 - rank];
  };
  int64_t n_ranked = 0;
  const auto rank_next = [&] {
    std::pop_heap(candidates_.begin(), candidates_.end() - n_ranked, worse);
    ++n_ranked;
  };
  const int64_t n_most = options_.top_k > 0 ? std::min(options_.top_k, n) : n;
  if (n_most < n) {
    total = 0.0;
    while (n_ranked < n_most) {
      rank_next();
      total += ranked(n_ranked - 1).weight;
    }
  }

  // The best weight is exp(0) = 1, so min_p compares with the weight itself.
  int64_t kept = 0;
  double held = 0.0;
  while (kept < n_most && held < options_.top_p * total) {
    if (n_ranked == kept) rank_next();
    if (ranked(kept).weight < options_.min_p) break;
    held += ranked(kept).weight;
    ++kept;
  }
  double left = random_.uniform() * held;
  for (int64_t i = 0; i + 1 < kept; ++i) {
    left -= ranked(i).weight;
    if (left < 0.0) return ranked(i).id;
  }
  return ranked(kept - 1).id;
}

}  // namespace assay::engine::decode
