// Does a probe's file agree with itself? Its counts, its runs and its medians say the same thing
// several times over; a file that was edited, or written by a faulty tool, says different things.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json_document.h"
#include "base/result.h"

namespace assay::publish {

/// Refuses CONVERT-ACCOUNTING: counts below zero; good and failed runs that are not all runs; with
/// `success`, failed runs that no allowance covers, more errors than are allowed, figures of no
/// run, a run with more completion tokens than max_tokens, a median that is not the runs' own.
[[nodiscard]] Status check_probe_accounting(json::Node root, bool success);

/// Whether 0 <= min <= median <= max, as far as they are there; says in `errors` when not.
[[nodiscard]] bool is_spread(json::Node spread, std::string_view name,
                             std::vector<std::string>& errors);

}  // namespace assay::publish
