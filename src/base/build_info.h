// What this binary was built from.
#pragma once

#include <string_view>

namespace assay {

/// "0.1.0".
[[nodiscard]] std::string_view build_version();

/// 40 lower-case hex digits; 40 zeros when it was built outside version control.
[[nodiscard]] std::string_view build_commit();

}  // namespace assay
