// campaign: every cell of a manifest, with its server, resumable.
#include <csignal>
#include <filesystem>
#include <iostream>

#include "base/files.h"
#include "base/printable.h"
#include "base/text.h"
#include "load/campaign_cell.h"
#include "load/campaign_run.h"
#include "load/commands/commands.h"
#include "load/refusals.h"

namespace assay::load {

namespace {

volatile std::sig_atomic_t g_signal = 0;

// A first signal ends the cell with a truthful status; a second one ends the program.
void on_signal(int signal) {
  g_signal = signal;
  std::signal(signal, SIG_DFL);
}

Status check_signal() {
  if (g_signal == 0) return {};
  return Refusal(kCampaignInterrupted, cat("signal ", static_cast<int>(g_signal)));
}

// assay-publish beside this program, when it is there.
std::filesystem::path publisher_beside_us() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return {};
  const auto publisher = self.parent_path() / "assay-publish";
  return std::filesystem::exists(publisher, error) ? publisher : std::filesystem::path();
}

json::Value summary_json(const CampaignOutcome& outcome) {
  std::vector<json::Value> cells;
  for (const CellRecord& record : outcome.cells) cells.push_back(record_json(record));
  return json::Value::object({{"folder", outcome.folder.string()},
                              {"exit", outcome.exit()},
                              {"interrupted", outcome.interrupted},
                              {"kept", static_cast<uint64_t>(outcome.kept)},
                              {"cells", json::Value::array(std::move(cells))}});
}

void print_summary(const CampaignOutcome& outcome) {
  for (const CellRecord& record : outcome.cells) {
    const Cell& cell = record.cell;
    std::cout << cell_id(cell) << " " << name_of(record.status) << " " << cell.profile_id
              << " window " << cell.configured_window << " target " << cell.target_tokens;
    if (!record.reason.empty())
      std::cout << ": " << record.phase << ": " << printable_line(record.reason);
    std::cout << "\n";
  }
  std::cout << outcome.cells.size() << " cells (" << outcome.kept << " kept) in "
            << outcome.folder.string() << (outcome.interrupted ? ", interrupted" : "") << "\n";
}

void print_plan(const Manifest& manifest, bool as_json) {
  if (!as_json) {
    for (const std::string& line : describe_cells(manifest))
      std::cout << printable_line(line) << "\n";
    return;
  }
  std::vector<json::Value> cells;
  for (const Cell& cell : plan_cells(manifest)) {
    const auto gate = gate_of(cell, *manifest.find_profile(cell.profile_id));
    cells.push_back(
        json::Value::object({{"cell_id", cell_id(cell)},
                             {"status", gate ? name_of(gate->status) : std::string_view("planned")},
                             {"cell", cell_json(cell)}}));
    if (gate) cells.back().set("reason", gate->why.text());
  }
  std::cout << json::write(json::Value::object({{"cells", json::Value::array(std::move(cells))}}))
            << "\n";
}

int run(const cli::Invocation& invocation) {
  const std::filesystem::path path = invocation.arguments("MANIFEST").at(0);
  const auto bytes = read_file(path, uint64_t{16} << 20);
  if (!bytes) return invocation.refuse(bytes.refusal(), cli::kInputOutput);
  auto manifest = parse_manifest(*bytes);
  if (!manifest)
    return invocation.refuse(at(path.string(), std::move(manifest).refusal()), cli::kInputOutput);
  CampaignOptions options;
  std::error_code error;
  options.variables["manifest_dir"] =
      std::filesystem::absolute(path, error).lexically_normal().parent_path().string();
  options.output_root = invocation.text("--output-root");
  if (invocation.has("--dry-run")) {
    if (const Status sound = check_campaign(*manifest, options); !sound)
      return invocation.refuse(at(path.string(), sound.refusal()), cli::kInputOutput);
    print_plan(*manifest, invocation.json());
    return cli::kOk;
  }
  options.retry = invocation.has("--retry");
  if (!invocation.has("--no-record-check")) options.publisher = publisher_beside_us();
  options.digest_cache = default_digest_cache();
  options.interrupted = check_signal;
  options.progress = [&](std::string_view text) { invocation.progress(text); };
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);

  const auto outcome = run_campaign(*manifest, options);
  if (!outcome) {
    return invocation.refuse(outcome.refusal(), outcome.refusal().code == kCampaignRunning.code
                                                    ? cli::kNotReady
                                                    : cli::kInputOutput);
  }
  if (invocation.json()) {
    std::cout << json::write(summary_json(*outcome)) << "\n";
  } else {
    print_summary(*outcome);
  }
  return outcome->exit();
}

}  // namespace

cli::Command campaign_command() {
  using cli::Arity;
  return {.name = "campaign",
          .summary = "Measures every cell of a manifest: profiles x windows x prompt lengths.",
          .example = "assay-load campaign tracks/smollm2/campaign.json",
          .flags = {{.names = {"--dry-run"},
                     .arity = Arity::toggle,
                     .help = "Prints the cells and what would become of each; writes nothing."},
                    {.names = {"--output-root"},
                     .value_name = "DIR",
                     .help = "Folder of the results instead of the manifest's output_root."},
                    {.names = {"--retry"},
                     .arity = Arity::toggle,
                     .help = "Also measures again what failed, was gated or unsupported."},
                    {.names = {"--no-record-check"},
                     .arity = Arity::toggle,
                     .help = "Does not ask assay-publish whether it accepts each file."}},
          .positionals = {{.name = "MANIFEST", .help = "The campaign's JSON file."}},
          .run = run,
          .notes =
              "Finished cells are kept, so the same command goes on where it was stopped.\n"
              "Exit: 0 every cell success or not_applicable, 1 another status, 2 usage, 3 the "
              "manifest or the folder,\n"
              "4 another campaign works there, 130 interrupted."};
}

}  // namespace assay::load
