#include "runner/session.h"

#include <utility>

#include "base/text.h"
#include "protocol/codec.h"
#include "protocol/line.h"
#include "protocol/refusals.h"
#include "protocol/spec.h"
#include "protocol/step_lines.h"
#include "protocol/verb.h"
#include "runner/refusals.h"
#include "runner/scrub.h"
#include "scoring/refusals.h"

namespace assay::runner {

using protocol::Verb;

struct Session::State {
  World* world = nullptr;
  std::unique_ptr<LineTransport> transport;
  SessionOptions options;
  protocol::Hello hello;
  protocol::Request request;    // reused: no allocation in a decode step
  protocol::Response response;  // of the last exchange
  std::string line;
  std::string answer_middle;  // of a short answer of this session (step_lines.h)
  int64_t last_id = 0;
  int64_t issued_steps = 0;
  bool discarded = false;
  std::optional<Instant> deadline;
  Duration budget{0};

  /// The session is over: the refusal stays, the engine is ended.
  Refusal fail(Refusal refusal, LineTransport::Ending ending = LineTransport::Ending::patient) {
    discarded = true;
    transport->close(ending);
    return refusal;
  }

  /// A fault of the stream: how the engine ended stands behind it, in parentheses.
  Refusal fail_with_post_mortem(const RefusalInfo& info, std::string clause) {
    const std::string post_mortem = transport->post_mortem();
    if (!post_mortem.empty()) clause += cat(" (", post_mortem, ")");
    return fail(Refusal(info, std::move(clause)));
  }

  Refusal fail_late(const RefusalInfo& info, std::string_view what, Duration waited) {
    return fail(
        Refusal(info, cat(what, ": no complete response within ",
                          format_fixed(to_seconds(waited), 3), " s; the engine was killed")),
        LineTransport::Ending::at_once);
  }

  /// The next line that is not noise; valid until the transport is used again.
  Result<std::string_view> next_line(std::string_view what, Instant until, Duration wait,
                                     const RefusalInfo& late) {
    for (;;) {
      LineRead read = transport->read_line(until);
      switch (read.kind) {
        case LineRead::Kind::line:
          if (protocol::is_noise(read.line)) continue;
          return read.line;
        case LineRead::Kind::end_of_stream:
          return fail_with_post_mortem(protocol::kProtocol,
                                       cat(what, ": stream ended without a response"));
        case LineRead::Kind::deadline_passed: return fail_late(late, what, wait);
        case LineRead::Kind::too_long:
          return fail(
              Refusal(protocol::kLineTooLong, cat(what, ": more than ", protocol::kLineSizeMax,
                                                  " bytes came without a line end")),
              LineTransport::Ending::at_once);
        case LineRead::Kind::interrupted: {
          auto interrupt = world->check_interrupt();
          return fail(interrupt ? Refusal(kRunInterrupted, std::string(what))
                                : at(what, std::move(interrupt).refusal()));
        }
        case LineRead::Kind::failed:
          return fail_with_post_mortem(kIo, cat(what, ": ", read.reason));
      }
    }
  }

  /// Decodes a line into `response`.
  Status decode(std::string_view what, std::string_view text) {
    auto decoded = protocol::read_response(text, response);
    if (!decoded) {
      // The detail names keys of the engine's choosing.
      return fail_with_post_mortem(
          protocol::kJson,
          cat(what, ": response line undecodable: ", scrub(clip(decoded.refusal().detail, 512))));
    }
    if (response.error) response.error = scrub(clip(*response.error, 1024));
    return {};
  }

  /// Makes the request empty and gives it its verb.
  protocol::Request& prepare(Verb verb) {
    request = {};
    request.kind = protocol::verb_name(verb);
    return request;
  }

  /// Counts the request and gives it its id, in `last_id`.
  Status begin_exchange(Verb verb) {
    if (protocol::is_timed_step(verb)) ++issued_steps;
    if (discarded) {
      return Refusal(kSessionDiscarded,
                     cat(protocol::verb_name(verb), ": an earlier fault has ended this session"));
    }
    ++last_id;
    return {};
  }

