// A whole campaign: every cell of a manifest, one after the other, whatever happens to one of them.
//
// A cell    preflight (declared outcome, admission, capacity, swap) -> server -> model list ->
//           readiness, calibration and warm-ups -> proof of the weights -> measured runs -> proof
//           again -> assertions -> the publisher's check -> both files.
// Control   with a control the runs are taken A B B A: the candidate's first half, all of the
//           control's, the candidate's second half, each side on its own server, one at a time.
// Resuming  finished cells are kept, started and stopped ones are measured again (is_settled).
// Status    spec of each: campaign_cell.cpp decides, cell.json says why.
// Threads   one campaign at a time in a process; the guard may be asked from several threads.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "load/campaign_files.h"
#include "load/campaign_manifest.h"
#include "load/clock.h"
#include "load/weight_proof.h"

namespace assay::load {

struct MemoryFacts {
  int64_t total_bytes = 0;
  int64_t swap_used_bytes = 0;
};
/// From /proc/meminfo; zeros where there is none (nothing is then gated).
[[nodiscard]] MemoryFacts memory_of_this_machine();

struct CampaignOptions {
  /// Variables of the manifest beside the cell's own and the environment: manifest_dir.
  std::map<std::string, std::string, std::less<>> variables{};
  std::optional<std::string> output_root{};  // instead of the manifest's
  bool retry = false;                        // failed, gated and unsupported cells again
  std::filesystem::path publisher{};  // assay-publish, asked to convert each success; empty: not
  std::filesystem::path digest_cache{};
  Guard interrupted{};  // refuses once the campaign is to stop
  std::function<void(std::string_view)> progress{};
  const ProcessWorld* processes = nullptr;  // null: this machine's
  std::function<MemoryFacts()> memory = memory_of_this_machine;
  int retries_max = 6;
  std::chrono::milliseconds retry_interval{20'000};
};

struct CampaignOutcome {
  std::vector<CellRecord> cells;  // in order, as they stand on disk
  size_t kept = 0;                // of these, finished by an earlier run
  bool interrupted = false;
  std::filesystem::path folder;  // <root>/<campaign>

  /// 0 when every cell is success or not_applicable, 130 when interrupted, else 1.
  [[nodiscard]] int exit() const;
};

/// Refuses CAMPAIGN-VARIABLE-UNSET, CAMPAIGN-ALREADY-RUNNING, FILE-NOT-WRITTEN. What goes wrong in
/// a cell is that cell's status.
[[nodiscard]] Result<CampaignOutcome> run_campaign(const Manifest& manifest,
                                                   const CampaignOptions& options);

/// What can be known to go wrong before anything starts: each side of every cell that would be
/// measured has its variables and URLs that can be measured, and so has the output root. Opens no
/// connection, writes nothing. Refuses CAMPAIGN-VARIABLE-UNSET, LOAD-URL; run_campaign asks it
/// first.
[[nodiscard]] Status check_campaign(const Manifest& manifest, const CampaignOptions& options);

/// The lines of a dry run, one a cell: id, profile, window, target and what would happen. Writes
/// nothing, opens no connection.
[[nodiscard]] std::vector<std::string> describe_cells(const Manifest& manifest);

}  // namespace assay::load
