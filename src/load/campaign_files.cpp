#include "load/campaign_files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/files.h"
#include "base/refusals.h"
#include "base/text.h"
#include "load/campaign_admission.h"
#include "load/refusals.h"

namespace assay::load {

namespace {

constexpr std::string_view kFormat = "assay-campaign-cell-1";

std::string text_at(const json::Value& object, std::string_view key) {
  const json::Value* value = object.find(key);
  return value != nullptr && value->is_string() ? value->string() : std::string();
}

}  // namespace

std::filesystem::path cell_folder(const std::filesystem::path& root, const Cell& cell) {
  return root / cell.campaign_id / cell.profile_id / cell_id(cell);
}

json::Value record_json(const CellRecord& record) {
  json::Value out = json::Value::object({{"format", kFormat},
                                         {"cell_id", cell_id(record.cell)},
                                         {"status", name_of(record.status)},
                                         {"phase", record.phase},
                                         {"finished", record.finished}});
  if (!record.reason.empty()) out.set("reason", record.reason);
  if (!record.reason_code.empty()) out.set("reason_code", record.reason_code);
  if (record.return_code) out.set("return_code", *record.return_code);
  if (!record.diagnostics.empty())
    out.set("diagnostics", json::Value::array_of(record.diagnostics));
  out.set("started_utc", record.started_utc);
  if (!record.finished_utc.empty()) out.set("finished_utc", record.finished_utc);
  out.set("attempt", record.attempt);
  if (!record.previous.empty()) out.set("previous", json::Value::array(record.previous));
  for (const auto& [key, value] : record.facts.members()) out.set(key, value);
  out.set("cell", cell_json(record.cell));
  return out;
}

std::optional<CellRecord> read_record(const std::filesystem::path& folder, const Cell& cell) {
  const auto bytes = read_file(folder / "cell.json", uint64_t{16} << 20);
  if (!bytes) return std::nullopt;
  const auto root = json::parse(*bytes);
  if (!root || !root->is_object()) return std::nullopt;
  const auto status = status_from(text_at(*root, "status"));
  if (!status || text_at(*root, "format") != kFormat || text_at(*root, "cell_id") != cell_id(cell))
    return std::nullopt;
  CellRecord record{.cell = cell};
  record.status = *status;
  record.phase = text_at(*root, "phase");
  record.reason = text_at(*root, "reason");
  record.reason_code = text_at(*root, "reason_code");
  record.started_utc = text_at(*root, "started_utc");
  record.finished_utc = text_at(*root, "finished_utc");
  if (const json::Value* finished = root->find("finished"))
    record.finished = finished->kind() == json::Kind::boolean && finished->boolean();
  if (const json::Value* attempt = root->find("attempt"))
    if (const auto number = attempt->as_int64("attempt")) record.attempt = *number;
  if (const json::Value* previous = root->find("previous");
      previous != nullptr && previous->is_array()) {
    record.previous = previous->items();
  }
  return record;
}

bool is_settled(const CellRecord& record, bool retry) {
  if (!record.finished || record.status == CellStatus::aborted) return false;
  return !retry || exit_of(record.status) == 0;
}

json::Value status_document(const CellRecord& record) {
  const Cell& cell = record.cell;
  return json::Value::object(
      {{"model", cell.model},
       {"base_url", cell.base_url},
       {"max_tokens", cell.output_tokens},
       {"context_tokens_target", cell.target_tokens},
       {"cell_status", name_of(record.status)},
       {"env_class", cell.environment_class},
       {"concurrency", cell.concurrency},
       {"context", json::Value::object({{"configured_window_tokens", cell.configured_window},
                                        {"requested_prompt_tokens", cell.target_tokens},
                                        {"output_reservation_tokens", cell.output_tokens}})},
       {"campaign",
        json::Value::object(
            {{"id", cell.campaign_id}, {"cell_id", cell_id(cell)}, {"profile", cell.profile_id}})},
       {"readiness", json::Value::object()},
       {"started_utc", record.started_utc},
       {"sequential_runs", json::Value::array()},
       {"sequential", json::Value::object()}});
}

Status write_cell(const std::filesystem::path& folder, const CellRecord& record,
                  json::Value throughput) {
  throughput.set("cell_status", name_of(record.status));
  if (!record.reason.empty()) {
    throughput.set("reason", record.reason_code.empty()
                                 ? record.reason
                                 : cat(record.reason_code, ": ", record.reason));
  }
  throughput.set("phase", record.phase);
  // The measurement first: a cell.json never speaks of a file that is not there.
  const FileContent files[] = {
      {folder / "throughput.json", json::write(throughput, {.indent = 1}) + "\n"},
      {folder / "cell.json", json::write(record_json(record), {.indent = 1}) + "\n"}};
  return write_files_together(files);
}

void remove_torn_writes(const std::filesystem::path& folder) {
  std::error_code error;
  std::vector<std::filesystem::path> torn;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with('.') && name.ends_with(".tmp")) torn.push_back(entry.path());
  }
  for (const std::filesystem::path& path : torn) std::filesystem::remove(path, error);
}

Result<CampaignLock> CampaignLock::take(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  const std::filesystem::path path = folder / ".lock";
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return Refusal(kFileNotWritten, cat("`", path.string(), "`: ", std::strerror(errno)));
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    ::close(fd);
    return Refusal(kCampaignRunning, cat("`", folder.string(), "` is locked"));
  }
  return CampaignLock(fd);
}

CampaignLock::CampaignLock(CampaignLock&& other) noexcept : fd_(other.fd_) {
  other.fd_ = -1;
}

CampaignLock::~CampaignLock() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace assay::load
