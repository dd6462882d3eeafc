#include "load/chat_reader.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "load/refusals.h"

namespace assay::load {

namespace {

constexpr size_t kMessageSizeMax = 300;
constexpr int64_t kCountMax = int64_t{1} << 40;  // no server has counted that far: it is no count

const json::Value* member(const json::Value* value, std::string_view key) {
  return value != nullptr && value->is_object() ? value->find(key) : nullptr;
}

std::optional<double> number_of(const json::Value* value) {
  if (value == nullptr || !value->is_number()) return std::nullopt;
  const auto number = value->as_double("");
  if (!number) return std::nullopt;
  return *number;
}

// "8" or "8.0": JSON has one kind of number.
std::optional<int64_t> count_of(const json::Value* value) {
  const auto number = number_of(value);
  if (!number || !(*number >= 0 && *number <= static_cast<double>(kCountMax)) ||
      *number != std::floor(*number)) {
    return std::nullopt;
  }
  return static_cast<int64_t>(*number);
}

// A string, or the texts of an array of parts; "" for everything else.
std::string text_of(const json::Value* value) {
  if (value == nullptr) return "";
  if (value->is_string()) return value->string();
  std::string text;
  if (value->is_array()) {
    for (const json::Value& part : value->items()) text += text_of(member(&part, "text"));
  }
  return text;
}

// `reasoning_content` and `reasoning` are two names of one thing; some servers send both.
std::string reasoning_of(const json::Value* message) {
  std::string text = text_of(member(message, "reasoning_content"));
  return text.empty() ? text_of(member(message, "reasoning")) : text;
}

int64_t code_points(std::string_view text) {
  return std::count_if(text.begin(), text.end(),
                       [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
}

template <class T>
void keep(std::optional<T>& target, const std::optional<T>& value) {
  if (value) target = value;
}

std::string shortened(std::string text) {
  if (text.size() <= kMessageSizeMax) return text;
  size_t end = kMessageSizeMax;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return cat(std::string_view(text).substr(0, end), "…");
}

std::string error_text(const json::Value& body, const Secrets& secrets) {
  for (const json::Value* value :
       {member(member(&body, "error"), "message"), member(&body, "error"), member(&body, "message"),
        member(&body, "detail")}) {
    if (value == nullptr || value->is_null()) continue;
    return shortened(secrets.hidden(value->is_string() ? value->string() : json::write(*value)));
  }
  return "";
}

}  // namespace

std::string error_message(std::string_view body, const Secrets& secrets) {
  const std::string_view trimmed = trim(body);
  const auto parsed = json::parse(trimmed);
  if (parsed) {
    if (std::string text = error_text(*parsed, secrets); !text.empty()) return text;
  }
  // Written anew, a secret is spelled in a way that is known.
  std::string text = parsed && !secrets.empty() ? json::write(*parsed) : std::string(trimmed);
  text = secrets.hidden(std::move(text));
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  }
  return is_utf8(text) ? shortened(std::move(text)) : "(not text)";
}

bool ChatReader::take(const SseEvent& event, Stamp at) {
  ++record_.events;
  if (event.data == "[DONE]") {
    record_.done_seen = true;
    return false;
  }
  if (record_.events > events_max_) {
    record_.problem = Refusal(kReplyTooLarge, cat("more than ", events_max_, " events"));
    return false;
  }
  const auto parsed = json::parse(event.data, {.last_duplicate_wins = true});
  if (!parsed || !parsed->is_object()) {
    record_.problem =
        event.type == "error"
            ? Refusal(kStreamError, error_message(event.data, secrets_))
            : Refusal(kStreamMalformed,
                      cat("event ", record_.events, ": ",
                          parsed ? "not an object" : std::string_view(parsed.refusal().detail)));
    return false;
  }
  const json::Value* error = parsed->find("error");
  if (event.type == "error" || (error != nullptr && !error->is_null())) {
    record_.problem = Refusal(kStreamError, error_text(*parsed, secrets_));
    return false;
  }
  take_counts(*parsed);
  if (const json::Value* choices = parsed->find("choices");
      choices != nullptr && choices->is_array() && !choices->items().empty()) {
    take_choice(choices->items()[0], at);
  }
  return true;
}

// A count of the server's own; one that cannot be is kept as the record's `impossible`.
std::optional<int64_t> ChatReader::count(const json::Value* value, std::string_view name) {
  if (const auto number = count_of(value)) return number;
  if (value != nullptr && value->is_number() && !record_.impossible) {
    record_.impossible =
        cat("`", name, "` is ", shortened(value->literal()), ", which is no count");
  }
  return std::nullopt;
}

// A count that is given several times may only grow: what was read or made stays so.
void ChatReader::grow(std::optional<int64_t>& target, std::optional<int64_t> given,
                      std::string_view name) {
  if (given && target && *given < *target && !record_.impossible)
    record_.impossible = cat("`", name, "` is ", *given, ", and was ", *target, " before");
  keep(target, given);
}

// A time or a rate of the server's own.
std::optional<double> ChatReader::amount(const json::Value* value, std::string_view name) {
  const auto number = number_of(value);
  if (!number || *number >= 0) return number;
  if (!record_.impossible) {
    record_.impossible =
        cat("`", name, "` is ", shortened(value->literal()), ", at least 0 is possible");
  }
  return std::nullopt;
}

void ChatReader::take_counts(const json::Value& body) {
  running_count_.reset();
  if (const json::Value* usage = body.find("usage"); usage != nullptr && usage->is_object()) {
    grow(record_.usage.prompt_tokens, count(usage->find("prompt_tokens"), "usage.prompt_tokens"),
         "usage.prompt_tokens");
    running_count_ = count(usage->find("completion_tokens"), "usage.completion_tokens");
    grow(record_.usage.completion_tokens, running_count_, "usage.completion_tokens");
    keep(record_.usage.cached_tokens,
         count(member(usage->find("prompt_tokens_details"), "cached_tokens"),
               "usage.prompt_tokens_details.cached_tokens"));
    keep(record_.usage.reasoning_tokens,
         count(member(usage->find("completion_tokens_details"), "reasoning_tokens"),
               "usage.completion_tokens_details.reasoning_tokens"));
    const auto total = count(usage->find("total_tokens"), "usage.total_tokens");
    if (running_count_) record_.usage.total_tokens = total;
  }
  if (const json::Value* timings = body.find("timings");
      timings != nullptr && timings->is_object()) {
    if (!record_.timings) record_.timings.emplace();
    const auto predicted = count(timings->find("predicted_n"), "timings.predicted_n");
    keep(record_.timings->prompt_n, count(timings->find("prompt_n"), "timings.prompt_n"));
    keep(record_.timings->cache_n, count(timings->find("cache_n"), "timings.cache_n"));
    keep(record_.timings->predicted_n, predicted);
    keep(record_.timings->prompt_ms, amount(timings->find("prompt_ms"), "timings.prompt_ms"));
    keep(record_.timings->predicted_ms,
         amount(timings->find("predicted_ms"), "timings.predicted_ms"));
    for (const char* rate : {"prompt_per_second", "predicted_per_second"})
      amount(timings->find(rate), cat("timings.", rate));
    if (!running_count_) running_count_ = predicted;
  }
  if (const json::Value* model = body.find("model");
      model != nullptr && model->is_string() && !model->string().empty()) {
    if (!record_.model) {
      record_.model = model->string();
    } else if (*record_.model != model->string()) {
      record_.other_model = model->string();
    }
  }
}

// Token ids or log-probabilities of this very event.
std::optional<int64_t> ChatReader::tokens_of(const json::Value& choice) const {
  for (const json::Value* list :
       {choice.find("token_ids"), member(choice.find("logprobs"), "content")}) {
    if (list != nullptr && list->is_array()) return static_cast<int64_t>(list->items().size());
  }
  return std::nullopt;
}

void ChatReader::take_choice(const json::Value& choice, Stamp at) {
  if (!choice.is_object()) return;
  const json::Value* delta = choice.find("delta");
  const std::string content = text_of(member(delta, "content"));
  const std::string reasoning = reasoning_of(delta);
  const json::Value* calls = member(delta, "tool_calls");
  const bool has_call = calls != nullptr && calls->is_array() && !calls->items().empty();
  const json::Value* role = member(delta, "role");

  Delta item{.at = at};
  if (has_call)
    item.kind = DeltaKind::tool;
  else if (!content.empty())
    item.kind = DeltaKind::content;
  else if (!reasoning.empty())
    item.kind = DeltaKind::reasoning;
  else if (role != nullptr && role->is_string())
    item.kind = DeltaKind::role;
  item.tokens = tokens_of(choice);
  record_.deltas.push_back(item);
  count_at_delta_.push_back(running_count_);

  record_.answer += content;
  record_.reasoning += reasoning;
  if (has_call) take_tool_calls(*calls);
  if (const json::Value* reason = choice.find("finish_reason");
      reason != nullptr && reason->is_string()) {
    record_.finish_reason = reason->string();
  }
}

void ChatReader::take_tool_calls(const json::Value& calls) {
  int64_t position = 0;
  for (const json::Value& call : calls.items()) {
    const int64_t index = count_of(member(&call, "index")).value_or(position);
    ++position;
    ToolCall& target = tool_calls_[index];
    if (std::string id = text_of(member(&call, "id")); !id.empty()) target.id = std::move(id);
    const json::Value* function = member(&call, "function");
    target.name += text_of(member(function, "name"));
    const json::Value* arguments = member(function, "arguments");
    // Some servers give the arguments as the object itself.
    target.arguments += arguments != nullptr && arguments->is_object() ? json::write(*arguments)
                                                                       : text_of(arguments);
  }
}

bool ChatReader::take_whole(const json::Value& body) {
  const json::Value* choices = member(&body, "choices");
  if (choices == nullptr || !choices->is_array() || choices->items().empty()) return false;
  take_counts(body);
  const json::Value* choice = &choices->items()[0];
  const json::Value* message = member(choice, "message");
  record_.answer = text_of(member(message, "content"));
  record_.reasoning = reasoning_of(message);
  const json::Value* calls = member(message, "tool_calls");
  if (calls != nullptr && calls->is_array()) take_tool_calls(*calls);
  if (const json::Value* reason = member(choice, "finish_reason");
      reason != nullptr && reason->is_string()) {
    record_.finish_reason = reason->string();
  }
  finish();
  return true;
}

void ChatReader::finish() {
  for (auto& [index, call] : tool_calls_) record_.tool_calls.push_back(std::move(call));
  tool_calls_.clear();
  record_.answer_chars = code_points(record_.answer);
  record_.reasoning_chars = code_points(record_.reasoning);

  // A running count tells tokens apart only where every token event gives one; a single count at
  // the end says nothing about the events before it.
  bool stated = false, complete = true;
  for (size_t i = 0; i < record_.deltas.size(); ++i) {
    if (record_.deltas[i].tokens)
      stated = true;
    else if (is_token(record_.deltas[i].kind) && !count_at_delta_[i])
      complete = false;
  }
  if (stated || !complete) return;
  int64_t before = 0;
  for (size_t i = 0; i < record_.deltas.size(); ++i) {
    if (!count_at_delta_[i]) continue;
    const int64_t grown = *count_at_delta_[i] - before;
    if (grown < 0) {
      for (Delta& delta : record_.deltas) delta.tokens.reset();
      return;
    }
    record_.deltas[i].tokens = grown;
    before = *count_at_delta_[i];
  }
}

}  // namespace assay::load
