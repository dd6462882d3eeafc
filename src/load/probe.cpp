#include "load/probe.h"

#include <algorithm>
#include <cstdlib>
#include <latch>
#include <system_error>
#include <thread>

#include "base/text.h"
#include "load/claims.h"
#include "load/probe_state.h"
#include "load/prompt.h"
#include "load/refusals.h"
#include "load/secrets.h"
#include "load/tool_check.h"
#include "machine/detect.h"

namespace assay::load {

ProbeState::ProbeState(ProbeOptions given) : options(std::move(given)), anchor(WallAnchor::take()) {
  if (options.nonce.empty()) options.nonce = random_nonce();
  if (options.system.is_null()) {
    options.system = machine::detect_system(machine::this_host()).system;
  }
}

struct Probe::State : ProbeState {
  using ProbeState::ProbeState;

  // --- small things ---------------------------------------------------------------------------

  bool stop(CellStatus why_status, Refusal why) {
    if (!stopped) {
      stopped = true;
      status = why_status;
      problem = std::move(why);
    }
    return false;
  }

  void say(std::string_view text) const {
    if (options.progress) options.progress(text);
  }

  // Writes down how far it came. A file that cannot be written ends the probe.
  bool save() {
    if (!options.save) return true;
    if (Status saved = options.save(probe_document(*this)); !saved) {
      return stop(CellStatus::aborted, std::move(saved).refusal());
    }
    return true;
  }

  bool enter(std::string_view next) {
    phase = std::string(next);
    return !stopped && save();
  }

  Guard guard() {
    return [this]() -> Status {
      if (!options.guard) return {};
      Status answer = options.guard();
      if (!answer) {
        const std::lock_guard lock(guard_mutex);
        if (!guard_refusal) guard_refusal = answer.refusal();
      }
      return answer;
    };
  }

  bool stopped_by_guard() {
    const std::lock_guard lock(guard_mutex);
    if (guard_refusal) stop(CellStatus::aborted, *guard_refusal);
    return guard_refusal.has_value();
  }

  // --- requests -------------------------------------------------------------------------------

  ChatRequest request(int64_t variant, int64_t units, int64_t max_tokens) const {
    ChatRequest out{.model = options.model,
                    .messages = user_message(prompt_text(
                        prompt_code(options.nonce, options.shared_prefix ? 0 : variant), units)),
                    .max_tokens = max_tokens,
                    .temperature = options.temperature,
                    .extra = options.extra_body};
    if (options.think_kwarg) {
      out.chat_template_kwargs = json::Value::object({{*options.think_kwarg, options.think_value}});
    }
    return out;
  }

  // The model's name as an answer that names it is kept.
  std::string model_in_answers() const { return Secrets(options.endpoint).hidden(options.model); }

  // Unavailable for a moment: too many requests, still loading, or restarting. An answer that broke
  // off is none of these: it is a failed run.
  static bool may_retry(const StreamRecord& record) {
    return record.http_status == 429 || record.http_status == 503 ||
           (record.problem && record.problem->code == kConnect.code);
  }

  // One request, repeated while the endpoint is unavailable. Every attempt has a new prompt: the
  // one before may have been read in part.
  template <class MakeRequest>
  MeasuredRun send(const MakeRequest& make, int retries) {
    MeasuredRun run;
    for (int attempt = 0;; ++attempt) {
      run.variant = next_variant++;
      const ChatRequest asked = make(run.variant);
      run.max_tokens = asked.max_tokens;
      run.record = stream_chat(options.endpoint, asked, options.limits, guard());
      run.attempts.push_back({.http_status = run.record.http_status,
                              .problem = run.record.problem ? run.record.problem->text() : "",
                              .retry_after_s = run.record.retry_after});
      if (!may_retry(run.record) || attempt >= retries) break;
      say(cat(run.attempts.back().problem, "; retry ", attempt + 1, " of ", retries, " in ",
              options.retry_interval.count() / 1000, " s"));
      if (!sleep_until(now() + options.retry_interval, guard())) break;
    }
    run.figures = account(run.record);
    run.problem = run.record.problem;
    return run;
  }

  MeasuredRun send_prompt(int64_t units, int64_t max_tokens, int retries) {
    return send([&](int64_t variant) { return request(variant, units, max_tokens); }, retries);
  }

