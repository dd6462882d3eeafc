// What a probe knows while it runs. Private to the probe: probe.cpp changes it, probe_document.cpp
// writes it down.
#pragma once

#include <atomic>
#include <map>
#include <mutex>

#include "load/probe.h"
#include "load/prompt.h"

namespace assay::load {

inline constexpr int64_t kShortPromptUnits = 4;  // without a target: about 190 tokens

struct ProbeState {
  explicit ProbeState(ProbeOptions given);

  ProbeOptions options;
  WallAnchor anchor{};
  Stamp finished_at{};
  std::string phase = "starting";
  bool stopped = false;
  bool finished = false;
  CellStatus status = CellStatus::aborted;  // until finish() knows better
  std::optional<Refusal> problem{};

  std::atomic<int64_t> next_variant{1};
  int64_t repetitions = kShortPromptUnits;
  std::optional<PromptSize> size{};
  std::optional<int64_t> prompt_count{};  // of the first request at full length
  std::vector<std::string> remarks{};

  std::vector<Attempt> list_attempts{};
  std::optional<MeasuredRun> readiness{};
  std::vector<MeasuredRun> calibration{}, warmups{}, sequential{}, concurrent{};
  std::optional<MeasuredRun> tool_run{};
  ToolCheck tool_check{};
  BatchFigures batch{};
  std::optional<std::string> responded_model{}, server{};

  // The guard's refusal, kept apart from what goes wrong with the endpoint. Asked by many threads.
  std::mutex guard_mutex{};
  std::optional<Refusal> guard_refusal{};
};

/// Shares over the sequential runs that ended well; nothing when none did.
struct Shares {
  std::optional<double> answered{}, truncated{};
};
[[nodiscard]] Shares shares_of(const std::vector<MeasuredRun>& runs);

/// What the measured requests, retries included, were answered with.
struct Answers {
  int64_t answered = 0, errors = 0;   // errors: 4xx and 5xx
  std::map<int, int64_t> statuses{};  // 0: no answer; not among `answered`

  [[nodiscard]] double error_rate() const;  // 0 when nothing was answered
  /// "4 of 8 measured requests were answered with an error status (429: 3, 500: 1)"
  [[nodiscard]] std::string text() const;
};
[[nodiscard]] Answers answers_of(const ProbeState& state);

/// The file as it must stand now.
[[nodiscard]] json::Value probe_document(const ProbeState& state);

}  // namespace assay::load
