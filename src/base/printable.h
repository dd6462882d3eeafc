// Text of other programs and files, made fit for a terminal: it must not steer what it is shown on,
// nor pass for a line of ours.
#pragma once

#include <string>
#include <string_view>

namespace assay {

/// Control characters as `\xNN`, a byte each: U+0000 to U+001F other than line feed and tab, U+007F
/// to U+009F. All else as it is.
[[nodiscard]] std::string printable(std::string_view text);

/// The same on one line: a line feed is escaped too.
[[nodiscard]] std::string printable_line(std::string_view text);

}  // namespace assay
