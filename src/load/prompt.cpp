#include "load/prompt.h"

#include <cmath>
#include <random>

#include "base/sha256.h"
#include "base/text.h"
#include "load/refusals.h"

namespace assay::load {

namespace {

constexpr int kCodeLetters = 8;
constexpr std::string_view kLetters = "bcdfghjklmnpqrstvwxz";
constexpr std::string_view kUnit =
    " : the harbour office keeps a record of wind, tide, cargo and crew for the day, and every "
    "line of it is kept in order.\n";
constexpr std::string_view kQuestion = "Write a long and detailed report about these notes.";

}  // namespace

std::string prompt_code(std::string_view nonce, int64_t variant) {
  const std::string digest = sha256_hex(cat(nonce, "/", variant));
  std::string code;
  for (int i = 0; i < kCodeLetters; ++i) {
    const auto byte =
        static_cast<size_t>(std::stoi(digest.substr(static_cast<size_t>(i) * 2, 2), nullptr, 16));
    if (i > 0) code += ' ';
    code += kLetters[byte % kLetters.size()];
  }
  return code;
}

std::string prompt_text(std::string_view code, int64_t repetitions) {
  const std::string unit = cat(code, kUnit);
  std::string text;
  text.reserve(unit.size() * static_cast<size_t>(repetitions) + kQuestion.size());
  for (int64_t i = 0; i < repetitions; ++i) text += unit;
  return text.append(kQuestion);
}

json::Value user_message(std::string text) {
  return json::Value::array(
      {json::Value::object({{"role", "user"}, {"content", std::move(text)}})});
}

Result<PromptSize> size_prompt(int64_t tokens_one, int64_t tokens_two, int64_t target) {
  PromptSize size;
  size.per_unit = tokens_two - tokens_one;
  const std::string counts =
      cat("one unit counts ", tokens_one, " tokens and two count ", tokens_two);
  if (size.per_unit < 1) {
    return Refusal(kCalibration, cat(counts, ": the prompt does not grow with its text"));
  }
  size.fixed = tokens_one - size.per_unit;
  size.repetitions = static_cast<int64_t>(std::floor(
      static_cast<double>(target - size.fixed) / static_cast<double>(size.per_unit) + 0.5));
  if (size.repetitions < 1) {
    return Refusal(kCalibration, cat(counts, ": ", target, " tokens are less than one unit"));
  }
  return size;
}

std::string random_nonce() {
  std::random_device device;
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string nonce;
  for (int i = 0; i < 2; ++i) {
    uint32_t bits = device();
    for (int digit = 0; digit < 8; ++digit, bits >>= 4) nonce += kHex[bits & 15];
  }
  return nonce;
}

}  // namespace assay::load
