// The messages of Engine Protocol v1, v1.1 and v1.2 as plain data: one struct per JSON object, one
// member per key, spelled alike, in canonical order.
//
// A missing optional means "not reported", which is another claim than 0, "" or []. What a message
// must carry depends on its verb; that is checked by the state machine of the engine and by the
// session of the judge, never here. Source: docs/protocol.md, "Fields".
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"

namespace assay::protocol {

struct TopLogit {
  int64_t token = 0;
  double logit = 0;
  bool operator==(const TopLogit&) const = default;
};

/// Expert streaming counters; all zero when the weights are fully resident.
struct ExpertStats {
  uint64_t expert_cache_hits = 0;
  uint64_t expert_cache_misses = 0;
  uint64_t expert_cache_evictions = 0;
  uint64_t expert_bytes_read = 0;
  double expert_read_seconds = 0;
  uint64_t expert_peak_cached_tensors = 0;
  bool operator==(const ExpertStats&) const = default;
};

struct MtpSpec {
  std::optional<uint32_t> depth{};  // absent: the engine decides
  bool operator==(const MtpSpec&) const = default;
};

/// How tokens are to be produced. `dflash` and `dspark` are opaque JSON objects.
struct SpecConfig {
  std::string mode{};  // serial, mtp, dflash, dspark; the reader takes any text
  std::optional<MtpSpec> mtp{};
  std::optional<json::Value> dflash{};
  std::optional<json::Value> dspark{};
  bool operator==(const SpecConfig&) const = default;
};

struct HeadProvenance {
  std::string sha256{};
  uint64_t bytes = 0;
  uint32_t file_count = 0;
  bool operator==(const HeadProvenance&) const = default;
};

struct RunnerIdentity {
  std::string id{};
  std::string model_type{};
  std::string manifest_sha256{};
  std::string build{};
  bool operator==(const RunnerIdentity&) const = default;
};

struct ResidentIdentity {
  uint32_t pid = 0;
  uint64_t load_epoch = 0;
  bool operator==(const ResidentIdentity&) const = default;
};

// The report of `cohort_reference_replay`; its three objects are open (extra keys are ignored).
struct ReplayPosition {
  int64_t committed_token = 0;
  int64_t sequential_argmax = 0;
  std::optional<std::vector<int64_t>> ranked_tokens{};
  std::optional<std::vector<double>> ranked_logits{};
  std::optional<std::vector<double>> ranked_relative_gaps{};
  std::optional<double> committed_token_logit{};
  std::optional<double> committed_relative_gap{};
  std::optional<int64_t> within_envelope_depth{};
  bool operator==(const ReplayPosition&) const = default;
};
struct ReplayStream {
  int64_t slot = 0;
  std::vector<ReplayPosition> positions{};
  bool operator==(const ReplayStream&) const = default;
};
struct ReplayReport {
  std::optional<std::string> logit_provenance{};
  std::optional<uint32_t> logit_topk{};
  std::optional<double> rel_envelope{};
  std::optional<std::string> replay_width{};
  std::vector<ReplayStream> streams{};
  bool operator==(const ReplayReport&) const = default;
};

struct Request {
  int64_t id = 0;
  std::string kind{};  // verb.h has the ten names; the reader takes any text
  std::optional<std::vector<int64_t>> prompt_tokens{};
  std::optional<int64_t> token{};
  std::optional<std::vector<int64_t>> seed_tokens{};
  std::optional<int64_t> steps{};
  std::optional<uint32_t> count{};
  std::optional<SpecConfig> spec{};
  std::optional<std::vector<std::vector<int64_t>>> seed_tokens_by_stream{};
  std::optional<uint32_t> batch_size{};
  std::optional<std::vector<std::vector<int64_t>>> replay_seeds_by_stream{};
  std::optional<std::vector<std::vector<int64_t>>> committed_by_stream{};
  std::optional<uint32_t> logit_top_k{};
  std::optional<double> rel_envelope{};
  std::optional<std::string> replay_width{};
  bool operator==(const Request&) const = default;
};

struct Response {
  int64_t id = 0;
  std::optional<std::string> nonce{};
  bool ok = false;
  std::optional<std::string> error{};
  std::optional<int64_t> token{};
  std::optional<std::vector<TopLogit>> top_logits{};
  std::optional<int64_t> seed_token{};
  std::optional<std::vector<int64_t>> tokens{};
  std::optional<ExpertStats> expert_stats{};
  std::optional<double> peak_ram_gb{};  // 1 GB = 1e9 bytes
  std::optional<uint32_t> protocol_version{};
  std::optional<std::string> backend{};
  std::optional<std::string> device{};
  std::optional<int64_t> completed_work{};
  std::optional<int64_t>
      cache_memory{};  // bytes still on the allocator's free list after the drain
  std::optional<std::vector<std::string>> capabilities{};
  std::optional<std::vector<uint32_t>> acceptance_lengths{};  // committed tokens per verify round
  std::optional<uint64_t> drafted_total{};
  std::optional<uint64_t> accepted_total{};
  std::optional<uint64_t> committed_total{};
  std::optional<SpecConfig> effective_spec{};
  std::optional<std::vector<std::string>> spec_modes{};
  std::optional<HeadProvenance> head_provenance{};
  std::optional<uint64_t> mlx_active_memory_bytes{};  // before the drain; the name is historical
  std::optional<uint64_t> mlx_cache_memory_bytes{};
  std::optional<uint64_t> mlx_peak_memory_bytes{};
  std::optional<double> top_logit_margin{};
  std::optional<double> expected_token_logit{};
  std::optional<uint32_t> expected_token_rank{};
  std::optional<std::string> spec_decoder{};
  std::optional<uint32_t> max_batch_size{};
  std::optional<std::vector<int64_t>> seed_token_by_stream{};
  std::optional<uint32_t> effective_batch_size{};
  std::optional<std::vector<std::vector<int64_t>>> tokens_by_stream{};  // [width][count]
  std::optional<std::vector<std::vector<uint32_t>>>
      natural_accepted_by_stream{};  // [width][rounds]
  std::optional<uint32_t> rounds{};
  std::optional<std::vector<uint32_t>> active_streams_by_round{};
  std::optional<std::map<std::string, uint32_t>> depth_clamp_reasons{};
  std::optional<std::vector<uint64_t>> prefill_ns_by_stream{};
  std::optional<std::vector<uint64_t>> decode_ns_by_stream{};
  std::optional<ReplayReport> cohort_reference_replay{};
  std::optional<uint64_t> verify_replay_disagreements{};
  std::optional<std::string> verification_mode{};
  std::optional<uint64_t> rectangular_verification_rounds{};
  std::optional<uint64_t> serial_verification_rounds{};
  std::optional<RunnerIdentity> runner{};
  std::optional<ResidentIdentity> resident{};
  bool operator==(const Response&) const = default;
};

}  // namespace assay::protocol
