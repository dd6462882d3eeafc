// Answers before speed: are a contender's tokens right?
//
// Two checks. Greedy tokens against a recorded near-exact reference: they must be equal until, at
// most, a near tie of the reference. And wide batches against narrow ones: a build that computes a
// batch of 512 wrongly is fast and worthless (llama.cpp's AMX code built by GCC 12 is such a case).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "bench/engine/contender.h"

namespace assay::bench {

/// One prompt of the reference with its greedy continuation and, for each generated position, the
/// best five (token, logit), best first.
struct GreedyCase {
  std::string name;
  std::vector<int32_t> prompt_ids;
  std::vector<int32_t> tokens;
  std::vector<std::vector<std::pair<int32_t, double>>> top5;
};

/// Reads {"results": [{"name", "prompt_ids", "tokens", "top5"}]}. JSON-… and FILE-… refusals.
[[nodiscard]] Result<std::vector<GreedyCase>> read_greedy_cases(const std::filesystem::path& path);

/// Logit gap within which two tokens of the reference count as tied.
inline constexpr double kNearTie = 0.35;

struct GreedyReport {
  int cases = 0;
  int exact = 0;      // equal to the end
  int near_ties = 0;  // left the reference at a near tie
  std::string wrong;  // "case NAME, position N", or empty
};
[[nodiscard]] Result<GreedyReport> check_greedy(Contender& contender,
                                                const std::vector<GreedyCase>& cases);

/// Index of the largest value, the first one on ties. Needs a value.
[[nodiscard]] int32_t argmax(std::span<const float> row);

}  // namespace assay::bench
