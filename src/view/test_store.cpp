#include "view/test_store.h"

#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "base/ensure.h"
#include "publish/shard.h"

namespace assay::view {

namespace fs = std::filesystem;

TestStore::TestStore() {
  std::string pattern = (fs::temp_directory_path() / "assay_view_XXXXXX").string();
  ENSURE(::mkdtemp(pattern.data()) != nullptr);
  folder_ = pattern;
  fs::create_directory(store_folder());
}

TestStore::~TestStore() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

std::string TestStore::add(const publish::Envelope& envelope) {
  const auto bytes = publish::write_shard(envelope);
  ENSURE(static_cast<bool>(bytes));
  const std::string path = publish::shard_path(envelope, *bytes);
  const auto store = publish::open_file_store(store_folder());
  ENSURE(static_cast<bool>(store->put_once(path, *bytes)));
  return path;
}

void TestStore::add_file(const std::string& name, std::string_view bytes) {
  const fs::path path = store_folder() / "data" / name;
  fs::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary);
  file << bytes;
  ENSURE(file.good());
}

void TestStore::set_index(const publish::RunIndex& index) {
  set_index_text(publish::write_run_index(index));
}

void TestStore::set_index_text(std::string_view text) {
  const fs::path path = store_folder() / publish::kRunIndexPath;
  fs::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary);
  file << text;
  ENSURE(file.good());
}

Catalog TestStore::open() const {
  auto catalog = Catalog::open(url(), cache_folder());
  ENSURE(static_cast<bool>(catalog));
  return *std::move(catalog);
}

Index TestStore::list() const {
  Catalog catalog = open();
  auto index = catalog.list();
  ENSURE(static_cast<bool>(index));
  return *std::move(index);
}

publish::Envelope test_run(std::string_view timestamp, std::string_view model,
                           std::string_view changes) {
  auto document = json::parse(R"({"schema_version":"1","git_sha":"aaa3ff3","trigger":"local",
"suite":"throughput","concurrency":1,"system":{"os":"Linux","chip":"c","memory_gb":8,"hostname":"private"},
"results":[{"name":"probe","metric":"throughput","value":10.5,"unit":"tok/s","tags":{"phase":"sequential","rate_basis":"request"}},
{"name":"probe","metric":"ttft","value":20.0,"unit":"ms","tags":{"phase":"sequential"}}],
"regime":{"rate_basis":"wall","max_tokens":64}})");
  ENSURE(static_cast<bool>(document));
  document->set("timestamp", timestamp);
  document->set("model", model);
  const auto over = json::parse(changes);
  ENSURE(over && over->is_object());
  for (const auto& [key, value] : over->members()) document->set(key, value);
  auto envelope = publish::from_json(*document);
  ENSURE(static_cast<bool>(envelope));
  return *std::move(envelope);
}

publish::IndexEntry test_entry(std::string path, std::string status) {
  publish::IndexEntry entry;
  entry.path = std::move(path);
  entry.status = std::move(status);
  return entry;
}

namespace {

std::string plain(const Column* column, size_t row) {
  if (column == nullptr) return "(no column)";
  const auto value = json::parse(column->at(row).empty() ? "\"\"" : column->at(row));
  ENSURE(static_cast<bool>(value));
  return value->is_string() ? value->string() : json::write(*value);
}

}  // namespace

std::string run_cell(const Index& index, std::string_view column, size_t run) {
  return plain(index.shard_column(column), run);
}
std::string row_cell(const Index& index, std::string_view column, size_t row) {
  return plain(index.row_column(column), row);
}

const Page& test_page() {
  static const Page page = {
      {"app.js", "import { one } from \"./data.js\";\nwindow.started = one;\n"},
      {"data.js", "export const one = 1;\n"},
      {"index.html",
       "<!doctype html>\n<html>\n<head>\n<meta charset=\"utf-8\">\n<title>Page</title>\n"
       "<link rel=\"icon\" href=\"mark.svg\">\n<link rel=\"stylesheet\" "
       "href=\"style.css\">\n</head>\n"
       "<body>\n<script type=\"module\" src=\"app.js\"></script>\n</body>\n</html>\n"},
      {"mark.svg", "<svg xmlns=\"http://www.w3.org/2000/svg\"/>"},
      {"style.css", "body { color: black }\n"}};
  return page;
}

}  // namespace assay::view
