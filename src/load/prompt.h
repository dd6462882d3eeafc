// Prompts that no cache has seen: every one is its own text from the first word to the last, and
// all of one size have the same number of tokens whatever the tokenizer.
//
// A prompt is a unit of text, repeated. Each unit starts with the code of its prompt: eight single
// letters with spaces between them. A lone letter is one token in every vocabulary that we know, so
// codes differ in content and never in length. A code in the middle of a prompt also breaks caches
// that work by blocks; a unique ending would not.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace assay::load {

/// "x k q v d m t b": the same for the same nonce and variant.
[[nodiscard]] std::string prompt_code(std::string_view nonce, int64_t variant);

/// The text of `repetitions` units with this code, and the question.
[[nodiscard]] std::string prompt_text(std::string_view code, int64_t repetitions);

/// [{"role":"user","content":text}]
[[nodiscard]] json::Value user_message(std::string text);

/// How many units reach a target, from the server's counts of one and of two of them.
struct PromptSize {
  int64_t per_unit = 0, fixed = 0, repetitions = 0;
};
/// per = two - one; fixed = one - per; repetitions = round((target - fixed) / per), halves up.
/// Refuses LOAD-CALIBRATION when per < 1 or repetitions < 1.
[[nodiscard]] Result<PromptSize> size_prompt(int64_t tokens_one, int64_t tokens_two,
                                             int64_t target);

/// A random nonce of 16 hex digits.
[[nodiscard]] std::string random_nonce();

}  // namespace assay::load
