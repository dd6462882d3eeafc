#include "refusal_scan.h"

#include <algorithm>

#include "base/files.h"
#include "base/text.h"

namespace assay::tidy {

namespace {

// The C++ string literals between `begin` and the next ';', adjacent ones joined; `commas` splits
// them.
std::vector<std::string> literals(const std::string& text, size_t begin) {
  std::vector<std::string> out;
  bool fresh = true;  // the next literal begins a new string
  for (size_t i = begin; i < text.size() && text[i] != ';'; ++i) {
    if (text[i] == ',') {
      fresh = true;
    } else if (text[i] == '"') {
      if (fresh) out.emplace_back();
      fresh = false;
      for (++i; i < text.size() && text[i] != '"'; ++i) {
        if (text[i] == '\\') ++i;
        out.back().push_back(text[i]);
      }
    }
  }
  return out;
}

}  // namespace

std::vector<CatalogueRow> scan_refusals(const std::filesystem::path& source_root) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(source_root)) {
    if (entry.path().filename() == "refusals.h") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<CatalogueRow> rows;
  for (const auto& file : files) {
    const auto text = read_file(file);
    if (!text) continue;
    const std::string folder = std::filesystem::relative(file.parent_path(), source_root).string();
    const std::string key = "constexpr RefusalInfo ";
    for (size_t at = text->find(key); at != std::string::npos; at = text->find(key, at + 1)) {
      const size_t name_begin = at + key.size();
      const size_t brace = text->find('{', name_begin);
      if (brace == std::string::npos) continue;
      const std::vector<std::string> parts = literals(*text, brace);
      CatalogueRow row;
      row.folder = folder;
      row.name = std::string(trim(text->substr(name_begin, brace - name_begin)));
      if (parts.size() > 0) row.code = parts[0];
      if (parts.size() > 1) row.meaning = parts[1];
      if (parts.size() > 2) row.remedy = parts[2];
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

std::string catalogue_markdown(const std::vector<CatalogueRow>& rows) {
  std::string out =
      "# Refusals\n\n"
      "Class: normative. Written by `refusal_catalogue` from the `refusals.h` of every library; a "
      "test keeps\n"
      "the two equal. Every program prints a refusal as `CODE: what was found, what was expected`; "
      "codes are\n"
      "never reused or renamed. `benchd explain CODE` prints the row.\n";
  std::string folder;
  for (const CatalogueRow& row : rows) {
    if (row.folder != folder) {
      folder = row.folder;
      out += cat("\n## ", folder, "\n\n| code | meaning | what to do |\n|---|---|---|\n");
    }
    out += cat("| `", row.code, "` | ", row.meaning, " | ", row.remedy, " |\n");
  }
  return out;
}

}  // namespace assay::tidy
