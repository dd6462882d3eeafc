// From a run and its record to the score document: every sealed figure gets its value here.
#pragma once

#include <optional>

#include "base/refusal.h"
#include "benchd/run.h"
#include "scoring/score_document.h"

namespace assay::benchd {

/// The document of what was measured. `refusal` is what ended the measurement, if something did:
/// the score is then null and `error` names it.
[[nodiscard]] scoring::ScoreDocument make_document(const Run& run, const RunRecord& record,
                                                   const std::optional<Refusal>& refusal);

/// A refusal as a sealed reason: its codes stay, the rest is scrubbed of places and secrets and
/// clipped.
[[nodiscard]] std::string sealed_reason(const Refusal& refusal);

}  // namespace assay::benchd
