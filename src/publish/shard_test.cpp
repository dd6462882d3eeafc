#include "publish/shard.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>

#include "base/sha256.h"
#include "base/text.h"

namespace assay::publish {
namespace {

Envelope envelope() {
  return *from_json(*json::parse(
      R"({"schema_version":"1","timestamp":"2026-04-24T18:30:00Z","git_sha":"aaa3ff3","trigger":"local",
"pr_number":9223372036854775807,"suite":"throughput","model":"mlx-community/Qwen3.5-9B-MLX-4bit","skipped":false,
"campaign":{"id":"c","cell_id":"x","profile":"p"},"context":{"actual_prompt_tokens":7},
"system":{"os":"","chip":"é","memory_gb":8,"hostname":"private","future_fact":"f"},
"results":[{"name":"a","metric":"m","value":0.1,"unit":"tok/s","duration_seconds":2.5,"tags":{"phase":"sequential","unregistered":"u"}},
{"name":"b","metric":"m","value":-0.0,"unit":"ms"}],"errors":["one"]})"));
}

std::string text(const Cell& cell) {
  const auto* value = std::get_if<std::string>(&cell);
  return value != nullptr ? *value : "(null)";
}

TEST(Slug, AndPath) {
  EXPECT_EQ(model_slug("mlx-community/Qwen3.5-9B-MLX-4bit"), "mlx-community-qwen3-5-9b-mlx-4bit");
  EXPECT_EQ(model_slug("//x//"), "x");
  EXPECT_EQ(model_slug(std::string(60, 'A')), std::string(50, 'a'));
  EXPECT_EQ(model_slug("é"), "");
  EXPECT_EQ(shard_path(envelope(), "{}"),
            "data/"
            "run-2026-04-24T18-30-00-aaa3ff3-throughput-mlx-community-qwen3-5-9b-mlx-4bit-44136fa3."
            "parquet");
}

TEST(Shard, ReadsBackWhatWasWritten) {
  const Envelope source = envelope();
  const auto bytes = write_shard(source);
  ASSERT_TRUE(bytes) << bytes.refusal().text();
  const auto shard = read_shard(*bytes);
  ASSERT_TRUE(shard) << shard.refusal().text();
  ASSERT_EQ(shard->rows, 2u);
  ASSERT_EQ(shard->names.size(), columns().size());
  for (size_t i = 0; i < columns().size(); ++i) EXPECT_EQ(shard->names[i], columns()[i].name);
  EXPECT_EQ(text(shard->at("os", 0)), "");  // empty is not NULL
  EXPECT_EQ(text(shard->at("chip", 1)), "é");
  EXPECT_EQ(text(shard->at("kernel", 0)), "(null)");
  EXPECT_EQ(text(shard->at("hostname", 0)), "private");
  EXPECT_EQ(text(shard->at("system_extra", 0)), R"({"future_fact":"f"})");
  EXPECT_EQ(std::get<int64_t>(shard->at("pr_number", 0)), INT64_MAX);
  EXPECT_EQ(std::get<int64_t>(shard->at("context_actual_prompt_tokens", 1)), 7);
  EXPECT_EQ(std::get<bool>(shard->at("skipped", 0)), false);
  EXPECT_EQ(std::get<double>(shard->at("value", 0)), 0.1);
  EXPECT_EQ(std::get<double>(shard->at("duration_seconds", 0)), 2.5);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(shard->at("duration_seconds", 1)));
  EXPECT_EQ(text(shard->at("tag_phase", 0)), "sequential");
  EXPECT_EQ(text(shard->at("tag_phase", 1)), "(null)");
  EXPECT_EQ(text(shard->at("tags_json", 0)), R"({"phase":"sequential","unregistered":"u"})");
  EXPECT_EQ(text(shard->at("errors_json", 0)), R"(["one"])");
  EXPECT_EQ(shard->envelope_json, canonical_json(source));
  EXPECT_EQ(shard->envelope_sha256, sha256_hex(canonical_json(source)));
}

TEST(Shard, SameEnvelopeSameBytesChangedValueOtherHash) {
  const auto a = write_shard(envelope());
  EXPECT_EQ(*a, *write_shard(envelope()));
  Envelope changed = envelope();
  changed.results[1].value = 1;
  EXPECT_NE(shard_path(envelope(), *a), shard_path(changed, *write_shard(changed)));
}

TEST(Shard, TheBytesDoNotDependOnWhichEncoderIsFirst) {
  Envelope large = envelope();
  large.results.resize(20000, large.results.at(0));
  for (size_t i = 0; i < large.results.size(); ++i) large.results[i].value = static_cast<double>(i);
  const std::string first = *write_shard(large);
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(*write_shard(large) == first) << "time " << i;
}

TEST(Shard, AStatusRowHasNoValue) {
  Envelope status = envelope();
  status.results.clear();
  status.head.set("cell_status", "aborted");
  const auto shard = read_shard(*write_shard(status));
  ASSERT_TRUE(shard);
  ASSERT_EQ(shard->rows, 1u);
  EXPECT_EQ(text(shard->at("metric", 0)), "cell_status");
  EXPECT_EQ(text(shard->at("unit", 0)), "status");
  EXPECT_TRUE(std::holds_alternative<std::monostate>(shard->at("value", 0)));
  EXPECT_EQ(text(shard->at("cell_status", 0)), "aborted");
}

TEST(Shard, ReadsUpstreamsShapeAndTheOldestLayout) {
  const auto file = [](const char* name) {
    std::ifstream stream(std::string(ASSAY_SOURCE_DIR "/tests/fuzz/corpus/publish_shard/") + name,
                         std::ios::binary);
    return std::string{std::istreambuf_iterator<char>(stream), {}};
  };
  const auto upstream = read_shard(file("upstream_shape"));  // dictionary, snappy, data page v2
  ASSERT_TRUE(upstream) << upstream.refusal().text();
  ASSERT_EQ(upstream->rows, 2u);
  EXPECT_EQ(text(upstream->at("name", 1)), "gsm8k");
  EXPECT_EQ(std::get<double>(upstream->at("value", 0)), 0.5);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(upstream->at("value", 1)));
  EXPECT_EQ(text(upstream->at("tag_n_limit", 0)), "10");
  EXPECT_TRUE(std::holds_alternative<std::monostate>(upstream->at("regime_json", 0)));
  const auto oldest = read_shard(file("oldest_layout"));
  ASSERT_TRUE(oldest) << oldest.refusal().text();
  EXPECT_EQ(text(oldest->at("metric", 0)), "acc");
  EXPECT_EQ(std::get<double>(oldest->at("value", 0)), 0.5);
}

