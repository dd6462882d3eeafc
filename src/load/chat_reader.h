// From the events of a chat completion stream to its record. Knows the API's shapes, no sockets.
//
// Usage is read from any event, also one without choices. An event may carry content and a role at
// once; the more telling kind wins. Unknown members are ignored.
// Threads   one reader, one thread.
#pragma once

#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "load/secrets.h"
#include "load/sse.h"
#include "load/stream.h"

namespace assay::load {

class ChatReader {
 public:
  explicit ChatReader(StreamRecord& record, Secrets secrets = {},
                      int64_t events_max = Limits{}.events)
      : record_(record), secrets_(std::move(secrets)), events_max_(events_max) {}

  /// One event that was complete at `at`. False: the stream is over ([DONE], or a problem).
  bool take(const SseEvent& event, Stamp at);
  /// A whole answer in one piece: counts and text, no deltas. False: it is no chat completion.
  bool take_whole(const json::Value& body);
  /// The stream has ended by itself; fills in what only the whole tells.
  void finish();

 private:
  void take_choice(const json::Value& choice, Stamp at);
  void take_tool_calls(const json::Value& calls);
  void take_counts(const json::Value& body);
  std::optional<int64_t> count(const json::Value* value, std::string_view name);
  void grow(std::optional<int64_t>& target, std::optional<int64_t> given, std::string_view name);
  std::optional<double> amount(const json::Value* value, std::string_view name);
  std::optional<int64_t> tokens_of(const json::Value& choice) const;

  StreamRecord& record_;
  Secrets secrets_;
  int64_t events_max_;
  std::map<int64_t, ToolCall> tool_calls_{};
  // Running counts as they stood at each delta, where the event gave one.
  std::vector<std::optional<int64_t>> count_at_delta_{};
  std::optional<int64_t> running_count_{};
};

/// The message of an error body: error.message, error, message, detail, or the text's beginning.
/// Without the secrets: they are hidden before it is cut, so that no part of one is left at the
/// cut.
[[nodiscard]] std::string error_message(std::string_view body, const Secrets& secrets = {});

}  // namespace assay::load
