// A made-up model behind a ScriptedServer: counts a prompt's words as its tokens, answers with as
// many tokens as told, and misbehaves as told.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "support/scripted_server.h"

namespace assay::support {

/// "data: …\n\n"
[[nodiscard]] std::string event(const json::Value& body);
/// The event of one delta; `finish` empty: none.
[[nodiscard]] std::string delta_event(const json::Value& delta, const std::string& finish = "");

struct ChatAnswer {
  std::string model = "fake";
  int64_t reasoning_tokens = 0;  // come first, one a chunk
  int64_t answer_tokens = 8;     // one a chunk, at most max_tokens in all
  bool usage = true;
  std::optional<int64_t> cached_tokens{};      // in prompt_tokens_details
  std::optional<int64_t> prompt_tokens{};      // instead of the words counted
  std::optional<int64_t> completion_tokens{};  // instead of the tokens sent
  std::string finish_reason{};                 // "" : length when max_tokens was reached, else stop
  Nanoseconds first_pause{}, pause{};
  json::Value timings{};  // put beside usage, or null
};

/// What the model is asked: the n-th chat request (from 0), its body, its prompt's words.
struct ChatQuestion {
  int64_t index = 0;
  json::Value body{};
  int64_t words = 0;
  int64_t max_tokens = 0;
};

class ChatModel {
 public:
  /// What to answer, or a whole reply of another kind. May be empty: the plain answer.
  using Answer = std::function<ChatAnswer(const ChatQuestion&)>;
  using Override = std::function<std::optional<Reply>(const ChatQuestion&)>;
  explicit ChatModel(Answer answer = {}, Override override_reply = {}, uint16_t port = 0);

  [[nodiscard]] ScriptedServer& server() { return server_; }
  /// Bodies of the chat requests, in order.
  [[nodiscard]] std::vector<ChatQuestion> questions() const;
  std::vector<std::string> listed{"fake"};  // GET /v1/models; set before the first request
  int list_status = 200;

  /// The stream of an answer.
  [[nodiscard]] static Reply stream(const ChatQuestion& question, const ChatAnswer& answer);
  /// {"error":{"message":…}} with this status.
  [[nodiscard]] static Reply error(int status, const std::string& message);

 private:
  Reply reply(const ReceivedRequest& request);

  Answer answer_;
  Override override_;
  mutable std::mutex mutex_;
  std::vector<ChatQuestion> questions_;
  ScriptedServer server_;  // last: its threads use all of the above
};

}  // namespace assay::support
