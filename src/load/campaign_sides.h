// The two sides of a cell, candidate and control: each with its server's command and its endpoint,
// and the one slot in which at most one of their servers runs.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "load/campaign_cells.h"
#include "load/campaign_manifest.h"
#include "load/campaign_run.h"
#include "load/campaign_server.h"
#include "load/endpoint.h"

namespace assay::load {

struct Side {
  const Profile* profile = nullptr;
  std::optional<ServerSpec> server{};  // variables put in; absent: the endpoint runs already
  Endpoint endpoint{};
};

/// Puts the variables in: window, profile, model, output_tokens, concurrency, port (a free one),
/// the profile's own, `options.variables`, the environment.
[[nodiscard]] Result<Side> make_side(const Manifest& manifest, const Profile& profile,
                                     const Cell& cell, const CampaignOptions& options);

/// The place of one server: starting another one ends the first.
class ServerSlot {
 public:
  ServerSlot(std::filesystem::path log, Guard guard)
      : log_(std::move(log)), guard_(std::move(guard)) {}

  /// The side's server runs and is ready. True when it was started just now. Refuses
  /// CAMPAIGN-SERVER-…, CAMPAIGN-PORT-TAKEN, the guard's.
  [[nodiscard]] Result<bool> use(const Side& side);
  /// CAMPAIGN-SERVER-DIED when there was a server and it ended by itself.
  [[nodiscard]] Status check() const;
  [[nodiscard]] std::optional<int> pid() const;
  void stop();

 private:
  std::filesystem::path log_;
  Guard guard_;
  std::unique_ptr<ServerProcess> running_;
  std::vector<std::string> argv_;
};

}  // namespace assay::load
