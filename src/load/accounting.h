// From stamps and counts to figures. Pure: values in, values out.
//
// Formulas (each figure of a file names the id it was made by)
//   cumulative_tok_s/1   (prompt + completion tokens) / total_s
//   prefill_tok_s/1      (prompt - cached tokens) / ttft_s
//   decode_tok_s/1       (completion tokens - 1) / (total_s - ttft_s), completion > 1
//   ttft_s/1             request sent to first token of any kind (content, reasoning, tool call)
//   ttft_answer_s/1      request sent to first token of the answer (content, tool call)
//   total_s/1            request sent to last token; usage events, [DONE] and the close are outside
//   tpot_s/1             (total_s - ttft_s) / (completion tokens - 1)
//   itl_s/1              each gap between token chunks over the tokens of its later chunk, weighted
//                        by them; only where the chunks' own tokens are known
//   chunk_gap_s/1        gaps between successive token chunks, whatever they hold
//   peak_output_tok_s/1  most tokens in a window of about one second that divides the decode window
//
// Absent    what cannot be known is absent with a remark, never 0. Durations are never negative.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "load/stream.h"

namespace assay::load {

/// Where token counts come from. Chunks are a last resort and always said.
enum class TokenSource { usage, timings, chunks, none };
[[nodiscard]] std::string_view name_of(TokenSource source);

struct RunFigures {
  std::optional<int64_t> prompt_tokens{}, completion_tokens{}, cached_tokens{}, reasoning_tokens{};
  TokenSource prompt_source = TokenSource::none, completion_source = TokenSource::none;
  int64_t token_chunks = 0;  // events that brought a token

  std::optional<double> connect_s{}, ttft_s{}, ttft_answer_s{}, total_s{};
  std::optional<double> stream_end_s{};         // to [DONE] or the end of the message
  std::optional<double> decode_window_share{};  // (total - ttft) / total
  std::optional<double> cumulative_tok_s{}, prefill_tok_s{}, decode_tok_s{}, tpot_s{};
  std::optional<double> peak_output_tok_s{}, mean_output_tok_s{};  // both over the decode window

  std::vector<double> chunk_gaps_s{};
  struct TokenGap {
    double seconds = 0;  // a token
    int64_t tokens = 0;  // how many
  };
  std::vector<TokenGap> token_gaps{};  // empty when the chunks' tokens are unknown

  std::vector<std::string> remarks{};  // why a figure is absent, disagreements, implausible claims
};

[[nodiscard]] RunFigures account(const StreamRecord& record);

struct Spread {
  double median = 0, min = 0, max = 0;
  int64_t count = 0;
};
/// Nothing for no values. The median of an even count is the mean of the middle two.
[[nodiscard]] std::optional<Spread> spread_of(std::vector<double> values);

/// Mean of the gaps weighted by their tokens; the p-quantile of tokens (nearest rank).
[[nodiscard]] std::optional<double> token_weighted_mean(std::span<const RunFigures::TokenGap> gaps);
[[nodiscard]] std::optional<double> token_weighted_quantile(std::vector<RunFigures::TokenGap> gaps,
                                                            double p);

/// Tokens of all successful requests over the wall time of the batch.
struct BatchFigures {
  int64_t ok = 0, failed = 0;
  std::optional<double> wall_s{};  // first request sent to last token
  std::optional<double> aggregate_cumulative_tok_s{}, aggregate_decode_tok_s{};
};
[[nodiscard]] BatchFigures account_batch(std::span<const StreamRecord> records,
                                         std::span<const RunFigures> figures);

/// {"cumulative_tok_s":{"id":…,"formula":…,"unit":…,"basis":…}, …}: what stands in every file.
[[nodiscard]] json::Value formulas();

}  // namespace assay::load
