#include "publish/envelope.h"

#include <gtest/gtest.h>

#include <set>

#include "base/files.h"
#include "base/text.h"
#include "publish/validate.h"

namespace assay::publish {
namespace {

constexpr const char* kBase =
    R"({"schema_version":"1","timestamp":"2026-04-24T18:30:00Z","git_sha":"aaa3ff3",
"trigger":"local","suite":"reasoning","model":"m","system":{"os":"o","chip":"c","memory_gb":8},
"results":[{"name":"t","metric":"accuracy","value":0.5,"unit":"ratio"}],"errors":[]})";

json::Value base() {
  return *json::parse(kBase);
}

std::set<std::string> codes(const std::vector<Problem>& problems) {
  std::set<std::string> out;
  for (const Problem& problem : problems) out.insert(problem.code);
  return out;
}
std::set<std::string> codes_of(const json::Value& value, ValidateOptions options = {}) {
  return codes(validate(value, options));
}
std::set<std::string> paths(const std::vector<Problem>& problems) {
  std::set<std::string> out;
  for (const Problem& problem : problems) out.insert(problem.path);
  return out;
}

json::Value sample(const char* name) {
  const auto bytes =
      read_file(std::string(ASSAY_SOURCE_DIR "/../shared/samples/mlx-benchmarks/") + name);
  return bytes ? *json::parse(*bytes) : json::Value();
}

TEST(Schema, AcceptsValidEnvelopesAndItsOwnExamples) {
  EXPECT_TRUE(validate(base(), {}).empty());
  const auto schema = json::parse(*read_file(ASSAY_SOURCE_DIR "/schema/envelope-v1.json"));
  ASSERT_TRUE(schema);
  const auto& examples = schema->find("examples")->items();
  ASSERT_GE(examples.size(), 1u);
  for (const json::Value& example : examples) EXPECT_TRUE(validate(example, {}).empty());
}

TEST(Schema, TheForeignFixturesGetTheirVerdicts) {
  const json::Value valid = sample("envelope.valid.json");
  if (valid.is_null()) GTEST_SKIP() << "shared/samples/mlx-benchmarks is not here";
  EXPECT_TRUE(validate(valid, {}).empty());
  const auto problems = validate(sample("envelope.invalid.json"), {});
  EXPECT_GE(problems.size(), 7u);
  const auto at = paths(problems);
  for (const char* path : {"$.schema_version", "$.timestamp", "$.git_sha", "$.trigger", "$.suite",
                           "$.system", "$.results"}) {
    EXPECT_TRUE(at.contains(path)) << path;
  }
}

TEST(Schema, IsClosedAtEveryLevel) {
  for (const char* key : {"", "system", "results[0]", "gen_kwargs", "campaign", "context",
                          "serving", "regime", "cache", "provenance", "control"}) {
    json::Value value = base();
    json::Value* object = &value;
    const std::string path = key;
    if (path == "results[0]") {
      object = &value.find("results")->items()[0];
    } else if (!path.empty()) {
      if (value.find(path) == nullptr) value.set(path, json::Value::object());
      object = value.find(path);
    }
    object->set("surprise", 1);
    const auto problems = check_schema(value);
    ASSERT_FALSE(problems.empty()) << key;
  }
}

TEST(Schema, IsClosedFurtherDown) {
  for (const char* text :
       {R"({"gpu": {"model": "g", "surprise": 1}})", R"({"engine": {"name": "e", "surprise": 1}})",
        R"({"topology": {"world_size": 2, "surprise": 1}})",
        R"({"topology": {"nodes": [{"hostname": "h", "surprise": 1}]}})"}) {
    json::Value value = base();
    EXPECT_TRUE(check_schema(value).empty());
    const json::Value more = *json::parse(text);
    for (const auto& [key, member] : more.members()) value.find("system")->set(key, member);
    EXPECT_FALSE(check_schema(value).empty()) << text;
  }
  json::Value value = base();
  value.set("provenance", *json::parse(R"({"files": [{"name": "w", "surprise": 1}]})"));
  EXPECT_FALSE(check_schema(value).empty());
  value = base();
  value.set("memory_snapshots", *json::parse(R"([{"phase": "p", "rss_gb": 1.5, "surprise": 1}])"));
  EXPECT_FALSE(check_schema(value).empty());
  value.set("memory_snapshots", *json::parse(R"([{"phase": "p"}])"));
  EXPECT_FALSE(check_schema(value).empty()) << "rss_gb is required";
}