  // Such a run is in no figure; conclude() weighs it against the allowance. An endpoint that stays
  // unavailable through all retries is another matter: nothing more can be measured there.
  bool is_answered_with_error(const MeasuredRun& run) const {
    const bool gave_up = may_retry(run.record) && run.attempts.size() > 1;
    return run.record.http_status >= 400 && !gave_up;
  }

  // What every answer must be, whether it is scored or not. False: the probe is over.
  bool check_answer(MeasuredRun& run) {
    if (stopped_by_guard()) return false;
    const StreamRecord& record = run.record;
    if (record.model) responded_model = record.model;
    if (record.server) server = record.server;
    if (run.problem) {
      const std::string_view code = run.problem->code;
      if (record.http_status == 429) {
        return stop(CellStatus::failed, Refusal(kTooManyRequests, run.problem->detail));
      }
      if (may_retry(record)) {
        return stop(CellStatus::aborted,
                    Refusal(kRetriesExhausted, cat(run.attempts.size(),
                                                   " attempts; the last: ", run.problem->text())));
      }
      if (code == kTimeout.code) {
        return stop(CellStatus::aborted,
                    Refusal(kTimeout, cat("transport: ", run.problem->detail)));
      }
      // The next one would be as large: what is kept of them all has an end too.
      if (code == kReplyTooLarge.code) return stop(CellStatus::failed, *run.problem);
      if (code == kNotStreamed.code) return stop(CellStatus::unsupported, *run.problem);
      return true;
    }
    for (const auto& named : {record.model, record.other_model}) {
      if (!named || *named == model_in_answers()) continue;
      run.problem = Refusal(
          kModelMismatch, cat("asked for `", options.model, "`, the answer names `", *named, "`"));
      return stop(CellStatus::failed, *run.problem);
    }
    const RunFigures& figures = run.figures;
    if (const auto why = impossible_claim(record, figures, run.max_tokens)) {
      run.problem = Refusal(kImpossible, *why);
      return stop(CellStatus::failed, *run.problem);
    }
    const bool counted = figures.prompt_tokens && figures.completion_tokens &&
                         figures.completion_source != TokenSource::chunks;
    if (options.require_usage && !counted) {
      run.problem = Refusal(kNoUsage, "the stream holds no usage event");
      return stop(CellStatus::unsupported, *run.problem);
    }
    if (figures.token_chunks == 0 || figures.completion_tokens.value_or(0) == 0) {
      run.problem = Refusal(kNoTokens, cat("the answer holds no token; finish_reason `",
                                           record.finish_reason.value_or("absent"), "`"));
    }
    return true;
  }

  // What an answer at full prompt length must be besides. `cold`: no token from a cache.
  bool check_prompt(MeasuredRun& run, bool cold) {
    if (!run.figures.prompt_tokens) return true;
    const int64_t count = *run.figures.prompt_tokens;
    const auto refuse = [&](CellStatus why, Refusal refusal) {
      run.problem = refusal;
      return stop(why, std::move(refusal));
    };
    if (options.prompt_tokens &&
        std::llabs(count - *options.prompt_tokens) > options.prompt_tolerance_tokens) {
      return refuse(CellStatus::aborted,
                    Refusal(kPromptCount, cat("the server counts ", count,
                                              " prompt tokens, asked for ", *options.prompt_tokens,
                                              " within ", options.prompt_tolerance_tokens)));
    }
    if (prompt_count && *prompt_count != count) {
      return refuse(
          CellStatus::aborted,
          Refusal(kPromptCount, cat("the server counts ", count, " prompt tokens, and counted ",
                                    *prompt_count, " before for a prompt of the same length")));
    }
    prompt_count = count;
    if (options.configured_window_tokens &&
        count + options.max_tokens > *options.configured_window_tokens) {
      return refuse(CellStatus::aborted,
                    Refusal(kAdmission, cat(count, " + ", options.max_tokens, " > ",
                                            *options.configured_window_tokens)));
    }
    if (cold && !options.shared_prefix && run.figures.cached_tokens.value_or(0) > 0) {
      return refuse(CellStatus::failed,
                    Refusal(kCachedTokens, cat(*run.figures.cached_tokens, " of ", count,
                                               " prompt tokens came from the server's cache")));
    }
    return true;
  }

  // --- steps ----------------------------------------------------------------------------------

