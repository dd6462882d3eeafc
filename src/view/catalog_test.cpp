#include "view/catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/files.h"
#include "base/text.h"
#include "bench/demo_store/demo_store.h"
#include "publish/validate.h"
#include "view/test_store.h"

namespace assay::view {
namespace {

namespace fs = std::filesystem;
using ::testing::StartsWith;

std::string problem_of(const Index& index, std::string_view path) {
  for (const IndexProblem& problem : index.problems) {
    if (problem.path == path) return problem.problem;
  }
  return "";
}

TEST(Catalog, AnEmptyStoreIsAnEmptyIndex) {
  TestStore store;
  const Index index = store.list();
  EXPECT_EQ(index.files.size(), 0u);
  EXPECT_EQ(index.state, "missing");
  const auto json = json::parse(index_json(index));
  ASSERT_TRUE(json);
  EXPECT_EQ(json->find("shards")->find("count")->literal(), "0");
  EXPECT_EQ(json->find("rows")->find("count")->literal(), "0");
}

TEST(Catalog, RefusesAStoreItCannotOpen) {
  const auto catalog = Catalog::open("ftp://x", "");
  ASSERT_FALSE(catalog);
  EXPECT_EQ(catalog.refusal().code, "STORE-URL");
  const auto misspelt = Catalog::open("file:///nonexistent/store", "");
  ASSERT_FALSE(misspelt);
  EXPECT_EQ(misspelt.refusal().code, "STORE-NOT-FOUND");
}

TEST(Catalog, WithoutARunIndexEverythingIsExperimental) {
  TestStore store;
  store.add(test_run("2020-01-01T00:00:00Z"));
  Index index = store.list();
  EXPECT_EQ(index.state, "missing");
  EXPECT_EQ(run_cell(index, "evidence"), "experimental");
  EXPECT_EQ(run_cell(index, "era"), "current");
  for (const char* text : {"", "{", "[]", R"({"schema_version":"run-index-v2"})"}) {
    store.set_index_text(text);
    index = store.list();
    EXPECT_EQ(index.state, "unreadable") << text;
    EXPECT_THAT(index.state_problem, StartsWith("INDEX-INVALID: "));
    EXPECT_EQ(run_cell(index, "evidence"), "experimental");
  }
}

TEST(Catalog, EntriesDecideAndTheCutoffDecidesTheRest) {
  TestStore store;
  const std::string before = store.add(test_run("2026-03-31T23:59:59Z"));
  const std::string after = store.add(test_run("2026-04-01T00:00:00Z"));
  const std::string invalid = store.add(test_run("2026-05-01T00:00:00Z"));
  const std::string recovered = store.add(test_run("2026-05-02T00:00:00Z"));
  const std::string scored = store.add(test_run("2026-05-03T00:00:00Z"));
  publish::RunIndex run_index;
  run_index.historical_scored_before = "2026-04-01T00:00:00Z";
  run_index.policy = "the policy";
  run_index.runs = {test_entry(invalid, "invalid"), test_entry(recovered, "recovered"),
                    test_entry(scored, "scored")};
  run_index.runs[0].caveat = "a fallback model answered";
  run_index.runs[0].superseded_by = scored;
  run_index.runs[2].variant = "baseline";
  run_index.runs[2].max_output_tokens = 64;
  store.set_index(run_index);
  const Index index = store.list();
  EXPECT_EQ(index.state, "ok");
  EXPECT_EQ(index.policy, "the policy");
  EXPECT_EQ(index.historical_scored_before, "2026-04-01T00:00:00Z");
  ASSERT_EQ(index.files.size(), 5u);  // sorted by path, and so by time
  EXPECT_EQ(run_cell(index, "path", 0), before);
  EXPECT_EQ(run_cell(index, "evidence", 0), "scored");
  EXPECT_EQ(run_cell(index, "era", 0), "historical");
  EXPECT_EQ(run_cell(index, "indexed", 0), "false");
  EXPECT_EQ(run_cell(index, "path", 1), after);
  EXPECT_EQ(run_cell(index, "evidence", 1), "experimental");
  EXPECT_EQ(run_cell(index, "era", 1), "current");
  EXPECT_EQ(run_cell(index, "evidence", 2), "invalid");
  EXPECT_EQ(run_cell(index, "caveat", 2), "a fallback model answered");
  EXPECT_EQ(run_cell(index, "superseded_by", 2), scored);
  EXPECT_EQ(run_cell(index, "evidence", 3), "recovered");
  EXPECT_EQ(run_cell(index, "evidence", 4), "scored");
  EXPECT_EQ(run_cell(index, "indexed", 4), "true");
  EXPECT_EQ(run_cell(index, "variant", 4), "baseline");
  EXPECT_EQ(run_cell(index, "max_output_tokens", 4), "64");
  EXPECT_EQ(run_cell(index, "max_output_tokens", 3), "");
}

TEST(Catalog, WeightsNeedTheShardsOwnProof) {
  TestStore store;
  const std::string proof = R"({"provenance":{"method":"open_files","verified":true}})";
  const std::string unproven = store.add(test_run("2026-05-01T00:00:00Z"));
  const std::string proven = store.add(test_run("2026-05-02T00:00:00Z", "m", proof));
  const std::string doubted = store.add(test_run("2026-05-03T00:00:00Z", "m", proof));
  publish::RunIndex run_index;
  run_index.runs = {test_entry(unproven, "scored"), test_entry(doubted, "scored")};
  run_index.runs[0].weights = "verified";
  run_index.runs[1].weights = "unverified";
  store.set_index(run_index);
  const Index index = store.list();
  EXPECT_EQ(run_cell(index, "weights", 0), "unverified");
  EXPECT_THAT(problem_of(index, unproven), StartsWith("VIEW-INDEX-UNPROVEN: "));
  EXPECT_EQ(run_cell(index, "weights", 1), "verified");
  EXPECT_EQ(run_cell(index, "weights", 2), "unverified");
}

TEST(Catalog, RowsPointAtTheirRuns) {
  TestStore store;
  store.add(test_run("2026-05-01T00:00:00Z", "first"));
  store.add(test_run("2026-05-02T00:00:00Z", "second",
                     R"({"results":[],"cell_status":"capacity_gated"})"));
  const Index index = store.list();
  ASSERT_EQ(index.rows[0].size(), 3u);
  EXPECT_EQ(row_cell(index, "shard", 0), "0");
  EXPECT_EQ(row_cell(index, "shard", 2), "1");
  EXPECT_EQ(row_cell(index, "metric", 2), "cell_status");
  EXPECT_EQ(row_cell(index, "value", 2), "");  // a status is no zero
  EXPECT_EQ(run_cell(index, "cell_status", 1), "capacity_gated");
  EXPECT_EQ(run_cell(index, "rows", 0), "2");
}

TEST(Catalog, WhatCannotBeShownIsNamedAndStopsNothing) {
  TestStore store;
  const std::string good = store.add(test_run("2026-05-01T00:00:00Z"));
  const auto bytes = read_file(store.store_folder() / good);
  store.add_file("run-half.parquet", std::string_view(*bytes).substr(0, bytes->size() / 2));
  store.add_file("run-text.parquet", "text");
  store.add_file("below/run-nested.parquet", *bytes);
  store.add_file("README.txt", "not a shard");
  store.add_file("run-\xFF.parquet", *bytes);
  fs::create_symlink(store.store_folder() / good,
                     store.store_folder() / "data" / "run-link.parquet");
  publish::RunIndex run_index;
  run_index.runs = {test_entry("data/run-lost.parquet", "scored")};
  store.set_index(run_index);
  const Index index = store.list();
  ASSERT_EQ(index.files.size(), 1u);
  EXPECT_EQ(index.files[0].path, good);
  EXPECT_THAT(problem_of(index, "data/run-half.parquet"), StartsWith("SHARD-UNREADABLE: "));
  EXPECT_THAT(problem_of(index, "data/run-text.parquet"), StartsWith("SHARD-UNREADABLE: "));
  EXPECT_THAT(problem_of(index, "data/below/run-nested.parquet"), StartsWith("VIEW-SHARD-NAME: "));
  EXPECT_THAT(problem_of(index, "data/run-lost.parquet"), StartsWith("VIEW-INDEX-LOST: "));
  EXPECT_EQ(problem_of(index, "data/README.txt"), "");
  EXPECT_EQ(problem_of(index, "data/run-link.parquet"), "");  // a link is not listed
  // The JSON stays JSON, whatever a file is called.
  EXPECT_TRUE(json::parse(index_json(index)));
  EXPECT_EQ(index.problems.size(), 5u);
}

TEST(Catalog, ACanonicalTwinIsTheSameRun) {
  TestStore store;
  const std::string original = store.add(test_run("2026-05-01T00:00:00Z"));
  const auto bytes = read_file(store.store_folder() / original);
  const std::string name = original.substr(5);
  store.add_file("run-canonical-" + name, *bytes);
  store.add_file("run-canonical-run-2026-09-09T00-00-00-x.parquet", *bytes);  // stands alone
  publish::RunIndex run_index;
  run_index.runs = {test_entry("data/run-canonical-" + name, "scored")};
  store.set_index(run_index);
  const Index index = store.list();
  ASSERT_EQ(index.files.size(), 2u);
  EXPECT_EQ(run_cell(index, "path", 0), original);
  EXPECT_EQ(run_cell(index, "twin", 0), "data/run-canonical-" + name);
  EXPECT_EQ(run_cell(index, "evidence", 0), "scored");  // the twin's entry speaks for the run
  EXPECT_THAT(problem_of(index, "data/run-canonical-" + name), StartsWith("VIEW-SHARD-TWIN: "));
  EXPECT_EQ(run_cell(index, "path", 1), "data/run-canonical-run-2026-09-09T00-00-00-x.parquet");
}

TEST(Catalog, KnownShardsAreNotReadAgain) {
  TestStore store;
  const std::string path = store.add(test_run("2026-05-01T00:00:00Z"));
  const std::string first = index_json(store.list());
  {
    Catalog catalog = store.open();
    EXPECT_EQ(index_json(*catalog.list()), first);
    EXPECT_EQ(catalog.counts().read_anew, 0u);
    store.add(test_run("2026-05-02T00:00:00Z"));
    EXPECT_EQ(catalog.list()->files.size(), 2u);
    EXPECT_EQ(catalog.counts().read_anew, 1u);
  }
  // A changed size or time is another file.
  fs::permissions(store.store_folder() / path, fs::perms::owner_all);
  fs::last_write_time(store.store_folder() / path,
                      fs::file_time_type::clock::now() + std::chrono::hours(1));
  Catalog catalog = store.open();
  ASSERT_TRUE(catalog.list());
  EXPECT_EQ(catalog.counts().read_anew, 1u);
}

TEST(Catalog, ACacheThatIsNotWholeIsRebuilt) {
  TestStore store;
  store.add(test_run("2026-05-01T00:00:00Z"));
  const std::string first = index_json(store.list());
  const fs::path file = cache_file(store.cache_folder(), store.url());
  const std::string whole = *read_file(file);
  std::string flipped = whole;
  flipped[flipped.size() / 2] = static_cast<char>(flipped[flipped.size() / 2] ^ 1);
  for (const std::string& broken :
       {std::string(), std::string("x"), whole.substr(0, whole.size() - 1), flipped, whole + "x"}) {
    ASSERT_TRUE(write_file_atomic(file, broken));
    Catalog catalog = store.open();
    EXPECT_EQ(index_json(*catalog.list()), first);
    EXPECT_EQ(catalog.counts().read_anew, 1u);
    EXPECT_EQ(*read_file(file), whole);
  }
}

TEST(Catalog, ACacheThatCannotBeWrittenIsRemarked) {
  TestStore store;
  store.add(test_run("2026-05-01T00:00:00Z"));
  ASSERT_TRUE(write_file_atomic(store.cache_folder(), "a file where the folder should be"));
  Catalog catalog = store.open();
  EXPECT_EQ(catalog.list()->files.size(), 1u);
  EXPECT_THAT(catalog.cache_remark(), StartsWith("FILE-NOT-WRITTEN: "));
}

TEST(Catalog, OnlyTheNewestAreKept) {
  TestStore store;
  for (const char* time : {"2026-05-03T00:00:00Z", "2026-05-01T00:00:00Z", "2026-05-02T00:00:00Z"})
    store.add(test_run(time, time));
  Index index = store.list();
  EXPECT_EQ(newest_timestamp(index), "2026-05-03T00:00:00Z");
  keep_newest(index, 3);
  EXPECT_EQ(index.left_out, 0u);
  keep_newest(index, 2);
  EXPECT_EQ(index.left_out, 1u);
  ASSERT_EQ(index.files.size(), 2u);
  EXPECT_EQ(run_cell(index, "model", 0), "2026-05-02T00:00:00Z");
  EXPECT_EQ(run_cell(index, "model", 1), "2026-05-03T00:00:00Z");
  ASSERT_EQ(index.rows[0].size(), 4u);
  EXPECT_EQ(row_cell(index, "shard", 3), "1");
}

TEST(Columns, AreCodedWhereThatIsShorter) {
  Column plain("plain"), coded("coded"), empty("empty");
  for (int i = 0; i < 100; ++i) {
    plain.add(cat(i * 7919));
    coded.add(i % 3 == 0 ? "" : "\"a value that is long enough\"");
    empty.add("");
  }
  std::string text;
  plain.append_json(text);
  EXPECT_TRUE(text.starts_with("[0,7919,15838,")) << text;
  text.clear();
  coded.append_json(text);
  EXPECT_TRUE(text.starts_with(R"({"values":["a value that is long enough"],"codes":[-1,0,0,-1,)"))
      << text;
  EXPECT_TRUE(empty.all_null());
  EXPECT_EQ(coded.at(0), "");
  EXPECT_EQ(coded.find("\"a value that is long enough\""), 0);
  EXPECT_EQ(coded.find("x"), -2);
}

// The demo store is what the page is tried with: it must be made of envelopes that publish accepts.
TEST(DemoStore, IsValidAndComesBackWhole) {
  for (size_t number = 0; number < 160; ++number) {
    for (const publish::Problem& problem : publish::validate(
             publish::to_json(demo::demo_run(number).envelope), {.legacy_regime = true})) {
      EXPECT_TRUE(problem.is_warning())
          << number << " " << problem.code << " " << problem.path << " " << problem.message;
    }
  }
  TestStore store;
  const auto target = publish::open_file_store(store.store_folder());
  const auto paths = demo::write_demo_store(*target, {.shards = 60});
  ASSERT_TRUE(paths) << paths.refusal().text();
  const Index index = store.list();
  EXPECT_EQ(index.files.size(), 60u);
  EXPECT_EQ(index.problems.size(), 3u);
  const auto json = json::parse(index_json(index));
  ASSERT_TRUE(json) << json.refusal().text();
  // Every column that is there has a cell for each run.
  for (const auto& [name, column] : json->find("shards")->find("columns")->members()) {
    const json::Value& cells = column.is_array() ? column : *column.find("codes");
    EXPECT_EQ(cells.items().size(), 60u) << name;
  }
}

}  // namespace
}  // namespace assay::view
