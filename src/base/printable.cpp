#include "base/printable.h"

#include "base/text.h"

namespace assay {

namespace {

// Bytes of the control character that `text` begins with; 0 when it begins with none.
size_t control_size(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x20 || first == 0x7F) return 1;
  if (first != 0xC2 || text.size() < 2) return 0;
  const auto second = static_cast<unsigned char>(text[1]);
  return second >= 0x80 && second <= 0x9F ? 2 : 0;  // U+0080 to U+009F in UTF-8
}

std::string escape(std::string_view text, std::string_view kept) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const bool escaped = control_size(text) != 0 && kept.find(text[0]) == std::string_view::npos;
    const size_t size = escaped ? control_size(text) : 1;
    for (const char c : text.substr(0, size)) {
      if (escaped) {
        out += cat("\\x", to_hex({&c, 1}));
      } else {
        out += c;
      }
    }
    text.remove_prefix(size);
  }
  return out;
}

}  // namespace

std::string printable(std::string_view text) {
  return escape(text, "\n\t");
}

std::string printable_line(std::string_view text) {
  return escape(text, "\t");
}

}  // namespace assay
