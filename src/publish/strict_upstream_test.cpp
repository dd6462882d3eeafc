// What an upstream validator would see: only the fields it knows, with nothing lost.
#include "publish/strict_upstream.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "publish/validate.h"

namespace assay::publish {
namespace {

// The fields that upstream knows, by object; every object there is closed.
const std::map<std::string, std::set<std::string>> kUpstream = {
    {"", {"schema_version", "timestamp",
          "git_sha",        "trigger",
          "pr_number",      "suite",
          "model",          "model_revision",
          "quantization",   "skipped",
          "seed",           "gen_kwargs",
          "campaign",       "cell_status",
          "context",        "env_class",
          "concurrency",    "reasoning_effort",
          "serving",        "system",
          "results",        "memory_snapshots",
          "errors"}},
    {"gen_kwargs", {"max_gen_toks", "temperature", "top_p", "top_k"}},
    {"campaign", {"id", "cell_id", "profile"}},
    {"context",
     {"model_max_tokens", "catalog_max_tokens", "proxy_max_tokens", "worker_max_tokens",
      "requested_prompt_tokens", "actual_prompt_tokens", "output_reservation_tokens"}},
    {"serving", {"stack", "endpoint_port", "served_model"}},
    {"system",
     {"os", "chip", "memory_gb", "vllm_mlx_version", "runner", "python_version", "mlx_version",
      "mlx_lm_version", "lm_eval_version", "kernel", "hostname", "topology", "gpu", "engine",
      "power_limit_w", "container"}},
    {"results",
     {"name", "metric", "value", "unit", "duration_seconds", "prompt_tokens_per_second",
      "decode_tokens_per_second", "total_tokens_per_second", "first_token_latency_ms",
      "peak_rss_mb", "tags", "raw"}}};

std::vector<std::string> unknown_keys(const json::Value& document) {
  std::vector<std::string> unknown;
  const auto check = [&](const std::string& object, const json::Value& value) {
    for (const auto& [key, member] : value.members()) {
      if (!kUpstream.at(object).contains(key)) unknown.push_back(object + "." + key);
    }
  };
  check("", document);
  for (const char* object : {"gen_kwargs", "campaign", "context", "serving", "system"}) {
    if (const json::Value* value = document.find(object)) check(object, *value);
  }
  for (const json::Value& row : document.find("results")->items()) {
    check("results", row);
    if (const json::Value* tags = row.find("tags")) {
      for (const auto& [key, text] : tags->members()) {
        if (!text.is_string()) unknown.push_back("tag " + key + " is no string");
      }
    }
  }
  return unknown;
}

Envelope full() {
  const auto document = json::parse(R"({
    "schema_version": "1", "timestamp": "2026-04-24T18:30:00Z", "git_sha": "0123abc",
    "trigger": "local", "suite": "throughput", "model": "m", "campaign": {"id": "c"},
    "cell_status": "success", "env_class": "isolated", "concurrency": 2,
    "context": {"configured_window_tokens": 4096, "requested_prompt_tokens": 1024,
                "actual_prompt_tokens": 1000, "output_reservation_tokens": 64,
                "actual_completion_tokens": 64, "actual_total_tokens": 1064},
    "system": {"os": "Debian", "chip": "c", "memory_gb": 8},
    "results": [{"name": "a", "metric": "throughput_total_toks_per_s", "value": 1.5, "unit": "tok/s",
                 "tags": {"rate_basis": "wall"}}],
    "errors": [],
    "regime": {"prompt_tokens_median": 200.0, "max_tokens": 64, "concurrency": 2,
               "rate_basis": "wall", "dedicated": false},
    "cache": {"prefix_policy": "unknown", "cached_tokens_observed": null},
    "provenance": {"verified": true, "files": [{"name": "w", "bytes": 3,
      "sha256": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}]},
    "control": {"incumbent_model": "i", "value": 1.0, "unit": "tok/s"}})");
  EXPECT_TRUE(document) << document.refusal().text();
  const auto problems = validate(*document, {});
  EXPECT_TRUE(problems.empty()) << problems.front().path << " " << problems.front().message;
  return *from_json(*document);
}

TEST(StrictUpstream, KnowsNothingThatUpstreamRejects) {
  EXPECT_FALSE(unknown_keys(to_json(full())).empty()) << "the fixture must need the change";
  const auto unknown = unknown_keys(to_json(strict_upstream(full())));
  EXPECT_TRUE(unknown.empty()) << unknown.front();
}

TEST(StrictUpstream, EveryLeafIsATagWithItsSourceText) {
  const Envelope strict = strict_upstream(full());
  const ResultRow& row = strict.results.at(0);
  const std::map<std::string, std::string> expected = {
      {"rate_basis", "wall"},
      {"regime.prompt_tokens_median", "200.0"},
      {"regime.max_tokens", "64"},
      {"regime.concurrency", "2"},
      {"regime.rate_basis", "wall"},
      {"regime.dedicated", "false"},
      {"cache.prefix_policy", "unknown"},
      {"cache.cached_tokens_observed", "null"},
      {"provenance.verified", "true"},
      {"provenance.files.0.name", "w"},
      {"provenance.files.0.bytes", "3"},
      {"provenance.files.0.sha256",
       "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"},
      {"control.incumbent_model", "i"},
      {"control.value", "1.0"},
      {"control.unit", "tok/s"},
      {"context.configured_window_tokens", "4096"},
      {"context.actual_completion_tokens", "64"},
      {"context.actual_total_tokens", "1064"}};
  EXPECT_EQ((std::map<std::string, std::string>(row.tags.begin(), row.tags.end())), expected);
  // What upstream knows stays where it is.
  EXPECT_EQ(strict.find("context")->find("actual_prompt_tokens")->literal(), "1000");
  EXPECT_EQ(strict.text("cell_status"), "success");
}

TEST(StrictUpstream, ARunWithoutResultsKeepsItsFactsInErrors) {
  Envelope envelope = full();
  envelope.results.clear();
  envelope.head.set("cell_status", "aborted");
  envelope.head.set("errors", json::Value::array({json::Value("timeout")}));
  const Envelope strict = strict_upstream(envelope);
  EXPECT_TRUE(unknown_keys(to_json(strict)).empty());
  const auto& errors = strict.find("errors")->items();
  ASSERT_EQ(errors.size(), 1u + 17u);  // what was there, and the 17 leaves of the table above
  EXPECT_EQ(errors[0].string(), "timeout");
  EXPECT_EQ(errors[1].string(), "context.configured_window_tokens=4096");
}

TEST(StrictUpstream, AnEnvelopeWithoutOurFieldsIsUnchanged) {
  const Envelope strict = strict_upstream(full());
  EXPECT_EQ(canonical_json(strict_upstream(strict)), canonical_json(strict));
}

}  // namespace
}  // namespace assay::publish
