// The seal on disk: four files beside each other, all of them or none.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"
#include "benchd/run.h"
#include "scoring/score_document.h"
#include "scoring/seal.h"
#include "scoring/verify.h"

namespace assay::benchd {

struct SealedRun {
  scoring::SealedScore files;
  std::filesystem::path folder;
  bool passed = false;
  std::optional<double> score;
};

/// The bytes of the four files: score, its sidecar, integrity, its sidecar. Pure.
[[nodiscard]] SealedRun seal_run(const Run& run, const scoring::ScoreDocument& document);

/// Writes them. Refuses FILE-NOT-WRITTEN; every file is then as it was.
[[nodiscard]] Status write_seal(const SealedRun& sealed);

/// Reads the four files of a score back, wherever they were copied to; the integrity file is the
/// one of the score's own mode. Refuses FILE-UNREADABLE.
[[nodiscard]] Result<scoring::SealedFiles> read_seal(const std::filesystem::path& score_path);

}  // namespace assay::benchd
