// The runs of a verdict, out of the files that campaigns leave behind.
//
// A pair is the two halves of one cell: with a control the candidate is measured before and after
// it (A B B A), and the control's own runs are halved the same way. A cell without success or
// without a control makes no run.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "load/verdict.h"

namespace assay::load {

struct FoundRuns {
  std::vector<ComparedRun> runs;
  std::vector<std::string> left_out;  // "FILE: why"
};

/// Every throughput.json at any depth below `folders`, sorted by path; `figure` is one of a run's
/// rates ("cumulative_tok_s"). Refuses VERDICT-NO-RUNS when there is no such file, or a folder that
/// cannot be read.
[[nodiscard]] Result<FoundRuns> find_runs(const std::vector<std::filesystem::path>& folders,
                                          std::string_view figure);

}  // namespace assay::load
