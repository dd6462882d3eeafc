// What a server claims about its own answer, held against what is possible. Only contradictions
// that no server can explain: a figure made from such a claim would be false, however it was meant.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "load/accounting.h"
#include "load/stream.h"

namespace assay::load {

/// The first claim that cannot be, beside what can: counts below zero or in parts, more completion
/// tokens than the `max_tokens` of the request, none for an answer that has text, fewer than the
/// chunks state themselves, more reasoning tokens than completion tokens, more cached tokens than
/// prompt tokens, a total that is not the sum, times and rates below zero. Nothing when all can be.
[[nodiscard]] std::optional<std::string> impossible_claim(const StreamRecord& record,
                                                          const RunFigures& figures,
                                                          int64_t max_tokens);

}  // namespace assay::load
