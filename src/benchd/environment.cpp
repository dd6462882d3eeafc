#include "benchd/environment.h"

#include <algorithm>

#include "base/text.h"

namespace assay::benchd {

EnvironmentReader::EnvironmentReader(runner::Environment environment)
    : environment_(std::move(environment)) {}

std::optional<std::string> EnvironmentReader::read(std::string_view name) {
  const auto found = runner::find_variable(environment_, name);
  if (!found) return std::nullopt;
  const std::string_view value = trim(*found);
  if (value.empty()) return std::nullopt;
  if (std::find(names_read_.begin(), names_read_.end(), name) == names_read_.end()) {
    names_read_.emplace_back(name);
  }
  return std::string(value);
}

std::optional<std::string> EnvironmentReader::flag_or(const std::optional<std::string>& flag,
                                                      std::string_view name) {
  return flag ? flag : read(name);
}

}  // namespace assay::benchd
