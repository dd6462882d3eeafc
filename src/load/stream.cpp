#include "load/stream.h"

#include "base/text.h"
#include "load/chat_reader.h"
#include "load/http_client.h"
#include "load/refusals.h"
#include "load/secrets.h"
#include "load/sse.h"

namespace assay::load {

namespace {

constexpr size_t kBodySizeMax = size_t{16} << 20;

bool is_success(int status) {
  return status >= 200 && status < 300;
}

// An answer that is collected whole: error bodies, model lists, answers in one piece.
class Collector : public HttpSink {
 public:
  void head(HttpHead head, Stamp) override { head_ = std::move(head); }
  bool body(std::string_view bytes, Stamp) override {
    too_large_ = body_.size() + bytes.size() > kBodySizeMax;
    if (!too_large_) body_.append(bytes);
    return !too_large_;
  }
  HttpHead head_{};
  std::string body_{};
  bool too_large_ = false;
};

// Events go to the reader as they come; whatever is no event stream is collected.
class StreamSink : public HttpSink {
 public:
  StreamSink(StreamRecord& record, const Secrets& secrets, int64_t events_max)
      : record_(record),
        secrets_(secrets),
        chat_(record, secrets, events_max),
        sse_([this](SseEvent&& event) {
          const bool more = chat_.take(event, at_);
          return more;
        }) {}

  void head(HttpHead head, Stamp at) override {
    record_.headers_at = at;
    record_.http_status = head.status;
    if (const auto server = head.find("server"); server && is_utf8(*server)) {
      record_.server = *server;
    }
    if (const auto seconds = head.find("retry-after")) {
      const auto number = parse_int64(*seconds);
      if (number && *number >= 0) record_.retry_after = *number;
    }
    const std::string type = head.find("content-type").value_or("");
    record_.streamed = is_success(head.status) && type.find("json") == std::string::npos;
    whole_.head(std::move(head), at);
  }

  bool body(std::string_view bytes, Stamp at) override {
    if (!record_.streamed) return whole_.body(bytes, at);
    at_ = at;
    const auto more = sse_.feed(bytes);
    record_.comments = sse_.comments();
    if (!more) {
      record_.problem = more.refusal();
      return false;
    }
    return *more;
  }

  // What the whole answer was, once nothing more comes.
  void settle(std::optional<Refusal> transport) {
    conclude(std::move(transport));
    // Last: a secret may have come in pieces.
    hide_secrets();
  }

 private:
  void hide_secrets() {
    if (secrets_.empty()) return;
    const auto hide = [this](std::string& text) { text = secrets_.hidden(std::move(text)); };
    if (record_.problem) hide(record_.problem->detail);
    for (auto* text :
         {&record_.model, &record_.other_model, &record_.server, &record_.finish_reason}) {
      if (*text) hide(**text);
    }
    hide(record_.answer);
    hide(record_.reasoning);
    for (ToolCall& call : record_.tool_calls) {
      hide(call.id);
      hide(call.name);
      hide(call.arguments);
    }
  }

  void conclude(std::optional<Refusal> transport) {
    if (record_.http_status != 0 && !is_success(record_.http_status)) {
      // The status says more than how the connection ended.
      record_.problem = Refusal(
          kStatus, cat("HTTP ", record_.http_status, ": ", error_message(whole_.body_, secrets_)));
      return;
    }
    if (!record_.problem) record_.problem = std::move(transport);
    if (record_.streamed) {
      chat_.finish();
      if (!record_.problem && !record_.done_seen && !record_.finish_reason) {
        record_.problem = Refusal(
            kStreamTruncated,
            cat("it ended after ", record_.events, record_.events == 1 ? " event" : " events"));
      }
    } else if (!record_.problem) {
      settle_whole();
    }
  }

