// From a manifest to its cells, and each cell's name.
//
// A cell is one profile x one configured window x one prompt length. Its id is the first 16 hex
// digits of the SHA-256 of the cell as JSON (sorted keys, no white space, ASCII only), so that the
// same measurement has the same id on every machine and a changed one never takes its place.
// Threads   plain data.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "load/campaign_manifest.h"

namespace assay::load {

/// Field names are the keys that the id is made of. base_url is the manifest's text, variables and
/// all: a port that is chosen anew does not make another cell.
struct Cell {
  std::string campaign_id, profile_id, model;
  int64_t configured_window = 0, target_tokens = 0, output_tokens = 0;
  int64_t prompt_tolerance_tokens = 0, repeats = 0, concurrency = 0;
  std::string base_url, environment_class;
};

/// Enabled profiles in order, windows up to the profile's limit, all targets.
[[nodiscard]] std::vector<Cell> plan_cells(const Manifest& manifest);

[[nodiscard]] json::Value cell_json(const Cell& cell);
[[nodiscard]] std::string cell_id(const Cell& cell);

/// `value` as JSON with sorted keys, "," and ":" as separators, everything outside printable ASCII
/// escaped as \uXXXX (lower-case hex, surrogate pairs).
[[nodiscard]] std::string ascii_json(const json::Value& value);

}  // namespace assay::load
