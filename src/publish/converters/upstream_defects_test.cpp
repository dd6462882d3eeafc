// What the upstream converters got wrong, one test each, so that it does not come back here.
#include <gtest/gtest.h>

#include "base/text.h"
#include "publish/convert.h"
#include "publish/validate.h"

namespace assay::publish {
namespace {

Envelope convert(std::string text, std::string_view kind, int64_t mtime = 0) {
  RunContext context;
  context.suite = "throughput";
  context.git_sha = "0123abc";
  auto file = parse_tool_file(std::move(text), "given", kind);
  EXPECT_TRUE(file) << file.refusal().text();
  file->mtime_seconds = mtime;
  auto envelopes = convert_file(*file, kind, context);
  EXPECT_TRUE(envelopes) << envelopes.refusal().text();
  return envelopes->at(0);
}

std::string lm_eval(std::string_view config, std::string_view more = "") {
  return cat(R"({"results": {"t": {"acc,none": 0.5}}, "config": {)", config,
             R"(}, "model_source": "vllm", "model_name": "m", "date": 1724622900.0)", more, "}");
}

std::string vllm(std::string_view more) {
  return cat(
      R"({"date": "20260816-160853", "model_id": "m", "num_prompts": 8, "output_throughput": 64.0,
             "median_ttft_ms": 55.5, )",
      more, "}");
}

TEST(UpstreamDefects, ABackendsNameIsNoRevision) {
  EXPECT_EQ(convert(lm_eval(""), "lm-eval").find("model_revision"), nullptr);
  EXPECT_EQ(convert(lm_eval(R"("model_sha": "abc", "model_revision": "main")"), "lm-eval")
                .text("model_revision"),
            "abc");
}

TEST(UpstreamDefects, TheSeedIsReadWhereItIsWritten) {
  EXPECT_EQ(convert(lm_eval(R"("random_seed": 7)"), "lm-eval").find("seed")->literal(), "7");
  EXPECT_EQ(convert(lm_eval(R"("seed": 9)"), "lm-eval").find("seed")->literal(), "9");
  EXPECT_EQ(convert(lm_eval(R"("random_seed": null)"), "lm-eval").find("seed"), nullptr);
}

TEST(UpstreamDefects, ModelArgumentsMayBeTextOrAnObject) {
  for (const char* arguments : {R"("model_args": "pretrained=acme/tiny,revision=r1")",
                                R"("model_args": {"pretrained": "acme/tiny", "revision": "r1"})"}) {
    std::string text = lm_eval(arguments);
    const std::string name = R"("model_name": "m")";
    text.replace(text.find(name), name.size(), R"("model_name": "")");
    const Envelope e = convert(text, "lm-eval");
    EXPECT_EQ(e.text("model"), "acme/tiny");
    EXPECT_EQ(e.text("model_revision"), "r1");
  }
}

TEST(UpstreamDefects, ARunsTimeIsNoTasksTime) {
  const std::string one = lm_eval("", R"(, "total_evaluation_time_seconds": "12.5")");
  EXPECT_EQ(convert(one, "lm-eval").results.at(0).duration_seconds, 12.5);
  std::string two = one;
  const std::string task = R"("t": {"acc,none": 0.5})";
  two.replace(two.find(task), task.size(), R"("t": {"acc,none": 0.5}, "u": {"acc,none": 0.25})");
  for (const ResultRow& row : convert(two, "lm-eval").results)
    EXPECT_FALSE(row.duration_seconds) << row.name;
}

TEST(UpstreamDefects, WhenItWasPublishedIsNotWhenItRan) {
  const Envelope e = convert(vllm(R"("completed": 8, "failed": 0)"), "vllm", 1700000000);
  EXPECT_EQ(e.text("timestamp"), "2023-11-14T22:13:20Z");  // the file's own time
  EXPECT_EQ(*e.results.at(0).find_tag("timestamp_source"), "mtime");
}

TEST(UpstreamDefects, WallClockOutputRateIsNotCalledDecode) {
  const Envelope e = convert(vllm(R"("completed": 8, "failed": 0)"), "vllm");
  EXPECT_EQ(e.results.at(0).metric, "throughput_output_toks_per_s");
  EXPECT_EQ(*e.results.at(0).find_tag("rate_basis"), "wall");
  for (const ResultRow& row : e.results) EXPECT_NE(row.metric, "decode_toks_per_s");
}

TEST(UpstreamDefects, AllFailedIsNotAZero) {
  const Envelope e = convert(
      vllm(
          R"("completed": 0, "failed": 8, "request_throughput": 0.0, "total_token_throughput": 0.0)"),
      "vllm");
  EXPECT_EQ(e.text("cell_status"), "failed");
  EXPECT_TRUE(e.results.empty());
  EXPECT_EQ(e.find("errors")->items().at(0).string(), "no request completed");
}

TEST(UpstreamDefects, ATagIsTheSourcesText) {
  std::string text = lm_eval(R"("limit": 200.0)", R"(, "higher_is_better": {"t": {"acc": true}},
    "versions": {"t": 1.0}, "n-shot": {"t": 5})");
  const ResultRow row = convert(text, "lm-eval").results.at(0);
  EXPECT_EQ(*row.find_tag("n_limit"), "200.0");
  EXPECT_EQ(*row.find_tag("higher_is_better"), "true");  // not True
  EXPECT_EQ(*row.find_tag("num_fewshot"), "5");
  EXPECT_EQ(row.find_tag("n_effective"), std::nullopt);  // not None
}

TEST(UpstreamDefects, NaNStaysOutOfTheJson) {
  const Envelope e = convert(
      R"({"results": {"t": {"acc,none": NaN, "f1,none": 0.5}}, "config": {}, "model_name": "m"})",
      "lm-eval");
  ASSERT_EQ(e.results.size(), 1u);
  EXPECT_EQ(e.find("errors")->items().size(), 1u);
  EXPECT_TRUE(json::parse(canonical_json(e)));
}

TEST(Vllm, WhatItsUserPassedIsMetadata) {
  const Envelope e = convert(vllm(R"("completed": 8, "failed": 0, "rack": "a7")"), "vllm");
  EXPECT_EQ(*e.results.at(0).find_tag("metadata.rack"), "a7");
  EXPECT_EQ(e.results.at(0).find_tag("metadata.model_id"), std::nullopt);
}

}  // namespace
}  // namespace assay::publish
