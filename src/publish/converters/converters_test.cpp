// Every sample gives exactly the values that the tool's file states; what is derived shows its
// arithmetic.
#include <gtest/gtest.h>

#include <map>

#include "base/text.h"
#include "publish/convert.h"
#include "publish/converters/rows.h"
#include "publish/refusals.h"
#include "publish/validate.h"

namespace assay::publish {
namespace {

const std::filesystem::path kSamples = ASSAY_SOURCE_DIR "/../shared/samples";

RunContext context(std::string suite = "throughput") {
  RunContext c;
  c.suite = std::move(suite);
  c.git_sha = "0123abc";
  return c;
}

#define REQUIRE_SAMPLE(name)                       \
  if (!std::filesystem::exists(kSamples / (name))) \
  GTEST_SKIP() << (kSamples / (name)).string() << " is not here"

std::vector<Envelope> convert(const std::string& name, const std::string& kind,
                              const RunContext& c) {
  const auto file = read_tool_file(kSamples / name, kind);
  if (!file) {
    ADD_FAILURE() << file.refusal().text();
    return {};
  }
  auto envelopes = convert_file(*file, kind, c);
  if (!envelopes) {
    ADD_FAILURE() << envelopes.refusal().text();
    return {};
  }
  return *std::move(envelopes);
}

std::map<std::string, double> values(const Envelope& envelope) {
  std::map<std::string, double> out;
  for (const ResultRow& row : envelope.results) out[row.metric] = row.value;
  return out;
}

const ResultRow& row(const Envelope& envelope, const std::string& metric) {
  for (const ResultRow& candidate : envelope.results) {
    if (candidate.metric == metric) return candidate;
  }
  static const ResultRow none;
  ADD_FAILURE() << "no row " << metric;
  return none;
}

TEST(LmEval, Gsm8k) {
  const std::string name = "lm-eval/results_2024-08-25T21-59-12.123082.gsm8k-llama3-8b-vllm.json";
  REQUIRE_SAMPLE(name);
  const auto envelopes = convert(name, "lm-eval", context("reasoning"));
  ASSERT_EQ(envelopes.size(), 1u);
  const Envelope& e = envelopes[0];
  ASSERT_EQ(e.results.size(), 2u);
  EXPECT_EQ(row(e, "exact_match_strict").value, 0.7725549658832449);
  EXPECT_EQ(row(e, "exact_match_flexible").value, 0.7778620166793025);
  EXPECT_EQ(row(e, "exact_match_strict").unit, "ratio");
  EXPECT_EQ(e.text("timestamp"), "2024-08-25T21:55:00Z");
  EXPECT_EQ(*row(e, "exact_match_strict").find_tag("n_effective"), "1319");
  EXPECT_EQ(row(e, "exact_match_strict").duration_seconds, 256.35929056443274);
  EXPECT_TRUE(validate(to_json(e), {}).empty());
}

TEST(LmEval, OthersOfTheSpec) {
  const std::string folder = "lm-eval/";
  REQUIRE_SAMPLE(folder);
  const auto nonfinite =
      convert(folder + "results_2025-06-30T19-40-09.461247.nonfinite-gpt-4o-mini.json", "lm-eval",
              context("reasoning"));
  ASSERT_EQ(nonfinite.size(), 1u);
  EXPECT_TRUE(nonfinite[0].results.empty());
  EXPECT_FALSE(nonfinite[0].find("errors")->items().empty());
  const auto rwkv = convert(folder + "results_2025-03-10T18-51-58.020979.rwkv7.json", "lm-eval",
                            context("knowledge"));
  ASSERT_EQ(rwkv.size(), 1u);
  EXPECT_EQ(row(rwkv[0], "perplexity_none").value, 13.83580044796159);
  EXPECT_EQ(row(rwkv[0], "perplexity_none").unit, "perplexity");
  EXPECT_EQ(row(rwkv[0], "accuracy").value, 0.4814671065398797);
  EXPECT_EQ(rwkv[0].text("model_revision"), "018a116cbd88e9726ee8a5e68cc41c69d0e37f7b");
  const auto qwen =
      convert(folder + "results_2025-12-17T21-20-46.994902.json", "lm-eval", context("reasoning"));
  ASSERT_EQ(qwen.size(), 1u);
  EXPECT_EQ(qwen[0].text("model"), "Qwen/Qwen3-8B");
  EXPECT_EQ(qwen[0].results.size(), 3u);
  const auto groups = convert(folder + "results_2024-06-03T01-49-14.636822.groups-gemma-2b.json",
                              "lm-eval", context("reasoning"));
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].results.size(), 6u);
  int steer = 0;
  for (const ResultRow& r : groups[0].results) steer += r.name == "steer";
  EXPECT_EQ(steer, 1);
  const auto legacy = convert(folder + "legacy-0.3_bloom-560m_reading_comprehension.json",
                              "lm-eval", context("knowledge"));
  ASSERT_EQ(legacy.size(), 1u);
  EXPECT_FALSE(legacy[0].results.empty());
  EXPECT_EQ(*legacy[0].results[0].find_tag("lm_eval_legacy"), "true");
}

