// Shards against readers and writers that are not ours: pyarrow and DuckDB read what we write with
// the same values, and we read what they write. Skipped by name where they could not be fetched.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>

#include "base/json.h"
#include "base/text.h"
#include "process.h"
#include "publish/shard.h"

namespace assay::e2e {
namespace {

namespace fs = std::filesystem;
using namespace publish;

const fs::path kSource = ASSAY_SOURCE_DIR;

class PublishReaders : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    python_ = kSource / "build/venv/bin/python";
    const bool there = fs::exists(
        kSource / (GetParam() == "duckdb" ? "build/duckdb/duckdb" : "build/arrow/pyarrow"));
    if (!fs::exists(python_) || !there) {
      GTEST_SKIP() << GetParam() << " for Python is not here (tools/fetch_"
                   << (GetParam() == "duckdb" ? "duckdb" : "arrow") << ".sh brings it)";
    }
    std::string pattern = (fs::temp_directory_path() / "readers.XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  void TearDown() override {
    if (!folder_.empty()) fs::remove_all(folder_);
  }

  ProcessResult python(std::vector<std::string> arguments) {
    std::vector<std::string> argv = {python_.string(),
                                     (kSource / "tests/e2e/foreign_parquet.py").string()};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    return run_process({.argv = argv,
                        .working_directory = folder_,
                        .environment = {{"PYTHONPATH", (kSource / "build/arrow").string() + ":" +
                                                           (kSource / "build/duckdb").string()},
                                        {"PYTHONDONTWRITEBYTECODE", "1"},
                                        {"PYTHONUTF8", "1"}},
                        .file_bytes_max = std::nullopt});
  }

  // What the other reader says of our shard, against what went in.
  void expect_equal(const Envelope& envelope) {
    const auto shard = make_shard(envelope);
    ASSERT_TRUE(shard) << shard.refusal().text();
    const fs::path path = folder_ / "shard.parquet";
    std::ofstream(path, std::ios::binary) << shard->bytes;
    const ProcessResult read = python({"read", GetParam(), path.string()});
    ASSERT_EQ(read.exit_code, 0) << read.err;
    const auto lines = json::parse_many(read.out);
    ASSERT_TRUE(lines) << lines.refusal().text();
    const RowSource source(envelope);
    ASSERT_EQ(lines->size(), source.rows() + 2);

    const auto& described = lines->at(0).items();
    ASSERT_EQ(described.size(), columns().size());
    for (size_t i = 0; i < columns().size(); ++i) {
      EXPECT_EQ(described[i].items()[0].string(), columns()[i].name) << "fixed order";
      EXPECT_EQ(described[i].items()[1].string(), type_name(columns()[i].type))
          << columns()[i].name;
    }
    const json::Value& footer = *lines->at(1).find("footer");
    EXPECT_EQ(footer.find("envelope_sha256")->string(), envelope_sha256(envelope));
    EXPECT_EQ(footer.find("row_schema")->string(), "1");
    EXPECT_EQ(footer.find("envelope")->string(), canonical_json(envelope));
    for (size_t row = 0; row < source.rows(); ++row) {
      const json::Value& values = lines->at(row + 2);
      size_t present = 0;
      for (size_t column = 0; column < columns().size(); ++column) {
        const Cell cell = source.cell(column, row);
        const json::Value* value = values.find(columns()[column].name);
        const bool null = std::holds_alternative<std::monostate>(cell);
        ASSERT_EQ(value == nullptr, null) << columns()[column].name << ", row " << row;
        if (null) continue;
        ++present;
        ASSERT_TRUE(same(cell, *value)) << columns()[column].name << ", row " << row;
      }
      ASSERT_EQ(values.members().size(), present);
    }
  }

  std::string type_name(ColumnType type) const {
    const bool duck = GetParam() == "duckdb";
    switch (type) {
      case ColumnType::text: return duck ? "VARCHAR" : "string";
      case ColumnType::integer: return duck ? "BIGINT" : "int64";
      case ColumnType::real: return duck ? "DOUBLE" : "double";
      case ColumnType::boolean: return duck ? "BOOLEAN" : "bool";
    }
    return "";
  }

