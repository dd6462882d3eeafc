// Answers before speed: recorded greedy tokens of a near-exact reference, and who agrees with them.
//
// Quantised arithmetic moves every logit a little, so a right engine may leave the reference, but
// only where the reference itself hardly decides: its best token and the other one within kNearTie.
// From there on the two texts differ and nothing more can be said.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace assay::bench {

/// One prompt with its greedy continuation and, for each generated position, the best five
/// (token, logit), best first.
struct GreedyCase {
  std::string name;
  std::string prompt;
  std::vector<int32_t> prompt_ids;
  std::vector<int32_t> tokens;
  std::vector<std::vector<std::pair<int32_t, double>>> top5;
};

/// Reads {"results": [{"name", "prompt", "prompt_ids", "tokens", "top5"}]}. FILE-… and JSON-…
/// refusals; JSON-TYPE also when tokens and top5 differ in length or a top5 is empty.
[[nodiscard]] Result<std::vector<GreedyCase>> read_greedy_cases(const std::filesystem::path& path);

/// Logit gap within which two tokens of the reference count as tied. llama.cpp's own CPU variants
/// differ by up to 0.3.
inline constexpr double kNearTie = 0.35;

enum class Verdict { exact, near_tie, wrong };

struct Judgement {
  Verdict verdict = Verdict::exact;
  size_t position = 0;  // of the first difference; tokens.size() when exact
  double gap = 0;       // there: the reference's logit gap, or 0 when the token is not in its five
};
/// Compares a continuation with the reference. One that ends early is wrong.
[[nodiscard]] Judgement judge(const GreedyCase& reference, std::span<const int32_t> tokens);

}  // namespace assay::bench
