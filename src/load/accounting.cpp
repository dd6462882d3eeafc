#include "load/accounting.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "load/refusals.h"

namespace assay::load {

namespace {

// Faster than any engine makes tokens for one request: they were held back on the way and came
// together, so their arrival says nothing about their making.
constexpr double kSecondsPerTokenMin = 10e-6;
// How far the server's clock may disagree with ours before its claim is called implausible.
constexpr double kTimingSlackShare = 0.05, kTimingSlackSeconds = 0.010;

struct Chunk {
  Stamp at{};
  DeltaKind kind{};
  std::optional<int64_t> tokens{};
};

// The events that brought tokens. One that states 0 tokens (a marker, half a character) has no
// place on the clock.
std::vector<Chunk> token_chunks(const StreamRecord& record) {
  std::vector<Chunk> chunks;
  for (const Delta& delta : record.deltas) {
    if (!is_token(delta.kind) || delta.tokens == 0) continue;
    chunks.push_back({delta.at, delta.kind, delta.tokens});
  }
  return chunks;
}

void count_tokens(const StreamRecord& record, const std::vector<Chunk>& chunks, RunFigures& out) {
  const Usage& usage = record.usage;
  const ServerTimings timings = record.timings.value_or(ServerTimings{});
  out.reasoning_tokens = usage.reasoning_tokens;
  out.cached_tokens = usage.cached_tokens ? usage.cached_tokens : timings.cache_n;
  if (usage.cached_tokens && timings.cache_n && *usage.cached_tokens != *timings.cache_n) {
    out.cached_tokens = std::max(*usage.cached_tokens, *timings.cache_n);
    out.remarks.push_back(cat("cached tokens: usage says ", *usage.cached_tokens, ", timings say ",
                              *timings.cache_n, "; the larger is taken"));
  }
  if (usage.prompt_tokens) {
    out.prompt_tokens = usage.prompt_tokens;
    out.prompt_source = TokenSource::usage;
  } else if (timings.prompt_n && timings.cache_n) {
    // prompt_n counts what was evaluated; the prompt is that and what came from the cache.
    out.prompt_tokens = *timings.prompt_n + *timings.cache_n;
    out.prompt_source = TokenSource::timings;
  } else {
    out.remarks.push_back("prompt tokens: the server states no count");
  }
  if (usage.completion_tokens) {
    out.completion_tokens = usage.completion_tokens;
    out.completion_source = TokenSource::usage;
  } else if (timings.predicted_n) {
    out.completion_tokens = timings.predicted_n;
    out.completion_source = TokenSource::timings;
  } else if (!chunks.empty()) {
    int64_t count = 0;
    for (const Chunk& chunk : chunks) count += chunk.tokens.value_or(1);
    out.completion_tokens = count;
    out.completion_source = TokenSource::chunks;
    out.remarks.push_back("completion tokens: counted from chunks, the server states no count");
  }
  if (out.completion_source != TokenSource::chunks && out.completion_tokens &&
      *out.completion_tokens != out.token_chunks) {
    out.remarks.push_back(cat(out.token_chunks, " chunks for ", *out.completion_tokens,
                              " tokens: the server's count is taken"));
  }
}

// The tokens of each chunk: stated by the stream, or one each where the total says so. Empty when
// they are unknown.
std::vector<int64_t> tokens_per_chunk(const StreamRecord& record, const std::vector<Chunk>& chunks,
                                      const RunFigures& figures) {
  std::vector<int64_t> tokens;
  for (const Chunk& chunk : chunks) {
    if (chunk.tokens) tokens.push_back(*chunk.tokens);
  }
  if (tokens.size() == chunks.size()) return tokens;
  const auto count = static_cast<int64_t>(chunks.size());
  const bool counted = figures.completion_source == TokenSource::usage ||
                       figures.completion_source == TokenSource::timings;
  // A stop token is counted but has no text, so it may come without a chunk.
  const bool one_each =
      counted && (*figures.completion_tokens == count ||
                  (*figures.completion_tokens == count + 1 && record.finish_reason == "stop"));
  if (!one_each) return {};
  return std::vector<int64_t>(chunks.size(), 1);
}

// Most tokens in a window of about a second, and the mean, over the same tokens and the same
// stretch: those after the first chunk. The windows tile the stretch, so the peak cannot lie below
// the mean unless the two count different tokens.
void rate_peak(const std::vector<Chunk>& chunks, const std::vector<int64_t>& tokens,
               RunFigures& out) {
  const double stretch = seconds(chunks.back().at - chunks.front().at);
  const double window = stretch / std::ceil(std::max(stretch, 1.0));
  int64_t after_first = 0;
  for (size_t i = 1; i < tokens.size(); ++i) after_first += tokens[i];
  int64_t most = 0, inside = 0;
  size_t left = 1;
  for (size_t i = 1; i < chunks.size(); ++i) {
    inside += tokens[i];
    while (seconds(chunks[i].at - chunks[left].at) >= window && left < i) inside -= tokens[left++];
    most = std::max(most, inside);
  }
  const int64_t stated = after_first + tokens.front();
  const int64_t counted = out.completion_tokens.value_or(stated);
  const bool agree = counted == stated || counted == stated + 1;  // a stop token without text
  const int64_t mean_tokens = agree ? after_first : counted - tokens.front();
  const double peak = static_cast<double>(most) / window;
  const double mean = static_cast<double>(mean_tokens) / stretch;
  if (peak < mean * (1 - 1e-9)) {
    out.remarks.push_back(
        Refusal(kPeakBelowMean,
                cat("peak ", format_fixed(peak, 1), " tok/s, mean ", format_fixed(mean, 1),
                    " tok/s: the chunks state ", stated, " tokens, the server counts ", counted))
            .text());
    return;
  }
  out.peak_output_tok_s = peak;
  out.mean_output_tok_s = mean;
}

void measure_gaps(const StreamRecord& record, const std::vector<Chunk>& chunks, RunFigures& out) {
  if (chunks.size() < 2) return;
  // From the second chunk on: what precedes the first is the time to the first token.
  for (size_t i = 1; i < chunks.size(); ++i) {
    out.chunk_gaps_s.push_back(seconds(chunks[i].at - chunks[i - 1].at));
  }
  const std::vector<int64_t> tokens = tokens_per_chunk(record, chunks, out);
  if (tokens.empty()) {
    out.remarks.push_back("token gaps: unknown, chunks hold several tokens; only chunk gaps stand");
    return;
  }
  for (size_t i = 1; i < chunks.size(); ++i) {
    out.token_gaps.push_back(
        {.seconds = out.chunk_gaps_s[i - 1] / static_cast<double>(tokens[i]), .tokens = tokens[i]});
  }
  if (out.decode_tok_s) rate_peak(chunks, tokens, out);
}

void measure_rates(RunFigures& out) {
  const double total = out.total_s.value_or(0);
  if (out.prompt_tokens && out.completion_tokens && total > 0) {
    out.cumulative_tok_s = static_cast<double>(*out.prompt_tokens + *out.completion_tokens) / total;
  }
  if (!out.ttft_s) return;
  if (out.prompt_tokens && *out.ttft_s > 0) {
    const int64_t evaluated = *out.prompt_tokens - out.cached_tokens.value_or(0);
    if (evaluated > 0) {
      out.prefill_tok_s = static_cast<double>(evaluated) / *out.ttft_s;
    } else {
      out.remarks.push_back("prefill: every prompt token came from a cache");
    }
  }
  const double window = total - *out.ttft_s;
  if (total > 0) out.decode_window_share = window / total;
  if (!out.completion_tokens || *out.completion_tokens < 2) return;
  const double steps = static_cast<double>(*out.completion_tokens - 1);
  if (window / steps < kSecondsPerTokenMin) {
    out.remarks.push_back(cat("decode: ", *out.completion_tokens,
                              " tokens came at once; they were not streamed one by one"));
    return;
  }
  out.decode_tok_s = steps / window;
  out.tpot_s = window / steps;
}

void check_timings(const StreamRecord& record, RunFigures& out) {
  if (!record.timings) return;
  const ServerTimings& timings = *record.timings;
  const auto later_than = [](double server_ms, std::optional<double> client_s) {
    return client_s && server_ms / 1000 > *client_s * (1 + kTimingSlackShare) + kTimingSlackSeconds;
  };
  const Usage& usage = record.usage;
  if (timings.prompt_n && usage.prompt_tokens &&
      *timings.prompt_n + timings.cache_n.value_or(usage.cached_tokens.value_or(0)) !=
          *usage.prompt_tokens) {
    out.remarks.push_back(cat("implausible timings: prompt_n ", *timings.prompt_n,
                              " for a prompt of ", *usage.prompt_tokens, " tokens"));
  }
  if (timings.predicted_n && usage.completion_tokens &&
      *timings.predicted_n != *usage.completion_tokens) {
    out.remarks.push_back(cat("implausible timings: predicted_n ", *timings.predicted_n, " for ",
                              *usage.completion_tokens, " tokens"));
  }
  if (timings.prompt_ms && later_than(*timings.prompt_ms, out.ttft_s)) {
    out.remarks.push_back(cat("implausible timings: prompt_ms ", *timings.prompt_ms,
                              ", but the first token came after ",
                              format_fixed(out.ttft_s.value_or(0) * 1000, 1), " ms"));
  }
  if (timings.predicted_ms && later_than(*timings.predicted_ms, out.total_s)) {
    out.remarks.push_back(cat("implausible timings: predicted_ms ", *timings.predicted_ms,
                              ", but the answer took ",
                              format_fixed(out.total_s.value_or(0) * 1000, 1), " ms"));
  }
}

}  // namespace

std::string_view name_of(TokenSource source) {
  switch (source) {
    case TokenSource::usage: return "usage";
    case TokenSource::timings: return "timings";
    case TokenSource::chunks: return "chunks";
    case TokenSource::none: return "none";
  }
  return "none";
}

RunFigures account(const StreamRecord& record) {
  RunFigures out;
  const std::vector<Chunk> chunks = token_chunks(record);
  out.token_chunks = static_cast<int64_t>(chunks.size());
  count_tokens(record, chunks, out);
  if (record.connected) out.connect_s = seconds(*record.connected - record.started);
  if (!record.sent) {
    out.remarks.push_back("no request was sent");
    return out;
  }
  const Stamp sent = *record.sent;
  if (record.http_status != 0) out.stream_end_s = seconds(record.ended - sent);
  if (!chunks.empty()) {
    out.ttft_s = seconds(chunks.front().at - sent);
    out.total_s = seconds(chunks.back().at - sent);
    const auto answer = std::find_if(chunks.begin(), chunks.end(), [](const Chunk& chunk) {
      return chunk.kind != DeltaKind::reasoning;
    });
    if (answer != chunks.end()) {
      out.ttft_answer_s = seconds(answer->at - sent);
    } else {
      out.remarks.push_back("ttft_answer: only reasoning came, no answer");
    }
  } else {
    out.remarks.push_back(record.streamed || record.http_status == 0
                              ? "ttft: no token came"
                              : "ttft: unknown, the answer came in one piece");
    // An answer in one piece has an end and nothing in between.
    if (!record.streamed && out.completion_tokens) out.total_s = out.stream_end_s;
  }
  measure_rates(out);
  measure_gaps(record, chunks, out);
  check_timings(record, out);
  return out;
}

std::optional<Spread> spread_of(std::vector<double> values) {
  if (values.empty()) return std::nullopt;
  std::sort(values.begin(), values.end());
  const size_t n = values.size();
  const double median = n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
  return Spread{.median = median,
                .min = values.front(),
                .max = values.back(),
                .count = static_cast<int64_t>(n)};
}

std::optional<double> token_weighted_mean(std::span<const RunFigures::TokenGap> gaps) {
  double sum = 0;
  int64_t tokens = 0;
  for (const auto& gap : gaps) {
    sum += gap.seconds * static_cast<double>(gap.tokens);
    tokens += gap.tokens;
  }
  if (tokens == 0) return std::nullopt;
  return sum / static_cast<double>(tokens);
}

std::optional<double> token_weighted_quantile(std::vector<RunFigures::TokenGap> gaps, double p) {
  int64_t tokens = 0;
  for (const auto& gap : gaps) tokens += gap.tokens;
  if (tokens == 0) return std::nullopt;
  std::sort(gaps.begin(), gaps.end(),
            [](const auto& a, const auto& b) { return a.seconds < b.seconds; });
  const double rank = std::max(1.0, std::ceil(p * static_cast<double>(tokens)));
  int64_t seen = 0;
  for (const auto& gap : gaps) {
    seen += gap.tokens;
    if (static_cast<double>(seen) >= rank) return gap.seconds;
  }
  return gaps.back().seconds;
}

BatchFigures account_batch(std::span<const StreamRecord> records,
                           std::span<const RunFigures> figures) {
  BatchFigures out;
  std::optional<Stamp> first, last;
  int64_t tokens = 0, completion = 0;
  bool counted = true;
  for (size_t i = 0; i < records.size(); ++i) {
    const StreamRecord& record = records[i];
    const RunFigures& run = figures[i];
    if (record.sent) first = first ? std::min(*first, *record.sent) : *record.sent;
    Stamp end = record.ended;
    if (record.ok() && record.sent && run.total_s) {
      end = *record.sent +
            std::chrono::duration_cast<Stamp>(std::chrono::duration<double>(*run.total_s));
    }
    last = last ? std::max(*last, end) : end;
    if (!record.ok()) {
      ++out.failed;
      continue;
    }
    ++out.ok;
    counted = counted && run.prompt_tokens && run.completion_tokens;
    tokens += run.prompt_tokens.value_or(0) + run.completion_tokens.value_or(0);
    completion += run.completion_tokens.value_or(0);
  }
  if (!first || !last || *last <= *first) return out;
  out.wall_s = seconds(*last - *first);
  if (out.ok > 0 && counted) {
    out.aggregate_cumulative_tok_s = static_cast<double>(tokens) / *out.wall_s;
    out.aggregate_decode_tok_s = static_cast<double>(completion) / *out.wall_s;
  }
  return out;
}

json::Value formulas() {
  struct Row {
    const char *key, *id, *formula, *unit, *basis;
  };
  constexpr Row kRows[] = {
      {"ttft_s", "ttft_s/1", "request sent to first token of any kind", "s", "request"},
      {"ttft_answer_s", "ttft_answer_s/1", "request sent to first token of the answer", "s",
       "request"},
      {"total_s", "total_s/1", "request sent to last token", "s", "request"},
      {"cumulative_tok_s", "cumulative_tok_s/1", "(prompt + completion tokens) / total_s", "tok/s",
       "request"},
      {"prefill_tok_s", "prefill_tok_s/1", "(prompt - cached tokens) / ttft_s", "tok/s",
       "prefill_window"},
      {"decode_tok_s", "decode_tok_s/1", "(completion tokens - 1) / (total_s - ttft_s)", "tok/s",
       "decode_window"},
      {"tpot_s", "tpot_s/1", "(total_s - ttft_s) / (completion tokens - 1), a request", "s/token",
       "decode_window"},
      {"itl_s", "itl_s/1", "gap between chunks / tokens of the later one, weighted by its tokens",
       "s/token", "decode_window"},
      {"chunk_gap_s", "chunk_gap_s/1", "gap between successive chunks that brought tokens", "s",
       "decode_window"},
      {"peak_output_tok_s", "peak_output_tok_s/1",
       "most tokens in a window of about 1 s that divides the decode window", "tok/s",
       "decode_window"},
      {"aggregate_cumulative_tok_s", "aggregate_cumulative_tok_s/1",
       "sum of (prompt + completion tokens) of the requests that ended well / wall_s", "tok/s",
       "wall"},
      {"aggregate_decode_tok_s", "aggregate_decode_tok_s/1",
       "sum of completion tokens of the requests that ended well / wall_s", "tok/s", "wall"},
  };
  json::Value out = json::Value::object();
  for (const Row& row : kRows) {
    out.set(
        row.key,
        json::Value::object(
            {{"id", row.id}, {"formula", row.formula}, {"unit", row.unit}, {"basis", row.basis}}));
  }
  return out;
}

}  // namespace assay::load