TEST(Vllm, Samples) {
  REQUIRE_SAMPLE("vllm/bench_serve_v0.25.1.json");
  const auto plain = convert("vllm/bench_serve_v0.25.1.json", "vllm", context());
  ASSERT_EQ(plain.size(), 1u);
  auto v = values(plain[0]);
  EXPECT_EQ(v["throughput_total_toks_per_s"], 248.6789122211242);
  EXPECT_EQ(v["throughput_output_toks_per_s"], 82.89297074037474);
  EXPECT_EQ(v["throughput_requests_per_s"], 5.180810671273421);
  EXPECT_EQ(v["ttft_p50_ms"], 55.68139649994919);
  EXPECT_EQ(*row(plain[0], "ttft_p50_ms").find_tag("completed_requests"), "8");
  const auto speculative = convert("vllm/bench_serve_speculative_v0.25.1.json", "vllm", context());
  EXPECT_EQ(values(speculative.at(0))["spec_decode_acceptance_rate"], 72.03703703703704);
  const auto failed =
      convert("vllm/bench_serve_all_requests_failed_v0.25.1.json", "vllm", context());
  EXPECT_TRUE(failed.at(0).results.empty());
  EXPECT_EQ(failed.at(0).text("cell_status"), "failed");
  const auto old = convert("vllm/serving_2025-03_no_throughput_keys.json", "vllm", context());
  for (const ResultRow& r : old.at(0).results) {
    EXPECT_TRUE(r.metric.starts_with("ttft") || r.metric.starts_with("tpot") ||
                r.metric.starts_with("itl"))
        << r.metric;
  }
  EXPECT_EQ(old.at(0).results.size(), 9u);  // mean, median, p99 of three families
  EXPECT_EQ(convert("vllm/sweep_summary_v0.25.1.json", "vllm", context()).size(), 2u);
}

TEST(Vllm, LocalDateNeedsAZone) {
  REQUIRE_SAMPLE("vllm/bench_serve_v0.25.1.json");
  RunContext c = context();
  c.time_zone = "+02:00";
  const auto plain = convert("vllm/bench_serve_v0.25.1.json", "vllm", c);
  EXPECT_EQ(plain.at(0).text("timestamp"), "2026-08-16T14:08:53Z");  // 16:08:53 at +02:00
  EXPECT_EQ(*plain[0].results[0].find_tag("timestamp_source"), "vllm_date_local");
}

TEST(Guidellm, ThreeGenerations) {
  REQUIRE_SAMPLE("guidellm/sync-benchmarks_0.5.0_v1.reduced.json");
  for (const char* name : {"guidellm/sync-benchmarks_0.5.0_v1.reduced.json",
                           "guidellm/sync-benchmarks_v2.constructed.json"}) {
    const auto runs = convert(name, "guidellm", context());
    ASSERT_EQ(runs.size(), 1u);
    auto v = values(runs[0]);
    EXPECT_EQ(v["throughput_total_toks_per_s"], 143.73333333333332) << name;
    EXPECT_EQ(v["throughput_output_toks_per_s"], 46.93333333333333);
    EXPECT_EQ(v["throughput_requests_per_s"], 0.36666666666666664);  // 22 / 60
    EXPECT_EQ(v["ttft_p50_ms"], 96.59028053283691);
    EXPECT_EQ(v["ttft_p99_ms"], 1298.4793186187744);
    EXPECT_EQ(v["itl_p50_ms"], 19.797159930852455);
    EXPECT_EQ(runs[0].text("model"), "Qwen/Qwen3-0.6B");
  }
  const auto v0 = convert("guidellm/benchmarks_stripped_v0.2.json", "guidellm", context());
  ASSERT_EQ(v0.size(), 1u);
  EXPECT_EQ(values(v0[0])["throughput_total_toks_per_s"], 590.5550900749151);
  EXPECT_EQ(v0[0].results[0].duration_seconds, 29.997201442718506);
}

