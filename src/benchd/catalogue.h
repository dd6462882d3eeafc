// The catalogue of refusals: every code of the product with its meaning and remedy, as
// docs/refusals.md prints it. The document is compiled into the program, so `benchd explain` needs
// no file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace assay::benchd {

struct CatalogueEntry {
  std::string code;
  std::string library;  // the heading the code stands under
  std::string meaning;
  std::string remedy;
};

/// The text of docs/refusals.md as it was when the program was built.
[[nodiscard]] std::string_view catalogue_text();

/// Reads the table rows "| `CODE` | meaning | remedy |" of such a text; rows of other shapes are
/// prose.
[[nodiscard]] std::vector<CatalogueEntry> parse_catalogue(std::string_view text);

/// The entry of exactly this code, or null pointer.
[[nodiscard]] const CatalogueEntry* find_entry(const std::vector<CatalogueEntry>& entries,
                                               std::string_view code);

/// At most `count` codes, nearest first: a code that contains the word comes before one that
/// differs by few letters. Letters' case is ignored.
[[nodiscard]] std::vector<std::string> nearest_codes(const std::vector<CatalogueEntry>& entries,
                                                     std::string_view code, size_t count);

}  // namespace assay::benchd
