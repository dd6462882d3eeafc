// The measurement: both contenders do the same slices of work in turn, A B, B A, A B …, so that
// drift of the machine (clock, neighbours) falls on both alike and each round gives one ratio.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "bench/engine/contender.h"

namespace assay::bench {

/// One kind of work. All tokens are given (teacher-forced): both read the same context.
struct Slice {
  std::string what;                  // "prefill_512", "decode_128"
  std::span<const int32_t> context;  // fed before the clock starts; may be empty
  std::span<const int32_t> timed;    // fed inside the window
  bool one_by_one = false;           // decode: one call a token
};

/// Seconds of one slice.
[[nodiscard]] Result<double> run_slice(Contender& contender, const Slice& slice);

/// Seconds of each round, contender by contender, after one untimed round.
[[nodiscard]] Result<std::vector<std::vector<double>>> interleave(
    const std::vector<Contender*>& contenders, const Slice& slice, int rounds);

}  // namespace assay::bench
