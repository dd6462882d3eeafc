// Reads every refusals.h of the source tree as text: the refusals with their code, meaning and
// remedy.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace assay::tidy {

struct CatalogueRow {
  std::string folder;  // "base", "engine/gguf"
  std::string name;    // kFileUnreadable
  std::string code, meaning, remedy;
};

/// All rows in the order of their files (sorted by path) and lines.
std::vector<CatalogueRow> scan_refusals(const std::filesystem::path& source_root);

/// The text of docs/refusals.md.
std::string catalogue_markdown(const std::vector<CatalogueRow>& rows);

}  // namespace assay::tidy
