// One cell of a campaign, from preflight to its status and its document.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/refusal.h"
#include "load/campaign_cells.h"
#include "load/campaign_files.h"
#include "load/campaign_manifest.h"
#include "load/campaign_run.h"
#include "load/campaign_server.h"
#include "load/weight_proof.h"

namespace assay::load {

/// What is decided without measuring, or nothing: the cell can start.
struct Gate {
  CellStatus status;
  Refusal why;
};
/// By the manifest alone: a declared outcome, a prompt that the window does not admit.
[[nodiscard]] std::optional<Gate> gate_of(const Cell& cell, const Profile& profile);
/// By the machine too.
[[nodiscard]] std::optional<Gate> preflight(const Cell& cell, const Profile& profile,
                                            const Guards& guards, const MemoryFacts& memory,
                                            json::Value& facts);

/// What all cells of a campaign share.
struct CampaignShared {
  const Manifest& manifest;
  const CampaignOptions& options;
  const ProcessWorld& processes;
  DigestCache& digests;
  /// Model lists of endpoints that the campaign does not start: each is read once.
  std::map<std::string, std::vector<std::string>> inventories{};
};

struct MeasuredCell {
  CellRecord record;
  json::Value document;  // the publisher's input
};

/// Measures `record.cell`. `folder` takes the server's log and the unfinished document.
[[nodiscard]] MeasuredCell measure_cell(CampaignShared& shared, CellRecord record,
                                        const std::filesystem::path& folder);

}  // namespace assay::load
