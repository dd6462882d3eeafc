// Repository rules: which way includes point, refusal codes and their catalogue, paths that docs
// name.
#include <gtest/gtest.h>

#include <algorithm>

#include <filesystem>
#include <map>
#include <regex>
#include <set>

#include "base/files.h"
#include "base/text.h"
#include "refusal_scan.h"

namespace assay::tidy {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = ASSAY_SOURCE_DIR;

// Each folder of src/ and the folders it may include, itself always among them. Nothing else is
// allowed: a new folder gets its row here, which is where its place among the layers is decided.
const std::map<std::string, std::set<std::string>>& layers() {
  static const std::map<std::string, std::set<std::string>> table = {
      {"base", {}},
      {"cli", {"base"}},
      {"protocol", {"base"}},
      // the judge
      {"scoring", {"base", "protocol"}},
      {"runner", {"base", "protocol", "scoring"}},
      {"benchd", {"base", "cli", "protocol", "scoring", "runner"}},
      // the record
      {"machine", {"base"}},
      {"publish", {"base", "cli", "machine"}},
      {"load", {"base", "cli", "machine"}},
      {"view", {"base", "cli", "publish"}},
      // the judged
      {"worker", {"base", "protocol"}},
      {"engine/gguf", {"base"}},
      {"engine/tokenizer", {"base", "engine/gguf"}},
      {"engine/quant", {"base", "engine/gguf"}},
      {"engine/kernels", {"base", "engine/quant", "engine/gguf"}},
      {"engine/backend", {"base", "engine/kernels", "engine/quant", "engine/gguf"}},
      {"engine/model", {"base", "engine/backend", "engine/quant", "engine/gguf"}},
      {"engine/decode", {"base", "engine/model", "engine/backend", "engine/quant", "engine/gguf"}},
      {"engine/worker",
       {"base", "protocol", "worker", "engine/decode", "engine/model", "engine/backend",
        "engine/gguf", "engine/tokenizer"}},
      {"engine/app",
       {"base", "cli", "protocol", "worker", "engine/worker", "engine/decode", "engine/model",
        "engine/backend", "engine/kernels", "engine/quant", "engine/gguf", "engine/tokenizer"}},
  };
  return table;
}

// "engine/gguf" for src/engine/gguf/x/y.h, "base" for src/base/x.h.
std::string folder_of(const std::string& path) {
  const auto parts = split(path, '/');
  if (parts.size() < 2) return "";
  if (parts[0] == "engine" && parts.size() > 2) return cat(parts[0], "/", parts[1]);
  return std::string(parts[0]);
}

bool is_source(const fs::path& path) {
  static const std::set<std::string> extensions = {".h", ".cpp", ".cu"};
  return extensions.contains(path.extension().string());
}

std::vector<std::string> includes_of(const std::string& text) {
  std::vector<std::string> out;
  for (const std::string_view line : split(text, '\n')) {
    const std::string_view trimmed = trim(line);
    if (!trimmed.starts_with("#include \"")) continue;
    const size_t end = trimmed.find('"', 10);
    if (end != std::string_view::npos) out.emplace_back(trimmed.substr(10, end - 10));
  }
  return out;
}

// Why `file` (relative to src/) may not include `target`; empty when it may. Tests may reach
// anywhere.
std::string include_problem(const std::string& file, const std::string& target) {
  if (file.ends_with("_test.cpp") || file.find("/test_") != std::string::npos) return "";
  const std::string from = folder_of(file);
  const std::string to = folder_of(target);
  if (to.empty() || from == to) return "";
  const auto row = layers().find(from);
  if (row == layers().end())
    return cat(file, ": folder `", from, "` has no row in the table of layers");
  if (row->second.contains(to)) return "";
  return cat(file, " includes \"", target, "\": `", from, "` may not use `", to, "`");
}

TEST(Layers, IncludesPointOneWay) {
  int seen = 0;
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / "src")) {
    if (!entry.is_regular_file() || !is_source(entry.path())) continue;
    const std::string file = fs::relative(entry.path(), kRoot / "src").string();
    const auto text = read_file(entry.path());
    ASSERT_TRUE(text);
    for (const std::string& target : includes_of(*text)) {
      ++seen;
      EXPECT_EQ(include_problem(file, target), "");
    }
  }
  EXPECT_GT(seen, 10);
}

