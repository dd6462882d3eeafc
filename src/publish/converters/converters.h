// The converters, one a file. Each reads a document of its tool and states what the tool states.
#pragma once

#include "publish/convert.h"

namespace assay::publish {

Result<std::vector<Draft>> convert_lm_eval(const ToolFile& file, const RunContext& context);
/// Whether an object counts completed requests and has latencies as vLLM names them: what is left
/// of a report where its model and number of prompts were cut off.
[[nodiscard]] bool has_vllm_figures(json::Node run);

Result<std::vector<Draft>> convert_vllm(const ToolFile& file, const RunContext& context);
Result<std::vector<Draft>> convert_framework_eval(const ToolFile& file, const RunContext& context);
Result<std::vector<Draft>> convert_throughput_probe(const ToolFile& file,
                                                    const RunContext& context);
Result<std::vector<Draft>> convert_bench_serve(const ToolFile& file, const RunContext& context);
Result<std::vector<Draft>> convert_guidellm(const ToolFile& file, const RunContext& context);
Result<std::vector<Draft>> convert_llama_bench(const ToolFile& file, const RunContext& context);
Result<std::vector<Draft>> convert_genai_perf(const ToolFile& file, const RunContext& context);
Result<std::vector<Draft>> convert_aiperf(const ToolFile& file, const RunContext& context);
Result<std::vector<Draft>> convert_benchd_score(const ToolFile& file, const RunContext& context);

}  // namespace assay::publish
