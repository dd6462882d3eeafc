// The verbs of assay-publish. Exit codes: 0 ok · 2 usage, unreadable file or bad JSON · 3
// validation failed (every problem printed) · 4 publishing failed, or nothing to publish.
#pragma once

#include "cli/program.h"

namespace assay::publish {

inline constexpr int kExitInput = 2;
inline constexpr int kExitInvalid = 3;
inline constexpr int kExitPublish = 4;

[[nodiscard]] cli::Command convert_command();
[[nodiscard]] cli::Command validate_command();
[[nodiscard]] cli::Command publish_command();
[[nodiscard]] cli::Command index_command();
[[nodiscard]] cli::Command events_command();
[[nodiscard]] cli::Command detect_system_command();
/// In builds with libcurl.
[[nodiscard]] cli::Command site_command();

/// The whole program; `name` is assay-publish or mlx-bench-publish.
[[nodiscard]] cli::Program publish_program(std::string name);

}  // namespace assay::publish
