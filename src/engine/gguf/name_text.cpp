#include "engine/gguf/name_text.h"

#include "base/text.h"

namespace assay::engine::gguf {

std::string name_text(std::string_view name) {
  constexpr size_t kShown = 80;
  std::string out = "`";
  for (const char c : name.substr(0, kShown)) {
    if (c >= 0x20 && c < 0x7f) {
      out += c;
    } else {
      out += cat("\\x", to_hex(std::string_view(&c, 1)));
    }
  }
  if (name.size() > kShown) out += cat("… (", name.size(), " bytes)");
  return out + "`";
}

}  // namespace assay::engine::gguf
