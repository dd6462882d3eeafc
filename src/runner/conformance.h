// The conformance kit: runs a golden's correctness cases over a session; scoring gives the
// verdicts.
//
// Each case is one phase of its own, closed with the barrier checks before the next begins. A
// teacher-forced case is walked to its end whatever comes. Behavior cases are counted, not run.
// Refuses   what Session refuses (a fault is not a wrong answer), CONFORMANCE-CASE-TOO-SHORT.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "runner/session.h"
#include "scoring/conformance.h"
#include "scoring/golden.h"

namespace assay::runner {

enum class ConformanceScope {
  base_cases_only,  // the default of local-iterate
  full,             // base, anchors, free run
};

struct ConformancePlan {
  ConformanceScope scope = ConformanceScope::full;
  uint32_t steps = 64;  // of each base case
  uint32_t vocab_size = 0;
};

/// All cases of the scope run, also after one that failed; wrong answers are in the report.
[[nodiscard]] Result<scoring::ConformanceReport> run_conformance(Session& session,
                                                                 const scoring::Golden& golden,
                                                                 const ConformancePlan& plan);

}  // namespace assay::runner