TEST(Shard, AColumnThatSaysOneThingIsOneCell) {
  Envelope many = envelope();
  many.results.resize(3, many.results.at(0));
  for (size_t i = 0; i < many.results.size(); ++i) many.results[i].value = i == 1 ? -0.0 : 0.0;
  const auto shard = read_shard(*write_shard(many));
  ASSERT_TRUE(shard);
  for (size_t i = 0; i < shard->names.size(); ++i) {
    if (shard->names[i] == "suite") {
      EXPECT_EQ(shard->cells[i].size(), 1u);
    }
    if (shard->names[i] == "value") {
      EXPECT_EQ(shard->cells[i].size(), 3u);
    }
    if (shard->names[i] == "peak_rss_mb") {
      EXPECT_LE(shard->cells[i].size(), 1u);
    }
  }
  EXPECT_TRUE(std::signbit(std::get<double>(shard->at("value", 1))));
  EXPECT_FALSE(std::signbit(std::get<double>(shard->at("value", 2))));
}

TEST(Shard, RefusesAFigureThatIsNoNumber) {
  Envelope broken = envelope();
  broken.results.at(0).value = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(write_shard(broken).refusal().code, "SHARD-NOT-WRITTEN");
}

TEST(Shard, RefusesWhatIsNoParquet) {
  const std::string bytes = *write_shard(envelope());
  for (const std::string& broken :
       {std::string(), std::string("PAR1"), bytes.substr(0, bytes.size() / 2), bytes.substr(1)}) {
    const auto shard = read_shard(broken);
    ASSERT_FALSE(shard);
    EXPECT_EQ(shard.refusal().code, "SHARD-UNREADABLE");
  }
}

}  // namespace
}  // namespace assay::publish
