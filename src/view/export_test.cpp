#include "view/export.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "base/files.h"
#include "base/sha256.h"
#include "base/text.h"
#include "view/test_store.h"

namespace assay::view {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kHostile = "</script><script>alert(1)</script><!--<script>";

std::map<std::string, std::string> files_below(const fs::path& folder) {
  std::map<std::string, std::string> out;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file())
      out[entry.path().lexically_relative(folder).string()] = *read_file(entry.path());
  }
  return out;
}

Result<Exported> run_export(const TestStore& store, const ExportOptions& options,
                            const Page& page = test_page()) {
  Catalog catalog = store.open();
  return export_store(catalog, page, options);
}

// The text of the one element that begins with `open`.
std::string element(const std::string& html, std::string_view open) {
  const size_t at = html.find(open);
  EXPECT_NE(at, std::string::npos) << open;
  EXPECT_EQ(html.find(open, at + 1), std::string::npos) << open;
  const size_t begin = at + open.size();
  return html.substr(begin, html.find("</script>", begin) - begin);
}

std::string unbase64(std::string_view text) {
  std::string out;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    if (c == '=') break;
    const int value = c >= 'A' && c <= 'Z'   ? c - 'A'
                      : c >= 'a' && c <= 'z' ? c - 'a' + 26
                      : c >= '0' && c <= '9' ? c - '0' + 52
                      : c == '+'             ? 62
                                             : 63;
    bits = bits << 6 | static_cast<uint32_t>(value);
    count += 6;
    if (count >= 8) {
      count -= 8;
      out.push_back(static_cast<char>(bits >> count & 255U));
    }
  }
  return out;
}

TEST(Base64, KnownVectors) {  // RFC 4648, section 10
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("foob"), "Zm9vYg==");
  EXPECT_EQ(base64("fooba"), "Zm9vYmE=");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(base64("\xFF\xFE\xFD"), "//79");
}

TEST(Export, OneFileHoldsEverything) {
  TestStore store;
  const std::string path = store.add(test_run("2026-05-01T00:00:00Z"));
  const fs::path file = store.folder() / "out" / "page.html";
  const auto done = run_export(store, {.target = file});
  ASSERT_TRUE(done) << done.refusal().text();
  EXPECT_EQ(done->runs, 1u);
  const std::string html = *read_file(file);
  EXPECT_EQ(done->size_bytes, html.size());
  EXPECT_THAT(html, HasSubstr("<style>body { color: black }\n</style>"));
  EXPECT_THAT(html, HasSubstr("<link rel=\"icon\" href=\"data:image/svg+xml;base64,"));
  EXPECT_THAT(html, Not(HasSubstr("src=\"app.js\"")));

  const auto map = json::parse(element(html, "<script type=\"importmap\">"));
  ASSERT_TRUE(map);
  const std::string_view kData = "data:text/javascript;base64,";
  const std::string app = map->find("imports")->find("assay/app.js")->string();
  ASSERT_TRUE(app.starts_with(kData));
  EXPECT_EQ(unbase64(app.substr(kData.size())),
            "import { one } from \"assay/data.js\";\nwindow.started = one;\n");
  EXPECT_EQ(element(html, "<script type=\"module\">"), "import \"assay/app.js\"");

  const auto index =
      json::parse(element(html, "<script type=\"application/json\" id=\"assay-index\">"));
  ASSERT_TRUE(index);
  EXPECT_EQ(index->find("built_at")->string(), "2026-05-01T00:00:00Z");  // the newest run's time
  const std::string shard =
      element(html, cat("<script type=\"text/plain\" data-shard=\"", path.substr(5), "\">"));
  EXPECT_EQ(unbase64(shard), *read_file(store.store_folder() / path));
}

TEST(Export, ThePolicyAllowsTheseScriptsAndNothingElse) {
  TestStore store;
  store.add(test_run("2026-05-01T00:00:00Z"));
  const fs::path file = store.folder() / "page.html";
  ASSERT_TRUE(run_export(store, {.target = file}));
  const std::string html = *read_file(file);
  const auto digest = [](std::string_view text) {
    const Sha256Digest bytes = sha256(text);
    return cat("'sha256-",
               base64(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size())),
               "'");
  };
  EXPECT_THAT(html, HasSubstr(cat("content=\"default-src 'none'; script-src data: ",
                                  digest(element(html, "<script type=\"importmap\">")), " ",
                                  digest("import \"assay/app.js\""), "; style-src ",
                                  digest("body { color: black }\n"),
                                  "; img-src data:; base-uri 'none'; form-action 'none'\">")));
  EXPECT_LT(html.find("Content-Security-Policy"), html.find("<style>"));
  EXPECT_THAT(html, Not(HasSubstr("http://")));
  EXPECT_THAT(html, Not(HasSubstr("https://")));
}

