// The probe's file to rows: medians of the measured runs, and beside them what was not measured:
// the first request, allowed errors, the control's own run.
#include <gtest/gtest.h>

#include <map>

#include "base/files.h"
#include "base/text.h"
#include "publish/convert.h"
#include "publish/validate.h"

namespace assay::publish {
namespace {

json::Value corpus(const char* name) {
  const auto bytes = read_file(std::filesystem::path(ASSAY_SOURCE_DIR) /
                               "tests/fuzz/corpus/convert_throughput_probe" / name);
  const auto value = bytes ? json::parse(*bytes) : Result<json::Value>(json::Value());
  EXPECT_TRUE(value && value->is_object()) << name;
  return value ? *value : json::Value::object();
}

Result<std::vector<Envelope>> convert(const json::Value& document, RunContext context = {}) {
  context.suite = "throughput";
  context.git_sha = "0123abc";
  const auto file = parse_tool_file(json::write(document), "probe.json", "throughput-probe");
  EXPECT_TRUE(file);
  return convert_file(*file, "throughput-probe", context);
}

Envelope one(const json::Value& document) {
  auto envelopes = convert(document);
  EXPECT_TRUE(envelopes) << envelopes.refusal().text();
  if (!envelopes || envelopes->size() != 1) {
    ADD_FAILURE() << "one envelope is expected";
    return {};
  }
  return std::move(envelopes->front());
}

using Values = std::map<std::string, double>;
// metric to value, of one phase; "" : rows without a phase.
Values values(const Envelope& envelope, std::string_view phase) {
  Values out;
  for (const ResultRow& row : envelope.results) {
    const std::string* own = row.find_tag("phase");
    if ((own == nullptr ? "" : *own) == phase) out[row.metric] = row.value;
  }
  return out;
}

json::Value with_first_request(std::string_view first) {
  json::Value document = corpus("whole");
  document.find("readiness")->set("first_request", *json::parse(first));
  return document;
}

constexpr std::string_view kFirst =
    R"({"ok":true,"ttft_s":1.25,"total_s":2.5,"prompt_tokens":190,"cumulative_tok_s":80.5})";

TEST(ThroughputProbe, MediansAreTheFilesOwn) {
  const Envelope envelope = one(corpus("whole"));
  EXPECT_EQ(values(envelope, "sequential"), (Values{{"throughput_total_toks_per_s", 200.5},
                                                    {"throughput_output_toks_per_s", 30.5},
                                                    {"ttft_p50_ms", 250},  // 0.25 s
                                                    {"request_duration_p50_s", 2.5},
                                                    {"answered_rate", 1},
                                                    {"truncated_rate", 0.5}}));
  EXPECT_EQ(values(envelope, "concurrent"), (Values{{"throughput_aggregate_toks_per_s", 300.5}}));
  EXPECT_EQ(values(envelope, "readiness"), Values());  // the file has no first request
}

TEST(ThroughputProbe, TheFirstRequestStandsApartAndChangesNothingElse) {
  const Envelope envelope = one(with_first_request(kFirst));
  EXPECT_EQ(values(envelope, "readiness"),
            (Values{{"readiness_ttft_ms", 1250}, {"readiness_request_duration_s", 2.5}}));
  for (const ResultRow& row : envelope.results) {
    const bool apart = *row.find_tag("phase") == "readiness";
    EXPECT_EQ(row.metric.starts_with("readiness_"), apart) << row.metric;
    EXPECT_EQ(row.find_tag("scored") != nullptr, apart) << row.metric;
    if (!apart) continue;
    EXPECT_EQ(row.name, "throughput_probe");
    EXPECT_EQ(*row.find_tag("scored"), "false");
    EXPECT_EQ(*row.find_tag("initial_model_state"), "resident");
    EXPECT_EQ(*row.find_tag("prompt_tokens"), "190");
    // Never a rate: a status rule, a regime rule or a ranking could take one for a measurement.
    EXPECT_NE(row.unit, "tok/s");
    EXPECT_FALSE(is_cumulative(row.metric));
  }
  const Envelope without = one(corpus("whole"));
  EXPECT_EQ(values(envelope, "sequential"), values(without, "sequential"));
  for (const Problem& problem : validate(to_json(envelope), {}))
    EXPECT_TRUE(problem.is_warning()) << problem.code << " " << problem.message;
}

TEST(ThroughputProbe, AFirstRequestAloneIsNoMeasurement) {
  // It failed.
  EXPECT_EQ(values(one(with_first_request(R"({"ok":false,"ttft_s":1.25})")), "readiness"),
            Values());
  // It has no figure.
  EXPECT_EQ(values(one(with_first_request(R"({"ok":true,"ttft_s":null})")), "readiness"), Values());
  // Nothing was measured beside it.
  json::Value document = with_first_request(kFirst);
  for (const char* part : {"sequential", "concurrent"}) document.set(part, json::Value::object());
  EXPECT_TRUE(one(document).results.empty());
  // What was measured counts for nothing.
  for (const char* status : {"failed", "aborted", "unsupported"}) {
    document = with_first_request(kFirst);
    document.set("cell_status", status);
    EXPECT_TRUE(one(document).results.empty()) << status;
  }
}

TEST(ThroughputProbe, AllowedErrorsMakeTheFiguresPartial) {
  json::Value document = with_first_request(kFirst);
  document.set("measured_answers", *json::parse(R"({"answered":8,"errors":2,"error_rate":0.25,
      "max_error_rate":0.25,"http_statuses":{"200":6,"429":2}})"));
  const Envelope envelope = one(document);
  ASSERT_EQ(envelope.find("errors")->items().size(), 1u);
  EXPECT_NE(envelope.find("errors")->items()[0].string().find("2 of 8 measured requests"),
            std::string::npos);
  for (const ResultRow& row : envelope.results) {
    const bool measured = *row.find_tag("phase") != "readiness";
    EXPECT_EQ(row.find_tag("partial") != nullptr, measured) << row.metric;
  }
  document.find("measured_answers")->set("errors", 0);
  EXPECT_TRUE(one(document).find("errors")->items().empty());
}

TEST(ThroughputProbe, TheControlsRunIsTheEnvelopeBefore) {
  RunContext context;
  context.model = "acme/renamed";
  const auto envelopes = convert(corpus("with_control"), context);
  ASSERT_TRUE(envelopes) << envelopes.refusal().text();
  ASSERT_EQ(envelopes->size(), 2u);
  const Envelope &control = envelopes->front(), &candidate = envelopes->back();
  EXPECT_TRUE(control.control_of_next);
  EXPECT_FALSE(candidate.control_of_next);
  EXPECT_EQ(control.text("model"), "acme/old-1b");  // --model names the candidate
  EXPECT_EQ(candidate.text("model"), "acme/renamed");
  EXPECT_EQ(values(control, "sequential")["throughput_total_toks_per_s"], 250.5);
  EXPECT_EQ(control.find("control"), nullptr);
  EXPECT_EQ(candidate.find("control")->find("envelope_sha256"), nullptr) << "not known here";
  Envelope named = candidate;
  name_control(named, envelope_sha256(control));
  EXPECT_NE(envelope_sha256(named), envelope_sha256(candidate));
  for (const Envelope& envelope : {control, named}) {
    for (const Problem& problem : validate(to_json(envelope), {}))
      EXPECT_TRUE(problem.is_warning()) << problem.code << " " << problem.message;
  }
}

TEST(ThroughputProbe, AControlThatItsRunDoesNotBearOutIsRefused) {
  const auto refused = [](auto change) {
    json::Value document = corpus("with_control");
    change(document);
    const auto envelopes = convert(document);
    EXPECT_FALSE(envelopes);
    return envelopes ? "" : envelopes.refusal().text();
  };
  const std::string value = refused([](auto& d) { d.find("control")->set("value", 250.4); });
  EXPECT_NE(value.find("`control` says 250.4 tok/s of `throughput_total_toks_per_s`"),
            std::string::npos)
      << value;
  for (const char* key : {"unit", "metric"}) {
    EXPECT_NE(refused([&](auto& d) { d.find("control")->set(key, "other"); }).find("CONVERT-INPUT"),
              std::string::npos);
  }
  EXPECT_NE(refused([](auto& d) {
              d.find("control_run")->set("cell_status", "failed");
            }).find("`control_run` (failed) does not report"),
            std::string::npos);
  EXPECT_NE(
      refused([](auto& d) { d.set("control_run", json::Value::object()); }).find("`control_run`"),
      std::string::npos);
}

}  // namespace
}  // namespace assay::publish