TEST(Schema, SevenProblemsAtOnceAndNoneHidesAnother) {
  const auto document =
      json::parse(*read_file(ASSAY_SOURCE_DIR "/tests/fuzz/corpus/envelope/seven_problems"));
  ASSERT_TRUE(document);
  const auto problems = validate(*document, {});
  EXPECT_GE(problems.size(), 7u);
  const auto at = paths(problems);
  for (const char* path : {"$.schema_version", "$.timestamp", "$.git_sha", "$.trigger", "$.suite",
                           "$.system", "$.results"}) {
    EXPECT_TRUE(at.contains(path)) << path;
  }
}

TEST(Schema, ABadTimeAloneIsReportedThere) {
  json::Value value = base();
  value.set("timestamp", "24 April");
  EXPECT_EQ(paths(validate(value, {})), (std::set<std::string>{"$.timestamp"}));
}

TEST(Schema, RefusesWrongTypesWithTheirPaths) {
  json::Value value = base();
  value.find("system")->set("memory_gb", "128");
  value.find("results")->items()[0].set("tags", json::Value::object({{"n", 3}}));
  const auto at = paths(check_schema(value));
  EXPECT_TRUE(at.contains("$.system.memory_gb"));
  EXPECT_TRUE(at.contains("$.results[0].tags.n"));
}

