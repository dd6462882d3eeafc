// The files of the page, and how they become one file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace assay::view {

struct PageFile {
  std::string_view name;  // "index.html", "app.js": flat
  std::string_view bytes;
};
using Page = std::vector<PageFile>;

/// The page that the build put into this program, sorted by name; viewer/README.md says which
/// files.
[[nodiscard]] const Page& embedded_page();

[[nodiscard]] const PageFile* find_file(const Page& page, std::string_view name);

/// "text/javascript; charset=utf-8" …, by the name.
[[nodiscard]] std::string_view content_type(std::string_view name);

/// Stands behind <head> in every page of one file: by it an export knows what an export wrote.
inline constexpr std::string_view kExportMark =
    "<meta name=\"generator\" content=\"assay-view export\">";

/// What a page of one file carries.
struct Inline {
  std::string title{};       // "" = the page's own
  std::string index_json{};  // the index
  struct Shard {
    std::string name{};  // "run-….parquet"
    std::string bytes{};
  };
  std::vector<Shard> shards{};
};

/// index.html with everything it needs inside: styles, modules (an import map of data: URLs), the
/// index, the shards in base64, the licences. Nothing in the index, the title or a name can leave
/// its element. A policy in the page allows these scripts and styles by digest, and no request to
/// anywhere. Refuses VIEW-PAGE when the page is not of the shape that viewer/README.md gives.
[[nodiscard]] Result<std::string> page_in_one_file(const Page& page, const Inline& content);

[[nodiscard]] std::string base64(std::string_view bytes);

}  // namespace assay::view
