#include "load/campaign_run.h"

#include <algorithm>

#include "base/text.h"
#include "load/campaign_admission.h"
#include "load/campaign_cell.h"
#include "load/campaign_sides.h"
#include "load/refusals.h"
#include "machine/detect.h"

namespace assay::load {

namespace {

// "MemTotal:  24682512 kB" -> bytes; 0 when the line is not there.
int64_t meminfo_bytes(std::string_view text, std::string_view key) {
  for (const std::string_view line : split(text, '\n')) {
    if (!line.starts_with(key)) continue;
    std::string_view number = trim(line.substr(key.size()));
    number = number.substr(0, number.find(' '));
    return parse_int64(number).value_or(0) * 1024;
  }
  return 0;
}

std::string utc_now() {
  const WallAnchor anchor = WallAnchor::take();
  return anchor.utc(anchor.at);
}

// The record that stands on disk while the cell is measured.
CellRecord starting_record(const Cell& cell, const std::optional<CellRecord>& before) {
  CellRecord record{.cell = cell};
  record.started_utc = utc_now();
  record.reason = "the campaign ended before the cell did";
  record.reason_code = kCampaignInterrupted.code;
  if (before) {
    record.attempt = before->attempt + 1;
    record.previous = before->previous;
    record.previous.push_back(json::Value::object({{"attempt", before->attempt},
                                                   {"status", name_of(before->status)},
                                                   {"phase", before->phase},
                                                   {"reason", before->reason},
                                                   {"finished", before->finished},
                                                   {"started_utc", before->started_utc}}));
  }
  return record;
}

std::string line_of(const CellRecord& record) {
  const Cell& cell = record.cell;
  std::string line = cat(cell_id(cell), " ", cell.profile_id, " window ", cell.configured_window,
                         " target ", cell.target_tokens, ": ", name_of(record.status));
  if (!record.reason.empty()) line += cat(" (", record.phase, ": ", record.reason, ")");
  return line;
}

}  // namespace

MemoryFacts memory_of_this_machine() {
  const std::string text = machine::this_host().file("/proc/meminfo").value_or("");
  MemoryFacts facts;
  facts.total_bytes = meminfo_bytes(text, "MemTotal:");
  facts.swap_used_bytes = meminfo_bytes(text, "SwapTotal:") - meminfo_bytes(text, "SwapFree:");
  return facts;
}

int CampaignOutcome::exit() const {
  if (interrupted) return 130;
  const bool good = std::all_of(cells.begin(), cells.end(),
                                [](const CellRecord& each) { return exit_of(each.status) == 0; });
  return good ? 0 : 1;
}

Status check_campaign(const Manifest& manifest, const CampaignOptions& options) {
  TRY(root, expand(options.output_root.value_or(manifest.output_root),
                   with_environment(options.variables)));
  if (root.empty())
    return Refusal(kCampaignManifest, "`output_root` is empty: a folder for the results is meant");
  for (const Cell& cell : plan_cells(manifest)) {
    const Profile& profile = *manifest.find_profile(cell.profile_id);
    if (gate_of(cell, profile)) continue;
    for (const std::string& id : {profile.id, manifest.control_profile.value_or(profile.id)}) {
      // Any port stands in for the free one that the cell would be given.
      const auto side = make_side(manifest, *manifest.find_profile(id), cell, options, 65535);
      if (!side) return at(cat("profile `", id, "`"), side.refusal());
    }
  }
  return {};
}

Result<CampaignOutcome> run_campaign(const Manifest& manifest, const CampaignOptions& options) {
  TRY_DO(check_campaign(manifest, options));
  TRY(root, expand(options.output_root.value_or(manifest.output_root),
                   with_environment(options.variables)));
  CampaignOutcome outcome;
  outcome.folder = std::filesystem::path(root) / manifest.campaign_id;
  const auto lock = CampaignLock::take(outcome.folder);
  if (!lock) return lock.refusal();
  const auto say = [&](const std::string& line) {
    if (options.progress) options.progress(line);
  };
  DigestCache digests(options.digest_cache);
  CampaignShared shared{manifest, options,
                        options.processes != nullptr ? *options.processes : this_process_world(),
                        digests};
  for (const Cell& cell : plan_cells(manifest)) {
    if (options.interrupted && !options.interrupted()) {
      outcome.interrupted = true;
      break;
    }
    const std::filesystem::path folder = cell_folder(root, cell);
    const auto before = read_record(folder, cell);
    if (before && is_settled(*before, options.retry)) {
      say(cat("kept ", line_of(*before)));
      outcome.cells.push_back(*before);
      ++outcome.kept;
      continue;
    }
    remove_torn_writes(folder);
    const CellRecord starting = starting_record(cell, before);
    TRY_DO(write_cell(folder, starting, status_document(starting)));
    MeasuredCell measured = measure_cell(shared, starting, folder);
    TRY_DO(write_cell(folder, measured.record, std::move(measured.document)));
    say(line_of(measured.record));
    outcome.cells.push_back(std::move(measured.record));
  }
  if (options.interrupted && !options.interrupted()) outcome.interrupted = true;
  return outcome;
}

std::vector<std::string> describe_cells(const Manifest& manifest) {
  std::vector<std::string> lines;
  for (const Cell& cell : plan_cells(manifest)) {
    const Profile& profile = *manifest.find_profile(cell.profile_id);
    std::string what = "planned";
    if (profile.outcome &&
        profile.outcome->target_tokens.value_or(cell.target_tokens) == cell.target_tokens) {
      what = cat(name_of(profile.outcome->status), " (declared: ", profile.outcome->reason, ")");
    } else if (!admits(cell.target_tokens, cell.output_tokens, cell.configured_window)) {
      what = cat("not_applicable (", cell.target_tokens, " + ", cell.output_tokens, " > ",
                 cell.configured_window, ")");
    }
    lines.push_back(cat(cell_id(cell), " ", cell.profile_id, " window ", cell.configured_window,
                        " target ", cell.target_tokens, " output ", cell.output_tokens, " x",
                        cell.repeats, " concurrency ", cell.concurrency, ": ", what));
  }
  return lines;
}

}  // namespace assay::load
