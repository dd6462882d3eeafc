// The two comparisons of our engine with the peer: speed and agreement. One JSON line per figure on
// stdout, sentences about the checks on stderr.
//
// Errors    those of the two contenders; BENCH-PEER-WRONG, BENCH-OURS-WRONG, BENCH-TEXT-TOO-SHORT.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace assay::bench {

struct ComparisonOptions {
  std::filesystem::path model;        // GGUF file
  std::filesystem::path peer_folder;  // the peer's libraries
  std::filesystem::path text;         // its tokens are fed, teacher-forced
  std::filesystem::path oracle;       // recorded greedy tokens that both must give; may be empty
  std::vector<int> threads = {1, 2};
  /// Which figures: prefill, decode (from an empty context), decode-after (the prompt).
  std::vector<std::string> figures = {"prefill", "decode", "decode-after"};
  /// The peer's flash attention: on, off, or best: the faster one for each figure.
  std::string flash_attention = "best";
  int rounds = 6;
  int prompt = 512;
  int decode = 128;
};

/// Prefill and decode tokens a second of both, and their ratio, for each thread count.
[[nodiscard]] Status compare_speed(const ComparisonOptions& options);

/// Teacher-forced positions at which both choose the same token: over the text's first `prompt`
/// tokens, and over what the recorded reference generated. Quantised arithmetic leaves near ties
/// open, and the peer itself decides some of them differently with other settings; so the share of
/// positions that agree or are near ties (kNearTie) is what BENCH-OURS-WRONG refuses below
/// `agreement_min`, and the plain share is printed beside the peer's agreement with itself.
[[nodiscard]] Status compare_answers(const ComparisonOptions& options, double agreement_min);

void print_line(const json::Value& value);

}  // namespace assay::bench