  static bool same(const Cell& cell, const json::Value& value) {
    if (const auto* text = std::get_if<std::string>(&cell))
      return value.is_string() && value.string() == *text;
    if (const auto* integer = std::get_if<int64_t>(&cell))
      return value.is_integer() && parse_int64(value.literal()) == *integer;
    if (const auto* number = std::get_if<double>(&cell)) {
      const auto read = value.as_double("");
      return read && *read == *number && std::signbit(*read) == std::signbit(*number);
    }
    return value.kind() == json::Kind::boolean && value.boolean() == std::get<bool>(cell);
  }

  Result<Shard> written_by_them(const std::string& shape) {
    const fs::path path = folder_ / (shape + ".parquet");
    const ProcessResult made = python({"write", GetParam(), shape, path.string()});
    EXPECT_EQ(made.exit_code, 0) << made.err;
    std::ifstream stream(path, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
    return read_shard(bytes);
  }

  fs::path python_;
  fs::path folder_;
};

INSTANTIATE_TEST_SUITE_P(Tools, PublishReaders, testing::Values("pyarrow", "duckdb"),
                         [](const auto& tool) { return tool.param; });

Envelope run() {
  Envelope envelope;
  envelope.head = json::Value::object(
      {{"schema_version", "1"},
       {"timestamp", "2026-04-24T18:30:00Z"},
       {"git_sha", "0123abc"},
       {"trigger", "pr"},
       {"pr_number", std::numeric_limits<int64_t>::max()},
       {"suite", "throughput"},
       {"model", "acme/Größe-✓-𝛼"},
       {"skipped", false},
       {"seed", std::numeric_limits<int64_t>::min()},
       {"concurrency", 2},
       {"system", json::Value::object({{"os", ""},
                                       {"chip", "a \"quoted\" \\ chip"},
                                       {"memory_gb", 8},
                                       {"hostname", "h"},
                                       {"power_limit_w", 350.5}})},
       {"regime", json::Value::object({{"max_tokens", 64}, {"rate_basis", "wall"}})},
       {"cache", json::Value::object({{"prefix_policy", "unknown"}})},
       {"provenance", json::Value::object({{"verified", true}})},
       {"errors", json::Value::array({json::Value("one\ntwo")})}});
  const double values[] = {
      0.1,   -0.0, 5e-324, std::numeric_limits<double>::max(), -std::numeric_limits<double>::max(),
      1e-300};
  for (const double value : values) {
    ResultRow row;
    row.name = "näme";
    row.metric = cat("m", envelope.results.size());
    row.unit = envelope.results.empty() ? "" : "tok/s";  // "" is a text, not NULL
    row.value = value;
    if (envelope.results.size() % 2 == 0) row.duration_seconds = value;
    if (envelope.results.size() % 3 == 0) row.tag("strategy", "");
    if (envelope.results.size() % 3 == 1) row.tag("own key", "тег \t \x7f");
    row.tag("phase", "decode");
    envelope.results.push_back(row);
  }
  return envelope;
}

TEST_P(PublishReaders, ReadOurShardWithEqualValues) {
  expect_equal(run());
}

TEST_P(PublishReaders, ReadAStatusRow) {
  Envelope envelope = run();
  envelope.results.clear();
  envelope.head.set("cell_status", "capacity_gated");
  expect_equal(envelope);
}

// More rows than one batch of the writer and one page of the file; distinct and repeated texts.
TEST_P(PublishReaders, ReadManyRows) {
  Envelope envelope = run();
  const ResultRow first = envelope.results[0];
  envelope.results.clear();
  for (int i = 0; i < 17000; ++i) {
    ResultRow row = first;
    row.value = i / 7.0;
    row.tags.clear();
    row.tag("run_index", cat(i));
    if (i % 5 != 0) row.tag("phase", i % 2 == 0 ? "warm" : "measured");
    envelope.results.push_back(std::move(row));
  }
  // The footer cannot hold this envelope whole; the rows are compared, not its text.
  const auto shard = make_shard(envelope);
  ASSERT_TRUE(shard) << shard.refusal().text();
  const fs::path path = folder_ / "many.parquet";
  std::ofstream(path, std::ios::binary) << shard->bytes;
  const ProcessResult read = python({"read", GetParam(), path.string()});
  ASSERT_EQ(read.exit_code, 0) << read.err;
  const auto lines = json::parse_many(read.out);
  ASSERT_TRUE(lines);
  ASSERT_EQ(lines->size(), 17002u);
  for (size_t i = 0; i < 17000; ++i) {
    const json::Value& row = lines->at(i + 2);
    const size_t phase = i % 5;
    ASSERT_EQ(*row.find("value")->as_double(""), static_cast<double>(i) / 7.0) << i;
    ASSERT_EQ(row.find("tag_run_index")->string(), cat(i));
    ASSERT_EQ(row.find("tag_phase") == nullptr, phase == 0) << i;
    ASSERT_EQ(row.find("model")->string(), "acme/Größe-✓-𝛼");
  }
}

std::string text(const Shard& shard, std::string_view column, size_t row) {
  const auto* value = std::get_if<std::string>(&shard.at(column, row));
  return value != nullptr ? *value : "(NULL)";
}
bool is_null(const Shard& shard, std::string_view column, size_t row) {
  return std::holds_alternative<std::monostate>(shard.at(column, row));
}

TEST_P(PublishReaders, WeReadTheUpstreamShape) {
  const auto shard = written_by_them("upstream");
  ASSERT_TRUE(shard) << shard.refusal().text();
  ASSERT_EQ(shard->rows, 2u);
  EXPECT_EQ(text(*shard, "metric", 1), "naïve ✓");
  EXPECT_EQ(std::get<double>(shard->at("value", 0)), 0.1);
  EXPECT_TRUE(is_null(*shard, "value", 1));
  EXPECT_EQ(text(*shard, "unit", 1), "");
  EXPECT_EQ(std::get<int64_t>(shard->at("memory_gb", 0)), 128);
  EXPECT_EQ(text(*shard, "tag_not_ours", 0), "x");
  EXPECT_TRUE(is_null(*shard, "regime_json", 0)) << "a missing column is NULL";
  EXPECT_EQ(shard->envelope_json, "");
}

TEST_P(PublishReaders, WeReadTheOldestLayout) {
  const auto shard = written_by_them("oldest");
  ASSERT_TRUE(shard) << shard.refusal().text();
  EXPECT_EQ(text(*shard, "name", 0), "gsm8k");
  EXPECT_EQ(text(*shard, "metric", 0), "acc");
  EXPECT_EQ(text(*shard, "unit", 0), "ratio");
  EXPECT_EQ(std::get<double>(shard->at("value", 0)), 0.5);
}

TEST_P(PublishReaders, WeReadEveryType) {
  const auto shard = written_by_them("types");
  ASSERT_TRUE(shard) << shard.refusal().text();
  ASSERT_EQ(shard->rows, 3u);
  EXPECT_EQ(std::get<int64_t>(shard->at("seed", 0)), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(std::get<int64_t>(shard->at("seed", 1)), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(std::get<int64_t>(shard->at("concurrency", 0)), std::numeric_limits<int32_t>::min());
  EXPECT_EQ(std::get<double>(shard->at("value", 0)), 5e-324);
  EXPECT_EQ(std::get<double>(shard->at("value", 1)), -std::numeric_limits<double>::max());
  EXPECT_EQ(std::get<double>(shard->at("duration_seconds", 1)), -0.25);
  EXPECT_EQ(std::get<bool>(shard->at("skipped", 1)), false);
  EXPECT_EQ(text(*shard, "name", 0), "");
  EXPECT_EQ(text(*shard, "name", 1), "𝛼 \" \\ \n");
  for (const char* column : {"seed", "concurrency", "value", "skipped", "name"})
    EXPECT_TRUE(is_null(*shard, column, 2)) << column;
}

}  // namespace
}  // namespace assay::e2e
