// Seal: a finished score document becomes the exact bytes of four files.
//
// In      a ScoreDocument, the integrity facts, the two file names
// Out     score, score sidecar, integrity, integrity sidecar: names and bytes; nothing is written
// here Bytes   score: coarsened, keys sorted, 2 spaces, no final newline. Integrity: keys in
// declared order,
//         2 spaces, final newline. Sidecar: "<hex64>  <name>\n", which `sha256sum -c` reads.
// Format  docs/formats/score.md, "Seal"
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "scoring/score_document.h"

namespace assay::scoring {

inline constexpr std::string_view kGoldenPathSealed = "[private]";

struct Integrity {
  std::string score_path;
  std::string score_sha256;
  std::string weights_path;
  std::string weights_sha256;
  uint64_t weights_file_count = 0;
  uint64_t weights_byte_count = 0;
  std::string golden_path = std::string(kGoldenPathSealed);
  std::string golden_sha256;
  std::string transform_source_sha256;
  std::string candidate_executable;
  std::string candidate_executable_sha256;
  std::string baseline_executable;
  std::string baseline_executable_sha256;
  std::string candidate_executable_resolution;  // "canonical" or "unresolved"
  std::string benchd_executable;
  std::string benchd_executable_sha256;
  std::string candidate_workspace_sha256;
  std::string sandbox;  // what was really active; "none (linux)" when nothing was
};
[[nodiscard]] std::string write_integrity(const Integrity& integrity);
/// Closed, all keys required. Refuses JSON-*, INTEGRITY-INVALID.
[[nodiscard]] Result<Integrity> read_integrity(std::string_view bytes);

/// "benchmark-integrity.local-iterate.json" for local-iterate, else "benchmark-integrity.json".
[[nodiscard]] std::string integrity_name_of_mode(std::string_view mode);
/// "<name>.sha256".
[[nodiscard]] std::string sidecar_name(std::string_view file_name);
/// "<hex64>  <name>\n".
[[nodiscard]] std::string sidecar_line(std::string_view sha256, std::string_view file_name);

struct NamedBytes {
  std::string name;  // bare file name
  std::string bytes;
};
struct SealedScore {
  NamedBytes score;
  NamedBytes score_sidecar;
  NamedBytes integrity;
  NamedBytes integrity_sidecar;
  std::string score_sha256;
};
/// Bytes of score.json: coarsened, sorted, no final newline.
[[nodiscard]] std::string score_bytes(const ScoreDocument& document);
/// Seals. Fills score_sha256, weights and golden digests of the integrity document from the score;
/// names are bare file names (ENSURE).
[[nodiscard]] SealedScore seal(const ScoreDocument& document, Integrity integrity,
                               std::string_view score_name, std::string_view integrity_name);

/// A path that names nobody: relative stays; under `cwd` or `home` it becomes relative to it; else
/// the head /Users/x or /home/x is dropped; empty → ".".
[[nodiscard]] std::string redact_path(std::string_view path, std::string_view cwd,
                                      std::string_view home);

}  // namespace assay::scoring