TEST(Semantics, EachRuleByItsCode) {
  const auto with = [](std::string_view key, json::Value member) {
    json::Value value = base();
    value.set(key, std::move(member));
    return value;
  };
  const auto rows = [](std::string_view text) { return *json::parse(text); };
  EXPECT_EQ(codes_of(with("timestamp", "2026-02-30T00:00:00Z")),
            (std::set<std::string>{"E-SCHEMA", "E-TIME"}));
  EXPECT_EQ(codes_of(with("timestamp", "2026-04-24T18:30:00+00:00")),
            (std::set<std::string>{"E-TIME"}));
  EXPECT_EQ(codes_of(base(), {.now_seconds = 1}), (std::set<std::string>{"E-TIME"}));
  EXPECT_EQ(codes_of(with("trigger", "pr")), (std::set<std::string>{"E-PR"}));
  EXPECT_EQ(codes_of(with("results", json::Value::array())), (std::set<std::string>{"E-EMPTY"}));
  json::Value skipped = with("results", json::Value::array());
  skipped.set("skipped", true);
  EXPECT_TRUE(codes_of(skipped).empty());

  json::Value failed = with("cell_status", "failed");
  EXPECT_TRUE(codes_of(failed).empty());
  failed.set("results", rows(R"([{"name":"t","metric":"x","value":1,"unit":"tok/s"}])"));
  EXPECT_EQ(codes_of(failed), (std::set<std::string>{"E-STATUS-RATE"}));
  failed.set(
      "results",
      rows(R"([{"name":"t","metric":"x","value":1,"unit":"s","decode_tokens_per_second":3}])"));
  EXPECT_EQ(codes_of(failed), (std::set<std::string>{"E-STATUS-RATE"}));

  json::Value success = with("cell_status", "success");
  success.set("suite", "throughput");
  EXPECT_EQ(codes_of(success), (std::set<std::string>{"E-STATUS-OK"}));

  // 128000 + 64 = 128064 <= 131072 is admitted; 192000 + 64 is not.
  const auto context = [&](int64_t requested, std::optional<int64_t> actual,
                           std::string_view status) {
    json::Value value = base();
    json::Value facts = json::Value::object({{"configured_window_tokens", 131072},
                                             {"output_reservation_tokens", 64},
                                             {"requested_prompt_tokens", requested}});
    if (actual) facts.set("actual_prompt_tokens", *actual);
    value.set("context", std::move(facts));
    if (!status.empty()) value.set("cell_status", json::Value(status));
    return codes_of(value);
  };
  EXPECT_TRUE(context(128000, std::nullopt, "").empty());
  EXPECT_EQ(context(192000, std::nullopt, ""), (std::set<std::string>{"E-ADMIT"}));
  EXPECT_TRUE(context(192000, std::nullopt, "not_applicable").empty());
  EXPECT_TRUE(context(128000, 131008, "success").empty());  // 131008 + 64 = 131072
  EXPECT_EQ(context(128000, 131009, "success"), (std::set<std::string>{"E-ADMIT"}));

  EXPECT_EQ(
      codes_of(with(
          "context",
          rows(
              R"({"actual_prompt_tokens":10,"actual_completion_tokens":5,"actual_total_tokens":16})"))),
      (std::set<std::string>{"E-TOTAL"}));
  EXPECT_EQ(codes_of(with("cache",
                          rows(R"({"cached_tokens_asserted":true,"cached_tokens_observed":1})"))),
            (std::set<std::string>{"E-CACHED"}));
  EXPECT_EQ(codes_of(with("cache", rows(R"({"cached_tokens_asserted":true})"))),
            (std::set<std::string>{"E-CACHED"}));
  EXPECT_EQ(codes_of(with("provenance", rows(R"({"verified":false})"))),
            (std::set<std::string>{"W-PROV"}));
  EXPECT_EQ(codes_of(with(
                "results",
                rows(R"([{"name":"t","metric":"a","value":1,"unit":"x","tags":{"p":"1","q":"2"}},
                                            {"name":"t","metric":"a","value":2,"unit":"x","tags":{"q":"2","p":"1"}}])"))),
            (std::set<std::string>{"E-DUP"}));
}

TEST(Semantics, CumulativeFiguresNeedTheirRegime) {
  json::Value value = base();
  value.set("suite", "throughput");
  value.set(
      "results",
      *json::parse(
          R"([{"name":"t","metric":"throughput_total_toks_per_s","value":1,"unit":"tok/s"}])"));
  EXPECT_EQ(codes_of(value), (std::set<std::string>{"E-REGIME"}));
  EXPECT_EQ(codes_of(value, {.legacy_regime = true}), (std::set<std::string>{"W-REGIME"}));
  value.set(
      "regime",
      *json::parse(
          R"({"prompt_tokens_median":100,"max_tokens":64,"concurrency":1,"rate_basis":"wall"})"));
  value.set("cache", *json::parse(R"({"prefix_policy":"unknown"})"));
  EXPECT_TRUE(codes_of(value).empty());
}

TEST(Canonical, DoesNotDependOnTheOrderOfKeys) {
  const auto a = from_json(base());
  const auto b = from_json(*json::parse(
      R"({"errors":[],"results":[{"unit":"ratio","value":0.5,"metric":"accuracy","name":"t"}],"model":"m","suite":"reasoning",
"system":{"memory_gb":8,"chip":"c","os":"o"},"trigger":"local","git_sha":"aaa3ff3","timestamp":"2026-04-24T18:30:00Z","schema_version":"1"})"));
  ASSERT_TRUE(a && b);
  EXPECT_EQ(canonical_json(*a), canonical_json(*b));
  EXPECT_EQ(canonical_json(*a), json::write(*json::parse(canonical_json(*a)), {.sort_keys = true}));
  EXPECT_EQ(json::write(to_json(*a)), json::write(base()));
  auto changed = *a;
  changed.results[0].value = 0.25;
  EXPECT_NE(envelope_sha256(*a), envelope_sha256(changed));
}

TEST(ParseUtc, RealTimesOnly) {
  EXPECT_EQ(parse_utc("1970-01-01T00:00:00Z"), 0);
  EXPECT_EQ(parse_utc("2000-03-01T00:00:00Z"), 951868800);  // date -u -d 2000-03-01 +%s
  EXPECT_EQ(parse_utc("2024-02-29T12:00:00.5Z"), 1709208000);
  for (const char* text : {"2023-02-29T00:00:00Z", "2024-13-01T00:00:00Z", "2024-01-01 00:00:00Z",
                           "2024-01-01T00:00:00", "2024-01-01T00:00:00.Z", ""}) {
    EXPECT_EQ(parse_utc(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace assay::publish
