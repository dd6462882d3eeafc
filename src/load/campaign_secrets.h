// What a cell's server is given and nobody else may read: keys on its command line, in its
// environment and in the variables of the manifest. The server may repeat them in its log, and a
// refusal may repeat its log.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "base/result.h"
#include "load/campaign_manifest.h"
#include "load/secrets.h"

namespace assay::load {

/// The values of `server`, variables put in: what follows a flag whose name is a secret's
/// ("--api-key VALUE", "--api-key=VALUE", "Authorization: Bearer VALUE", also inside the words of
/// `sh -c`), passwords of URLs, and members of the environment with such names.
[[nodiscard]] Secrets secrets_of(const ServerSpec& server);

/// Rewrites a log without the secrets, if it holds one. Refuses FILE-…: the log is then as it was.
[[nodiscard]] Status hide_in_log(const std::filesystem::path& log, const Secrets& secrets);

}  // namespace assay::load