  /// Sends `line`, which lacks only its LF, and returns the line that answers it.
  Result<std::string_view> transmit(Verb verb) {
    const std::string_view kind = protocol::verb_name(verb);
    line += '\n';
    if (transport->has_unread_message()) {
      return fail(Refusal(kUnsolicitedLine, cat(kind,
                                                ": the engine had already written output "
                                                "when its request was about to be sent")));
    }
    const Duration wait = deadline ? budget : options.request_wait;
    const Instant until = deadline ? *deadline : world->deadline_after(wait);
    if (auto sent = transport->write_line(line, until); !sent) {
      if (sent.refusal().code == kIo.code) {
        return fail_with_post_mortem(kIo, cat(kind, ": ", sent.refusal().detail));
      }
      const bool late = sent.refusal().code == kRunTimeout.code;
      return fail(at(kind, std::move(sent).refusal()),
                  late ? LineTransport::Ending::at_once : LineTransport::Ending::patient);
    }
    return next_line(kind, until, wait, kRunTimeout);
  }

  /// Decodes an answer and checks it against the last request.
  Status accept(Verb verb, std::string_view answer) {
    const std::string_view kind = protocol::verb_name(verb);
    TRY_DO(decode(kind, answer));
    if (auto checked = protocol::check_reply(response, last_id, hello.nonce, kind); !checked) {
      return fail(std::move(checked).refusal());
    }
    return {};
  }

  /// Sends `request` and receives its checked response into `response`.
  Status exchange(Verb verb) {
    TRY_DO(begin_exchange(verb));
    request.id = last_id;
    line.clear();
    protocol::write_request(request, line);
    TRY(answer, transmit(verb));
    return accept(verb, answer);
  }

  /// The value of a field that the verb's response must carry.
  template <class T>
  Result<T> required(std::optional<T>& field, Verb verb, std::string_view key) {
    if (field) return *std::move(field);
    return fail(Refusal(protocol::kProtocol,
                        cat(protocol::verb_name(verb), ": the response lacks `", key, "`")));
  }

  Result<int64_t> open_decode(Verb verb, std::span<const int64_t> seed,
                              const std::optional<protocol::SpecConfig>& spec) {
    if (spec && !discarded) {
      if (auto runnable = protocol::check_spec_runnable(*spec, hello.spec_modes); !runnable) {
        return fail(at(protocol::verb_name(verb), std::move(runnable).refusal()));
      }
    }
    auto& message = prepare(verb);
    message.seed_tokens.emplace(seed.begin(), seed.end());
    message.spec = spec;
    TRY_DO(exchange(verb));
    if (spec) {
      if (auto echo = protocol::check_spec_echo(*spec, response.effective_spec); !echo) {
        return fail(at(protocol::verb_name(verb), std::move(echo).refusal()));
      }
    }
    return required(response.seed_token, verb, "seed_token");
  }

  Result<int64_t> token_of(Verb verb) {
    TRY_DO(exchange(verb));
    return required(response.token, verb, "token");
  }

  Result<Prediction> prediction_of(Verb verb) {
    TRY(token, token_of(verb));
    const size_t count = response.top_logits ? response.top_logits->size() : 0;
    if (count != protocol::kTopLogitCount) {
      return fail(
          Refusal(protocol::kProtocol, cat(protocol::verb_name(verb), ": the response has ", count,
                                           " top_logits, expected ", protocol::kTopLogitCount)));
    }
    return Prediction{token, *std::move(response.top_logits)};
  }

