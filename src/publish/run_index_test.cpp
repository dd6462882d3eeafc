#include "publish/run_index.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

namespace assay::publish {
namespace {

IndexEntry entry(std::string path) {
  IndexEntry e;
  e.path = std::move(path);
  return e;
}

class RunIndexTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "assay-index-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    store_ = open_file_store(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::filesystem::path folder_;
  std::unique_ptr<Store> store_;
};

TEST_F(RunIndexTest, AppendsAndKeepsWhatWasThere) {
  ASSERT_TRUE(append_run_index(*store_, entry("data/run-a.parquet")));
  ASSERT_TRUE(append_run_index(*store_, entry("data/run-b.parquet")));
  ASSERT_TRUE(
      append_run_index(*store_, entry("data/run-b.parquet")));  // the same again is no change
  const auto index = read_run_index(*store_);
  ASSERT_TRUE(index);
  ASSERT_EQ(index->runs.size(), 2u);
  EXPECT_EQ(index->runs[0].path, "data/run-a.parquet");
  IndexEntry changed = entry("data/run-a.parquet");
  changed.status = "scored";
  EXPECT_EQ(append_run_index(*store_, changed).refusal().code, "INDEX-INVALID");
}

TEST_F(RunIndexTest, OnlyAppendingIsAllowed) {
  RunIndex before;
  before.runs = {entry("data/run-a.parquet"), entry("data/run-b.parquet")};
  RunIndex after = before;
  after.runs.push_back(entry("data/run-c.parquet"));
  EXPECT_TRUE(check_append(before, after));
  RunIndex removed = before;
  removed.runs.pop_back();
  EXPECT_FALSE(check_append(before, removed));
  RunIndex relabelled = after;
  relabelled.runs[0].status = "invalid";
  EXPECT_FALSE(check_append(before, relabelled));
  RunIndex twice = after;
  twice.runs.push_back(entry("data/run-a.parquet"));
  EXPECT_FALSE(check_append(before, twice));
  RunIndex moved = after;
  moved.historical_scored_before = "2026-01-01T00:00:00Z";
  EXPECT_FALSE(check_append(before, moved));
}

TEST_F(RunIndexTest, ACorrectionFollowsTheEntryAndCounts) {
  ASSERT_TRUE(append_run_index(*store_, entry("data/run-a.parquet")));
  IndexEntry correction = entry("data/run-a.parquet");
  correction.status = "invalid";
  EXPECT_EQ(append_run_index(*store_, correction).refusal().code, "INDEX-INVALID") << "no caveat";
  correction.caveat = "a fallback model answered";
  ASSERT_TRUE(append_run_index(*store_, correction));
  const auto index = read_run_index(*store_);
  ASSERT_TRUE(index) << index.refusal().text();
  ASSERT_EQ(index->runs.size(), 2u);
  EXPECT_EQ(index->runs[0].status, "experimental") << "what was there stays";
  EXPECT_EQ(index->status_of("data/run-a.parquet", "2026-01-01T00:00:00Z"), "invalid");
  // Invalid is the end: no entry brings a shard back, and saying the same again changes nothing.
  ASSERT_TRUE(append_run_index(*store_, correction));
  IndexEntry back = entry("data/run-a.parquet");
  back.status = "scored";
  EXPECT_EQ(append_run_index(*store_, back).refusal().code, "INDEX-INVALID");
  EXPECT_EQ(read_run_index(*store_)->runs.size(), 2u);
}

TEST(RunIndex, StatusComesFromTheEntryElseFromTheCutoff) {
  RunIndex index;
  index.historical_scored_before = "2026-06-01T00:00:00Z";
  index.runs = {entry("data/run-a.parquet")};
  index.runs[0].status = "invalid";
  EXPECT_EQ(index.status_of("data/run-a.parquet", "2020-01-01T00:00:00Z"), "invalid");
  EXPECT_EQ(index.status_of("data/run-z.parquet", "2026-05-31T23:59:59Z"), "scored");
  EXPECT_EQ(index.status_of("data/run-z.parquet", "2026-06-01T00:00:00Z"), "experimental");
  EXPECT_EQ(RunIndex().status_of("data/run-z.parquet", "2026-05-31T23:59:59Z"), "experimental");
}

TEST(RunIndex, RefusesByWhatIsWrong) {
  const std::string good = write_run_index(RunIndex());
  ASSERT_TRUE(parse_run_index(good));
  const auto with_entry = [](std::string_view text) {
    return std::string(
               R"({"schema_version":"run-index-v1","historical_scored_before":"2026-01-01T00:00:00Z","policy":"p","runs":[)") +
           std::string(text) + "]}";
  };
  const std::string whole =
      R"({"path":"data/run-a.parquet","status":"scored","variant":"","comparison_group":"","context_band":"","max_output_tokens":1,"completion_state":"","caveat":""})";
  EXPECT_TRUE(parse_run_index(with_entry(whole)));
  EXPECT_FALSE(parse_run_index(with_entry(whole + "," + whole)));
  for (const auto& [from, to] : {std::pair{"\"scored\"", "\"best\""},
                                 {"data/run-a.parquet", "data/../run-a.parquet"},
                                 {"data/run-a.parquet", "data/other.parquet"},
                                 {"\"max_output_tokens\":1,", ""},
                                 {"\"caveat\":\"\"", "\"caveat\":1"}}) {
    std::string text = whole;
    text.replace(text.find(from), std::string_view(from).size(), to);
    const auto parsed = parse_run_index(with_entry(text));
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.refusal().code, "INDEX-INVALID");
  }
  EXPECT_FALSE(parse_run_index("{}"));
  EXPECT_FALSE(parse_run_index("not json"));
}

}  // namespace
}  // namespace assay::publish
