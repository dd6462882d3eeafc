#include "load/cell_status.h"

namespace assay::load {

std::string_view name_of(CellStatus status) {
  switch (status) {
    case CellStatus::success: return "success";
    case CellStatus::failed: return "failed";
    case CellStatus::capacity_gated: return "capacity_gated";
    case CellStatus::unsupported: return "unsupported";
    case CellStatus::aborted: return "aborted";
    case CellStatus::not_applicable: return "not_applicable";
  }
  return "aborted";
}

int exit_of(CellStatus status) {
  return status == CellStatus::success || status == CellStatus::not_applicable ? 0 : 1;
}

}  // namespace assay::load