TEST(Export, HostileTextsStayText) {
  TestStore store;
  publish::Envelope run = test_run("2026-05-01T00:00:00Z", kHostile);
  run.results[0].name = kHostile;
  run.results[0].tag(kHostile, kHostile);
  const std::string path = store.add(run);
  store.add_file("run-\"><script>alert(2)</script>.parquet", "no parquet");
  const auto bytes = read_file(store.store_folder() / path);
  store.add_file("run-\" onload=\"alert(3)-x.parquet", *bytes);
  publish::RunIndex run_index;
  run_index.policy = kHostile;
  run_index.runs = {test_entry(path, "scored")};
  run_index.runs[0].variant = kHostile;
  store.set_index(run_index);
  const fs::path file = store.folder() / "page.html";
  ASSERT_TRUE(run_export(store, {.target = file, .title = cat("a & b", kHostile, "\xFF")}));
  const std::string html = *read_file(file);
  EXPECT_THAT(html, Not(HasSubstr("<script>")));
  EXPECT_THAT(html, Not(HasSubstr("<!--")));
  EXPECT_THAT(html, HasSubstr("<title>a &amp; b&lt;/script&gt;"));
  EXPECT_THAT(html, HasSubstr("data-shard=\"run-&quot; onload=&quot;alert(3)-x.parquet\""));
  // Every element of data ends where it should: as many ends as beginnings.
  size_t begins = 0, ends = 0;
  for (size_t at = html.find("<script"); at != std::string::npos; at = html.find("<script", at + 1))
    ++begins;
  for (size_t at = html.find("</script"); at != std::string::npos;
       at = html.find("</script", at + 1))
    ++ends;
  EXPECT_EQ(begins, ends);
  EXPECT_EQ(begins, 5u);  // import map, index, two shards, start
  const auto index =
      json::parse(element(html, "<script type=\"application/json\" id=\"assay-index\">"));
  ASSERT_TRUE(index);
  EXPECT_EQ(index->find("index")->find("policy")->string(), kHostile);
}

TEST(Export, UnchangedIsByteIdentical) {
  TestStore store;
  store.add(test_run("2026-05-01T00:00:00Z"));
  store.add(test_run("2026-05-02T00:00:00Z", "other"));
  ASSERT_TRUE(run_export(store, {.target = store.folder() / "a.html"}));
  ASSERT_TRUE(run_export(store, {.target = store.folder() / "b.html"}));
  EXPECT_EQ(*read_file(store.folder() / "a.html"), *read_file(store.folder() / "b.html"));
  ASSERT_TRUE(run_export(store, {.target = store.folder() / "a"}));
  ASSERT_TRUE(run_export(store, {.target = store.folder() / "b"}));
  EXPECT_EQ(files_below(store.folder() / "a"), files_below(store.folder() / "b"));
}

TEST(Export, AFolderForAnyServer) {
  TestStore store;
  const std::string path = store.add(test_run("2026-05-01T00:00:00Z"));
  const fs::path folder = store.folder() / "site";
  const auto done = run_export(store, {.target = folder / "", .title = "T"});
  ASSERT_TRUE(done) << done.refusal().text();
  auto files = files_below(folder);
  EXPECT_EQ(files.size(), test_page().size() + 2);
  EXPECT_EQ(files["index.html"], find_file(test_page(), "index.html")->bytes);
  EXPECT_EQ(files[cat("shards/", path.substr(5))], *read_file(store.store_folder() / path));
  const auto index = json::parse(files["api/index.json"]);
  ASSERT_TRUE(index);
  EXPECT_EQ(index->find("format")->string(), "assay-view-1");
  EXPECT_EQ(index->find("title")->string(), "T");

  // Again: the old export is replaced as a whole, and nothing is left beside it.
  const std::string second = store.add(test_run("2026-05-02T00:00:00Z"));
  ASSERT_TRUE(run_export(store, {.target = folder, .shards_max = 1}));
  files = files_below(folder);
  EXPECT_FALSE(files.contains(cat("shards/", path.substr(5))));
  EXPECT_TRUE(files.contains(cat("shards/", second.substr(5))));
  EXPECT_EQ(json::parse(files["api/index.json"])->find("shards")->find("left_out")->literal(), "1");
  for (const auto& entry : fs::directory_iterator(store.folder())) {
    EXPECT_FALSE(entry.path().filename().string().starts_with(".")) << entry.path();
  }
}

