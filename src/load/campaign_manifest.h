// The campaign's manifest: which models, windows and prompt lengths are measured, on what server.
//
// In:     one JSON object, closed at every level (docs/campaign.md lists the keys).
// Out:    Manifest; texts still hold their ${…} variables, which are put in where they are used.
// Errors  JSON-…, CAMPAIGN-MANIFEST; each detail starts with the key's path ("profiles[1].id").
// Threads plain data.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "load/cell_status.h"

namespace assay::load {

/// A server that the campaign starts for a cell and stops after it.
struct ServerSpec {
  std::vector<std::string> argv;
  std::string ready_url;                           // GET answers 2xx once requests can be served
  std::map<std::string, std::string> environment;  // added to ours
  int64_t ready_timeout_seconds = 120;
};

/// An outcome known without measuring: "this model has no 192k window".
struct DeclaredOutcome {
  CellStatus status = CellStatus::not_applicable;
  std::string reason{};
  std::optional<int64_t> target_tokens{};  // absent: every target of the profile
};

struct Profile {
  std::string id{};  // also a folder's name
  std::string model{};
  int64_t window_limit_tokens = 0;
  bool enabled = true;
  // Four limits that are never taken for one another; absent = not stated.
  std::optional<int64_t> model_max_tokens{}, catalog_max_tokens{}, proxy_max_tokens{},
      worker_max_tokens{};
  std::optional<DeclaredOutcome> outcome{};
  std::map<std::string, std::string> variables{};  // further ${…} of this profile
  std::optional<ServerSpec> server{};              // instead of the manifest's
  std::optional<std::string> checkpoint_sha256{};  // a loaded weight file must have this digest
  std::optional<int64_t> kv_bytes_per_token{};     // for the capacity preflight
  std::optional<int64_t> weights_bytes{};          // the same
  std::optional<std::string> quantization{}, model_revision{}, stack{};  // facts of the record
};

/// What is recorded beside the speed. The length of the answers always is.
struct Assertions {
  bool tool_call = false;
};

struct Guards {
  int64_t swap_bytes_max = 0;         // used swap at preflight
  int64_t swap_growth_bytes_max = 0;  // during a cell
  double memory_utilisation = 0.80;   // of the machine's memory; at most 0.85
  int64_t request_timeout_seconds = 1800;
  double max_error_rate = 0;  // share of measured requests that may be answered with 4xx or 5xx
};

struct Manifest {
  std::string campaign_id;  // also a folder's name
  std::string output_root = "~/bench-runs";
  std::string base_url = "http://127.0.0.1:11434/v1";
  std::string environment_class = "isolated";
  std::vector<int64_t> targets{32000, 64000, 128000, 192000};
  std::vector<int64_t> configured_windows{32768, 65536, 131072, 196608};
  int64_t output_tokens = 512;
  int64_t repeats = 4;
  int64_t concurrency = 1;
  int64_t prompt_tolerance_tokens = 64;
  std::vector<Profile> profiles;
  std::optional<ServerSpec> server{};
  std::optional<std::string> control_profile;
  Assertions assertions;
  Guards guards;

  [[nodiscard]] const Profile* find_profile(std::string_view id) const;
};

[[nodiscard]] Result<Manifest> parse_manifest(std::string_view bytes);

/// Puts variables into a text: `${NAME}`, or `${NAME:-text}` when NAME may be unset or empty (the
/// text may hold variables itself). A `~/` at the start is the home folder. Everything else stands
/// for itself. Refuses CAMPAIGN-VARIABLE-UNSET.
using Lookup = std::function<std::optional<std::string>(std::string_view name)>;
[[nodiscard]] Result<std::string> expand(std::string_view text, const Lookup& lookup);

/// `first`, then this process's environment.
[[nodiscard]] Lookup with_environment(std::map<std::string, std::string, std::less<>> first);

}  // namespace assay::load