TEST(Layers, TheCheckCanFail) {
  EXPECT_NE(include_problem("base/x.h", "protocol/message.h"), "");
  EXPECT_NE(include_problem("scoring/x.cpp", "runner/world.h"), "");
  EXPECT_NE(include_problem("benchd/commands/x.cpp", "engine/gguf/file.h"), "");
  EXPECT_NE(include_problem("engine/model/x.cpp", "runner/world.h"), "");
  EXPECT_NE(include_problem("unknown/x.cpp", "base/json.h"), "");
  EXPECT_EQ(include_problem("benchd/commands/x.cpp", "runner/world.h"), "");
}

TEST(Refusals, CodesAreUniqueAndComplete) {
  const auto rows = scan_refusals(kRoot / "src");
  ASSERT_GT(rows.size(), 10u);
  std::map<std::string, std::string> seen;
  for (const CatalogueRow& row : rows) {
    EXPECT_NE(row.code, "") << row.folder << " " << row.name;
    EXPECT_NE(row.meaning, "") << row.code;
    EXPECT_NE(row.remedy, "") << row.code;
    EXPECT_EQ(row.meaning.find('|'), std::string::npos) << row.code;
    const auto [where, fresh] = seen.emplace(row.code, row.folder);
    EXPECT_TRUE(fresh) << row.code << " stands in " << where->second << " and in " << row.folder;
  }
}

TEST(Refusals, CatalogueIsCurrent) {
  const auto text = read_file(kRoot / "docs" / "refusals.md");
  ASSERT_TRUE(text) << "docs/refusals.md is missing";
  EXPECT_TRUE(*text == catalogue_markdown(scan_refusals(kRoot / "src")))
      << "docs/refusals.md differs from the code; write it anew with\n"
         "  build/<preset>/bin/refusal_catalogue src docs/refusals.md";
}

// Each refusal must stand in its own refusals.h array and be provoked or at least named by some
// test.
TEST(Refusals, EveryCodeIsUsed) {
  std::string sources;
  for (const char* top : {"src", "apps"}) {
    if (!fs::exists(kRoot / top)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / top)) {
      if (!entry.is_regular_file() || !is_source(entry.path()) ||
          entry.path().filename() == "refusals.h")
        continue;
      const auto text = read_file(entry.path());
      if (text) sources += *text;
    }
  }
  for (const CatalogueRow& row : scan_refusals(kRoot / "src")) {
    EXPECT_NE(sources.find(row.name), std::string::npos)
        << row.code << " (" << row.name << ") is never refused";
  }
}

// Paths in backquotes or links of our pages: `src/base/json.h`, [x](docs/run.md).
std::vector<std::string> paths_named(const std::string& text) {
  static const std::regex quoted(
      "`((?:src|docs|apps|tests|tools|bench|tracks|models|schema|examples|cmake)/"
      "[A-Za-z0-9_./-]*[A-Za-z0-9_/-])`");
  static const std::regex link("\\]\\(([^)#:]+)(?:#[^)]*)?\\)");
  std::vector<std::string> out;
  for (std::sregex_iterator it(text.begin(), text.end(), quoted), end; it != end; ++it)
    out.push_back((*it)[1]);
  for (std::sregex_iterator it(text.begin(), text.end(), link), end; it != end; ++it)
    out.push_back((*it)[1]);
  return out;
}

TEST(Docs, PathsExist) {
  int seen = 0;
  for (const auto& entry : fs::recursive_directory_iterator(kRoot)) {
    const std::string relative = fs::relative(entry.path(), kRoot).string();
    if (relative.starts_with("build/") || relative.starts_with(".git/") ||
        relative.starts_with("out/"))
      continue;
    if (entry.path().extension() != ".md") continue;
    const auto text = read_file(entry.path());
    ASSERT_TRUE(text);
    for (const std::string& path : paths_named(*text)) {
      ++seen;
      const bool there = fs::exists(kRoot / path) || fs::exists(entry.path().parent_path() / path);
      EXPECT_TRUE(there) << relative << " names `" << path << "`, which does not exist";
    }
  }
  EXPECT_GT(seen, 5);
}

TEST(Docs, ThePathCheckSeesPaths) {
  EXPECT_EQ(paths_named("see `src/base/json.h`, [run](docs/run.md#step) and `build/release`"),
            (std::vector<std::string>{"src/base/json.h", "docs/run.md"}));
}

TEST(Folders, EveryFolderOfSourceTellsWhatItIs) {
  for (const auto& [folder, uses] : layers()) {
    const fs::path readme = kRoot / "src" / folder / "README.md";
    const auto text = read_file(readme);
    ASSERT_TRUE(text) << readme << " is missing";
    EXPECT_LE(std::count(text->begin(), text->end(), '\n'), 15) << readme;
  }
}

}  // namespace
}  // namespace assay::tidy