  void settle_whole() {
    if (whole_.too_large_) {
      record_.problem = Refusal(kReplyTooLarge, cat("more than ", kBodySizeMax, " bytes"));
      return;
    }
    const auto parsed = json::parse(whole_.body_, {.last_duplicate_wins = true});
    if (parsed && chat_.take_whole(*parsed)) {
      record_.problem = Refusal(kNotStreamed, "the answer is one JSON object");
    } else {
      record_.problem = Refusal(
          kStreamMalformed, cat("HTTP ", record_.http_status,
                                ", but no event stream: ", error_message(whole_.body_, secrets_)));
    }
  }

  StreamRecord& record_;
  const Secrets& secrets_;
  ChatReader chat_;
  SseReader sse_;
  Collector whole_{};
  Stamp at_{};
};

}  // namespace

std::string_view name_of(DeltaKind kind) {
  switch (kind) {
    case DeltaKind::content: return "content";
    case DeltaKind::reasoning: return "reasoning";
    case DeltaKind::tool: return "tool";
    case DeltaKind::role: return "role";
    case DeltaKind::empty: return "empty";
  }
  return "empty";
}

json::Value request_body(const ChatRequest& request) {
  json::Value body =
      json::Value::object({{"model", request.model},
                           {"messages", request.messages},
                           {"max_tokens", request.max_tokens},
                           {"temperature", request.temperature},
                           {"stream", true},
                           {"stream_options", json::Value::object({{"include_usage", true}})}});
  if (!request.chat_template_kwargs.is_null()) {
    body.set("chat_template_kwargs", request.chat_template_kwargs);
  }
  if (!request.tools.is_null()) body.set("tools", request.tools);
  if (request.extra.is_object()) {
    for (const auto& [key, value] : request.extra.members()) body.set(key, value);
  }
  return body;
}

StreamRecord stream_chat(const Endpoint& endpoint, const ChatRequest& request, const Limits& limits,
                         const Guard& guard) {
  StreamRecord record;
  const Secrets secrets(endpoint);
  StreamSink sink(record, secrets, limits.events);
  const HttpRequest http{
      .method = "POST",
      .target = endpoint.path + "/chat/completions",
      .headers = {{"Content-Type", "application/json"}, {"Accept", "text/event-stream"}},
      .body = json::write(request_body(request))};
  HttpOutcome outcome = exchange(endpoint, http, limits, guard, sink);
  record.started = outcome.started;
  record.connected = outcome.connected;
  record.sent = outcome.sent;
  record.ended = outcome.ended;
  sink.settle(std::move(outcome.problem));
  return record;
}

Result<std::vector<std::string>> list_models(const Endpoint& endpoint, const Limits& limits,
                                             const Guard& guard) {
  const Secrets secrets(endpoint);
  Collector sink;
  const HttpRequest http{.method = "GET",
                         .target = endpoint.path + "/models",
                         .headers = {{"Accept", "application/json"}}};
  const HttpOutcome outcome = exchange(endpoint, http, limits, guard, sink);
  if (outcome.problem) return *outcome.problem;
  if (!is_success(sink.head_.status)) {
    return Refusal(kStatus, cat("HTTP ", sink.head_.status, " for ", http.target, ": ",
                                error_message(sink.body_, secrets)));
  }
  if (sink.too_large_) {
    return Refusal(kReplyTooLarge, cat(http.target, " is more than ", kBodySizeMax, " bytes"));
  }
  const auto parsed = json::parse(sink.body_, {.last_duplicate_wins = true});
  const json::Value* list = parsed && parsed->is_object() ? parsed->find("data") : nullptr;
  if (list == nullptr || !list->is_array()) {
    return Refusal(kStreamMalformed, cat(http.target, " is no list of models"));
  }
  std::vector<std::string> ids;
  for (const json::Value& item : list->items()) {
    const json::Value* id = item.is_object() ? item.find("id") : nullptr;
    if (id != nullptr && id->is_string()) ids.push_back(secrets.hidden(id->string()));
  }
  return ids;
}

}  // namespace assay::load
