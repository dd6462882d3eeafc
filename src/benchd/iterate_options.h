// The command line of `iterate`, read and checked: what can be refused without touching the world
// is refused here.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "benchd/goldens.h"
#include "cli/program.h"
#include "protocol/message.h"

namespace assay::benchd {

enum class Mode { local_iterate, local_submit, official };
/// "local-iterate", "local-submit", "official".
[[nodiscard]] std::string_view name_of(Mode mode);

struct IterateOptions {
  Mode mode = Mode::local_iterate;
  std::filesystem::path engine;
  std::filesystem::path weights;
  std::filesystem::path contract;
  std::vector<std::filesystem::path> goldens;
  GoldenPins golden_pins;
  std::vector<std::filesystem::path> control_goldens;
  GoldenPins control_golden_pins;
  std::filesystem::path score_path;
  std::optional<std::string> baseline_workspace;
  std::optional<std::string> baseline_calibration;
  std::optional<std::string> box;
  bool stored_pair_given = false;  // --baseline-prefill-spt and --baseline-decode-spt
  bool cool_gate = false;
  bool strict = false;
  bool unsandboxed = false;
  bool capture = false;                      // any of the --capture- flags
  std::optional<protocol::SpecConfig> spec;  // absent: serial
  std::vector<std::string> resources;        // NAME=PATH
};

/// The flags of `iterate` and `official`; the mode's flag only for the first.
[[nodiscard]] std::vector<cli::Flag> iterate_flags(bool with_mode);

/// Refuses  USAGE-MISSING-FLAG (official without --contract, one half of a pair of flags),
///          USAGE-INVALID-VALUE, CANDIDATE-SPEC-INVALID, WINDOW-SHAPE-UNDECLARED-FOR-TRACK (a local
///          run without --contract).
[[nodiscard]] Result<IterateOptions> read_iterate_options(const cli::Invocation& invocation);

/// The request that `--candidate-spec` means: one JSON object of the wire's closed shape.
[[nodiscard]] Result<protocol::SpecConfig> parse_candidate_spec(std::string_view text);

}  // namespace assay::benchd
