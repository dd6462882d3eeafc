// The last lines of a run: a small table for people. Machines read the score.
#pragma once

#include <string>
#include <vector>

#include "benchd/seal_files.h"
#include "scoring/score_document.h"

namespace assay::benchd {

/// Lines of the table of a paired run: both legs in tokens a second, gains with their interval,
/// floors, score. `colour` uses terminal colours for what passed and failed.
[[nodiscard]] std::vector<std::string> paired_table(const scoring::ScoreDocument& document,
                                                    bool colour);

/// Where the sealed files are: one line each.
[[nodiscard]] std::vector<std::string> file_lines(const SealedRun& sealed);

/// Columns padded to the widest cell: the first to the left, the others to the right.
[[nodiscard]] std::vector<std::string> align(const std::vector<std::vector<std::string>>& rows);

}  // namespace assay::benchd
