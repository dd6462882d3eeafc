#include "view/site.h"

#include <arpa/inet.h>

#include <algorithm>
#include <ctime>

#include "base/sha256.h"
#include "base/text.h"
#include "view/facts.h"
#include "view/refusals.h"

namespace assay::view {

namespace {

constexpr std::string_view kJson = "application/json";
constexpr std::string_view kShardPrefix = "data/";

Answer with_body(int status, std::string_view type, std::string body) {
  Answer answer;
  answer.status = status;
  answer.content_type = type;
  answer.body = std::make_shared<const std::string>(std::move(body));
  return answer;
}

// One of the tags of If-None-Match, compared weakly.
bool matches(std::string_view header, std::string_view etag) {
  for (std::string_view tag : split(header, ',')) {
    tag = trim(tag);
    if (tag.starts_with("W/")) tag.remove_prefix(2);
    if (tag == "*" || tag == etag) return true;
  }
  return false;
}

// The answer, or 304 when the client has it.
Answer tagged(const Request& request, std::string etag, std::string_view cache, Answer answer) {
  answer.headers.emplace_back("ETag", etag);
  answer.headers.emplace_back("Cache-Control", cache);
  if (!request.if_none_match.empty() && matches(request.if_none_match, etag)) {
    answer.status = 304;
    answer.content_type.clear();
    answer.body.reset();
  }
  return answer;
}

std::string etag_of(std::string_view digest) {
  return cat("\"", digest, "\"");
}

Status no_query(const Request& request, std::string_view allowed = "") {
  for (const auto& [key, value] : request.query) {
    if (key == allowed && value == "1") continue;
    if (key == allowed)
      return Refusal(kHttpParameter,
                     cat("`", key, "` is \"", mended_utf8(value), "\", expected 1"));
    return Refusal(kHttpParameter,
                   cat("unknown parameter `", mended_utf8(key), "` of ", request.path,
                       allowed.empty() ? "" : cat("; known: ", allowed)));
  }
  return {};
}

// "127.attacker.example" is a name like any other: only a whole address counts.
bool is_loopback(std::string_view host) {
  if (host == "localhost" || host == "::1" || host == "[::1]") return true;
  in_addr address{};
  return ::inet_pton(AF_INET, std::string(host).c_str(), &address) == 1 &&
         ntohl(address.s_addr) >> 24 == 127;
}

}  // namespace

Answer refusal(int status, const Refusal& why) {
  Answer answer = with_body(
      status, kJson,
      cat("{\"refusal\":", json_text(why.code), ",\"detail\":", json_text(why.detail), "}\n"));
  answer.headers.emplace_back("Cache-Control", "no-store");
  return answer;
}

const std::vector<std::pair<std::string, std::string>>& common_headers() {
  static const std::vector<std::pair<std::string, std::string>> headers = {
      {"Content-Security-Policy",
       "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
       "object-src 'none'"},
      {"X-Content-Type-Options", "nosniff"},
      {"Referrer-Policy", "no-referrer"},
      {"Cross-Origin-Resource-Policy", "same-origin"}};
  return headers;
}

Result<std::unique_ptr<Site>> Site::open(Catalog catalog, const Page& page, SiteOptions options) {
  std::unique_ptr<Site> site(new Site(std::move(catalog), page, std::move(options)));
  TRY(store, publish::open_store(site->catalog_.url()));
  site->store_ = std::move(store);
  TRY_DO(site->relist());
  return site;
}

std::pair<size_t, size_t> Site::counts() const {
  const std::lock_guard lock(mutex_);
  return {listing_->index.files.size(), listing_->index.rows[0].size()};
}

// Needs listing_mutex_, but for the first time.
Status Site::relist() {
  const auto begun = options_.now();
  auto index = catalog_.list();
  if (!index) {
    const std::lock_guard lock(mutex_);
    last_problem_ = mended_utf8(index.refusal().text());
    // Not again with every request, but long before the listing is old once more.
    listed_at_ = begun - options_.listing_age_max + std::chrono::seconds(10);
    return index.refusal();
  }
  auto listing = std::make_shared<Listing>();
  listing->index = *std::move(index);
  listing->content_digest = sha256_hex(index_json(listing->index));
  const std::lock_guard lock(mutex_);
  listed_at_ = begun;
  last_problem_.clear();
  // The same content keeps its time and so its tag.
  if (listing_ != nullptr && listing_->content_digest == listing->content_digest) return {};
  listing->index.built_at = options_.utc_now ? options_.utc_now() : format_utc(std::time(nullptr));
  auto json = index_json(listing->index);
  listing->etag = etag_of(sha256_hex(json));
  listing->json = std::make_shared<const std::string>(std::move(json));
  for (size_t i = 0; i < listing->index.files.size(); ++i) {
    const std::string& path = listing->index.files[i].path;
    listing->by_name.emplace(path.substr(std::min(kShardPrefix.size(), path.size())), i);
  }
  listing_ = std::move(listing);
  return {};
}

std::shared_ptr<const Site::Listing> Site::current() {
  const auto is_old = [this] {
    const std::lock_guard lock(mutex_);
    return options_.now() - listed_at_ > options_.listing_age_max;
  };
  // One request lists the store; the others go on with what there is.
  if (is_old()) {
    const std::unique_lock lock(listing_mutex_, std::try_to_lock);
    if (lock.owns_lock() && is_old()) static_cast<void>(relist());
  }
  const std::lock_guard lock(mutex_);
  return listing_;
}

// A page elsewhere can point a name of its own at a loopback address and read through the visitor's
// browser; the Host header then has that name.
bool Site::host_is_right(std::string_view host) const {
  if (!is_loopback(options_.host)) return true;
  const size_t colon = host.rfind(':');
  const bool has_port = colon != std::string_view::npos &&
                        host.find(']', colon) == std::string_view::npos &&
                        host.find_first_not_of("0123456789", colon + 1) == std::string_view::npos;
  if (has_port) host = host.substr(0, colon);
  return is_loopback(host) || host == options_.host;
}

Answer Site::answer(const Request& request) {
  if (request.method != "GET" && request.method != "HEAD") {
    Answer answer = refusal(405, Refusal(kHttpMethod, cat("method ", request.method)));
    answer.headers.emplace_back("Allow", "GET, HEAD");
    return answer;
  }
  if (!host_is_right(request.host))
    return refusal(421, Refusal(kHttpHost, cat("Host is \"", mended_utf8(request.host), "\"")));
  return answer_path(request);
}

Answer Site::answer_path(const Request& request) {
  const std::string& path = request.path;
  if (path == "/healthz") return answer_health();
  if (path == "/api/index" || path == "/api/index.json") return answer_index(request);
  if (path == "/api/rows") return answer_rows(request);
  for (const std::string_view prefix : {"/api/shards/", "/shards/"}) {
    if (path.starts_with(prefix)) return answer_shard(request, path.substr(prefix.size()));
  }
  const PageFile* file =
      path.starts_with('/')
          ? find_file(page_, path == "/" ? "index.html" : std::string_view(path).substr(1))
          : nullptr;
  if (file == nullptr) return refusal(404, Refusal(kHttpPath, cat("`", mended_utf8(path), "`")));
  return tagged(request, etag_of(sha256_hex(file->bytes)), "no-cache",
                with_body(200, content_type(file->name), std::string(file->bytes)));
}

Answer Site::answer_index(const Request& request) {
  const auto query = no_query(request, "refresh");
  if (!query) return refusal(400, query.refusal());
  if (!request.query.empty()) {
    const auto asked = options_.now();
    const std::lock_guard lock(listing_mutex_);
    const bool listed_since = [&] {
      const std::lock_guard inner(mutex_);
      return listed_at_ > asked;
    }();
    // Requests that waited for the same listing are answered by it.
    if (!listed_since) {
      const auto listed = relist();
      if (!listed) return refusal(503, listed.refusal());
    }
  }
  const auto listing = current();
  Answer answer;
  answer.content_type = kJson;
  answer.body = listing->json;
  return tagged(request, listing->etag, "no-cache", std::move(answer));
}

Answer Site::answer_rows(const Request& request) {
  const auto listing = current();
  auto json = rows_json(listing->index, request.query);
  if (!json) return refusal(400, json.refusal());
  Answer answer = with_body(200, kJson, *std::move(json));
  answer.headers.emplace_back("Cache-Control", "no-cache");
  return answer;
}

// Only names of the listing are served: no path of the request ever reaches the store.
Answer Site::answer_shard(const Request& request, const std::string& name) {
  const auto query = no_query(request);
  if (!query) return refusal(400, query.refusal());
  const auto listing = current();
  const auto found = listing->by_name.find(name);
  if (found == listing->by_name.end())
    return refusal(404, Refusal(kHttpPath, cat("no shard `", mended_utf8(name), "` is listed")));
  const ShardFile& file = listing->index.files[found->second];
  constexpr std::string_view kForever = "public, max-age=31536000, immutable";
  const std::string etag = etag_of(file.sha256);
  Answer answer;
  answer.content_type = "application/vnd.apache.parquet";
  if (!request.if_none_match.empty() && matches(request.if_none_match, etag))
    return tagged(request, etag, kForever, std::move(answer));
  auto bytes = [&] {
    const std::lock_guard lock(store_mutex_);
    return store_->get(file.path);
  }();
  if (!bytes) return refusal(503, bytes.refusal());
  if (!*bytes || sha256_hex(**bytes) != file.sha256)
    return refusal(404, Refusal(kShardChanged, cat("`", file.path, "`")));
  answer.body = std::make_shared<const std::string>(**std::move(bytes));
  return tagged(request, etag, kForever, std::move(answer));
}

Answer Site::answer_health() {
  const auto [shards, rows] = counts();
  const std::string problem = [&] {
    const std::lock_guard lock(mutex_);
    return last_problem_;
  }();
  Answer answer =
      with_body(problem.empty() ? 200 : 503, kJson,
                cat("{\"status\":", problem.empty() ? "\"ok\"" : "\"stale\"",
                    ",\"shards\":", shards, ",\"rows\":", rows,
                    problem.empty() ? "" : cat(",\"problem\":", json_text(problem)), "}\n"));
  answer.headers.emplace_back("Cache-Control", "no-store");
  return answer;
}

}  // namespace assay::view
