// Any bytes as a campaign's manifest: refused by name, or planned into cells with ids of their own.
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "base/ensure.h"
#include "load/campaign_cells.h"
#include "load/campaign_manifest.h"
#include "load/campaign_run.h"

using namespace assay::load;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto manifest = parse_manifest(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!manifest) {
    ENSURE(!manifest.refusal().detail.empty());
    return 0;
  }
  const auto cells = plan_cells(*manifest);
  ENSURE(describe_cells(*manifest).size() == cells.size());
  std::set<std::string> ids;
  for (const Cell& cell : cells) ENSURE(ids.insert(cell_id(cell)).second);
  const Lookup nothing = [](std::string_view) { return std::nullopt; };
  for (const std::string& text : {manifest->base_url, manifest->output_root}) {
    const auto expanded = expand(text, nothing);
    ENSURE(expanded || !expanded.refusal().detail.empty());
  }
  return 0;
}
