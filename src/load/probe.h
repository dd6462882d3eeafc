// The probe: a few honest measurements of one model behind one endpoint.
//
// Order     model list, first request (readiness: archived, not scored), calibration of the prompt
//           length, warm-ups, `repeats` measured runs one after the other, a concurrent batch of
//           `width`, an unscored tool-call check.
// Prompts   every request has its own text, different from its first words to its last, of equal
//           length in tokens: a prefix cache has nothing to give. The server's own count of cached
//           tokens must be 0.
// File      `document()` is at any moment a truthful file: it says aborted until the probe is
//           finished. `save` gets it after every step.
// Shape     docs/load.md; `assay-publish convert --kind throughput-probe` reads it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "load/accounting.h"
#include "load/cell_status.h"
#include "load/clock.h"
#include "load/endpoint.h"
#include "load/stream.h"

namespace assay::load {

struct ProbeOptions {
  Endpoint endpoint{};
  std::string model{};  // empty: the only one that the endpoint lists
  int64_t max_tokens = 128;
  std::optional<int64_t> prompt_tokens{};             // target; absent: a short prompt as it comes
  int64_t prompt_tolerance_tokens = 64;               // |counted - target| at most
  std::optional<int64_t> configured_window_tokens{};  // checked: prompt + max_tokens <= window
  int warmups = 1;
  int repeats = 4;
  int width = 0;  // requests of the concurrent batch; 0: none
  double temperature = 0;
  std::optional<std::string> think_kwarg{};  // sent in chat_template_kwargs
  json::Value think_value{};
  std::string thinking = "unstated";  // the level as a person names it
  bool shared_prefix = false;         // one prompt for all requests, cached tokens allowed
  bool require_usage = true;          // else chunks stand in for tokens, and the file says so
  bool check_tool_call = false;
  /// Declared: the share of the measured requests, retries included, that may be answered with a
  /// 4xx or 5xx. They are in no figure; one more refuses the measurement.
  double max_error_rate = 0;
  bool dedicated = false;                       // declared: nothing else uses the endpoint
  std::string initial_model_state = "unknown";  // cold | resident | unknown
  json::Value extra_body{};                     // members added to every request, or null
  // Objects (or null) that the file carries as they are; `context` is completed with the counts.
  json::Value context{}, campaign{}, serving{}, provenance{}, control{};
  json::Value system{};  // null: detected

  int retries_max = 6;  // for 429, 503, and a server that restarts; each attempt is in the file
  std::chrono::milliseconds retry_interval{20'000};
  Limits limits{};
  std::string nonce{};  // seeds the prompts' unique words; empty: random

  Guard guard{};
  std::function<void(std::string_view)> progress{};
  std::function<Status(const json::Value& document)> save{};  // a refusal ends the probe
};

/// One try of one request. Only the last one of a run can be scored.
struct Attempt {
  int http_status = 0;
  std::string problem{};                   // empty when it went well
  std::optional<int64_t> retry_after_s{};  // what the server asked for; kept, not obeyed
};

struct MeasuredRun {
  int64_t variant = 0;     // number of the prompt
  int64_t max_tokens = 0;  // most new tokens that the request asked for
  std::vector<Attempt> attempts{};
  StreamRecord record{};  // of the last attempt
  RunFigures figures{};
  std::optional<Refusal> problem{};  // why it does not count

  [[nodiscard]] bool ok() const { return !problem.has_value(); }
};

/// {"valid": …}: whether the tool call could be used by a program, and why not.
struct ToolCheck {
  bool valid = false;
  std::string problem{};
};
/// finish_reason tool_calls, exactly the offered function, arguments that parse and fit its schema.
[[nodiscard]] ToolCheck check_tool_call(const StreamRecord& record, const json::Value& tools);

struct ProbeResult {
  CellStatus status = CellStatus::aborted;
  std::string phase{};               // where it stopped: "readiness", "sequential", …, "finished"
  std::optional<Refusal> problem{};  // why, when status is not success
  std::vector<MeasuredRun> sequential{};
  std::vector<MeasuredRun> concurrent{};
  std::optional<double> answered_rate{}, truncated_rate{}, tool_call_valid{};
  json::Value document{};

  /// The median of a figure over the sequential runs, as it stands in the file; absent unless
  /// status is success. `figure`: "cumulative_tok_s", "decode_tok_s", "prefill_tok_s", "ttft_s" ….
  [[nodiscard]] std::optional<double> median(std::string_view figure) const;
};

/// A probe in steps, for callers that interleave two of them (A B B A). run_probe() takes the steps
/// in order. Each step returns false once the probe has stopped; finish() then says why.
class Probe {
 public:
  explicit Probe(ProbeOptions options);
  Probe(Probe&&) noexcept;
  ~Probe();

  bool prepare();             // up to and including the warm-ups
  bool warm_up();             // the warm-ups again, for a server that was started anew
  bool measure();             // one sequential run
  bool measure_concurrent();  // the batch of `width`; true at once when width is 0
  bool check_tools();         // true at once when not asked for
  /// Stops it from outside (a guard of the caller, a failed weight proof). The first stop stays.
  void stop(CellStatus status, Refusal why);
  /// Puts an object into the file: "provenance", "control".
  void attach(std::string_view key, json::Value value);
  ProbeResult finish();

  [[nodiscard]] bool stopped() const;
  [[nodiscard]] const std::vector<MeasuredRun>& runs() const;
  [[nodiscard]] const std::string& model() const;  // settled by prepare()
  /// The model that the answers name, once one came.
  [[nodiscard]] std::optional<std::string> responded_model() const;
  [[nodiscard]] json::Value document() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

[[nodiscard]] ProbeResult run_probe(ProbeOptions options);

}  // namespace assay::load
