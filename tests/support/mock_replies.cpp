#include "support/mock_replies.h"

#include <utility>

#include "base/ensure.h"
#include "protocol/codec.h"
#include "protocol/spec.h"

namespace assay::support {
namespace {

constexpr const char* kNonce = "mock-nonce-0001";

std::vector<protocol::TopLogit> logits_from(int64_t token, size_t count) {
  std::vector<protocol::TopLogit> logits;
  for (size_t i = 0; i < count; ++i) {
    logits.push_back({token + static_cast<int64_t>(i), 10.0 - static_cast<double>(i)});
  }
  return logits;
}

}  // namespace

MockReplies::MockReplies() {
  hello.id = 0;
  hello.nonce = kNonce;
  hello.ok = true;
  hello.expert_stats.emplace();
  hello.protocol_version = 1;
  hello.backend = "mock";
  hello.device = "test";
  hello.capabilities = {{"free_run_decode"}};
  hello.spec_modes = {{"serial", "mtp"}};
  hello.head_provenance = {"mock-head-sha256", 1048576, 1};
}

std::string MockReplies::hello_line() const {
  return protocol::write_response(hello);
}

protocol::Response MockReplies::reply(const protocol::Request& request) {
  protocol::Response response;
  response.id = request.id;
  response.nonce = kNonce;
  response.ok = true;
  const std::string& kind = request.kind;
  const auto next_decode = [&](int64_t own) {
    if (next_decode_ < decode_tokens.size()) return decode_tokens[next_decode_++];
    return own;
  };
  if (kind == "prefill") {
    work_ = 0;
    response.token = prefill_token.value_or(1000 + request.id);
  } else if (kind == "decode_begin" || kind == "free_decode_begin") {
    work_ = 1;
    next_decode_ = 0;
    response.seed_token = seed_token.value_or(2000 + request.id);
    response.effective_spec = request.spec ? request.spec : protocol::serial_spec();
  } else if (kind == "decode_step") {
    ++work_;
    response.token = next_decode(3000 + request.id);
  } else if (kind == "free_decode_run") {
    const uint32_t count = request.count.value_or(0);
    response.tokens.emplace();
    for (uint32_t i = 0; i < count; ++i) {
      response.tokens->push_back(next_decode(3000 + static_cast<int64_t>(i)));
    }
    response.acceptance_lengths.emplace(count, 1U);
    response.drafted_total = 0;
    response.accepted_total = 0;
    response.committed_total = count;
    work_ += count;
  } else if (kind == "correctness") {
    work_ = 0;
    response.tokens.emplace();
    for (int64_t i = 0; i < request.steps.value_or(0); ++i) response.tokens->push_back(4000 + i);
    response.peak_ram_gb = 18.0;
  } else if (kind == "correctness_begin" || kind == "correctness_step") {
    if (kind == "correctness_begin") {
      work_ = 0;
      next_prediction_ = 0;
    }
    ++work_;
    int64_t token = 5000 + request.id;
    if (next_prediction_ < prediction_tokens.size()) token = prediction_tokens[next_prediction_++];
    response.token = token;
    response.top_logits = logits_from(token, 8);
    response.expert_stats.emplace();
    response.peak_ram_gb = 18.5;
    response.top_logit_margin = 1.75;
  } else {
    ENSURE(kind == "phase_diagnostics");
    response.expert_stats.emplace();
    response.peak_ram_gb = 20.25;
    response.completed_work = std::exchange(work_, 0);
    response.mlx_active_memory_bytes = 2147483648;
    response.mlx_cache_memory_bytes = 268435456;
    response.mlx_peak_memory_bytes = 3221225472;
  }
  return response;
}

std::vector<std::string> MockReplies::answer(const std::string& line) {
  auto request = protocol::read_request(line);
  ENSURE(static_cast<bool>(request));
  requests.push_back(*request);
  protocol::Response response = reply(*request);
  if (change) change(*request, response);
  std::vector<std::string> lines = {protocol::write_response(response)};
  if (change_lines) change_lines(*request, lines);
  return lines;
}

}  // namespace assay::support
