// What the server answers, without a socket: a request in, an answer out (docs/view.md).
//
// Lists the store when it was listed more than ten minutes ago, or when asked with ?refresh=1. A
// store that cannot be listed any more leaves the last listing in place.
// Threads   answer() may be called from any number of threads.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "view/catalog.h"
#include "view/page.h"
#include "view/rows.h"

namespace assay::view {

struct Request {
  std::string method = "GET";
  std::string path = "/";  // decoded, without the query
  Query query{};
  std::string host{};           // the Host header
  std::string if_none_match{};  // the header
};

struct Answer {
  int status = 200;
  std::string content_type{};
  std::vector<std::pair<std::string, std::string>> headers{};
  std::shared_ptr<const std::string> body{};  // null = none; a HEAD answer's body is not sent
};

/// {"refusal":…,"detail":…}, never kept by a cache.
[[nodiscard]] Answer refusal(int status, const Refusal& why);

/// Headers of every answer, errors included. The page needs no inline script and no inline style
/// (uPlot sets styles through the DOM, which this policy allows).
[[nodiscard]] const std::vector<std::pair<std::string, std::string>>& common_headers();

struct SiteOptions {
  std::string host = "127.0.0.1";  // what the server listens at
  std::chrono::seconds listing_age_max{600};
  std::function<std::chrono::steady_clock::time_point()> now = std::chrono::steady_clock::now;
  std::function<std::string()> utc_now{};  // "" = the system's clock
};

class Site {
 public:
  /// Lists the store once. Refuses STORE-READ.
  [[nodiscard]] static Result<std::unique_ptr<Site>> open(Catalog catalog, const Page& page,
                                                          SiteOptions options);

  [[nodiscard]] Answer answer(const Request& request);

  /// Shards and rows of the listing in use.
  [[nodiscard]] std::pair<size_t, size_t> counts() const;

 private:
  struct Listing {
    Index index{};
    std::shared_ptr<const std::string> json{};
    std::string content_digest{};  // of the index without its time
    std::string etag{};
    std::unordered_map<std::string, size_t> by_name{};  // "run-….parquet" -> place in index.files
  };

  Site(Catalog catalog, const Page& page, SiteOptions options)
      : catalog_(std::move(catalog)), page_(page), options_(std::move(options)) {}

  Status relist();
  std::shared_ptr<const Listing> current();
  [[nodiscard]] bool host_is_right(std::string_view host) const;
  Answer answer_path(const Request& request);
  Answer answer_index(const Request& request);
  Answer answer_rows(const Request& request);
  Answer answer_shard(const Request& request, const std::string& name);
  Answer answer_health();

  Catalog catalog_;
  const Page& page_;
  SiteOptions options_;
  std::unique_ptr<publish::Store> store_{};  // for bytes; the catalog has its own
  std::mutex store_mutex_{};
  std::mutex listing_mutex_{};  // held while the store is listed
  mutable std::mutex mutex_{};  // of the members below
  std::shared_ptr<const Listing> listing_{};
  std::chrono::steady_clock::time_point listed_at_{};
  std::string last_problem_{};
};

}  // namespace assay::view
