// What the stores behind a server share: the outside they work in, and how their texts are shown.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "publish/http_client.h"
#include "publish/store.h"

namespace assay::publish {

/// A file is held in memory while it is written or read.
inline constexpr uint64_t kRemoteFileMax = uint64_t{4} << 30;

/// StoreOptions with every default filled in.
struct Outside {
  StoreOptions options;
  Patience patience;
  /// A variable that is set and not empty.
  [[nodiscard]] std::optional<std::string> variable(const std::string& name) const;
};
[[nodiscard]] Outside outside_of(const StoreOptions& options);

/// A server's words, fit for a message: one line, at most 300 bytes, no control characters.
[[nodiscard]] std::string one_line(std::string_view text);

/// Writes *** wherever `text` holds one of the secrets: a server may say back what it was sent.
void hide(std::string& text, std::initializer_list<std::string_view> secrets);

/// s3://… and hf://…; `client` null means libcurl. Public for tests.
[[nodiscard]] Result<std::unique_ptr<Store>> open_s3_store(std::string_view url,
                                                           const StoreOptions& options,
                                                           std::unique_ptr<HttpClient> client);
[[nodiscard]] Result<std::unique_ptr<Store>> open_hub_store(std::string_view url,
                                                            const StoreOptions& options,
                                                            std::unique_ptr<HttpClient> client);

}  // namespace assay::publish
