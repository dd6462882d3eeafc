// The goldens of a run: pinned, loaded, named, and turned into what a timed leg must produce.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "benchd/track.h"
#include "runner/world.h"
#include "scoring/golden.h"

namespace assay::benchd {

struct GoldenFile {
  std::string prompt;  // "botany" of botany.mtp1.golden.json
  scoring::Golden golden;
  std::string sha256;
  uint64_t size_bytes = 0;
  scoring::TimedOracle oracle;  // of `decode_steps` tokens
};

struct GoldenArity {
  uint32_t required_steps = 0;  // expected tokens of every case, at least
  uint32_t decode_steps = 0;    // tokens that a timed decode commits
};

/// Digests and sizes by position; empty lists when nothing is pinned.
struct GoldenPins {
  std::vector<std::string> sha256;
  std::vector<uint64_t> bytes;
};
/// Refuses GOLDEN-PIN-INCOMPLETE (one list is empty), GOLDEN-COUNT-MISMATCH (not one a golden).
/// `flag` is
/// "--golden" or "--control-golden".
[[nodiscard]] Result<std::vector<scoring::IntegrityPin>> pair_pins(const GoldenPins& pins,
                                                                   size_t goldens,
                                                                   std::string_view flag);

/// Loads in the order given; a refusal names the track and the file's position, never more of a
/// golden. Refuses  FILE-UNREADABLE, GOLDEN-*, JSON-*.
[[nodiscard]] Result<std::vector<GoldenFile>> load_goldens(
    runner::World& world, const Track& track, const std::vector<std::filesystem::path>& paths,
    const std::vector<scoring::IntegrityPin>& pins, const GoldenArity& arity);

/// One golden for the conformance kit alone: no timed oracle is taken from it.
[[nodiscard]] Result<scoring::LoadedGolden> load_conformance_golden(
    runner::World& world, const Track& track, const std::filesystem::path& path,
    const std::optional<scoring::IntegrityPin>& pin, uint32_t steps);

/// The golden that each control leg is judged against: the control goldens, which must be one a
/// golden and for the same prompts, else the goldens themselves. Refuses GOLDEN-COUNT-MISMATCH,
/// CONTROL-GOLDEN-PROMPT-MISMATCH.
[[nodiscard]] Status check_control_goldens(const std::vector<GoldenFile>& goldens,
                                           const std::vector<GoldenFile>& control);

}  // namespace assay::benchd
