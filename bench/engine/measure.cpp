#include "bench/engine/measure.h"

#include <chrono>

namespace assay::bench {

Result<double> run_slice(Contender& contender, const Slice& slice) {
  using Clock = std::chrono::steady_clock;
  TRY_DO(contender.reset());
  if (!slice.context.empty()) TRY_DO(contender.feed(slice.context));
  const Clock::time_point start = Clock::now();
  if (slice.one_by_one) {
    for (size_t i = 0; i < slice.timed.size(); ++i) {
      TRY_DO(contender.feed(slice.timed.subspan(i, 1)));
    }
  } else {
    TRY_DO(contender.feed(slice.timed));
  }
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  contender.rest();
  return seconds;
}

Result<std::vector<std::vector<double>>> interleave(const std::vector<Contender*>& contenders,
                                                    const Slice& slice, int rounds) {
  std::vector<std::vector<double>> seconds(contenders.size());
  for (int round = -1; round < rounds; ++round) {
    for (size_t i = 0; i < contenders.size(); ++i) {
      const size_t who = round % 2 == 0 ? i : contenders.size() - 1 - i;
      TRY(one, run_slice(*contenders[who], slice));
      if (round >= 0) seconds[who].push_back(one);
    }
  }
  return seconds;
}

}  // namespace assay::bench
