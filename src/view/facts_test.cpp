#include "view/facts.h"

#include <gtest/gtest.h>

#include "base/sha256.h"
#include "base/text.h"
#include "publish/shard.h"
#include "view/footer.h"
#include "view/test_store.h"

namespace assay::view {
namespace {

std::string shard_of(const publish::Envelope& envelope) {
  return *publish::write_shard(envelope);
}

// The cells of `facts` by name: the run's, or row `row`'s.
std::string cell(const ShardFacts& facts, std::string_view name, int row = -1) {
  CellReader reader(facts.cells);
  std::string found = "(none)";
  for (const std::string& run : run_cells()) {
    const std::string_view value = reader.next();
    if (row < 0 && run == name) found = value;
  }
  for (int r = 0; r <= row; ++r) {
    for (const std::string& column : row_cells()) {
      const std::string_view value = reader.next();
      if (r == row && column == name) found = value;
    }
  }
  EXPECT_TRUE(reader.ok());
  return found;
}

// The same file with a name in its footer changed to another of the same length.
std::string renamed(std::string bytes, std::string_view from, std::string_view to) {
  EXPECT_EQ(from.size(), to.size());
  size_t count = 0;
  for (size_t at = bytes.find(from); at != std::string::npos; at = bytes.find(from, at + 1)) {
    bytes.replace(at, from.size(), to);
    ++count;
  }
  EXPECT_GT(count, 0u) << from;
  return bytes;
}
// A whole name: Thrift writes its length before it.
std::string column_renamed(const std::string& bytes, std::string_view from, std::string_view to) {
  const auto length = static_cast<char>(from.size());
  return renamed(bytes, cat(length, from), cat(length, to));
}
std::string foreign(const std::string& bytes) {
  return renamed(bytes, "row_schema", "row_schemx");
}

TEST(Footer, GivesRowsAndPairs) {
  const publish::Envelope run = test_run("2026-05-01T00:00:00Z");
  const auto footer = read_footer(shard_of(run));
  ASSERT_TRUE(footer) << footer.refusal().text();
  EXPECT_EQ(footer->rows, 2u);
  EXPECT_EQ(footer->find("row_schema"), "1");
  EXPECT_EQ(footer->find("envelope_sha256"), publish::envelope_sha256(run));
  EXPECT_EQ(footer->find("no such key"), "");
}

TEST(Footer, RefusesEveryCutAndSurvivesEveryFlippedByte) {
  const std::string bytes = shard_of(test_run("2026-05-01T00:00:00Z"));
  for (size_t length = 0; length < bytes.size(); length += 97) {
    const auto footer = read_footer(std::string_view(bytes).substr(0, length));
    ASSERT_FALSE(footer) << length;
    EXPECT_EQ(footer.refusal().code, "SHARD-UNREADABLE");
  }
  // The footer is the last part; a flipped byte gives a refusal or other pairs, never more.
  for (size_t at = bytes.size() / 2; at < bytes.size(); at += 3) {
    for (const int bit : {0, 3, 7}) {
      std::string flipped = bytes;
      flipped[at] = static_cast<char>(flipped[at] ^ (1 << bit));
      const auto footer = read_footer(flipped);
      if (footer) {
        EXPECT_LE(footer->pairs.size(), 64u);
      }
    }
  }
}

TEST(Facts, AShardOfOursIsReadFromItsEnvelope) {
  const publish::Envelope run = test_run("2026-05-01T00:00:00Z", "org/model");
  const std::string bytes = shard_of(run);
  const ShardFacts facts = read_facts(publish::shard_path(run, bytes), bytes);
  EXPECT_EQ(facts.problem, "");
  ASSERT_TRUE(facts.shown);
  EXPECT_FALSE(facts.foreign);
  EXPECT_EQ(facts.sha256, sha256_hex(bytes));
  EXPECT_EQ(facts.rows, 2u);
  EXPECT_EQ(facts.rows_listed, 2u);
  EXPECT_EQ(cell(facts, "model"), "\"org/model\"");
  EXPECT_EQ(cell(facts, "concurrency"), "1");
  EXPECT_EQ(cell(facts, "quantization"), "");
  EXPECT_EQ(cell(facts, "hostname"), "(none)");
  EXPECT_EQ(facts.cells.find("private"), std::string::npos);
  EXPECT_EQ(cell(facts, "envelope_sha256"), cat("\"", publish::envelope_sha256(run), "\""));
  EXPECT_EQ(cell(facts, "value", 0), "10.5");
  EXPECT_EQ(cell(facts, "unit", 1), "\"ms\"");
  // The row's own basis, else the run's.
  EXPECT_EQ(cell(facts, "rate_basis", 0), "\"request\"");
  EXPECT_EQ(cell(facts, "rate_basis", 1), "\"wall\"");
}

TEST(Facts, TagsOfMostRowsStandAtTheRun) {
  const publish::Envelope run = test_run("2026-05-01T00:00:00Z", "m", R"({"results":[
{"name":"a","metric":"x","value":1,"unit":"u","tags":{"k":"v","own":"1"}},
{"name":"b","metric":"x","value":1,"unit":"u","tags":{"k":"v"}},
{"name":"c","metric":"x","value":1,"unit":"u","tags":{"k":"w"}},
{"name":"d","metric":"x","value":1,"unit":"u"},
{"name":"e","metric":"x","value":1,"unit":"u","tags":{"k":"v"}}]})");
  const std::string bytes = shard_of(run);
  const ShardFacts facts = read_facts("data/run-x.parquet", bytes);
  EXPECT_EQ(cell(facts, "tags_json"), R"("{\"k\":\"v\"}")");
  EXPECT_EQ(cell(facts, "tags_json", 0), R"("{\"own\":\"1\"}")");
  EXPECT_EQ(cell(facts, "tags_json", 1), "");
  EXPECT_EQ(cell(facts, "tags_json", 2), R"("{\"k\":\"w\"}")");
  EXPECT_EQ(cell(facts, "tags_json", 3), R"("{\"k\":null}")");  // has not this tag
}

TEST(Facts, AStatusHasNoValue) {
  const publish::Envelope run = test_run(
      "2026-05-01T00:00:00Z", "m", R"({"results":[],"cell_status":"aborted","errors":["why"]})");
  const ShardFacts facts = read_facts("data/run-x.parquet", shard_of(run));
  ASSERT_TRUE(facts.shown);
  ASSERT_EQ(facts.rows_listed, 1u);
  EXPECT_EQ(cell(facts, "metric", 0), "\"cell_status\"");
  EXPECT_EQ(cell(facts, "unit", 0), "\"status\"");
  EXPECT_EQ(cell(facts, "value", 0), "");
  EXPECT_EQ(cell(facts, "cell_status"), "\"aborted\"");
  EXPECT_EQ(cell(facts, "errors_json"), R"("[\"why\"]")");
}

TEST(Facts, ColumnsAndEnvelopeGiveTheSameCells) {
  const std::string bytes = shard_of(test_run("2026-05-01T00:00:00Z", "org/model \xE2\x80\xA8"));
  const ShardFacts ours = read_facts("data/run-x.parquet", bytes);
  const ShardFacts columns = read_facts("data/run-x.parquet", foreign(bytes));
  ASSERT_TRUE(columns.shown);
  EXPECT_TRUE(columns.foreign);
  EXPECT_EQ(columns.problem, "VIEW-SHARD-FOREIGN: no envelope in its footer");
  EXPECT_EQ(columns.cells, ours.cells);
}

TEST(Facts, ForeignColumnsAreNamedAndTagsCollected) {
  std::string bytes = foreign(shard_of(test_run("2026-05-01T00:00:00Z")));
  bytes = column_renamed(bytes, "tags_json", "xags_json");
  bytes = column_renamed(bytes, "chip", "chop");
  const ShardFacts facts = read_facts("data/run-x.parquet", bytes);
  ASSERT_TRUE(facts.shown);
  EXPECT_EQ(facts.problem,
            "VIEW-SHARD-FOREIGN: no envelope in its footer; columns unknown here: chop, xags_json");
  EXPECT_EQ(cell(facts, "chip"), "");
  EXPECT_EQ(cell(facts, "tags_json"), R"("{\"phase\":\"sequential\"}")");  // from tag_phase
}

TEST(Facts, TheOldestLayoutIsRead) {
  const publish::Envelope run = test_run("2025-05-01T00:00:00Z", "m", R"({"results":[
{"name":"-","metric":"-","value":0,"unit":"-","tags":{"derived":"gsm8k","stddev_ts":"accuracy","n_prompt":"0.75","backend":"ratio"}}]})");
  std::string bytes = foreign(shard_of(run));
  for (const auto& [from, to] : {std::pair{"name", "nxme"},
                                 {"metric", "metrix"},
                                 {"value", "valux"},
                                 {"unit", "unix"},
                                 {"tag_derived", "metric_name"},
                                 {"tag_stddev_ts", "metric_metric"},
                                 {"tag_n_prompt", "metric_value"},
                                 {"tag_backend", "metric_unit"}}) {
    bytes = column_renamed(bytes, from, to);
  }
  const ShardFacts facts = read_facts("data/run-x.parquet", bytes);
  ASSERT_TRUE(facts.shown) << facts.problem;
  EXPECT_EQ(cell(facts, "name", 0), "\"gsm8k\"");
  EXPECT_EQ(cell(facts, "metric", 0), "\"accuracy\"");
  EXPECT_EQ(cell(facts, "value", 0), "0.75");
  EXPECT_EQ(cell(facts, "unit", 0), "\"ratio\"");
}

TEST(Facts, RowsOfSeveralRunsAreRefused) {
  const publish::Envelope run = test_run("2026-05-01T00:00:00Z", "m", R"({"results":[
{"name":"a","metric":"x","value":1,"unit":"u","tags":{"phase":"one"}},
{"name":"b","metric":"x","value":1,"unit":"u","tags":{"phase":"two"}}]})");
  std::string bytes = foreign(shard_of(run));
  bytes = column_renamed(bytes, "timestamp", "timestamq");
  bytes = column_renamed(bytes, "tag_phase", "timestamp");
  const ShardFacts facts = read_facts("data/run-x.parquet", bytes);
  EXPECT_FALSE(facts.shown);
  EXPECT_TRUE(facts.problem.starts_with("VIEW-SHARD-MIXED: column `timestamp`")) << facts.problem;
}

TEST(Facts, BytesThatTheNameDoesNotPromiseAreRefused) {
  const publish::Envelope run = test_run("2026-05-01T00:00:00Z");
  std::string bytes = shard_of(run);
  const std::string path = publish::shard_path(run, bytes);
  EXPECT_TRUE(read_facts(path, bytes).shown);
  bytes[100] = static_cast<char>(bytes[100] ^ 1);
  const ShardFacts facts = read_facts(path, bytes);
  EXPECT_FALSE(facts.shown);
  EXPECT_TRUE(facts.problem.starts_with("VIEW-SHARD-NAME: ")) << facts.problem;
}

TEST(Facts, AnEnvelopeWithAWrongDigestIsNotBelieved) {
  const std::string bytes = renamed(shard_of(test_run("2026-05-01T00:00:00Z", "honest")),
                                    "\"model\":\"honest\"", "\"model\":\"forged\"");
  const ShardFacts facts = read_facts("data/run-x.parquet", bytes);
  ASSERT_TRUE(facts.shown);
  EXPECT_EQ(cell(facts, "model"), "\"honest\"");
  EXPECT_TRUE(facts.problem.starts_with("VIEW-SHARD-FOREIGN: ")) << facts.problem;
}

TEST(Facts, HalfAFileIsNamed) {
  const std::string bytes = shard_of(test_run("2026-05-01T00:00:00Z"));
  for (const std::string& broken : {std::string(), std::string("PAR1"),
                                    bytes.substr(0, bytes.size() / 2), std::string("text")}) {
    const ShardFacts facts = read_facts("data/run-x.parquet", broken);
    EXPECT_FALSE(facts.shown);
    EXPECT_TRUE(facts.problem.starts_with("SHARD-UNREADABLE: ")) << facts.problem;
  }
}

TEST(Facts, AVeryLongRunIsListedWithoutItsRows) {
  publish::Envelope run = test_run("2026-05-01T00:00:00Z");
  const publish::ResultRow row = run.results[0];
  run.results.clear();
  for (size_t i = 0; i <= kListedRowsMax; ++i) {
    run.results.push_back(row);
    run.results.back().value = static_cast<double>(i);
  }
  ShardFacts facts = read_facts("data/run-x.parquet", shard_of(run));
  ASSERT_TRUE(facts.shown);
  EXPECT_EQ(facts.rows, kListedRowsMax + 1);
  EXPECT_EQ(facts.rows_listed, 0u);
  EXPECT_TRUE(facts.problem.starts_with("VIEW-SHARD-LARGE: ")) << facts.problem;
  run.results.pop_back();
  facts = read_facts("data/run-x.parquet", shard_of(run));
  EXPECT_EQ(facts.rows_listed, kListedRowsMax);
  EXPECT_EQ(facts.problem, "");
}

TEST(Cells, EndIsSeen) {
  std::string cells;
  append_cell(cells, "");
  append_cell(cells, std::string(300, 'x'));
  CellReader reader(cells);
  EXPECT_EQ(reader.next(), "");
  EXPECT_EQ(reader.next(), std::string(300, 'x'));
  EXPECT_TRUE(reader.at_end());
  EXPECT_TRUE(reader.ok());
  EXPECT_EQ(reader.next(), "");
  EXPECT_FALSE(reader.ok());
  CellReader cut(std::string_view(cells).substr(0, 100));
  cut.next();
  EXPECT_EQ(cut.next(), "");
  EXPECT_FALSE(cut.ok());
}

TEST(Texts, AreMended) {
  EXPECT_EQ(mended_utf8("a\xFF\xC3\xA9\xE2\x82"), "a\xEF\xBF\xBD\xC3\xA9\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(json_text("\"\\\n\x01\xFF"), "\"\\\"\\\\\\n\\u0001\xEF\xBF\xBD\"");
}

}  // namespace
}  // namespace assay::view