TEST(LlamaBench, JsonLinesCsvAndMarkdownAgree) {
  REQUIRE_SAMPLE("llama-bench/readme_8cf427ff.json");
  const auto from_json = convert("llama-bench/readme_8cf427ff.json", "llama-bench", context());
  ASSERT_EQ(from_json.size(), 1u);
  EXPECT_EQ(from_json[0].results.at(0).name, "pp512");
  EXPECT_EQ(from_json[0].results.at(0).value, 7100.002165);
  EXPECT_EQ(from_json[0].results.at(0).duration_seconds, 72135640 / 1e9);
  EXPECT_EQ(from_json[0].text("timestamp"), "2025-04-24T11:58:50Z");
  EXPECT_EQ(*from_json[0].results[0].find_tag("repetitions"), "5");
  const auto lines = convert("llama-bench/readme_8cf427ff.jsonl", "llama-bench", context());
  // The CSV of llama.cpp's documentation has 42 columns and lines of 41 cells: read up to the model
  // and from the test on.
  const auto csv = convert("llama-bench/readme_8cf427ff.csv", "llama-bench", context());
  ASSERT_EQ(lines.size(), 1u);
  ASSERT_EQ(csv.size(), 1u);
  EXPECT_EQ(csv[0].results.at(0).metric, "throughput_prompt_toks_per_s");
  EXPECT_EQ(csv[0].results.at(0).value, 7285.676949);
  EXPECT_EQ(csv[0].find("errors")->items().size(), csv[0].results.size());
  EXPECT_EQ(csv[0].results.size(), lines[0].results.size());
  for (const char* key : {"model", "quantization"})
    EXPECT_EQ(csv[0].text(key), from_json[0].text(key)) << key;
  EXPECT_EQ(csv[0].text("model"), "Qwen2.5-7B-Instruct-Q4_K_M.gguf");
  EXPECT_EQ(csv[0].results[0].find_tag("n_batch"), std::nullopt);  // nobody knows where it stands
  const auto md = convert("llama-bench/readme_depth.md", "llama-bench", context());
  ASSERT_EQ(md.size(), 1u);
  ASSERT_EQ(md[0].results.size(), 4u);
  EXPECT_EQ(md[0].results[0].value, 7340.20);
  EXPECT_EQ(md[0].results[3].name, "tg128 @ d512");
  EXPECT_EQ(md[0].results[3].value, 116.71);
  EXPECT_EQ(md[0].results[3].metric, "decode_toks_per_s");
  const auto log =
      convert("llama-bench/vulkan_benchmark_20251211_143639.txt", "llama-bench", context());
  ASSERT_GE(log.size(), 1u);
  EXPECT_EQ(log[0].results.at(0).value, 3229.07);
  EXPECT_EQ(*log[0].results[0].find_tag("build_commit"), "a81a56957");
}

TEST(GenaiAndAiperf, Samples) {
  REQUIRE_SAMPLE("aiperf/profile_export_aiperf_0.10.0_schema1.3.reduced.json");
  const auto run =
      convert("aiperf/profile_export_aiperf_0.10.0_schema1.3.reduced.json", "aiperf", context());
  auto v = values(run.at(0));
  EXPECT_EQ(v["throughput_total_toks_per_s"], 1895.0115111908153);
  EXPECT_EQ(v["throughput_output_toks_per_s"], 538.5320453113063);
  EXPECT_EQ(v["ttft_p50_ms"], 106.2827255);
  EXPECT_EQ(v["tpot_p50_ms"], 6.67227350899312);
  EXPECT_EQ(v["decode_toks_per_s"], 149.8741723969443);
  // 11 of 100 requests failed: no success, so no rates.
  const auto failed =
      convert("aiperf/profile_export_aiperf_2025-10.records-shape.json", "aiperf", context());
  EXPECT_EQ(failed.at(0).text("cell_status"), "failed");
  EXPECT_TRUE(failed.at(0).results.empty());
  RunContext partial = context();
  partial.allow_partial_failures = true;
  const auto allowed =
      convert("aiperf/profile_export_aiperf_2025-10.records-shape.json", "aiperf", partial);
  EXPECT_DOUBLE_EQ(values(allowed.at(0))["throughput_total_toks_per_s"],
                   (48950.0 + 21624.0) / 9.317788951);
  EXPECT_EQ(*allowed[0].results[0].find_tag("partial"), "true");
  const auto genai =
      convert("genai-perf/profile_export_genai_perf.constructed.json", "genai-perf", context());
  auto g = values(genai.at(0));
  EXPECT_EQ(g["throughput_output_toks_per_s"], 1134.92);
  EXPECT_EQ(g["throughput_total_toks_per_s"], (200.0 + 112.1) * 10.12);
  EXPECT_EQ(genai[0].text("model"), "gpt2");
}

