// Recording a golden: the reference engine answers, and what it answers becomes the oracle.
//
// Each case runs in an engine of its own, loaded for it, teacher-forced on its own answers. The
// timed block comes from the free-run verbs. Nothing is written unless every way of asking gave the
// same tokens.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "benchd/console.h"
#include "benchd/track.h"
#include "runner/worker_command.h"
#include "scoring/golden.h"

namespace assay::benchd {

struct RecordPrompt {
  std::string case_name;
  scoring::Tokens tokens;
};

struct RecordPlan {
  runner::WorkerCommand command;
  std::vector<RecordPrompt> prompts;        // at least one; the first is also the timed one
  uint32_t steps = 1024;                    // expected tokens of each case
  std::optional<uint32_t> benchmark_steps;  // absent: no timed block
  std::optional<scoring::ModelProvenance> provenance;
};

/// Token ids of a file: a JSON array, or numbers separated by white space or commas, exactly
/// `count`, all below `vocab_size`. Refuses RECORD-PROMPT-INVALID.
[[nodiscard]] Result<scoring::Tokens> parse_prompt_tokens(std::string_view bytes, uint32_t count,
                                                          uint32_t vocab_size);

/// Refuses RECORD-DISAGREEMENT, and what Session refuses.
[[nodiscard]] Result<scoring::Golden> record_golden(runner::World& world, const Track& track,
                                                    const RecordPlan& plan, Console& console);

}  // namespace assay::benchd