  // The window that is asked for must hold what is asked for: nothing is sent otherwise.
  bool check_admission() {
    if (!options.configured_window_tokens || !options.prompt_tokens) return true;
    const int64_t sum = *options.prompt_tokens + options.max_tokens;
    if (sum <= *options.configured_window_tokens) return true;
    return stop(CellStatus::not_applicable,
                Refusal(kAdmission, cat(*options.prompt_tokens, " + ", options.max_tokens, " = ",
                                        sum, " > ", *options.configured_window_tokens)));
  }

  bool list() {
    if (!enter("model-list")) return false;
    std::optional<std::vector<std::string>> models;
    for (int attempt = 0;; ++attempt) {
      auto listed = list_models(options.endpoint, options.limits, guard());
      if (stopped_by_guard()) return false;
      if (listed) {
        models = *std::move(listed);
        break;
      }
      const Refusal& why = listed.refusal();
      list_attempts.push_back({.problem = why.text()});
      const bool loading = why.code == kStatus.code && (why.detail.starts_with("HTTP 503") ||
                                                        why.detail.starts_with("HTTP 429"));
      if (why.code == kStatus.code && why.detail.starts_with("HTTP 404")) break;
      if (!loading || attempt >= options.retries_max) return stop(CellStatus::aborted, why);
      say(cat(why.text(), "; retry ", attempt + 1, " of ", options.retries_max));
      if (!sleep_until(now() + options.retry_interval, guard())) {
        stopped_by_guard();
        return false;
      }
    }
    return choose_model(models);
  }

  bool choose_model(const std::optional<std::vector<std::string>>& models) {
    if (!models) {
      remarks.push_back("the endpoint has no model list");
      if (!options.model.empty()) return true;
      return stop(CellStatus::aborted, Refusal(kModelAmbiguous, "the endpoint has no model list"));
    }
    std::string names;
    for (const std::string& name : *models) names += cat(names.empty() ? "" : ", ", "`", name, "`");
    if (options.model.empty()) {
      if (models->size() != 1) {
        return stop(
            CellStatus::aborted,
            Refusal(kModelAmbiguous, cat("the endpoint lists ", models->size(),
                                         models->empty() ? " models" : " models: ", names)));
      }
      options.model = models->front();
      return true;
    }
    if (std::find(models->begin(), models->end(), model_in_answers()) != models->end()) return true;
    return stop(CellStatus::unsupported,
                Refusal(kModelNotServed, cat("`", options.model, "` is not among: ", names)));
  }

  // The first request: archived, never scored. It shows that the model answers at all.
  bool ready() {
    if (!enter("readiness")) return false;
    say(cat("first request to `", options.model, "` at ", options.endpoint.base_url));
    readiness = send_prompt(kShortPromptUnits, options.max_tokens, options.retries_max);
    if (!check_answer(*readiness)) return false;
    if (readiness->problem) {
      const int http = readiness->record.http_status;
      return stop(http >= 400 && http < 500 ? CellStatus::unsupported : CellStatus::aborted,
                  Refusal(kPreflight, readiness->problem->text()));
    }
    // llama.cpp reuses what a slot holds of the last prompt, be it only the template's first words.
    const bool llama_cpp = readiness->record.timings.has_value();
    if (llama_cpp && !options.shared_prefix) {
      if (!options.extra_body.is_object()) options.extra_body = json::Value::object();
      if (options.extra_body.find("cache_prompt") == nullptr) {
        options.extra_body.set("cache_prompt", false);
      }
    }
    return true;
  }

  // One unit and two, a token of output each; the rest is arithmetic.
  bool calibrate() {
    if (!options.prompt_tokens) return true;
    if (!enter("calibration")) return false;
    for (const int64_t units : {1, 2}) {
      calibration.push_back(send_prompt(units, 1, options.retries_max));
      MeasuredRun& run = calibration.back();
      if (!check_answer(run)) return false;
      if (run.problem && run.problem->code != kNoTokens.code) {
        return stop(CellStatus::aborted, Refusal(kCalibration, run.problem->text()));
      }
      run.problem.reset();
      if (!run.figures.prompt_tokens) {
        return stop(CellStatus::unsupported,
                    Refusal(kNoUsage, "a prompt cannot be sized without the server's count"));
      }
    }
    const auto sized = size_prompt(*calibration[0].figures.prompt_tokens,
                                   *calibration[1].figures.prompt_tokens, *options.prompt_tokens);
    if (!sized) return stop(CellStatus::aborted, sized.refusal());
    size = *sized;
    repetitions = size->repetitions;
    return true;
  }

