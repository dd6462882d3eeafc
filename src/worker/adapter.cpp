#include "worker/adapter.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/text.h"
#include "protocol/codec.h"
#include "protocol/fields.h"
#include "protocol/line.h"
#include "protocol/spec.h"
#include "protocol/step_lines.h"
#include "worker/refusals.h"

namespace assay::worker {

using protocol::SpecConfig;
using protocol::Verb;

namespace {

bool lists(const std::vector<std::string>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

Result<std::span<const int64_t>> need_tokens(const std::optional<std::vector<int64_t>>& tokens,
                                             std::string_view key) {
  if (!tokens || tokens->empty()) {
    return Refusal(kFieldMissing, cat("`", key, "` must hold at least one token"));
  }
  return std::span<const int64_t>(*tokens);
}

std::string_view phase_name(Adapter::Phase phase) {
  switch (phase) {
    case Adapter::Phase::idle: return "none";
    case Adapter::Phase::prefill: return "prefill";
    case Adapter::Phase::decode: return "decode";
    case Adapter::Phase::correctness_free: return "free correctness";
    case Adapter::Phase::correctness: return "teacher-forced correctness";
    case Adapter::Phase::free_run: return "free-run decode";
  }
  return "none";
}

}  // namespace

Adapter::Adapter(Engine& engine, const ServeOptions& options)
    : engine_(engine),
      options_(options),
      facts_(engine.facts()),
      answer_middle_(protocol::token_answer_middle(options.nonce)) {
  ENSURE(!options_.nonce.empty());
  for (const std::string& capability : facts_.capabilities) {
    ENSURE(capability == protocol::kFreeRunDecode);
  }
}

void Adapter::hello(std::string& out) {
  response_ = {};
  response_.nonce = options_.nonce;
  response_.ok = true;
  response_.expert_stats = engine_.expert_stats();
  response_.protocol_version = protocol::kProtocolVersion;
  if (!facts_.backend.empty()) response_.backend = facts_.backend;
  if (!facts_.device.empty()) response_.device = facts_.device;
  response_.head_provenance = facts_.head_provenance;
  response_.runner = facts_.runner;
  if (options_.speculative) {
    response_.capabilities = facts_.capabilities;
    response_.spec_modes = facts_.spec_modes;
    response_.resident = facts_.resident;
  }
  write(out);
}

// The decode step's own path: what dispatch would do, without the codec's cost on every token.
bool Adapter::answer_step(std::string_view line, std::string& out) {
  if (phase_ != Phase::decode || answer_middle_.empty()) return false;
  const auto request = protocol::match_decode_step(line);
  if (!request) return false;
  if (const auto token = engine_.step(request->token)) {
    ++completed_work_;
    protocol::append_token_answer(out, request->id, answer_middle_, *token);
    out.push_back('\n');
  } else {
    refuse(request->id, token.refusal());
    write(out);
  }
  return true;
}

void Adapter::answer(std::string_view line, std::string& out) {
  if (answer_step(line, out)) return;
  response_ = {};
  response_.nonce = options_.nonce;
  response_.ok = true;
  if (auto read = protocol::read_request(line, request_, &unknown_spec_key_); !read) {
    refuse(protocol::kUnparsedId, Refusal(kRequestMalformed, read.refusal().detail));
  } else {
    response_.id = request_.id;
    if (auto done = dispatch(); !done) refuse(request_.id, done.refusal());
  }
  write(out);
}

void Adapter::refuse_stream(const Refusal& refusal, std::string& out) {
  refuse(protocol::kUnparsedId, refusal);
  write(out);
}

// A failed forward may have half advanced the session, so a refusal always ends the phase.
void Adapter::refuse(int64_t id, const Refusal& refusal) {
  engine_.drop_session();
  phase_ = Phase::idle;
  completed_work_ = 0;
  response_ = {};
  response_.id = id;
  response_.nonce = options_.nonce;
  response_.error = refusal.text();
}

void Adapter::write(std::string& out) {
  const size_t begin = out.size();
  protocol::write_response(response_, out);
  if (const size_t size = out.size() - begin; size > protocol::kLineSizeMax) {
    out.resize(begin);
    refuse(response_.id,
           Refusal(kCountOutOfRange, cat("the answer would take ", size, " bytes, a line holds ",
                                         protocol::kLineSizeMax)));
    protocol::write_response(response_, out);
  }
  out.push_back('\n');
}

Status Adapter::dispatch() {
  const auto verb = protocol::find_verb(request_.kind);
  if (!verb) return Refusal(kKindUnknown, cat("`", request_.kind, "` is not a verb"));
  if (const std::string_view key = protocol::stray_key(request_, *verb); !key.empty()) {
    return Refusal(kFieldStray, cat("`", key, "` does not belong to ", request_.kind));
  }
  TRY_DO(check_posture(*verb));
  switch (*verb) {
    case Verb::prefill: return prefill();
    case Verb::decode_begin: return decode_begin();
    case Verb::decode_step: return step(Phase::decode, "decode_begin");
    case Verb::correctness: return correctness();
    case Verb::correctness_begin: return correctness_begin();
    case Verb::correctness_step: return step(Phase::correctness, "correctness_begin");
    case Verb::phase_diagnostics: return phase_diagnostics();
    case Verb::free_decode_begin: return free_decode_begin();
    case Verb::free_decode_run: return free_decode_run();
    case Verb::cohort_reference_replay:
    case Verb::hello: break;  // refused by check_posture; hello is not a verb
  }
  return Refusal(kKindUnknown, cat("`", request_.kind, "` is not served"));
}

// What this worker's start and its hello allow at all.
Status Adapter::check_posture(Verb verb) const {
  const bool cohort = request_.batch_size || request_.seed_tokens_by_stream;
  const bool free_run = verb == Verb::free_decode_begin || verb == Verb::free_decode_run;
  if (!options_.speculative && (free_run || verb == Verb::cohort_reference_replay)) {
    return Refusal(kNeedsV11, cat(request_.kind, " is a verb of v1.1"));
  }
  if (!options_.speculative && request_.spec) {
    return Refusal(kNeedsV11, "`spec` is a key of v1.1");
  }
  const auto absent = [&](std::string_view capability) {
    return Refusal(kCapabilityAbsent,
                   cat("this form of ", request_.kind, " needs `", capability, "`"));
  };
  if (verb == Verb::cohort_reference_replay) return absent(protocol::kCohortReferenceReplay);
  if (cohort) return absent(protocol::kBatchedFreeRunDecode);
  if (free_run && !lists(facts_.capabilities, protocol::kFreeRunDecode)) {
    return absent(protocol::kFreeRunDecode);
  }
  return {};
}

Status Adapter::open(Phase phase) {
  if (phase_ != Phase::idle && !(phase == Phase::prefill && phase_ == Phase::prefill)) {
    return Refusal(kPhaseAlreadyOpen, cat("double-open: ", request_.kind, " while the ",
                                          phase_name(phase_), " phase is open"));
  }
  engine_.drop_session();
  TRY(residual_bytes, engine_.drain());
  if (residual_bytes != 0) {
    return Refusal(kDrainResidual, cat("the drain left ", residual_bytes, " bytes, expected 0"));
  }
  completed_work_ = 0;
  phase_ = phase;
  return {};
}

Status Adapter::need(Phase phase, std::string_view opener) const {
  if (phase_ == phase) return {};
  return Refusal(kPhaseNotOpen, cat(request_.kind, " needs an open ", opener,
                                    "; open phase: ", phase_name(phase_)));
}

// A spec is honoured exactly or refused; the one that really runs is echoed.
Result<SpecConfig> Adapter::resolve_spec(Verb verb) {
  const SpecConfig& wanted = *request_.spec;
  const bool serial_only = verb == Verb::decode_begin;
  if (!lists(facts_.spec_modes, wanted.mode) || (serial_only && wanted.mode != protocol::kSerial)) {
    return Refusal(
        kModeNotRunnable,
        cat("mode `", wanted.mode, "` cannot run on ", request_.kind, "; runnable: ",
            serial_only ? std::string(protocol::kSerial) : join(facts_.spec_modes, ", ")));
  }
  if (!unknown_spec_key_.empty()) {
    return Refusal(kSpecMalformed, cat("`spec.", unknown_spec_key_, "` is not a known key"));
  }
  if (auto checked = protocol::check_spec(wanted); !checked) {
    return Refusal(kSpecMalformed, checked.refusal().detail);
  }
  TRY(effective, engine_.resolve_spec(wanted));
  if (!protocol::honours(wanted, effective)) {
    return Refusal(kEngineInconsistent,
                   "resolve_spec returned a spec that does not honour the one "
                   "asked for");
  }
  return std::move(effective);
}

Status Adapter::prefill() {
  TRY(prompt, need_tokens(request_.prompt_tokens, "prompt_tokens"));
  TRY_DO(open(Phase::prefill));
  TRY(token, engine_.forward(prompt));
  response_.token = token;
  return {};
}

Status Adapter::decode_begin() {
  TRY(seed, need_tokens(request_.seed_tokens, "seed_tokens"));
  if (request_.spec) {
    TRY(effective, resolve_spec(Verb::decode_begin));
    response_.effective_spec = std::move(effective);
  }
  TRY_DO(open(Phase::decode));
  TRY(token, engine_.decode_begin(seed));
  response_.seed_token = token;
  ++completed_work_;
  return {};
}

Status Adapter::step(Phase phase, std::string_view opener) {
  TRY_DO(need(phase, opener));
  if (!request_.token) return Refusal(kFieldMissing, "`token` is missing");
  TRY(token, engine_.step(*request_.token));
  if (phase == Phase::correctness) {
    TRY_DO(answer_logits(token));
  } else {
    response_.token = token;
  }
  ++completed_work_;
  return {};
}

Status Adapter::correctness() {
  TRY(prompt, need_tokens(request_.prompt_tokens, "prompt_tokens"));
  if (!request_.steps) return Refusal(kFieldMissing, "`steps` is missing");
  const int64_t steps = *request_.steps;
  if (steps < 0 || steps > options_.steps_max) {
    return Refusal(kCountOutOfRange,
                   cat("`steps` is ", steps, ", expected 0 to ", options_.steps_max));
  }
  TRY_DO(open(Phase::correctness_free));
  TRY(tokens, engine_.correctness_free(prompt, steps));
  if (tokens.size() != static_cast<size_t>(steps)) {
    return Refusal(kEngineInconsistent,
                   cat("correctness_free returned ", tokens.size(), " tokens, expected ", steps));
  }
  response_.tokens = std::move(tokens);
  response_.peak_ram_gb = engine_.peak_ram_gb();
  return {};
}

Status Adapter::correctness_begin() {
  TRY(prompt, need_tokens(request_.prompt_tokens, "prompt_tokens"));
  TRY_DO(open(Phase::correctness));
  TRY(token, engine_.correctness_begin(prompt));
  TRY_DO(answer_logits(token));
  ++completed_work_;
  return {};
}

Status Adapter::answer_logits(int64_t token) {
  TRY(logits, engine_.top_logits(protocol::kTopLogitCount));
  if (logits.size() != protocol::kTopLogitCount || logits.front().token != token) {
    return Refusal(kEngineInconsistent,
                   cat("top_logits returned ", logits.size(), " entries, expected ",
                       protocol::kTopLogitCount, " that begin with the chosen token"));
  }
  for (const auto& entry : logits) {
    if (!std::isfinite(entry.logit)) return Refusal(kLogitNotFinite, "in top_logits");
  }
  response_.token = token;
  response_.top_logits = std::move(logits);
  response_.expert_stats = engine_.expert_stats();
  response_.peak_ram_gb = engine_.peak_ram_gb();
  return {};
}

// The watermarks first, then the release, then what is left: the judge must not see them mixed.
Status Adapter::phase_diagnostics() {
  if (phase_ == Phase::idle) {
    return Refusal(kPhaseNotOpen, "phase_diagnostics needs an open phase; open phase: none");
  }
  if (const auto memory = engine_.memory_bytes()) {
    response_.mlx_active_memory_bytes = memory->active;
    response_.mlx_cache_memory_bytes = memory->cache;
    response_.mlx_peak_memory_bytes = memory->peak;
  }
  response_.expert_stats = engine_.expert_stats();
  response_.peak_ram_gb = engine_.peak_ram_gb();
  engine_.drop_session();
  TRY(residual_bytes, engine_.drain());
  constexpr uint64_t kMost = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  response_.cache_memory = static_cast<int64_t>(std::min(residual_bytes, kMost));
  response_.completed_work = completed_work_;
  completed_work_ = 0;
  phase_ = Phase::idle;
  return {};
}

Status Adapter::free_decode_begin() {
  TRY(seed, need_tokens(request_.seed_tokens, "seed_tokens"));
  SpecConfig effective = protocol::serial_spec();
  if (request_.spec) {
    TRY(resolved, resolve_spec(Verb::free_decode_begin));
    effective = std::move(resolved);
  }
  TRY_DO(open(Phase::free_run));
  TRY(token, engine_.free_begin(seed, effective));
  response_.seed_token = token;
  response_.effective_spec = std::move(effective);
  ++completed_work_;
  return {};
}

Status Adapter::free_decode_run() {
  TRY_DO(need(Phase::free_run, "free_decode_begin"));
  if (!request_.count) return Refusal(kFieldMissing, "`count` is missing");
  const uint32_t count = *request_.count;
  if (count == 0 || count > options_.count_max) {
    return Refusal(kCountOutOfRange,
                   cat("`count` is ", count, ", expected 1 to ", options_.count_max));
  }
  TRY(run, engine_.free_run(count));
  uint64_t committed = 0;
  for (const uint32_t length : run.acceptance_lengths) committed += length;
  if (run.tokens.size() != count || committed != count || run.accepted_total > run.drafted_total) {
    return Refusal(kEngineInconsistent,
                   cat("free_run returned ", run.tokens.size(), " tokens in rounds of together ",
                       committed, ", drafted ", run.drafted_total, ", accepted ",
                       run.accepted_total, "; expected ", count, " tokens"));
  }
  completed_work_ += static_cast<int64_t>(run.acceptance_lengths.size());
  response_.committed_total = run.tokens.size();
  response_.tokens = std::move(run.tokens);
  response_.acceptance_lengths = std::move(run.acceptance_lengths);
  response_.drafted_total = run.drafted_total;
  response_.accepted_total = run.accepted_total;
  response_.spec_decoder = std::move(run.spec_decoder);
  response_.verify_replay_disagreements = run.verify_replay_disagreements;
  response_.verification_mode = std::move(run.verification_mode);
  response_.rectangular_verification_rounds = run.rectangular_verification_rounds;
  response_.serial_verification_rounds = run.serial_verification_rounds;
  return {};
}

}  // namespace assay::worker