TEST(FrameworkEval, ScoresNeedAnAnswerACallAndTheTopic) {
  REQUIRE_SAMPLE("framework-eval/openai_tool_calling.json");
  RunContext c = context("framework-eval");
  c.model = "m";
  const auto openai = convert("framework-eval/openai_tool_calling.json", "framework-eval", c);
  EXPECT_EQ(row(openai.at(0), "score").value, 1.0);
  EXPECT_EQ(row(openai.at(0), "latency").value, 8.43);
  EXPECT_EQ(row(openai.at(0), "tokens").value, 148);
  EXPECT_EQ(row(openai.at(0), "steps").value, 1);
  const auto adk = convert("framework-eval/google_adk.error.constructed.json", "framework-eval", c);
  EXPECT_EQ(row(adk.at(0), "score").value, 0.0);
  const auto smol = convert("framework-eval/smolagents.constructed.json", "framework-eval", c);
  EXPECT_EQ(row(smol.at(0), "score").value, 1.0);
}

TEST(Auto, RecognisesEverySample) {
  const std::map<std::string, std::string> expected = {
      {"lm-eval/results_2025-03-10T18-51-58.020979.rwkv7.json", "lm-eval"},
      {"lm-eval/legacy-0.3_bloom-560m_reading_comprehension.json", "lm-eval"},
      {"vllm/bench_serve_v0.25.1.json", "vllm"},
      {"vllm/sweep_summary_v0.25.1.json", "vllm"},
      {"guidellm/benchmarks_stripped_v0.2.json", "guidellm"},
      {"llama-bench/readme_8cf427ff.csv", "llama-bench"},
      {"llama-bench/readme_8cf427ff.jsonl", "llama-bench"},
      {"llama-bench/readme_depth.md", "llama-bench"},
      {"llama-bench/vulkan_benchmark_20251211_143639.txt", "llama-bench"},
      {"genai-perf/profile_export_genai_perf.constructed.json", "genai-perf"},
      {"aiperf/profile_export_aiperf_0.10.0_schema1.3.reduced.json", "aiperf"},
      {"aiperf/profile_export_aiperf_2025-10.records-shape.json", "aiperf"},
      {"aiperf/profile_export_aiperf_2025-10.csv", "aiperf"},
      {"mlx-benchmarks/vllm_benchmark_serving_sample.json", "vllm"},
      {"framework-eval/qwen_agent.constructed.json", "framework-eval"}};
  for (const auto& [name, kind] : expected) {
    REQUIRE_SAMPLE(name);
    const auto file = read_tool_file(kSamples / name, "auto");
    ASSERT_TRUE(file) << name << ": " << file.refusal().text();
    std::vector<std::string> matches;
    for (const Kind& candidate : kinds()) {
      if (candidate.looks_like(*file)) matches.emplace_back(candidate.name);
    }
    EXPECT_EQ(matches, std::vector<std::string>{kind}) << name;
  }
}

ToolFile inline_file(std::string_view text);

ToolFile text_file(std::string_view text) {
  ToolFile file;
  file.path = "table.csv";
  file.text = text;
  return file;
}

// Both programs print "Metric,avg,…"; only the unit of a rate tells them apart.
TEST(Auto, TellsTheTwoMetricTablesApart) {
  constexpr std::string_view kFirst = "Metric,avg,min,max\nRequest Latency (ms),20.0,10.0,30.0\n\n";
  RunContext c = context();
  c.model = "m";
  for (const auto& [second, name] :
       {std::pair{"Metric,Value\nRequest Throughput (requests/sec),9.5\n", "aiperf"},
        {"Metric,Value\nRequest Throughput (per sec),9.5\n", "genai_perf"}}) {
    const auto envelopes = convert_file(text_file(cat(kFirst, second)), "auto", c);
    ASSERT_TRUE(envelopes) << envelopes.refusal().text();
    EXPECT_EQ(row(envelopes->at(0), "throughput_requests_per_s").name, name);
    EXPECT_EQ(row(envelopes->at(0), "throughput_requests_per_s").value, 9.5);
    EXPECT_EQ(row(envelopes->at(0), "e2el_mean_ms").value, 20.0);
  }
  const auto neither = convert_file(text_file(cat(kFirst, "Metric,Value\nX,1\n")), "auto", c);
  ASSERT_FALSE(neither);
  EXPECT_EQ(neither.refusal().code, kConvertKindUnknown.code);
  EXPECT_NE(neither.refusal().detail.find("(requests/sec)"), std::string::npos);
}

