// The store that a URL names.
#include "base/text.h"
#include "publish/refusals.h"
#include "publish/store.h"
#ifdef ASSAY_HAVE_CURL
#include "publish/remote_store.h"
#endif

namespace assay::publish {

Result<std::unique_ptr<Store>> open_store(std::string_view url,
                                          [[maybe_unused]] const StoreOptions& options) {
  constexpr std::string_view kFile = "file://";
  if (url.starts_with(kFile) && url.size() > kFile.size()) {
    return open_file_store(std::filesystem::path(url.substr(kFile.size())));
  }
  if (url.starts_with("s3://") || url.starts_with("hf://")) {
#ifdef ASSAY_HAVE_CURL
    return url.starts_with("s3://") ? open_s3_store(url, options, nullptr)
                                    : open_hub_store(url, options, nullptr);
#else
    return Refusal(kStoreNotBuilt, cat("`", url, "` needs libcurl"));
#endif
  }
  return Refusal(kStoreUrl, cat("`", url,
                                "`, expected file://DIR, s3://BUCKET/PREFIX or "
                                "hf://datasets/OWNER/NAME[@REVISION]"));
}

}  // namespace assay::publish
