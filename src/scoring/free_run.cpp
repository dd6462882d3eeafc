#include "scoring/free_run.h"

#include <numeric>

#include "base/text.h"
#include "scoring/refusals.h"
#include "scoring/statistics.h"

namespace assay::scoring {

namespace {
uint64_t sum_of(const std::vector<uint32_t>& lengths) {
  return std::accumulate(lengths.begin(), lengths.end(), uint64_t{0});
}
}  // namespace

bool series_comparable(std::string_view a, std::string_view b) {
  return a == b;
}

Status audit_free_run(const FreeRunCounters& c, uint64_t tokens) {
  const auto broken = [](std::string text) {
    return Refusal(kFreeRunConsistency, std::move(text));
  };
  if (c.tokens_len != tokens) {
    return broken(cat("token count: ", c.tokens_len, " tokens came, ", tokens, " were asked for"));
  }
  if (c.committed_total != tokens) {
    return broken(
        cat("committed total: `committed_total` is ", c.committed_total, ", expected ", tokens));
  }
  if (c.drafted_total < c.accepted_total) {
    return broken(cat("drafted < accepted: `drafted_total` is ", c.drafted_total,
                      ", `accepted_total` is ", c.accepted_total));
  }
  const uint64_t accepted_sum = sum_of(c.acceptance_lengths);
  if (accepted_sum != tokens) {
    return broken(cat("acceptance sum: `acceptance_lengths` add up to ", accepted_sum,
                      ", expected ", tokens));
  }
  const size_t rounds = c.acceptance_lengths.size();
  if (c.completed_work < 0 || static_cast<uint64_t>(c.completed_work) != rounds + 1) {
    return broken(cat("round counter: `completed_work` is ", c.completed_work, ", expected ",
                      rounds + 1, " (", rounds, " rounds and the seed prefill)"));
  }
  const uint64_t rejected = c.drafted_total - c.accepted_total;
  if (c.verify_replay_disagreements && *c.verify_replay_disagreements > rejected) {
    return broken(cat("disagreements exceed rejected: `verify_replay_disagreements` is ",
                      *c.verify_replay_disagreements, ", but ", rejected, " drafts were rejected"));
  }
  return {};
}

FreeRunMetrics free_run_metrics(const FreeRunCounters& c, uint64_t tokens) {
  FreeRunMetrics out;
  out.verified_token_count = tokens;
  out.rounds = c.acceptance_lengths.size();
  out.drafted_total = c.drafted_total;
  out.accepted_total = c.accepted_total;
  if (out.rounds > 0) {
    const std::vector<double> lengths(c.acceptance_lengths.begin(), c.acceptance_lengths.end());
    const auto rounds = static_cast<double>(out.rounds);
    out.mean_acceptance_length = static_cast<double>(sum_of(c.acceptance_lengths)) / rounds;
    out.median_acceptance_length = even_n_median(lengths);
    out.effective_tokens_per_forward = static_cast<double>(tokens) / rounds;
  }
  out.effective_mean_draft_len = out.mean_acceptance_length;
  for (const uint32_t length : c.acceptance_lengths) out.non_drafting_round_count += length <= 1;
  if (c.drafted_total > 0) {
    out.acceptance_rate =
        static_cast<double>(c.accepted_total) / static_cast<double>(c.drafted_total);
  }
  return out;
}

}  // namespace assay::scoring