  bool warm_up() {
    for (int i = 0; i < options.warmups; ++i) {
      if (!enter("warm-up")) return false;
      say(cat("warm-up ", i + 1, " of ", options.warmups));
      warmups.push_back(send_prompt(repetitions, options.max_tokens, options.retries_max));
      MeasuredRun& run = warmups.back();
      if (!check_answer(run) || !check_prompt(run, false)) return false;
      if (run.problem) return stop(CellStatus::aborted, *run.problem);
    }
    return !stopped;
  }

  bool measure() {
    if (!enter("sequential")) return false;
    say(cat("run ", sequential.size() + 1, " of ", options.repeats));
    sequential.push_back(send_prompt(repetitions, options.max_tokens, options.retries_max));
    MeasuredRun& run = sequential.back();
    if (stopped_by_guard()) return false;
    if (is_answered_with_error(run)) return save();
    if (!check_answer(run)) return false;
    if (!run.problem && !check_prompt(run, true)) return false;
    return save();
  }

  // All at once; a server that does not take them all fails the batch, so nothing is repeated.
  bool measure_concurrent() {
    if (options.width == 0) return !stopped;
    if (!enter("concurrent")) return false;
    say(cat("batch of ", options.width, " requests at once"));
    const auto width = static_cast<size_t>(options.width);
    concurrent.resize(width);
    std::latch start(options.width);
    std::vector<std::thread> threads;
    for (size_t i = 0; i < width; ++i) {
      try {
        threads.emplace_back([this, i, &start] {
          start.arrive_and_wait();
          if (!stopped) concurrent[i] = send_prompt(repetitions, options.max_tokens, 0);
        });
      } catch (const std::system_error& error) {
        stop(CellStatus::aborted, Refusal(kWidth, cat("thread ", i + 1, ": ", error.what())));
        start.count_down(static_cast<std::ptrdiff_t>(width - i));
        break;
      }
    }
    for (std::thread& thread : threads) thread.join();
    if (stopped) return false;
    bool good = !stopped_by_guard();
    for (MeasuredRun& run : concurrent) {
      if (is_answered_with_error(run)) continue;
      good = good && check_answer(run);
      if (good && !run.problem) good = check_prompt(run, true);
    }
    std::vector<StreamRecord> records;
    std::vector<RunFigures> figures;
    for (const MeasuredRun& run : concurrent) {
      records.push_back(run.record);
      records.back().problem = run.problem;
      figures.push_back(run.figures);
    }
    batch = account_batch(records, figures);
    return good && save();
  }

  bool check_tools() {
    if (!options.check_tool_call) return !stopped;
    if (!enter("tool-check")) return false;
    say("tool call, not scored");
    const json::Value tools = weather_tools();
    tool_run = send(
        [&](int64_t) {
          ChatRequest out = request(0, 1, std::max<int64_t>(options.max_tokens, 256));
          out.messages = weather_question();
          out.tools = tools;
          return out;
        },
        options.retries_max);
    if (stopped_by_guard()) return false;
    tool_check = load::check_tool_call(tool_run->record, tools);
    return save();
  }

  // --- the verdict ----------------------------------------------------------------------------

  void conclude() {
    if (stopped) return;
    const Answers answers = answers_of(*this);
    const int64_t planned = options.repeats + options.width;
    const int64_t made = static_cast<int64_t>(sequential.size() + concurrent.size());
    if (answers.error_rate() > options.max_error_rate) {
      stop(CellStatus::failed,
           Refusal(answers.statuses.contains(429) ? kTooManyRequests : kErrorRate,
                   cat(answers.text(), ", ", format_fixed(answers.error_rate(), 4),
                       " of them; at most ", options.max_error_rate, " is allowed")));
    } else if (const MeasuredRun* run = failed_run()) {
      fail_by(*run, planned);
    } else if (made < planned || made == 0) {
      stop(CellStatus::aborted,
           Refusal(kRunsFailed, cat(made, " of ", planned, " runs were made")));
    } else {
      status = CellStatus::success;
      phase = "finished";
      if (answers.errors > 0) {
        remarks.push_back(
            cat(answers.text(), "; at most ", options.max_error_rate, " of them was allowed"));
      }
    }
  }

