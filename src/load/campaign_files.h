// A cell on disk: <root>/<campaign>/<profile>/<cell id>/{cell.json, throughput.json}.
//
// cell.json        what became of the cell: status, phase, reason, attempt, what was there before.
// throughput.json  the publisher's input. A cell without success has one too, with its status and
//                  reason and no rates: a status is part of the record.
// Order            both say `aborted`, phase `starting`, before any work, and are replaced together
//                  at the end: whatever kills the campaign leaves the truth. Every write is whole
//                  or not there; a torn or foreign cell.json counts as none.
// Errors           FILE-…, CAMPAIGN-ALREADY-RUNNING.
// Threads          one campaign a folder (CampaignLock).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "load/campaign_cells.h"
#include "load/cell_status.h"

namespace assay::load {

struct CellRecord {
  Cell cell;
  CellStatus status = CellStatus::aborted;
  std::string phase = "starting";    // where it stands or ended; "finished" for a success
  std::string reason{};              // one sentence; empty for success
  std::string reason_code{};         // the refusal's code, or empty
  std::optional<int> return_code{};  // of a program that failed
  std::vector<std::string> diagnostics{};
  std::string started_utc{}, finished_utc{};
  bool finished = false;                // false: the campaign ended before the cell did
  int64_t attempt = 1;                  // 1 for the first
  std::vector<json::Value> previous{};  // {status, phase, reason, started_utc} of earlier attempts
  json::Value facts = json::Value::object();  // preflight, proof, control: for people
};

[[nodiscard]] std::filesystem::path cell_folder(const std::filesystem::path& root,
                                                const Cell& cell);

[[nodiscard]] json::Value record_json(const CellRecord& record);

/// The folder's record, or nothing when there is none that can be read and is this cell's.
[[nodiscard]] std::optional<CellRecord> read_record(const std::filesystem::path& folder,
                                                    const Cell& cell);

/// True when the cell need not be measured again: it finished, and not by being stopped. With
/// `retry`, only success and not_applicable are kept.
[[nodiscard]] bool is_settled(const CellRecord& record, bool retry);

/// Both files. `throughput` is an object; its cell_status, and `reason` when there is one, are set
/// from the record.
[[nodiscard]] Status write_cell(const std::filesystem::path& folder, const CellRecord& record,
                                json::Value throughput);

/// Removes what writes that a kill cut off left in the folder. Needs the campaign's lock.
void remove_torn_writes(const std::filesystem::path& folder);

/// The publisher's input for a cell without figures.
[[nodiscard]] json::Value status_document(const CellRecord& record);

/// Held while a campaign runs; gone with the process, however it ends.
class CampaignLock {
 public:
  [[nodiscard]] static Result<CampaignLock> take(const std::filesystem::path& folder);
  CampaignLock(CampaignLock&& other) noexcept;
  CampaignLock& operator=(CampaignLock&&) = delete;
  ~CampaignLock();

 private:
  explicit CampaignLock(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace assay::load
