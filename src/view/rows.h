// /api/rows: the rows of an index that pass a filter, as JSON objects for scripts.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "view/index.h"

namespace assay::view {

/// Decoded parameters of a query string, in order.
using Query = std::vector<std::pair<std::string, std::string>>;

/// {"format":"assay-rows-1","total":N,"count":n,"rows":[{…}]}: in the index's order, the first
/// `limit` (1000, at most 100,000). Each row has its own cells, `tags` as an object, and the cells
/// of its run; what is NULL is left out, but `value` is null where a status has none.
/// Parameters: suite, metric, unit, model, evidence (exact), limit. Refuses VIEW-HTTP-PARAMETER.
[[nodiscard]] Result<std::string> rows_json(const Index& index, const Query& query);

}  // namespace assay::view
