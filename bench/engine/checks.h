// Are the contenders right on this machine? Asked before any figure is quoted.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "bench/answers/greedy.h"
#include "bench/engine/llama_peer.h"

namespace assay::bench {

/// Index of the largest value, the first one on ties. Needs a value.
[[nodiscard]] int32_t argmax(std::span<const float> row);

struct GreedyReport {
  int cases = 0;
  int exact = 0;      // equal to the end
  int near_ties = 0;  // left the reference at a near tie
  std::string wrong;  // "case NAME, position N" of the first wrong one, or empty
};
/// Continues every prompt greedily and judges it by the reference.
[[nodiscard]] Result<GreedyReport> check_greedy(Contender& contender,
                                                const std::vector<GreedyCase>& cases);

/// Refuses BENCH-PEER-WRONG when the greedy tokens leave the recorded reference other than at a
/// near tie (`oracle` empty: not asked), or when a batch of tokens.size() chooses, at one of its
/// first 64 positions, a token that is no near tie when the same tokens are fed one by one. Returns
/// one sentence for the record.
[[nodiscard]] Result<std::string> check_peer(LlamaPeer& peer, const std::filesystem::path& oracle,
                                             std::span<const int32_t> tokens);

}  // namespace assay::bench