  // The first run that fails the measurement, or null: one that ended badly for another reason than
  // an allowed error status, or, where no run of its part ended well, any.
  const MeasuredRun* failed_run() const {
    for (const auto* runs : {&sequential, &concurrent}) {
      const bool some_good =
          std::any_of(runs->begin(), runs->end(), [](const MeasuredRun& run) { return run.ok(); });
      for (const MeasuredRun& run : *runs) {
        if (!run.ok() && !(some_good && is_answered_with_error(run))) return &run;
      }
    }
    return nullptr;
  }

  void fail_by(const MeasuredRun& run, int64_t planned) {
    int64_t ok = 0;
    for (const auto* runs : {&sequential, &concurrent}) {
      ok += std::count_if(runs->begin(), runs->end(),
                          [](const MeasuredRun& other) { return other.ok(); });
    }
    stop(CellStatus::failed,
         Refusal(kRunsFailed,
                 cat(ok, " of ", planned, " runs ended well; first: ", run.problem->text())));
  }
};

Probe::Probe(ProbeOptions options) : state_(std::make_unique<State>(std::move(options))) {}
Probe::Probe(Probe&&) noexcept = default;
Probe::~Probe() = default;

bool Probe::prepare() {
  State& s = *state_;
  return s.enter("starting") && s.check_admission() && s.list() && s.ready() && s.calibrate() &&
         s.warm_up();
}

bool Probe::warm_up() {
  return state_->warm_up();
}
bool Probe::measure() {
  return state_->measure();
}
bool Probe::measure_concurrent() {
  return state_->measure_concurrent();
}
bool Probe::check_tools() {
  return state_->check_tools();
}
void Probe::stop(CellStatus status, Refusal why) {
  state_->stop(status, std::move(why));
}

void Probe::attach(std::string_view key, json::Value value) {
  ProbeOptions& options = state_->options;
  for (const auto& [name, target] :
       {std::pair<std::string_view, json::Value*>{"provenance", &options.provenance},
        {"control", &options.control},
        {"context", &options.context},
        {"campaign", &options.campaign},
        {"serving", &options.serving}}) {
    if (key == name) {
      *target = std::move(value);
      return;
    }
  }
  ENSURE(false);  // not a part of the file that a caller may give
}

ProbeResult Probe::finish() {
  State& s = *state_;
  if (!s.finished) {
    s.conclude();
    s.finished = true;
    s.finished_at = now();
    // A file that cannot be written turns a success into an aborted probe, here too.
    s.save();
  }
  const Shares shares = shares_of(s.sequential);
  ProbeResult result{.status = s.status,
                     .phase = s.phase,
                     .problem = s.problem,
                     .sequential = s.sequential,
                     .concurrent = s.concurrent,
                     .answered_rate = shares.answered,
                     .truncated_rate = shares.truncated,
                     .document = probe_document(s)};
  if (s.tool_run) result.tool_call_valid = s.tool_check.valid ? 1.0 : 0.0;
  return result;
}

bool Probe::stopped() const {
  return state_->stopped;
}
const std::vector<MeasuredRun>& Probe::runs() const {
  return state_->sequential;
}
const std::string& Probe::model() const {
  return state_->options.model;
}
std::optional<std::string> Probe::responded_model() const {
  return state_->responded_model;
}
json::Value Probe::document() const {
  return probe_document(*state_);
}

std::optional<double> ProbeResult::median(std::string_view figure) const {
  const json::Value* sequential_part = document.find("sequential");
  const json::Value* spread = sequential_part == nullptr ? nullptr : sequential_part->find(figure);
  const json::Value* value =
      spread == nullptr || !spread->is_object() ? nullptr : spread->find("median");
  if (value == nullptr) return std::nullopt;
  const auto number = value->as_double(figure);
  if (!number) return std::nullopt;
  return *number;
}

ProbeResult run_probe(ProbeOptions options) {
  const int repeats = options.repeats;
  Probe probe(std::move(options));
  if (probe.prepare()) {
    bool on = true;
    for (int i = 0; on && i < repeats; ++i) on = probe.measure();
    if (on && probe.measure_concurrent()) probe.check_tools();
  }
  return probe.finish();
}

}  // namespace assay::load
