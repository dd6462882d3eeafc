// Golden, typed parse: JSON text becomes fields, closed at every level; no rule about values yet.
#pragma once

#include <optional>
#include <string_view>

#include "base/result.h"
#include "scoring/golden.h"

namespace assay::scoring {

/// A golden as it stands in the file, with what the validated form no longer tells apart.
struct ParsedGolden {
  Golden golden;
  std::optional<int64_t> version;  // null and absent fail the version rule, not the parse
  // Declared sections of correctness_gates; a declared section may still be empty.
  bool has_anchors = false;
  bool has_free_run = false;
  bool has_behavior = false;
  // One half of the stored pair without the other.
  bool half_baseline = false;
};

/// Refuses JSON-*.
[[nodiscard]] Result<ParsedGolden> parse_golden(std::string_view bytes);

}  // namespace assay::scoring
