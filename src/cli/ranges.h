// Numbers of a command line that make sense only between two bounds.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "cli/program.h"

namespace assay::cli {

struct Range {
  std::string_view flag;  // of type i64, u64 or u32
  int64_t least, most;
};

/// "--serving-port takes 1 to 65535, not 99999999": why the first flag that was given outside its
/// range cannot be used, for refuse_usage.
[[nodiscard]] std::optional<std::string> out_of_range(const Invocation& invocation,
                                                      std::initializer_list<Range> ranges);

}  // namespace assay::cli
