#include "publish/remote_store.h"

#include <cstdlib>
#include <iostream>
#include <thread>

#include "base/text.h"

namespace assay::publish {

std::optional<std::string> Outside::variable(const std::string& name) const {
  auto value = options.environment(name);
  if (value) value = std::string(trim(*value));
  if (value && value->empty()) value.reset();
  return value;
}

Outside outside_of(const StoreOptions& options) {
  Outside outside{.options = options, .patience = {}};
  if (!outside.options.environment) {
    outside.options.environment = [](const std::string& name) -> std::optional<std::string> {
      const char* value = std::getenv(name.c_str());
      return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
    };
  }
  if (!outside.options.sleep) {
    outside.options.sleep = [](std::chrono::milliseconds time) {
      std::this_thread::sleep_for(time);
    };
  }
  if (!outside.options.say)
    outside.options.say = [](std::string_view text) { std::cerr << text << "\n"; };
  outside.patience.sleep = outside.options.sleep;
  outside.patience.say = outside.options.say;
  return outside;
}

void hide(std::string& text, std::initializer_list<std::string_view> secrets) {
  for (const std::string_view secret : secrets) {
    if (secret.empty()) continue;
    for (size_t at = text.find(secret); at != std::string::npos; at = text.find(secret, at))
      text.replace(at, secret.size(), "***");
  }
}

std::string one_line(std::string_view text) {
  constexpr size_t kMax = 300;
  std::string out;
  for (const char c : text.substr(0, kMax)) {
    const auto byte = static_cast<unsigned char>(c);
    out += byte < 0x20 || byte >= 0x7f ? ' ' : c;
  }
  if (text.size() > kMax) out += "...";
  return std::string(trim(out));
}

}  // namespace assay::publish