// A table names no model, and of a report whose model was cut off only that is missing.
TEST(Auto, SaysThatOnlyTheModelIsMissing) {
  REQUIRE_SAMPLE("aiperf/profile_export_aiperf_2025-10.csv");
  for (const char* name : {"aiperf/profile_export_aiperf_2025-10.csv",
                           "mlx-benchmarks/vllm_benchmark_serving_sample.json"}) {
    const auto file = read_tool_file(kSamples / name, "auto");
    ASSERT_TRUE(file) << name;
    const auto refused = convert_file(*file, "auto", context());
    ASSERT_FALSE(refused) << name;
    EXPECT_EQ(refused.refusal().code, kConvertModelUnknown.code) << refused.refusal().text();
    RunContext named = context();
    named.model = "m";
    named.allow_partial_failures = true;
    const auto converted = convert_file(*file, "auto", named);
    ASSERT_TRUE(converted) << converted.refusal().text();
    auto v = values(converted->at(0));
    if (file->text.empty()) {
      EXPECT_EQ(v["throughput_total_toks_per_s"], 85.1);
      EXPECT_EQ(v["ttft_p50_ms"], 42.1);
    } else {
      EXPECT_EQ(v["throughput_total_toks_per_s"], (48950.0 + 21624.0) / 9.32);
      EXPECT_EQ(v["ttft_p50_ms"], 2369.32);
    }
  }
}

Result<std::vector<Envelope>> from_bytes(std::string bytes, std::string_view kind) {
  auto file = parse_tool_file(std::move(bytes), "file", kind);
  if (!file) return file.refusal();
  RunContext c = context();
  c.model = "m";
  return convert_file(*file, kind, c);
}

std::string said_of(const Envelope& envelope) {
  return json::write(*envelope.find("errors"));
}

// A number too large for a double is left out and named; all others of the file are kept.
TEST(LargeNumbers, TakeOnlyTheirOwnFigureAway) {
  const std::string nines(400, '9');
  const auto vllm = from_bytes(
      cat(R"({"model_id":"m","num_prompts":8,"completed":8,"total_token_throughput":1e999,)",
          R"("median_ttft_ms":-1E+400,"p99_ttft_ms":)", nines, R"(,"mean_ttft_ms":0.5,)",
          R"("output_throughput":82.5,"label":"1e999 \" -1e999"})"),
      "vllm");
  ASSERT_TRUE(vllm) << vllm.refusal().text();
  EXPECT_EQ(values(vllm->at(0)),
            (std::map<std::string, double>{{"throughput_output_toks_per_s", 82.5},
                                           {"ttft_mean_ms", 0.5}}));
  const std::string said = said_of(vllm->at(0));
  for (const std::string& what :
       {std::string("1e999 is too large for a number: read as Infinity"),
        std::string("-1E+400 is too large"), cat(nines.substr(0, 40), "… is too large"),
        std::string("total_token_throughput is Infinity, left out"),
        std::string("median_ttft_ms is -Infinity, left out")}) {
    EXPECT_NE(said.find(what), std::string::npos) << said;
  }
  const auto llama = from_bytes(R"({"n_prompt":512,"n_gen":0,"avg_ts":1e999})"
                                "\n"
                                R"({"n_prompt":0,"n_gen":128,"avg_ts":20.5})",
                                "auto");
  ASSERT_TRUE(llama) << llama.refusal().text();
  ASSERT_EQ(llama->at(0).results.size(), 1u);
  EXPECT_EQ(llama->at(0).results[0].name, "tg128");
  EXPECT_NE(said_of(llama->at(0)).find("avg_ts is Infinity"), std::string::npos);
  const auto table = from_bytes("n_prompt,n_gen,avg_ts\n512,0,1e999\n0,128,20.5\n", "llama-bench");
  ASSERT_TRUE(table) << table.refusal().text();
  ASSERT_EQ(table->at(0).results.size(), 1u);
  EXPECT_EQ(said_of(table->at(0)), R"(["pp512: avg_ts is \"1e999\", no finite number; left out"])");
  const auto metrics = from_bytes(
      "Metric,avg,p50\nRequest Latency (ms),20.0,1e999\n\nMetric,Value\n"
      "Request Throughput (per sec),9.5\n",
      "genai-perf");
  ASSERT_TRUE(metrics) << metrics.refusal().text();
  EXPECT_EQ(row(metrics->at(0), "e2el_mean_ms").value, 20.0);
  EXPECT_NE(said_of(metrics->at(0)).find(R"(p50 is \"1e999\")"), std::string::npos);
}

TEST(LargeNumbers, ExcuseNoOtherFault) {
  for (const char* text :
       {R"({"completed":8,"median_ttft_ms":1e999)", R"({"completed":8,"median_ttft_ms":1e999,})",
        R"({"completed":8,"median_ttft_ms":1e})", R"({"a":1e999} x)"}) {
    const auto refused = from_bytes(text, "vllm");
    ASSERT_FALSE(refused) << text;
    EXPECT_EQ(refused.refusal().code, kConvertInput.code) << text;
  }
}

