#include "protocol/step_lines.h"

#include <charconv>

#include "base/text.h"

namespace assay::protocol {
namespace {

constexpr std::string_view kHead = "{\"id\":";
constexpr std::string_view kStep = ",\"kind\":\"decode_step\",\"token\":";

struct Decimal {
  char digits[24];
  size_t size;
  explicit Decimal(int64_t value)
      : size(static_cast<size_t>(std::to_chars(digits, digits + sizeof digits, value).ptr -
                                 digits)) {}
  [[nodiscard]] std::string_view text() const { return {digits, size}; }
};

/// Removes `prefix` from the front of `text`; false when it is not there.
bool take(std::string_view& text, std::string_view prefix) {
  if (text.substr(0, prefix.size()) != prefix) return false;
  text.remove_prefix(prefix.size());
  return true;
}

/// Removes a canonical integer from the front of `text`: written back it is the same bytes, which
/// "01" and "-0" are not.
bool take_number(std::string_view& text, int64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && take(text, Decimal(value).text());
}

}  // namespace

void append_decode_step(std::string& out, DecodeStep step) {
  out += kHead;
  out += Decimal(step.id).text();
  out += kStep;
  out += Decimal(step.token).text();
  out += '}';
}

std::optional<DecodeStep> match_decode_step(std::string_view line) {
  DecodeStep step;
  if (!take(line, kHead) || !take_number(line, step.id) || !take(line, kStep) ||
      !take_number(line, step.token) || line != "}") {
    return std::nullopt;
  }
  return step;
}

std::string token_answer_middle(std::string_view nonce) {
  if (nonce.find_first_of("\"\\") != std::string_view::npos) return "";
  return cat(",\"nonce\":\"", nonce, "\",\"ok\":true,\"token\":");
}

void append_token_answer(std::string& out, int64_t id, std::string_view middle, int64_t token) {
  out += kHead;
  out += Decimal(id).text();
  out += middle;
  out += Decimal(token).text();
  out += '}';
}

std::optional<int64_t> match_token_answer(std::string_view line, int64_t id,
                                          std::string_view middle) {
  int64_t token = 0;
  if (middle.empty() || !take(line, kHead) || !take(line, Decimal(id).text()) ||
      !take(line, middle) || !take_number(line, token) || line != "}") {
    return std::nullopt;
  }
  return token;
}

}  // namespace assay::protocol
