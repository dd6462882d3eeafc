#include "load/claims.h"

#include <algorithm>

#include "base/text.h"

namespace assay::load {

namespace {

// What the chunks state of themselves: token ids, log-probabilities, a running count.
int64_t tokens_stated(const StreamRecord& record) {
  int64_t sum = 0;
  for (const Delta& delta : record.deltas) sum += delta.tokens.value_or(0);
  return sum;
}

std::optional<std::string> too_many(const StreamRecord& record, const RunFigures& figures,
                                    int64_t max_tokens) {
  const std::string possible = cat("at most ", max_tokens, " were asked for");
  const auto& predicted = record.timings ? record.timings->predicted_n : std::optional<int64_t>();
  const int64_t claimed =
      std::max(record.usage.completion_tokens.value_or(0), predicted.value_or(0));
  if (claimed > max_tokens) {
    return cat("the server claims ", claimed, " completion tokens, ", possible);
  }
  if (figures.completion_tokens.value_or(0) > max_tokens) {
    return cat(*figures.completion_tokens, " chunks stand for tokens, ", possible,
               ": a chunk is no token here");
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> impossible_claim(const StreamRecord& record, const RunFigures& figures,
                                            int64_t max_tokens) {
  if (record.impossible) return record.impossible;
  if (auto why = too_many(record, figures, max_tokens)) return why;
  const Usage& usage = record.usage;
  if (usage.completion_tokens) {
    const int64_t claimed = *usage.completion_tokens;
    if (claimed == 0 && figures.token_chunks > 0) {
      return cat("the server claims 0 completion tokens, and ", figures.token_chunks,
                 figures.token_chunks == 1 ? " chunk" : " chunks", " of the answer came");
    }
    if (const int64_t stated = tokens_stated(record); stated > claimed) {
      return cat("the server claims ", claimed, " completion tokens, its chunks state ", stated);
    }
    if (usage.reasoning_tokens.value_or(0) > claimed) {
      return cat("the server claims ", *usage.reasoning_tokens, " reasoning tokens among ", claimed,
                 " completion tokens");
    }
  }
  if (figures.prompt_tokens && figures.cached_tokens.value_or(0) > *figures.prompt_tokens) {
    return cat("the server claims ", *figures.cached_tokens, " cached tokens of a prompt of ",
               *figures.prompt_tokens);
  }
  if (usage.total_tokens && usage.prompt_tokens && usage.completion_tokens &&
      *usage.total_tokens != *usage.prompt_tokens + *usage.completion_tokens) {
    return cat("the server claims ", *usage.total_tokens, " tokens in all, and ",
               *usage.prompt_tokens, " + ", *usage.completion_tokens,
               " of the prompt and after it");
  }
  return std::nullopt;
}

}  // namespace assay::load
