#include "cli/ranges.h"

#include "base/text.h"

namespace assay::cli {

std::optional<std::string> out_of_range(const Invocation& invocation,
                                        std::initializer_list<Range> ranges) {
  for (const auto& [flag, least, most] : ranges) {
    const auto text = invocation.text(flag);
    if (!text) continue;
    const auto value = parse_int64(*text);  // absent: a number of 64 bits without a sign
    if (!value || *value < least || *value > most)
      return cat(flag, " takes ", least, " to ", most, ", not ", *text);
  }
  return std::nullopt;
}

}  // namespace assay::cli