TEST(Export, DoesNotTouchWhatIsNoExport) {
  TestStore store;
  store.add(test_run("2026-05-01T00:00:00Z"));
  const fs::path folder = store.folder() / "mine";
  ASSERT_TRUE(write_file_atomic(folder / "thesis.txt", "mine"));
  ASSERT_TRUE(write_file_atomic(store.folder() / "file", "mine"));
  fs::create_directory_symlink(folder, store.folder() / "link");
  for (const fs::path& target : {folder, store.folder() / "file", store.folder() / "link",
                                 fs::path("/"), fs::path(".."), fs::path(".")}) {
    const auto done = run_export(store, {.target = target});
    ASSERT_FALSE(done) << target;
    EXPECT_EQ(done.refusal().code, "VIEW-EXPORT-TARGET") << target;
  }
  EXPECT_EQ(*read_file(folder / "thesis.txt"), "mine");
  EXPECT_EQ(*read_file(store.folder() / "file"), "mine");
  // An empty folder is taken.
  fs::create_directories(store.folder() / "empty");
  EXPECT_TRUE(run_export(store, {.target = store.folder() / "empty"}));
}

TEST(Export, AFileIsReplacedOnlyWhenAnExportWroteIt) {
  TestStore store;
  store.add(test_run("2026-05-01T00:00:00Z"));
  const fs::path target = store.folder() / "page.html";
  // Of others: a page, an empty file, a page that only speaks of an export further down.
  for (const std::string& foreign :
       {std::string("<!doctype html><title>mine</title>"), std::string(),
        cat("<!doctype html>", std::string(2000, ' '),
            "<meta name=\"generator\" "
            "content=\"assay-view export\">")}) {
    ASSERT_TRUE(write_file_atomic(target, foreign));
    const auto refused = run_export(store, {.target = target});
    ASSERT_FALSE(refused) << foreign;
    EXPECT_EQ(refused.refusal().code, "VIEW-EXPORT-TARGET");
    EXPECT_THAT(refused.refusal().detail, HasSubstr("is there and no export wrote it"));
    EXPECT_EQ(*read_file(target), foreign);
  }
  ASSERT_TRUE(run_export(store, {.target = target, .force = true}));
  const std::string first = *read_file(target);
  store.add(test_run("2026-05-02T00:00:00Z"));
  ASSERT_TRUE(run_export(store, {.target = target}));
  EXPECT_NE(*read_file(target), first);
  // Only files: what a folder holds is nobody's to delete.
  ASSERT_TRUE(write_file_atomic(store.folder() / "mine" / "thesis.txt", "mine"));
  EXPECT_FALSE(run_export(store, {.target = store.folder() / "mine", .force = true}));
  EXPECT_EQ(*read_file(store.folder() / "mine" / "thesis.txt"), "mine");
}

TEST(Export, LicencesGoWithTheCode) {
  Page page = test_page();
  page.push_back({"LICENSE.lib", "Copyright <someone>\n</script>"});
  Inline content;
  content.index_json = "{}";
  const auto html = page_in_one_file(page, content);
  ASSERT_TRUE(html);
  EXPECT_THAT(
      *html,
      HasSubstr(
          "data-licence=\"LICENSE.lib\">\nCopyright &lt;someone&gt;\n&lt;/script&gt;</script>"));
  EXPECT_EQ(content_type("LICENSE.lib"), "text/plain; charset=utf-8");
}

TEST(Export, RefusesAPageOfAnotherShape) {
  Inline content;
  content.index_json = "{}";
  const auto code = [&](const Page& page) {
    const auto html = page_in_one_file(page, content);
    return html ? std::string("accepted") : std::string(html.refusal().code);
  };
  EXPECT_EQ(code(test_page()), "accepted");
  EXPECT_EQ(code({}), "VIEW-PAGE");
  for (const char* wrong : {"app.js", "style.css"}) {  // named, but not there
    Page page = test_page();
    std::erase_if(page, [&](const PageFile& file) { return file.name == wrong; });
    EXPECT_EQ(code(page), "VIEW-PAGE") << wrong;
  }
  Page page = test_page();
  page[4].bytes = "a::after { content: '</style>' }";
  EXPECT_EQ(code(page), "VIEW-PAGE");
  page = test_page();
  page[2].bytes = "<html><head></head><body></body></html>";
  EXPECT_EQ(code(page), "VIEW-PAGE");
}

TEST(Export, AStoreThatIsNotThereIsAnEmptyPage) {
  TestStore store;
  const auto done = run_export(store, {.target = store.folder() / "page.html"});
  ASSERT_TRUE(done);
  EXPECT_EQ(done->runs, 0u);
}

}  // namespace
}  // namespace assay::view