  /// phase_diagnostics up to and with the drain check.
  Result<PhaseClose> diagnostics() {
    prepare(Verb::phase_diagnostics);
    TRY_DO(exchange(Verb::phase_diagnostics));
    if (response.cache_memory.value_or(0) != 0) {
      return fail(Refusal(kAllocatorCacheNotDrained,
                          cat("cache_memory is ", *response.cache_memory, " bytes, expected 0")));
    }
    return PhaseClose{response.completed_work.value_or(0),
                      response.cache_memory.has_value(),
                      response.peak_ram_gb,
                      response.mlx_active_memory_bytes,
                      response.mlx_cache_memory_bytes,
                      response.mlx_peak_memory_bytes};
  }
};

Session::Session(std::unique_ptr<State> state) : state_(std::move(state)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() {
  close();
}

Result<Session> Session::open(World& world, std::unique_ptr<LineTransport> transport,
                              const SessionOptions& options) {
  auto state = std::make_unique<State>();
  state->world = &world;
  state->transport = std::move(transport);
  state->options = options;
  TRY(line, state->next_line("hello", world.deadline_after(options.hello_wait), options.hello_wait,
                             kHelloTimeout));
  TRY_DO(state->decode("hello", line));
  auto hello = protocol::check_hello(state->response);
  if (!hello) return state->fail(std::move(hello).refusal());
  state->hello = *std::move(hello);
  state->answer_middle = protocol::token_answer_middle(state->hello.nonce);
  return Session(std::move(state));
}

const protocol::Hello& Session::hello() const {
  return state_->hello;
}
bool Session::discarded() const {
  return state_->discarded;
}
int64_t Session::issued_steps() const {
  return state_->issued_steps;
}

namespace {

/// Such a refusal lists the hello's words, which are the engine's.
Status with_scrubbed_detail(Status checked) {
  if (checked) return checked;
  Refusal refusal = std::move(checked).refusal();
  refusal.detail = scrub(clip(refusal.detail, 512));
  return refusal;
}

}  // namespace

Status Session::require_capability(std::string_view capability) const {
  return with_scrubbed_detail(protocol::check_capability(state_->hello, capability));
}

Status Session::require_spec(const protocol::SpecConfig& spec) const {
  return with_scrubbed_detail(protocol::check_spec_runnable(spec, state_->hello.spec_modes));
}

void Session::arm(Instant deadline, Duration budget) {
  state_->deadline = deadline;
  state_->budget = budget;
}
void Session::disarm() {
  state_->deadline.reset();
}

void Session::begin_phase() {
  state_->issued_steps = 0;
}

Result<PhaseClose> Session::close_phase() {
  TRY(close, state_->diagnostics());
  const auto& reported = state_->response.completed_work;
  if (!reported || *reported != state_->issued_steps) {
    return state_->fail(Refusal(kCompletedWorkMismatch,
                                cat("issued ", state_->issued_steps, " timed steps, the engine ",
                                    "reported ", reported ? cat(*reported) : "none")));
  }
  state_->issued_steps = 0;
  return std::move(close);
}

Result<PhaseClose> Session::close_free_run(const FreeRun& run, uint32_t count) {
  TRY(close, state_->diagnostics());
  if (!state_->response.completed_work) {
    return state_->fail(
        Refusal(scoring::kFreeRunConsistency, "round counter: the engine reported none"));
  }
  state_->issued_steps = 0;
  if (auto audit = scoring::audit_free_run(counters_of(run, close), count); !audit) {
    return state_->fail(std::move(audit).refusal());
  }
  return std::move(close);
}

scoring::FreeRunCounters counters_of(const FreeRun& run, const PhaseClose& close) {
  return {.tokens_len = run.tokens.size(),
          .acceptance_lengths = run.acceptance_lengths,
          .drafted_total = run.drafted_total,
          .accepted_total = run.accepted_total,
          .committed_total = run.committed_total,
          .completed_work = close.completed_work,
          .verify_replay_disagreements = run.verify_replay_disagreements};
}

Result<int64_t> Session::prefill(std::span<const int64_t> prompt) {
  state_->prepare(Verb::prefill).prompt_tokens.emplace(prompt.begin(), prompt.end());
  return state_->token_of(Verb::prefill);
}

Result<int64_t> Session::decode_begin(std::span<const int64_t> seed,
                                      const std::optional<protocol::SpecConfig>& spec) {
  return state_->open_decode(Verb::decode_begin, seed, spec);
}

Result<int64_t> Session::decode_step(int64_t token) {
  constexpr Verb verb = Verb::decode_step;
  TRY_DO(state_->begin_exchange(verb));
  state_->line.clear();
  protocol::append_decode_step(state_->line, {state_->last_id, token});
  TRY(answer, state_->transmit(verb));
  if (const auto known =
          protocol::match_token_answer(answer, state_->last_id, state_->answer_middle)) {
    return *known;
  }
  TRY_DO(state_->accept(verb, answer));
  return state_->required(state_->response.token, verb, "token");
}

Result<std::vector<int64_t>> Session::correctness(std::span<const int64_t> prompt, int64_t steps) {
  auto& message = state_->prepare(Verb::correctness);
  message.prompt_tokens.emplace(prompt.begin(), prompt.end());
  message.steps = steps;
  TRY_DO(state_->exchange(Verb::correctness));
  return state_->required(state_->response.tokens, Verb::correctness, "tokens");
}

Result<Prediction> Session::correctness_begin(std::span<const int64_t> prompt) {
  state_->prepare(Verb::correctness_begin).prompt_tokens.emplace(prompt.begin(), prompt.end());
  return state_->prediction_of(Verb::correctness_begin);
}

Result<Prediction> Session::correctness_step(int64_t token) {
  state_->prepare(Verb::correctness_step).token = token;
  return state_->prediction_of(Verb::correctness_step);
}

Result<int64_t> Session::free_decode_begin(std::span<const int64_t> seed,
                                           const std::optional<protocol::SpecConfig>& spec) {
  if (!state_->discarded) {
    if (auto able = require_capability(protocol::kFreeRunDecode); !able) {
      return state_->fail(at("free_decode_begin", std::move(able).refusal()));
    }
  }
  return state_->open_decode(Verb::free_decode_begin, seed, spec);
}

Result<protocol::Response> Session::free_decode_run(uint32_t count) {
  state_->prepare(Verb::free_decode_run).count = count;
  TRY_DO(state_->exchange(Verb::free_decode_run));
  if (!state_->response.tokens) {
    return state_->fail(
        Refusal(protocol::kProtocol, "free_decode_run: the response lacks `tokens`"));
  }
  return std::move(state_->response);
}

Result<FreeRun> Session::account_of(protocol::Response response) {
  constexpr Verb verb = Verb::free_decode_run;
  FreeRun run;
  TRY(tokens, state_->required(response.tokens, verb, "tokens"));
  TRY(lengths, state_->required(response.acceptance_lengths, verb, "acceptance_lengths"));
  TRY(drafted, state_->required(response.drafted_total, verb, "drafted_total"));
  TRY(accepted, state_->required(response.accepted_total, verb, "accepted_total"));
  TRY(committed, state_->required(response.committed_total, verb, "committed_total"));
  run.tokens = std::move(tokens);
  run.acceptance_lengths = std::move(lengths);
  run.drafted_total = drafted;
  run.accepted_total = accepted;
  run.committed_total = committed;
  run.spec_decoder = std::move(response.spec_decoder);
  run.verify_replay_disagreements = response.verify_replay_disagreements;
  run.verification_mode = std::move(response.verification_mode);
  run.rectangular_verification_rounds = response.rectangular_verification_rounds;
  run.serial_verification_rounds = response.serial_verification_rounds;
  return run;
}

Refusal Session::discard(Refusal refusal) {
  return state_->fail(std::move(refusal));
}

void Session::close() {
  if (!state_) return;
  state_->discarded = true;
  state_->transport->close(LineTransport::Ending::patient);
}

Status check_same_resident(const protocol::Hello& first, const protocol::Hello& second) {
  if (first.resident == second.resident) return {};
  const auto name = [](const std::optional<protocol::ResidentIdentity>& resident) {
    return resident ? cat("pid ", resident->pid, " loaded at ", resident->load_epoch)
                    : std::string("none");
  };
  return Refusal(kResidentIdentityChanged,
                 cat("the first hello names resident ", name(first.resident), ", the later one ",
                     name(second.resident)));
}

}  // namespace assay::runner
