// Contender: what the comparison asks of an engine. Two of them, ours and the peer, are driven by
// the same loop, so that both do the same work inside the same clock reads.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"

namespace assay::bench {

/// One loaded model with one context. Not thread-safe.
class Contender {
 public:
  virtual ~Contender() = default;

  /// What computed the figures, for the record: "avx2", "haswell, flash attention on".
  [[nodiscard]] virtual std::string variant() const = 0;
  /// Threads of every later call. Made once, outside the timed part.
  [[nodiscard]] virtual Status set_threads(int threads) = 0;
  /// Forgets the context; the next tokens stand at position 0.
  [[nodiscard]] virtual Status reset() = 0;
  /// Runs `tokens` after the context in one call. On return logits() holds the last position's row.
  [[nodiscard]] virtual Status feed(std::span<const int32_t> tokens) = 0;
  /// The last row, n_vocab values; valid until the next call.
  [[nodiscard]] virtual std::span<const float> logits() = 0;
  /// Helper threads sleep from here until the next call: they must not spin while the other runs.
  virtual void rest() = 0;
};

}  // namespace assay::bench
