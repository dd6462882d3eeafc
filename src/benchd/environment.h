// The judge's own environment, read by name: every name that gave a value is remembered, because a
// ranked run seals the list.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runner/world.h"

namespace assay::benchd {

class EnvironmentReader {
 public:
  explicit EnvironmentReader(runner::Environment environment);

  /// The trimmed value; a blank one counts as absent.
  [[nodiscard]] std::optional<std::string> read(std::string_view name);
  /// `flag` when given, else the variable.
  [[nodiscard]] std::optional<std::string> flag_or(const std::optional<std::string>& flag,
                                                   std::string_view name);
  /// Names that gave a value, in the order of their first reading.
  [[nodiscard]] const std::vector<std::string>& names_read() const { return names_read_; }
  [[nodiscard]] const runner::Environment& all() const { return environment_; }

 private:
  runner::Environment environment_;
  std::vector<std::string> names_read_;
};

}  // namespace assay::benchd