// A time that cannot be read is named; the file's own time stands in and says so.
TEST(Times, ThatCannotBeReadAreNamed) {
  struct Case {
    const char* kind;
    const char* text;
    const char* said;
  };
  for (const Case& c : {Case{"vllm",
                             R"({"model_id":"m","num_prompts":1,"completed":1,"date":"yesterday",)"
                             R"("mean_ttft_ms":1})",
                             R"(`date` is \"yesterday\", no time that can be read)"},
                        Case{"vllm",
                             R"({"model_id":"m","num_prompts":1,"completed":1,)"
                             R"("date":"20260231-120000","mean_ttft_ms":1})",
                             R"(`date` is \"20260231-120000\")"},
                        Case{"lm-eval",
                             R"({"results":{"t":{"acc,none":0.5}},"configs":{},"config":{},)"
                             R"("versions":{},"date":"31 March"})",
                             R"(`date` is \"31 March\")"},
                        Case{"lm-eval",
                             R"({"results":{"t":{"acc,none":0.5}},"configs":{},"config":{},)"
                             R"("versions":{},"date":1e300})",
                             R"(`date` is \"1e300\")"},
                        Case{"aiperf",
                             R"({"aiperf_version":"1","start_time":"soon",)"
                             R"("request_throughput":{"unit":"requests/sec","avg":2}})",
                             R"(`start_time` is \"soon\")"}}) {
    const auto envelopes = from_bytes(c.text, c.kind);
    ASSERT_TRUE(envelopes) << envelopes.refusal().text();
    EXPECT_NE(said_of(envelopes->at(0)).find(c.said), std::string::npos)
        << said_of(envelopes->at(0));
    EXPECT_EQ(*envelopes->at(0).results.at(0).find_tag("timestamp_source"), "mtime");
  }
  // A local time that only lacks its zone is no fault of the file.
  const auto local = from_bytes(
      R"({"model_id":"m","num_prompts":1,"completed":1,"date":"20260228-120000","mean_ttft_ms":1})",
      "vllm");
  ASSERT_TRUE(local);
  EXPECT_EQ(said_of(local->at(0)), "[]");
}

TEST(ByteOrderMark, IsNoPartOfATable) {
  constexpr const char* kMark = "\xEF\xBB\xBF";
  const auto llama = from_bytes(cat(kMark, "n_prompt,n_gen,avg_ts\n512,0,10.5\n"), "auto");
  ASSERT_TRUE(llama) << llama.refusal().text();
  EXPECT_EQ(llama->at(0).results.at(0).value, 10.5);
  const auto metrics =
      from_bytes(cat(kMark,
                     "Metric,avg,min\nRequest Latency (ms),20.0,9.0\n\nMetric,Value\n"
                     "Request Throughput (requests/sec),9.5\n"),
                 "auto");
  ASSERT_TRUE(metrics) << metrics.refusal().text();
  EXPECT_EQ(row(metrics->at(0), "e2el_mean_ms").value, 20.0);
  EXPECT_FALSE(from_bytes(kMark, "auto"));
}

// A line that lacks a cell: its model counts only where a model's file stands in that column.
TEST(LlamaBench, ALineOfAnotherLengthIsTrustedAtBothEndsOnly) {
  constexpr std::string_view kHeader =
      "model_filename,model_type,model_size,a,b,n_prompt,n_gen,n_depth,test_time,avg_ts\n";
  RunContext c = context();
  const auto whole = convert_file(
      text_file(cat(kHeader, "C:\\m\\x.gguf,t,5,1,2,512,0,0,2025-04-24T11:57:09Z,10.5\n")), "auto",
      c);
  ASSERT_TRUE(whole) << whole.refusal().text();
  EXPECT_EQ(whole->at(0).text("model"), "x.gguf");
  const auto shorter = convert_file(
      text_file(cat(kHeader, "/m/x.gguf,t,5,1,512,0,0,2025-04-24T11:57:09Z,10.5\n")), "auto", c);
  ASSERT_TRUE(shorter) << shorter.refusal().text();
  EXPECT_EQ(shorter->at(0).text("model"), "x.gguf");
  EXPECT_EQ(shorter->at(0).results.at(0).name, "pp512");
  for (const char* head : {"t,x.gguf,5", "t,5,x.gguf"}) {
    const auto moved = convert_file(
        text_file(cat(kHeader, head, ",1,512,0,0,2025-04-24T11:57:09Z,10.5\n")), "auto", c);
    ASSERT_FALSE(moved) << head;
    EXPECT_EQ(moved.refusal().code, kConvertModelUnknown.code) << moved.refusal().text();
  }
}

TEST(Vllm, CompletedAloneIsNoReport) {
  for (const char* text :
       {R"({"completed":5})", R"({"median_ttft_ms":5})", R"({"completed":"5","median_ttft_ms":5})",
        R"({"completed":5,"median_ttft_ms":"5"})"}) {
    EXPECT_FALSE(convert_file(inline_file(text), "vllm", context())) << text;
    EXPECT_FALSE(convert_file(inline_file(text), "auto", context())) << text;
  }
}

