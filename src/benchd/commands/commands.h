// The verbs of benchd, one file each.
#pragma once

#include <string>
#include <vector>

#include "cli/program.h"

namespace assay::benchd {

[[nodiscard]] cli::Command iterate_command();
[[nodiscard]] cli::Command official_command();
[[nodiscard]] cli::Command calibrate_baseline_command();
[[nodiscard]] cli::Command correctness_command();
[[nodiscard]] cli::Command validate_golden_command();
[[nodiscard]] cli::Command weights_digest_command();
[[nodiscard]] cli::Command harness_hash_command();
[[nodiscard]] cli::Command score_verify_command();
[[nodiscard]] cli::Command explain_command();
/// Verbs that are known by name and refused.
[[nodiscard]] std::vector<cli::Command> later_commands();

/// benchd itself: every verb, and what --version says.
[[nodiscard]] cli::Program benchd_program();
/// The arguments to run it with: what follows a verb that is not offered is dropped, so that the
/// verb itself is what is refused.
[[nodiscard]] std::vector<std::string> benchd_arguments(int argc, char** argv);
/// record-correctness-golden.
[[nodiscard]] cli::Program record_correctness_golden_program();

}  // namespace assay::benchd
