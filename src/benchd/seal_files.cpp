#include "benchd/seal_files.h"

#include <array>

#include "base/files.h"
#include "base/json.h"

namespace assay::benchd {

namespace {

namespace fs = std::filesystem;

constexpr uint64_t kSealedFileBytesMax = 64 << 20;

scoring::Integrity integrity_of(const Run& run) {
  scoring::Integrity integrity;
  integrity.score_path = sealed_path(run.options.score_path);
  integrity.weights_path = sealed_path(run.options.weights);
  integrity.golden_sha256 = run.goldens.front().sha256;
  integrity.transform_source_sha256 = run.transform_source;
  integrity.candidate_executable = run.candidate_program.path;
  integrity.candidate_executable_sha256 = run.candidate_program.sha256;
  if (run.reference) {
    integrity.baseline_executable = run.reference->engine.path;
    integrity.baseline_executable_sha256 = run.reference->engine.sha256;
  }
  integrity.candidate_executable_resolution =
      run.candidate_program.resolved ? "canonical" : "unresolved";
  integrity.benchd_executable = run.benchd_program.path;
  integrity.benchd_executable_sha256 = run.benchd_program.sha256;
  integrity.sandbox = run.sandbox;
  return integrity;
}

// The mode that wrote a score, as far as the integrity file's name needs it.
std::string mode_of_score(const std::string& bytes) {
  const auto document = json::parse(bytes);
  if (!document || !document->is_object()) return "";
  const json::Value* metrics = document->find("metrics");
  if (metrics == nullptr || !metrics->is_object()) return "";
  const json::Value* runtime = metrics->find("runtime");
  if (runtime == nullptr || !runtime->is_string()) return "";
  return runtime->string().ends_with("local-iterate") ? "local-iterate" : "";
}

}  // namespace

SealedRun seal_run(const Run& run, const scoring::ScoreDocument& document) {
  SealedRun sealed;
  sealed.files =
      scoring::seal(document, integrity_of(run), run.options.score_path.filename().string(),
                    scoring::integrity_name_of_mode(name_of(run.options.mode)));
  sealed.folder = run.options.score_path.parent_path();
  sealed.passed = document.passed;
  sealed.score = document.score;
  return sealed;
}

Status write_seal(const SealedRun& sealed) {
  std::array<FileContent, 4> files;
  const scoring::NamedBytes* named[] = {&sealed.files.score, &sealed.files.score_sidecar,
                                        &sealed.files.integrity, &sealed.files.integrity_sidecar};
  for (size_t i = 0; i < files.size(); ++i) {
    files[i] = {sealed.folder / named[i]->name, named[i]->bytes};
  }
  return write_files_together(files);
}

Result<scoring::SealedFiles> read_seal(const fs::path& score_path) {
  const fs::path folder = score_path.parent_path();
  scoring::SealedFiles files;
  files.score.name = score_path.filename().string();
  TRY(score, read_file(score_path, kSealedFileBytesMax));
  files.score.bytes = std::move(score);
  TRY(score_sidecar,
      read_file(folder / scoring::sidecar_name(files.score.name), kSealedFileBytesMax));
  files.score_sidecar = std::move(score_sidecar);
  files.integrity.name = scoring::integrity_name_of_mode(mode_of_score(files.score.bytes));
  TRY(integrity, read_file(folder / files.integrity.name, kSealedFileBytesMax));
  files.integrity.bytes = std::move(integrity);
  TRY(integrity_sidecar,
      read_file(folder / scoring::sidecar_name(files.integrity.name), kSealedFileBytesMax));
  files.integrity_sidecar = std::move(integrity_sidecar);
  return files;
}

}  // namespace assay::benchd