ToolFile inline_file(std::string_view text) {
  ToolFile file;
  file.path = "inline.json";
  file.document = *json::Document::parse(text);
  return file;
}

std::string errors_of(std::string_view text, std::string_view kind) {
  const auto envelopes = convert_file(inline_file(text), kind, context());
  if (!envelopes) return envelopes.refusal().text();
  return json::write(*envelopes->front().find("errors"));
}

TEST(Impossible, RatesTimesAndCountsBelowZeroAreLeftOutWhateverToolSaysSo) {
  const auto envelopes = convert_file(
      inline_file(R"({"model_id":"m","num_prompts":8,"completed":8,"failed":0,"duration":-1.5,
                      "total_input_tokens":100,"total_token_throughput":-248.5,
                      "output_throughput":82.5,"median_ttft_ms":-3,"p99_ttft_ms":0})"),
      "vllm", context());
  ASSERT_TRUE(envelopes) << envelopes.refusal().text();
  const Envelope& envelope = envelopes->front();
  // Nought can be, and so can what stands beside an impossible figure.
  EXPECT_EQ(values(envelope), (std::map<std::string, double>{{"throughput_output_toks_per_s", 82.5},
                                                             {"ttft_p99_ms", 0}}));
  for (const ResultRow& each : envelope.results) EXPECT_FALSE(each.duration_seconds);
  EXPECT_EQ(
      json::write(*envelope.find("errors")),
      R"(["`duration_seconds` is -1.5, which cannot be; left out",)"
      R"("benchmark_serving throughput_total_toks_per_s is -248.5 tok/s, which cannot be; left out",)"
      R"("benchmark_serving ttft_p50_ms is -3.0 ms, which cannot be; left out"])");
}

TEST(Impossible, ScoresMayBeBelowZero) {
  const auto envelopes = convert_file(
      inline_file(R"({"model_name":"m","results":{"t":{"mcc,none":-0.25}},"configs":{}})"),
      "lm-eval", context("reasoning"));
  ASSERT_TRUE(envelopes) << envelopes.refusal().text();
  EXPECT_EQ(values(envelopes->front()), (std::map<std::string, double>{{"mcc_none", -0.25}}));
}

TEST(Impossible, ARunsOwnFigureDoesNotHideInAMedian) {
  EXPECT_EQ(
      errors_of(R"([{"model_id":"m","gen_tps":5},{"gen_tps":-1},{"gen_tps":5}])", "bench-serve"),
      R"(["`gen_tps` of a run is -1.0, which cannot be; left out"])");
  EXPECT_EQ(
      errors_of(R"([{"model_id":"m","gen_tps":5},{"gen_tps":0},{"gen_tps":5}])", "bench-serve"),
      "[]");
}

TEST(Impossible, RequestsThatDoNotAddUpAreRefused) {
  const auto vllm = [](std::string_view counts) {
    return errors_of(cat(R"({"model_id":"m","output_throughput":82.5,)", counts, "}"), "vllm");
  };
  EXPECT_EQ(vllm(R"("num_prompts":8,"completed":8,"failed":-1)"),
            "CONVERT-ACCOUNTING: `inline.json`: 8 requests completed and -1 failed: a count is at "
            "least 0");
  EXPECT_EQ(vllm(R"("num_prompts":8,"completed":9)"),
            "CONVERT-ACCOUNTING: `inline.json`: 9 requests completed and 0 failed, of 8 in all");
  EXPECT_EQ(vllm(R"("num_prompts":8,"completed":8)"), "[]");
  const auto guidellm = [](int total) {
    return errors_of(
        cat(R"({"benchmarks":[{"metrics":{"request_latency":{"successful":{"mean":1.5}}},)"
            R"("args":{"model":"m"},"request_totals":{"successful":5,"errored":0,"total":)",
            total, "}}],\"args\":{\"model\":\"m\"}}"),
        "guidellm");
  };
  EXPECT_EQ(guidellm(5), "[]");
  EXPECT_EQ(guidellm(4),
            "CONVERT-ACCOUNTING: `inline.json`: 5 requests completed and 0 failed, of 4 in all");
  EXPECT_EQ(errors_of(R"({"input_config":{"model_names":["m"]},"request_throughput":{"avg":2.5},
                          "request_count":{"avg":5},"error_request_count":{"avg":-2}})",
                      "aiperf"),
            "CONVERT-ACCOUNTING: `inline.json`: 5 requests completed and -2 failed: a count is at "
            "least 0");
}

