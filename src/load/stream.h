// One chat completion over the wire, as a typed record of what came and when.
//
// Stamps    CLOCK_MONOTONIC, taken when the socket read that completed an event returned, before
//           anything is parsed. `sent` is taken before the first byte of the request is written;
//           the connection stands by then.
// Retries   none. One call is one connection and one request; what goes wrong is in the record.
// Threads   independent requests may run in parallel.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/refusal.h"
#include "load/clock.h"
#include "load/endpoint.h"

namespace assay::load {

/// What an event brought. Only content, reasoning and tool are tokens; a role or an empty delta
/// starts no clock and has no gap.
enum class DeltaKind { content, reasoning, tool, role, empty };
[[nodiscard]] std::string_view name_of(DeltaKind kind);
[[nodiscard]] inline bool is_token(DeltaKind kind) {
  return kind <= DeltaKind::tool;
}

struct Delta {
  Stamp at{};
  DeltaKind kind = DeltaKind::empty;
  /// Tokens that this event itself accounts for: its token ids, its logprobs, or the growth of
  /// usage.completion_tokens since the event before. Absent when it states none.
  std::optional<int64_t> tokens{};
};

/// Counts as the server states them; absent is not zero.
struct Usage {
  std::optional<int64_t> prompt_tokens{};
  std::optional<int64_t> completion_tokens{};  // reasoning included
  std::optional<int64_t> reasoning_tokens{};
  std::optional<int64_t> cached_tokens{};  // prompt_tokens_details.cached_tokens
  std::optional<int64_t> total_tokens{};   // of the event that gave the completion tokens
};

/// llama.cpp's own account, in the same event as usage.
struct ServerTimings {
  std::optional<int64_t> prompt_n{}, cache_n{}, predicted_n{};
  std::optional<double> prompt_ms{}, predicted_ms{};
};

struct ToolCall {
  std::string id{}, name{}, arguments{};  // arguments: JSON text, assembled from its pieces
};

struct StreamRecord {
  Stamp started{};                       // before the connection was asked for
  std::optional<Stamp> connected{};      // absent: no connection
  std::optional<Stamp> sent{};           // first byte of the request
  std::optional<Stamp> headers_at{};     // the response's head was whole
  Stamp ended{};                         // [DONE], end of the message, or the failure
  int http_status = 0;                   // 0: none came
  std::optional<int64_t> retry_after{};  // seconds, from an error answer
  bool streamed = false;                 // the answer was an event stream
  bool done_seen = false;                // [DONE]
  std::vector<Delta> deltas{};           // one an event with a choice, in order
  int64_t events = 0;                    // events of any sort
  int64_t comments = 0;                  // keep-alive lines
  Usage usage{};
  std::optional<ServerTimings> timings{};
  /// The first statement that no count, time or rate can be: "usage.prompt_tokens is -3".
  std::optional<std::string> impossible{};
  std::optional<std::string> model{};        // the model that the answer names first
  std::optional<std::string> other_model{};  // another one that it names later
  std::optional<std::string> server{};       // the Server header
  std::optional<std::string> finish_reason{};
  std::string answer{}, reasoning{};
  int64_t answer_chars = 0, reasoning_chars = 0;  // code points
  std::vector<ToolCall> tool_calls{};
  /// Why this is no whole answer: LOAD-CONNECT, -TIMEOUT, -CLOSED, -HTTP-MALFORMED, -STATUS,
  /// -REPLY-TOO-LARGE, -STREAM-ERROR, -STREAM-TRUNCATED, -STREAM-MALFORMED, -NOT-STREAMED,
  /// -STOPPED, …
  std::optional<Refusal> problem{};

  [[nodiscard]] bool ok() const { return !problem.has_value(); }
};

struct Limits {
  std::chrono::milliseconds connect{10'000};
  std::chrono::milliseconds request{1'800'000};  // from the connection to the end of the answer
  // Far beyond any answer; what a server may make this process keep.
  uint64_t answer_bytes = uint64_t{256} << 20;  // as they come from the socket
  int64_t events = 1'000'000;
};

struct ChatRequest {
  std::string model{};
  json::Value messages{};  // the whole array
  int64_t max_tokens = 128;
  double temperature = 0;
  json::Value chat_template_kwargs{};  // object, or null: not sent
  json::Value tools{};                 // array, or null: not sent
  json::Value extra{};                 // object whose members are added to the body, or null
};

/// The body that is sent: stream, and usage in the stream.
[[nodiscard]] json::Value request_body(const ChatRequest& request);

/// POST {path}/chat/completions. Blocks until the answer is whole or will never be. What the
/// endpoint's headers hold is `***` wherever the answer repeats it, here and in list_models.
[[nodiscard]] StreamRecord stream_chat(const Endpoint& endpoint, const ChatRequest& request,
                                       const Limits& limits, const Guard& guard);

/// GET {path}/models: the ids that the endpoint lists. Refuses as the client does, LOAD-STATUS,
/// LOAD-STREAM-MALFORMED when the answer is no list.
[[nodiscard]] Result<std::vector<std::string>> list_models(const Endpoint& endpoint,
                                                           const Limits& limits,
                                                           const Guard& guard);

}  // namespace assay::load
