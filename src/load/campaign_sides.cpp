#include "load/campaign_sides.h"

#include "base/secrets.h"
#include "base/text.h"
#include "load/campaign_secrets.h"
#include "load/refusals.h"

namespace assay::load {

Result<Side> make_side(const Manifest& manifest, const Profile& profile, const Cell& cell,
                       const CampaignOptions& options) {
  int port = 0;
  if (profile.server || manifest.server) {
    TRY(free, free_port());
    port = free;
  }
  return make_side(manifest, profile, cell, options, port);
}

Result<Side> make_side(const Manifest& manifest, const Profile& profile, const Cell& cell,
                       const CampaignOptions& options, int port) {
  Side side{.profile = &profile,
            .server = profile.server ? profile.server : manifest.server,
            .endpoint = {},
            .secrets = {}};
  auto variables = options.variables;
  for (const auto& [name, text] : profile.variables) variables.insert_or_assign(name, text);
  variables.insert_or_assign("window", cat(cell.configured_window));
  variables.insert_or_assign("profile", profile.id);
  variables.insert_or_assign("model", profile.model);
  variables.insert_or_assign("output_tokens", cat(cell.output_tokens));
  variables.insert_or_assign("concurrency", cat(cell.concurrency));
  if (side.server) variables.insert_or_assign("port", cat(port));
  const Lookup known = with_environment(std::move(variables));
  // A variable with such a name is a secret wherever it is put.
  const Lookup lookup = [&](std::string_view name) {
    auto value = known(name);
    if (value && is_secret_key(name)) side.secrets.add(*value);
    return value;
  };
  TRY(base_url, expand(manifest.base_url, lookup));
  TRY(endpoint, parse_endpoint(base_url));
  side.endpoint = endpoint;
  if (side.server) {
    for (std::string& word : side.server->argv) {
      TRY(text, expand(word, lookup));
      word = text;
    }
    for (auto& [name, value] : side.server->environment) {
      TRY(text, expand(value, lookup));
      value = text;
    }
    TRY(ready, expand(side.server->ready_url, lookup));
    TRY_DO(parse_endpoint(ready));
    side.server->ready_url = ready;
    side.secrets.add(secrets_of(*side.server));
  }
  return side;
}

Result<bool> ServerSlot::use(const Side& side) {
  if (!side.server) {
    stop();
    return false;
  }
  if (running_ && argv_ == side.server->argv && running_->alive()) return false;
  stop();
  TRY_DO(expect_port_free(side.endpoint.port));
  TRY(server,
      ServerProcess::start(
          {.argv = side.server->argv, .environment = side.server->environment, .log = log_}));
  running_ = std::move(server);
  argv_ = side.server->argv;
  secrets_ = side.secrets;
  TRY_DO(wait_until_ready(*running_, side.server->ready_url,
                          std::chrono::seconds(side.server->ready_timeout_seconds), guard_));
  return true;
}

Status ServerSlot::check() const {
  if (running_ && !running_->alive())
    return Refusal(kServerDied, cat("process ", running_->pid(), ": ", running_->end()));
  return {};
}

std::optional<int> ServerSlot::pid() const {
  if (!running_) return std::nullopt;
  return running_->pid();
}

void ServerSlot::stop() {
  if (running_ == nullptr) return;
  running_.reset();
  argv_.clear();
  if (const Status hidden = hide_in_log(log_, secrets_); !hidden)
    log_problem_ = hidden.refusal().text();
}

}  // namespace assay::load