TEST(Refusals, WrongKindsAndMissingFactsByName) {
  for (const Kind& kind : kinds()) {
    const auto wrong = convert_file(inline_file(R"({"nothing":1})"), kind.name, context());
    ASSERT_FALSE(wrong) << kind.name;
    EXPECT_EQ(wrong.refusal().code, "CONVERT-INPUT") << kind.name;
  }
  EXPECT_EQ(convert_file(inline_file("{}"), "auto", context()).refusal().code,
            "CONVERT-KIND-UNKNOWN");
  EXPECT_EQ(convert_file(inline_file("{}"), "no-such", context()).refusal().code,
            "CONVERT-KIND-UNKNOWN");
  const std::string run = R"({"framework":"f","answer":"a fox","latency":1})";
  EXPECT_EQ(convert_file(inline_file(run), "framework-eval", context()).refusal().code,
            "CONVERT-MODEL-UNKNOWN");
  RunContext c = context();
  c.model = "m";
  c.tags = {{"score_rule", "mine"}};
  EXPECT_EQ(convert_file(inline_file(run), "framework-eval", c).refusal().code,
            "CONVERT-TAG-CLASH");
  EXPECT_EQ(convert_file(inline_file(R"({"results":{},"config":{}})"), "lm-eval", context())
                .refusal()
                .code,
            "PUBLISH-NO-ROWS");
  EXPECT_EQ(
      convert_file(inline_file(R"([{"n_prompt":1,"n_gen":0,"avg_ts":10.0,"samples_ts":[5.0]}])"),
                   "llama-bench", context())
          .refusal()
          .code,
      "CONVERT-INPUT");
}

TEST(Converters, AFigureThatIsNoNumberIsLeftOutAndNamed) {
  RunContext c = context();
  c.model = "m";
  const auto converted =
      convert_file(inline_file(R"([{"framework":"f","answer":"a fox","latency":NaN,"tokens":5}])"),
                   "framework-eval", c);
  ASSERT_TRUE(converted) << converted.refusal().text();
  for (const ResultRow& r : converted->at(0).results) EXPECT_NE(r.metric, "latency");
  EXPECT_EQ(json::write(*converted->at(0).find("errors")), R"(["[0].latency is NaN, left out"])");
  std::string many = R"([{"framework":"f","answer":"a fox","x":[)";
  for (int i = 0; i < 25; ++i) many += i == 0 ? "-Infinity" : ",-Infinity";
  const auto shortened = convert_file(inline_file(many + "]}]"), "framework-eval", c);
  ASSERT_TRUE(shortened) << shortened.refusal().text();
  const auto& errors = shortened->at(0).find("errors")->items();
  ASSERT_EQ(errors.size(), 21u);  // 20 by name, the other 5 counted
  EXPECT_EQ(errors[20].string(), "5 more figures are no finite numbers, left out");
}

// 1 / 0.0005 s = 2000 tok/s; 1 / 0.001 s = 1000 tok/s.
TEST(BenchdScore, AMissedFloorIsNoWrongToken) {
  const auto score = [](std::string_view phases) {
    return cat(
        R"({"passed":false,"score":null,"metrics":{"harness_hash":"h","track_id":"t-cpu-v1",)",
        R"("timestamp":"2026-01-01T00:00:00Z","passed_correctness":false,"decode_speedup":2.0,)",
        R"("candidate_leg_decode_window_seconds_per_token":0.0005,)",
        R"("baseline_leg_decode_window_seconds_per_token":0.001,"local_phases":)", phases, "}}");
  };
  const auto missed =
      convert_file(inline_file(score(R"({"correctness":"passed"})")), "auto", context());
  ASSERT_TRUE(missed) << missed.refusal().text();
  EXPECT_EQ(missed->at(0).text("cell_status"), "");
  EXPECT_EQ(row(missed->at(0), "decode_gain").value, 2.0);
  EXPECT_EQ(row(missed->at(0), "decode_gain").unit, "x");
  EXPECT_EQ(missed->at(0).find("control")->find("value")->literal(), "1000.0");
  const auto wrong =
      convert_file(inline_file(score(R"({"correctness":"failed"})")), "auto", context());
  ASSERT_TRUE(wrong);
  EXPECT_EQ(wrong->at(0).text("cell_status"), "failed");
  for (const ResultRow& r : wrong->at(0).results) EXPECT_EQ(r.name, "seal");
}

TEST(Rows, UtcTexts) {
  EXPECT_EQ(utc_text(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(utc_text(1.25), "1970-01-01T00:00:01.25Z");
  EXPECT_EQ(local_to_utc("2026-01-01T00:30:00", "+01:00"), "2025-12-31T23:30:00Z");
  EXPECT_EQ(local_to_utc("2026-01-01T00:30:00.5", "-0530"), "2026-01-01T06:00:00.5Z");
  EXPECT_EQ(local_to_utc("2026-01-01T00:30:00", "CET"), std::nullopt);
}

}  // namespace
}  // namespace assay::publish
