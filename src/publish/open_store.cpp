// The store that a URL names.
#include "base/text.h"
#include "publish/refusals.h"
#include "publish/store.h"

namespace assay::publish {

Result<std::unique_ptr<Store>> open_store(std::string_view url) {
  constexpr std::string_view kFile = "file://";
  if (url.starts_with(kFile) && url.size() > kFile.size()) {
    return open_file_store(std::filesystem::path(url.substr(kFile.size())));
  }
  return Refusal(kStoreUrl, cat("`", url, "`, expected file://DIR"));
}

}  // namespace assay::publish
