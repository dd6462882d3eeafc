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
#include "load/secrets.h"

namespace assay::load {

struct Side {
  const Profile* profile = nullptr;
  std::optional<ServerSpec> server{};  // variables put in; absent: the endpoint runs already
  Endpoint endpoint{};
  Secrets secrets{};  // what the server is given and no file may hold
};

/// Puts the variables in: window, profile, model, output_tokens, concurrency, port, the profile's
/// own, `options.variables`, the environment. Refuses CAMPAIGN-VARIABLE-UNSET, LOAD-URL.
[[nodiscard]] Result<Side> make_side(const Manifest& manifest, const Profile& profile,
                                     const Cell& cell, const CampaignOptions& options, int port);
/// The same with a free port.
[[nodiscard]] Result<Side> make_side(const Manifest& manifest, const Profile& profile,
                                     const Cell& cell, const CampaignOptions& options);

/// The place of one server: starting another one ends the first.
class ServerSlot {
 public:
  ServerSlot(std::filesystem::path log, Guard guard)
      : log_(std::move(log)), guard_(std::move(guard)) {}
  ~ServerSlot() { stop(); }
  ServerSlot(const ServerSlot&) = delete;
  ServerSlot& operator=(const ServerSlot&) = delete;

  /// The side's server runs and is ready. True when it was started just now. Refuses
  /// CAMPAIGN-SERVER-…, CAMPAIGN-PORT-TAKEN, the guard's.
  [[nodiscard]] Result<bool> use(const Side& side);
  /// CAMPAIGN-SERVER-DIED when there was a server and it ended by itself.
  [[nodiscard]] Status check() const;
  [[nodiscard]] std::optional<int> pid() const;
  /// Ends the server; its secrets are taken out of its log.
  void stop();
  /// Why a log still holds a secret; empty when none does.
  [[nodiscard]] const std::string& log_problem() const { return log_problem_; }

 private:
  std::filesystem::path log_;
  Guard guard_;
  std::unique_ptr<ServerProcess> running_;
  std::vector<std::string> argv_;
  Secrets secrets_;
  std::string log_problem_;
};

}  // namespace assay::load
