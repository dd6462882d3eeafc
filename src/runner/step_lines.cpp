#include "runner/step_lines.h"

#include <charconv>

#include "base/text.h"

namespace assay::runner {
namespace {

constexpr std::string_view kHead = "{\"id\":";

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

}  // namespace

void append_decode_step(std::string& out, int64_t id, int64_t token) {
  out += kHead;
  out += Decimal(id).text();
  out += ",\"kind\":\"decode_step\",\"token\":";
  out += Decimal(token).text();
  out += '}';
}

std::string token_answer_middle(std::string_view nonce) {
  if (nonce.find_first_of("\"\\") != std::string_view::npos) return "";
  return cat(",\"nonce\":\"", nonce, "\",\"ok\":true,\"token\":");
}

std::optional<int64_t> match_token_answer(std::string_view line, int64_t id,
                                          std::string_view middle) {
  if (middle.empty() || !take(line, kHead) || !take(line, Decimal(id).text()) ||
      !take(line, middle)) {
    return std::nullopt;
  }
  int64_t token = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), token);
  // Written back it must be the same: "01", "-0" and "1.0" are not canonical.
  if (error != std::errc() || !take(line, Decimal(token).text()) || line != "}") {
    return std::nullopt;
  }
  return token;
}

}  // namespace assay::runner
