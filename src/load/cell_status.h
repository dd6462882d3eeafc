// What became of a measurement. Only `success` has rates; a status is never a zero.
#pragma once

#include <string_view>

namespace assay::load {

enum class CellStatus {
  success,         // all repetitions valid, all checks passed
  failed,          // it ran, and the result is invalid
  capacity_gated,  // refused before it started, for safety
  unsupported,     // the backend lacks what the measurement needs
  aborted,         // a started measurement was stopped
  not_applicable,  // the cell does not exist for this model or window
};

/// The spelling of the envelope: "capacity_gated".
[[nodiscard]] std::string_view name_of(CellStatus status);

/// 0 for success and not_applicable, else 1.
[[nodiscard]] int exit_of(CellStatus status);

}  // namespace assay::load
