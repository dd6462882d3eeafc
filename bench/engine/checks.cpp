#include "bench/engine/checks.h"

#include <algorithm>

#include "base/text.h"
#include "bench/engine/refusals.h"

namespace assay::bench {
namespace {

constexpr size_t kNarrowPositions = 64;
// llama.cpp differs from itself between code paths by up to 0.3 in a logit, so two paths may order
// two tokens differently when they are closer than twice that.
constexpr float kPathGap = 0.7F;

struct WideBatch {
  size_t differences = 0;  // positions with another top-1
  float gap = 0;           // the largest logit gap, in the narrow row, between the two choices
};

Result<WideBatch> compare_widths(LlamaPeer& peer, std::span<const int32_t> tokens) {
  const size_t n_vocab = static_cast<size_t>(peer.n_vocab());
  const size_t n_rows = std::min(kNarrowPositions, tokens.size());
  TRY(rows, peer.rows(tokens, n_rows));
  TRY_DO(peer.reset());
  WideBatch result;
  for (size_t i = 0; i < n_rows; ++i) {
    TRY_DO(peer.feed(tokens.subspan(i, 1)));
    const std::span<const float> narrow = peer.logits();
    const auto best = static_cast<size_t>(argmax(narrow));
    const auto wide = static_cast<size_t>(argmax({rows.data() + i * n_vocab, n_vocab}));
    if (wide != best) ++result.differences;
    result.gap = std::max(result.gap, narrow[best] - narrow[wide]);
  }
  return result;
}

}  // namespace

int32_t argmax(std::span<const float> row) {
  return static_cast<int32_t>(std::max_element(row.begin(), row.end()) - row.begin());
}

Result<GreedyReport> check_greedy(Contender& contender, const std::vector<GreedyCase>& cases) {
  GreedyReport report;
  for (const GreedyCase& reference : cases) {
    TRY_DO(contender.reset());
    TRY_DO(contender.feed(reference.prompt_ids));
    std::vector<int32_t> tokens;
    while (tokens.size() < reference.tokens.size()) {
      tokens.push_back(argmax(contender.logits()));
      TRY_DO(contender.feed(std::span(&tokens.back(), 1)));
    }
    const Judgement judgement = judge(reference, tokens);
    ++report.cases;
    if (judgement.verdict == Verdict::exact) ++report.exact;
    if (judgement.verdict == Verdict::near_tie) ++report.near_ties;
    if (judgement.verdict == Verdict::wrong && report.wrong.empty()) {
      report.wrong = cat("case ", reference.name, ", position ", judgement.position);
    }
  }
  return report;
}

Result<std::string> check_peer(LlamaPeer& peer, const std::filesystem::path& oracle,
                               std::span<const int32_t> tokens) {
  std::string said = "greedy tokens not checked (no reference file)";
  if (!oracle.empty()) {
    TRY(cases, read_greedy_cases(oracle));
    TRY(report, check_greedy(peer, cases));
    if (!report.wrong.empty()) {
      return Refusal(kPeerWrong, cat("greedy tokens leave the reference at ", report.wrong));
    }
    said = cat("greedy tokens: ", report.exact, " of ", report.cases, " prompts exact, ",
               report.near_ties, " left at a near tie");
  }
  TRY(widths, compare_widths(peer, tokens));
  const std::string compared = cat(
      "batch of ", tokens.size(), " against single tokens: top-1 differs at ", widths.differences,
      " of ", kNarrowPositions, " positions, by at most ", format_fixed(widths.gap, 3));
  if (widths.gap > kPathGap) return Refusal(kPeerWrong, compared);
  return cat(said, "; ", compared);
}

}  // namespace assay::bench
