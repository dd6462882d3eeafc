// Verify: do four sealed files agree with each other and with their own arithmetic?
//
// In      the bytes of score.json, its sidecar, the integrity file, its sidecar; optionally the
// contract Out     every problem found, each by name; none = the seal holds Checks  digests and
// bare names; exact key set and types; the same bytes when written again; weights,
//         golden and score digests across files; every gain, composite, combination, floor and
//         interval recomputed from the sealed legs; with the contract, that its terms are the
//         sealed terms
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "scoring/seal.h"

namespace assay::scoring {

struct SealedFiles {
  NamedBytes score;
  std::string score_sidecar;
  NamedBytes integrity;
  std::string integrity_sidecar;
  std::optional<std::string> contract;
};

/// Problems in file order: score, sidecar, integrity, its sidecar, cross-checks, arithmetic,
/// contract. Codes: SEAL-*.
[[nodiscard]] std::vector<Refusal> verify_seal(const SealedFiles& files);

}  // namespace assay::scoring
