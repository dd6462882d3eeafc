#include "support/chat_model.h"

#include <algorithm>
#include <sstream>

namespace assay::support {

using json::Value;

namespace {

int64_t count_words(const Value& messages) {
  int64_t words = 0;
  for (const Value& message : messages.items()) {
    std::istringstream text(message.find("content")->string());
    for (std::string word; text >> word;) ++words;
  }
  return words;
}

int64_t integer(const Value& body, std::string_view key, int64_t fallback) {
  const Value* value = body.find(key);
  const auto number = value == nullptr ? Result<int64_t>(fallback) : value->as_int64(key);
  return number ? *number : fallback;
}

}  // namespace

std::string event(const Value& body) {
  return "data: " + json::write(body) + "\n\n";
}

std::string delta_event(const Value& delta, const std::string& finish) {
  const Value choice = Value::object({{"index", 0},
                                      {"delta", delta},
                                      {"finish_reason", finish.empty() ? Value() : Value(finish)}});
  return event(Value::object({{"object", "chat.completion.chunk"},
                              {"model", "fake"},
                              {"choices", Value::array({choice})}}));
}

ChatModel::ChatModel(Answer answer, Override override_reply, uint16_t port)
    : answer_(std::move(answer)),
      override_(std::move(override_reply)),
      server_([this](const ReceivedRequest& request) { return reply(request); }, port) {}

std::vector<ChatQuestion> ChatModel::questions() const {
  const std::lock_guard lock(mutex_);
  return questions_;
}

Reply ChatModel::error(int status, const std::string& message) {
  const Value body = Value::object({{"error", Value::object({{"message", message}})}});
  return {.status = status,
          .reason = "Trouble",
          .headers = {{"Content-Type", "application/json"}},
          .pieces = {{json::write(body)}},
          .framing = Reply::Framing::content_length};
}

Reply ChatModel::stream(const ChatQuestion& question, const ChatAnswer& answer) {
  Reply out;
  const auto say = [&](const Value& delta, const std::string& finish = "") {
    const Value choice =
        Value::object({{"index", 0},
                       {"delta", delta},
                       {"finish_reason", finish.empty() ? Value() : Value(finish)}});
    out.pieces.push_back({event(Value::object({{"object", "chat.completion.chunk"},
                                               {"model", answer.model},
                                               {"choices", Value::array({choice})}})),
                          out.pieces.size() == 1 ? answer.first_pause : answer.pause});
  };
  say(Value::object({{"role", "assistant"}, {"content", ""}}));
  const int64_t reasoning = std::min(answer.reasoning_tokens, question.max_tokens);
  const int64_t content = std::min(answer.answer_tokens, question.max_tokens - reasoning);
  for (int64_t i = 0; i < reasoning; ++i) say(Value::object({{"reasoning_content", " hm"}}));
  for (int64_t i = 0; i < content; ++i) say(Value::object({{"content", " wörd"}}));
  const int64_t tokens = reasoning + content;
  std::string finish = answer.finish_reason;
  if (finish.empty()) finish = tokens == question.max_tokens ? "length" : "stop";
  say(Value::object(), finish);
  out.pieces.back().pause = {};
  if (answer.usage) {
    const int64_t prompt = answer.prompt_tokens.value_or(question.words);
    const int64_t completion = answer.completion_tokens.value_or(tokens);
    Value usage = Value::object({{"prompt_tokens", prompt},
                                 {"completion_tokens", completion},
                                 {"total_tokens", prompt + completion}});
    if (answer.cached_tokens) {
      usage.set("prompt_tokens_details", Value::object({{"cached_tokens", *answer.cached_tokens}}));
    }
    Value body = Value::object(
        {{"model", answer.model}, {"choices", Value::array()}, {"usage", std::move(usage)}});
    if (!answer.timings.is_null()) body.set("timings", answer.timings);
    out.pieces.push_back({event(body)});
  }
  out.pieces.push_back({"data: [DONE]\n\n"});
  return out;
}

Reply ChatModel::reply(const ReceivedRequest& request) {
  if (request.method == "GET") {
    if (list_status != 200) return error(list_status, "no list today");
    std::vector<Value> models;
    for (const std::string& id : listed) models.push_back(Value::object({{"id", id}}));
    return {.headers = {{"Content-Type", "application/json"}},
            .pieces = {{json::write(
                Value::object({{"object", "list"}, {"data", Value::array(std::move(models))}}))}},
            .framing = Reply::Framing::content_length};
  }
  const auto body = json::parse(request.body);
  if (!body) return error(400, "not JSON");
  ChatQuestion question{.body = *body,
                        .words = count_words(*body->find("messages")),
                        .max_tokens = integer(*body, "max_tokens", 16)};
  {
    const std::lock_guard lock(mutex_);
    question.index = static_cast<int64_t>(questions_.size());
    questions_.push_back(question);
  }
  if (override_) {
    if (auto other = override_(question)) return *std::move(other);
  }
  return stream(question, answer_ ? answer_(question) : ChatAnswer{});
}

}  // namespace assay::support
