#include "benchd/catalogue.h"

#include <algorithm>
#include <cctype>
#include <numeric>

#include "base/text.h"

namespace assay::benchd {

extern const std::string_view kEmbeddedCatalogue;  // made by the build from docs/refusals.md

namespace {

// `CODE` in backticks is a code; a heading row has none.
bool is_code(std::string_view cell) {
  return cell.size() > 2 && cell.starts_with('`') && cell.ends_with('`') &&
         cell.find(' ') == std::string_view::npos;
}

// The cells of `| a | b | c |`, trimmed; a bar written `\|` belongs to its cell.
std::vector<std::string> cells_of(std::string_view line) {
  std::vector<std::string> cells;
  std::string cell;
  for (size_t i = 1; i < line.size(); ++i) {
    if (line[i] == '\\' && i + 1 < line.size() && line[i + 1] == '|') {
      cell += '|';
      ++i;
    } else if (line[i] == '|') {
      cells.emplace_back(trim(cell));
      cell.clear();
    } else {
      cell += line[i];
    }
  }
  return cells;
}

std::string_view without_backticks(std::string_view text) {
  while (text.starts_with('`')) text.remove_prefix(1);
  while (text.ends_with('`')) text.remove_suffix(1);
  return text;
}

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return out;
}

// Letters to insert, remove or replace (Levenshtein), in two rows.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace

std::string_view catalogue_text() {
  return kEmbeddedCatalogue;
}

std::vector<CatalogueEntry> parse_catalogue(std::string_view text) {
  std::vector<CatalogueEntry> entries;
  std::string library;
  for (const std::string_view raw : split(text, '\n')) {
    const std::string_view line = trim(raw);
    if (line.starts_with('#')) {
      library = std::string(without_backticks(trim(line.substr(line.find_first_not_of('#')))));
    } else if (line.starts_with('|')) {
      const std::vector<std::string> cells = cells_of(line);
      if (cells.size() != 3) continue;
      if (!is_code(cells[0])) continue;
      entries.push_back({std::string(without_backticks(cells[0])), library, cells[1], cells[2]});
    }
  }
  return entries;
}

const CatalogueEntry* find_entry(const std::vector<CatalogueEntry>& entries,
                                 std::string_view code) {
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [code](const CatalogueEntry& e) { return e.code == code; });
  return found == entries.end() ? nullptr : &*found;
}

std::vector<std::string> nearest_codes(const std::vector<CatalogueEntry>& entries,
                                       std::string_view code, size_t count) {
  const std::string wanted = upper(code);
  std::vector<std::pair<size_t, std::string>> ranked;
  for (const CatalogueEntry& entry : entries) {
    const std::string name = upper(entry.code);
    const bool contains = !wanted.empty() && name.find(wanted) != std::string::npos;
    ranked.emplace_back(contains ? 0 : edit_distance(wanted, name), entry.code);
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> nearest;
  for (const auto& [distance, name] : ranked) {
    if (nearest.size() == count) break;
    nearest.push_back(name);
  }
  return nearest;
}

}  // namespace assay::benchd
