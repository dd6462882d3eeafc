// Sampling: from logits to the next token.
//
// temperature <= 0   the largest logit, lowest id on a tie
// otherwise          keep the top_k largest logits; p = softmax(logit / temperature) over them;
// drop
//                    p < min_p * p_max; keep the most likely ones until they hold top_p of the
//                    probability; draw among those in proportion to p
//
// Promise  the same logits, parameters and seed give the same tokens on every machine: own random
//          numbers and own exp, sums in one order
// Cost     one pass over the logits, then n log n in the number of tokens that stay
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "engine/decode/random.h"

namespace assay::engine::decode {

struct SamplingOptions {
  double temperature = 1.0;
  int64_t top_k = 0;  // 0: all; at most 1024
  double top_p = 1.0;
  double min_p = 0.05;
  uint64_t seed = 0;
};
inline constexpr int64_t kTopKMax = 1024;

class Sampler {
 public:
  /// Refuses DECODE-SAMPLING: temperature not finite or above 100, top_k outside 0..1024, top_p
  /// outside (0, 1], min_p outside [0, 1].
  [[nodiscard]] static Result<Sampler> make(const SamplingOptions& options);

  /// The next token. `logits` are finite and not empty.
  [[nodiscard]] int32_t next(std::span<const float> logits);

 private:
  explicit Sampler(const SamplingOptions& options);

  struct Candidate {
    float logit;
    int32_t id;
    double weight;  // exp((logit - largest) / temperature)
  };
  SamplingOptions options_;
  Random random_;
  std::vector<Candidate> candidates_;
};

/// The largest logit's id, the lowest one on a tie.
[[nodiscard]] int32_t argmax(std::span<const float> logits);

}  // namespace assay::engine::decode
