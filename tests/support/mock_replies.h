// MockReplies: an in-process engine for tests of the judge. Tokens are functions of the request id,
// so that a wrong or repeated id shows; oracle tokens can be put in their place; and it can
// misbehave in one named way.
//
//   prefill 1000+id        decode_begin, free_decode_begin 2000+id      decode_step 3000+id
//   free_decode_run 3000+i (acceptance 1 each)      correctness 4000+i
//   correctness_begin, correctness_step 5000+id with logits (5000+id+i, 10-i)
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "protocol/message.h"

namespace assay::support {

class MockReplies {
 public:
  MockReplies();

  protocol::Response hello;
  /// Changes the response to a request before it is written.
  std::function<void(const protocol::Request&, protocol::Response&)> change;
  /// Replaces the written lines of a request: noise in front, a second answer, silence.
  std::function<void(const protocol::Request&, std::vector<std::string>&)> change_lines;

  // Oracle injection: what the engine answers instead of its own tokens.
  std::optional<int64_t> prefill_token, seed_token;
  std::vector<int64_t> decode_tokens;      // decode_step and free_decode_run
  std::vector<int64_t> prediction_tokens;  // correctness_begin, then each correctness_step

  std::vector<protocol::Request> requests;  // as they came

  [[nodiscard]] std::string hello_line() const;
  [[nodiscard]] std::vector<std::string> answer(const std::string& line);

 private:
  protocol::Response reply(const protocol::Request& request);
  int64_t work_ = 0;
  size_t next_decode_ = 0;
  size_t next_prediction_ = 0;
};

}  // namespace assay::support
