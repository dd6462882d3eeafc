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
    if (row.find_tag("phase").value_or("") == phase) out[row.metric] = row.value;
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
    EXPECT_EQ(row.find_tag("scored").has_value(), apart) << row.metric;
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
    EXPECT_EQ(row.find_tag("partial").has_value(), measured) << row.metric;
  }
  document.find("measured_answers")->set("errors", 0);
  EXPECT_TRUE(one(document).find("errors")->items().empty());
}

// The corpus' file, with four runs that bear out its medians, in our own format.
json::Value with_runs() {
  json::Value document = corpus("whole");
  document.set("format", "throughput-probe/1");
  // The medians: 200.5 = (200 + 201) / 2, 30.5, 0.25, 2.5.
  document.set("sequential_runs", *json::parse(R"([
      {"ok":true,"completion_tokens":64,"cumulative_tok_s":199,"decode_tok_s":30,"ttft_s":0.2,"total_s":2},
      {"ok":true,"completion_tokens":64,"cumulative_tok_s":201,"decode_tok_s":31,"ttft_s":0.2,"total_s":2.5},
      {"ok":true,"completion_tokens":64,"cumulative_tok_s":200,"decode_tok_s":30.5,"ttft_s":0.3,"total_s":2.5},
      {"ok":true,"completion_tokens":64,"cumulative_tok_s":201,"decode_tok_s":30.5,"ttft_s":0.3,"total_s":3}])"));
  return document;
}

std::string refusal_of(const json::Value& document) {
  const auto envelopes = convert(document);
  EXPECT_FALSE(envelopes) << json::write(document);
  if (envelopes) return "";
  std::string text = envelopes.refusal().text();
  const std::string place = "`probe.json`: ";
  const size_t at = text.find(place);
  return at == std::string::npos ? text : text.erase(at, place.size());
}

TEST(ThroughputProbe, AFileThatAgreesWithItselfPasses) {
  EXPECT_EQ(values(one(with_runs()), "sequential"), values(one(corpus("whole")), "sequential"));
}

TEST(ThroughputProbe, CountsThatContradictEachOtherAreRefused) {
  const auto refused = [](auto change) {
    json::Value document = with_runs();
    change(document);
    return refusal_of(document);
  };
  EXPECT_EQ(refused([](auto& d) { d.find("sequential")->set("n_err", 3); }),
            "CONVERT-ACCOUNTING: `sequential` counts 4 good and 3 failed runs, and "
            "`sequential_runs` holds 4");
  EXPECT_EQ(refused([](auto& d) { d.find("sequential")->set("n_err", -1); }),
            "CONVERT-ACCOUNTING: `sequential.n_err` is -1");
  EXPECT_EQ(refused([](auto& d) { d.find("sequential_runs")->items()[2].set("ok", false); }),
            "CONVERT-ACCOUNTING: `sequential.n_ok` is 4, and 3 of `sequential_runs` are ok");
  EXPECT_EQ(refused([](auto& d) { d.find("concurrent")->set("width", 3); }),
            "CONVERT-ACCOUNTING: `concurrent` counts 2 good and 0 failed runs, and its width is 3");
  EXPECT_EQ(
      refused([](auto& d) { d.find("sequential_runs")->items()[1].set("completion_tokens", 65); }),
      "CONVERT-ACCOUNTING: `sequential_runs[1]` has 65 completion tokens, and `max_tokens` "
      "is 64");
  EXPECT_EQ(refused([](auto& d) { d.find("sequential_runs")->items()[0].set("ttft_s", -0.5); }),
            "CONVERT-ACCOUNTING: `sequential_runs[0].ttft_s` is -0.5");
  EXPECT_EQ(
      refused([](auto& d) { d.find("sequential")->find("cumulative_tok_s")->set("count", 5); }),
      "CONVERT-ACCOUNTING: `sequential.cumulative_tok_s` is of 5 runs, and 4 were good");
}

TEST(ThroughputProbe, AMedianThatIsNotTheRunsOwnIsRefused) {
  json::Value document = with_runs();
  document.find("sequential")->find("cumulative_tok_s")->set("median", 200.75);
  EXPECT_EQ(refusal_of(document),
            "CONVERT-ACCOUNTING: `sequential.cumulative_tok_s.median` is 200.75, and that of its "
            "runs 200.5");
  // Others' formats may leave runs out.
  document.set("format", "another");
  EXPECT_EQ(values(one(document), "sequential")["throughput_total_toks_per_s"], 200.75);
}

TEST(ThroughputProbe, ASuccessHasNoFailedRunThatWasNotAllowed) {
  json::Value document = corpus("whole");
  document.find("sequential")->set("n_ok", 1);
  document.find("sequential")->set("n_err", 3);
  EXPECT_EQ(refusal_of(document),
            "CONVERT-ACCOUNTING: its status is success, 3 of its runs failed, and 0 errors were "
            "allowed for");
  document.set("measured_answers",
               *json::parse(R"({"answered":6,"errors":3,"max_error_rate":0.5})"));
  EXPECT_EQ(one(document).text("cell_status"), "success");
  document.find("measured_answers")->set("max_error_rate", 0.49);
  EXPECT_EQ(refusal_of(document),
            "CONVERT-ACCOUNTING: its status is success, 3 of 6 answers were errors, and a share of "
            "at most 0.49 was allowed");
  document.find("measured_answers")->set("answered", 2);
  EXPECT_EQ(refusal_of(document),
            "CONVERT-ACCOUNTING: `measured_answers` counts 3 errors among 2 answers");
  // Without success there is nothing to allow.
  document.find("measured_answers")->set("answered", 6);
  document.set("cell_status", "failed");
  EXPECT_EQ(one(document).text("cell_status"), "failed");
}

TEST(ThroughputProbe, FiguresThatCannotBeAreLeftOutAndSaid) {
  json::Value document = corpus("whole");
  json::Value& sequential = *document.find("sequential");
  sequential.set("decode_tok_s", *json::parse(R"({"median":30.5,"min":31,"max":32})"));
  sequential.set("ttft_s", *json::parse(R"({"median":-0.25,"max":0.3})"));
  sequential.set("answered_rate", 1.5);
  document.find("concurrent")->set("aggregate_cumulative_tok_s", -300.5);
  const Envelope envelope = one(document);
  EXPECT_EQ(values(envelope, "sequential"), (Values{{"throughput_total_toks_per_s", 200.5},
                                                    {"request_duration_p50_s", 2.5},
                                                    {"truncated_rate", 0.5}}));
  EXPECT_EQ(values(envelope, "concurrent"), Values());
  EXPECT_EQ(
      json::write(*envelope.find("errors")),
      R"(["`decode_tok_s` has median 30.5, min 31, max 32, which cannot be; left out",)"
      R"("`answered_rate` is 1.5, a share is 0 to 1; left out",)"
      R"("throughput_probe ttft_p50_ms is -250.0 ms, which cannot be; left out",)"
      R"("throughput_probe throughput_aggregate_toks_per_s is -300.5 tok/s, which cannot be; left out"])");
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
