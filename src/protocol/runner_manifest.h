// The runner manifest: what an engine's maker declares it can do, and whether its hello keeps to
// it.
//
// File       one closed JSON object; every key required, `depth` too (null where a decoder has
// none). Digest     SHA-256 of the manifest written again: compact, keys in declared order, arrays
// in file
//            order. White space and key order of the file do not matter.
// Errors     RUNNER-MANIFEST-INVALID, JSON-*.
// Threads    plain data, pure functions.
// Source     docs/protocol.md, "Runner manifest".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "protocol/hello.h"

namespace assay::protocol {

struct ManifestDecoder {
  std::string mode{};
  std::string drafter{};  // none | embeddedHead | assistantCheckpoint | ngram
  std::string state{};    // stateless | requestStateful
  std::optional<std::pair<uint32_t, uint32_t>> depth{};  // lowest, highest
};

struct ManifestRegime {
  std::optional<uint32_t> batch_up_to{};  // nothing = single; never 1
  std::string timing{};                   // freeRun | teacherForced
  bool per_stream_timing = false;
};

struct RunnerManifest {
  std::string runner_id{};  // vendor/name
  std::vector<std::string> model_types{};
  std::string backend{};
  std::vector<ManifestDecoder> decoders{};
  std::vector<ManifestRegime> regimes{};
  std::string sha256{};  // the digest above, lower hex
};

/// Reads a manifest's bytes. `upTo` of 1 is refused: it declares a batch of one twice over.
[[nodiscard]] Result<RunnerManifest> read_runner_manifest(std::string_view bytes);

struct ManifestDivergence {
  std::string_view check;  // "capabilities_derived"
  std::string reason;
};
/// Everything in which a hello departs from its manifest, in the fixed order of the checks; empty
/// when it keeps to it. `trusted`: the posture in which cohort_reference_replay is offered.
[[nodiscard]] std::vector<ManifestDivergence> check_manifest(const RunnerManifest& manifest,
                                                             const Hello& hello, bool trusted);

}  // namespace assay::protocol
