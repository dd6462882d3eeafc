#include "view/site.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "base/files.h"
#include "base/sha256.h"
#include "base/text.h"
#include "view/test_store.h"

namespace assay::view {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class SiteTest : public ::testing::Test {
 protected:
  SiteTest() {
    path_ = store_.add(test_run("2026-05-01T00:00:00Z"));
    open({});
  }
  void open(SiteOptions options) {
    options.now = [this] { return now_; };
    options.utc_now = [this] { return cat("built ", ++built_); };
    auto site = Site::open(store_.open(), test_page(), options);
    ASSERT_TRUE(site) << site.refusal().text();
    site_ = *std::move(site);
  }
  Answer get(std::string path, Query query = {}, std::string if_none_match = "") {
    Request request;
    request.path = std::move(path);
    request.query = std::move(query);
    request.host = "127.0.0.1:80";
    request.if_none_match = std::move(if_none_match);
    return site_->answer(request);
  }
  static std::string header(const Answer& answer, std::string_view name) {
    for (const auto& [key, value] : answer.headers) {
      if (key == name) return value;
    }
    return "";
  }
  static std::string body(const Answer& answer) {
    return answer.body != nullptr ? *answer.body : "";
  }

  TestStore store_{};
  std::string path_{};
  std::chrono::steady_clock::time_point now_{std::chrono::hours(1000)};
  int built_ = 0;
  std::unique_ptr<Site> site_{};
};

TEST_F(SiteTest, ServesThePage) {
  const Answer index = get("/");
  EXPECT_EQ(index.status, 200);
  EXPECT_EQ(index.content_type, "text/html; charset=utf-8");
  EXPECT_THAT(body(index), HasSubstr("<title>Page</title>"));
  EXPECT_EQ(body(get("/index.html")), body(index));
  EXPECT_EQ(get("/", {{"suite", "throughput"}}).status, 200);  // the page's own state
  const Answer app = get("/app.js");
  EXPECT_EQ(app.content_type, "text/javascript; charset=utf-8");
  EXPECT_EQ(header(app, "Cache-Control"), "no-cache");
  EXPECT_EQ(header(app, "ETag"), cat("\"", sha256_hex(test_page()[0].bytes), "\""));
  EXPECT_EQ(get("/style.css").content_type, "text/css; charset=utf-8");
  EXPECT_EQ(get("/mark.svg").content_type, "image/svg+xml");
}

TEST_F(SiteTest, RefusesWhatIsNotThere) {
  for (const char* path :
       {"/nothing", "", "app.js", "//app.js", "/../app.js", "/api", "/api/", "/api/shards",
        "/api/shards/", "/metadata/run-index-v1.json", "/data", "*", "/healthz/"}) {
    const Answer answer = get(path);
    EXPECT_EQ(answer.status, 404) << path;
    EXPECT_THAT(body(answer), HasSubstr("\"VIEW-HTTP-PATH\"")) << path;
    EXPECT_EQ(header(answer, "Cache-Control"), "no-store");
  }
}

TEST_F(SiteTest, AnswersOnlyGetAndHead) {
  Request request;
  request.host = "localhost";
  request.path = "/api/index";
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT"}) {
    request.method = method;
    const Answer answer = site_->answer(request);
    EXPECT_EQ(answer.status, 405) << method;
    EXPECT_EQ(header(answer, "Allow"), "GET, HEAD");
    EXPECT_THAT(body(answer), HasSubstr("\"VIEW-HTTP-METHOD\""));
  }
  request.method = "HEAD";
  EXPECT_EQ(site_->answer(request).status, 200);
}

TEST_F(SiteTest, ALoopbackAddressAnswersToItsOwnNamesOnly) {
  Request request;
  for (const char* host :
       {"localhost", "localhost:9", "127.0.0.1:80", "127.1.2.3", "[::1]", "[::1]:80"}) {
    request.host = host;
    EXPECT_EQ(site_->answer(request).status, 200) << host;
  }
  for (const char* host :
       {"", "evil.example", "evil.example:80", "localhost.evil.example", "10.0.0.1", "localhost:x",
        "127.evil.example", "127.0.0.1.evil.example:80", "127.0.0.1evil", "127.", "127.1",
        "127.0.0.256", "user@localhost"}) {
    request.host = host;
    EXPECT_EQ(site_->answer(request).status, 421) << host;
    EXPECT_THAT(body(site_->answer(request)), HasSubstr("\"VIEW-HTTP-HOST\""));
  }
  SiteOptions everywhere;
  everywhere.host = "0.0.0.0";
  open(everywhere);
  request.host = "box.example";
  EXPECT_EQ(site_->answer(request).status, 200);
}

TEST_F(SiteTest, TheIndexHasATagAndKeepsItWhileNothingChanges) {
  const Answer index = get("/api/index");
  EXPECT_EQ(index.status, 200);
  EXPECT_EQ(index.content_type, "application/json");
  EXPECT_EQ(header(index, "Cache-Control"), "no-cache");
  EXPECT_EQ(header(index, "ETag"), cat("\"", sha256_hex(body(index)), "\""));
  EXPECT_THAT(body(index), HasSubstr("\"built_at\":\"built 1\""));
  EXPECT_EQ(body(get("/api/index.json")), body(index));

  const std::string etag = header(index, "ETag");
  for (const std::string& tags :
       {etag, cat("W/", etag), cat("\"other\", ", etag), std::string("*")}) {
    const Answer again = get("/api/index", {}, tags);
    EXPECT_EQ(again.status, 304) << tags;
    EXPECT_EQ(again.body, nullptr);
    EXPECT_EQ(header(again, "ETag"), etag);
  }
  EXPECT_EQ(get("/api/index", {}, "\"other\"").status, 200);
  EXPECT_EQ(get("/api/index", {{"refresh", "1"}}, etag).status, 304);
}

TEST_F(SiteTest, ListsAgainAfterTenMinutesOrWhenAsked) {
  store_.add(test_run("2026-05-02T00:00:00Z"));
  now_ += std::chrono::seconds(600);
  get("/api/index");
  EXPECT_EQ(site_->counts().first, 1u);
  now_ += std::chrono::seconds(1);
  get("/api/index");
  EXPECT_EQ(site_->counts().first, 2u);
  store_.add(test_run("2026-05-03T00:00:00Z"));
  now_ += std::chrono::seconds(1);
  EXPECT_THAT(body(get("/api/index", {{"refresh", "1"}})), HasSubstr("2026-05-03T00:00:00Z"));
  EXPECT_EQ(site_->counts().first, 3u);
  for (const Query& query :
       {Query{{"refresh", "0"}}, Query{{"refresh", ""}}, Query{{"fresh", "1"}}}) {
    const Answer answer = get("/api/index", query);
    EXPECT_EQ(answer.status, 400);
    EXPECT_THAT(body(answer), HasSubstr("\"VIEW-HTTP-PARAMETER\""));
    EXPECT_THAT(body(answer), HasSubstr(query[0].first));
  }
}

TEST_F(SiteTest, AStoreThatCannotBeListedLeavesTheLastListing) {
  fs::rename(store_.store_folder() / "data", store_.store_folder() / "gone");
  ASSERT_TRUE(write_file_atomic(store_.store_folder() / "data", "no folder"));
  const Answer asked = get("/api/index", {{"refresh", "1"}});
  EXPECT_EQ(asked.status, 503);
  EXPECT_THAT(body(asked), HasSubstr("\"STORE-URL\""));
  EXPECT_EQ(get("/api/index").status, 200);
  const Answer health = get("/healthz");
  EXPECT_EQ(health.status, 503);
  EXPECT_THAT(body(health), HasSubstr("\"status\":\"stale\",\"shards\":1"));
  fs::remove(store_.store_folder() / "data");
  fs::rename(store_.store_folder() / "gone", store_.store_folder() / "data");
  now_ += std::chrono::seconds(20);  // tried again long before ten minutes
  EXPECT_EQ(get("/api/index").status, 200);
  EXPECT_EQ(body(get("/healthz")), "{\"status\":\"ok\",\"shards\":1,\"rows\":2}\n");
}

TEST_F(SiteTest, ServesListedShardsForEver) {
  const std::string name = path_.substr(5);
  const Answer shard = get("/api/shards/" + name);
  EXPECT_EQ(shard.status, 200);
  EXPECT_EQ(body(shard), *read_file(store_.store_folder() / path_));
  EXPECT_EQ(header(shard, "ETag"), cat("\"", sha256_hex(body(shard)), "\""));
  EXPECT_EQ(header(shard, "Cache-Control"), "public, max-age=31536000, immutable");
  EXPECT_EQ(get("/shards/" + name).status, 200);
  EXPECT_EQ(get("/api/shards/" + name, {}, header(shard, "ETag")).status, 304);
  EXPECT_EQ(get("/api/shards/" + name, {{"v", "1"}}).status, 400);
}

TEST_F(SiteTest, NoPathLeadsOutOfTheListing) {
  ASSERT_TRUE(write_file_atomic(store_.folder() / "secret.parquet", "secret"));
  fs::create_symlink(store_.folder() / "secret.parquet",
                     store_.store_folder() / "data" / "run-link.parquet");
  open({});
  for (const char* name :
       {"../../secret.parquet", "..", ".", "/etc/passwd", "../metadata/run-index-v1.json",
        "run-link.parquet", "./", "\\..\\secret.parquet"}) {
    EXPECT_EQ(get(cat("/api/shards/", name)).status, 404) << name;
    EXPECT_EQ(get(cat("/api/shards/", std::string(1, '\0'), name)).status, 404) << name;
  }
  // A listed file that a link has replaced since is not followed.
  fs::remove(store_.store_folder() / path_);
  fs::create_symlink(store_.folder() / "secret.parquet", store_.store_folder() / path_);
  const Answer swapped = get("/api/shards/" + path_.substr(5));
  EXPECT_EQ(swapped.status, 503);
  EXPECT_THAT(body(swapped), HasSubstr("not a regular file"));
}

TEST_F(SiteTest, AShardThatChangedIsNotServedUnderItsOldTag) {
  const fs::path file = store_.store_folder() / path_;
  fs::permissions(file, fs::perms::owner_all);
  ASSERT_TRUE(write_file_atomic(file, "other bytes"));
  const Answer answer = get("/api/shards/" + path_.substr(5));
  EXPECT_EQ(answer.status, 404);
  EXPECT_THAT(body(answer), HasSubstr("\"VIEW-SHARD-CHANGED\""));
}

TEST_F(SiteTest, ManyThreadsMayAsk) {
  std::vector<std::jthread> threads;
  std::atomic<int> good{0};
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      for (int j = 0; j < 20; ++j) {
        const Answer answer = i % 2 == 0 ? get("/api/index", {{"refresh", "1"}})
                                         : get("/api/shards/" + path_.substr(5));
        if (answer.status == 200) ++good;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(good, 160);
}

TEST_F(SiteTest, RowsAreFiltered) {
  store_.add(test_run("2026-05-02T00:00:00Z", "a \"quoted\" model"));
  store_.add(test_run("2026-05-03T00:00:00Z", "m", R"({"results":[],"cell_status":"failed"})"));
  open({});
  const auto rows = [&](const Query& query) {
    const Answer answer = get("/api/rows", query);
    EXPECT_EQ(answer.status, 200) << body(answer);
    return *json::parse(body(answer));
  };
  const json::Value all = rows({});
  EXPECT_EQ(all.find("total")->literal(), "5");
  const json::Value& first = all.find("rows")->items()[0];
  EXPECT_EQ(first.find("metric")->string(), "throughput");
  EXPECT_EQ(first.find("value")->literal(), "10.5");
  EXPECT_EQ(first.find("path")->string(), path_);
  EXPECT_EQ(first.find("evidence")->string(), "experimental");
  EXPECT_EQ(first.find("rate_basis")->string(), "request");
  EXPECT_EQ(first.find("tags")->find("phase")->string(), "sequential");
  EXPECT_EQ(first.find("quantization"), nullptr);
  const json::Value& status = all.find("rows")->items()[4];
  EXPECT_TRUE(status.find("value")->is_null());
  EXPECT_EQ(status.find("cell_status")->string(), "failed");

  EXPECT_EQ(rows({{"metric", "ttft"}}).find("total")->literal(), "2");
  EXPECT_EQ(rows({{"unit", "tok/s"}, {"model", "a \"quoted\" model"}}).find("total")->literal(),
            "1");
  EXPECT_EQ(rows({{"suite", "knowledge"}}).find("total")->literal(), "0");
  EXPECT_EQ(rows({{"evidence", "experimental"}}).find("total")->literal(), "5");
  EXPECT_EQ(rows({{"evidence", "invalid"}}).find("total")->literal(), "0");
  const json::Value some = rows({{"limit", "2"}});
  EXPECT_EQ(some.find("total")->literal(), "5");
  EXPECT_EQ(some.find("count")->literal(), "2");
  EXPECT_EQ(some.find("rows")->items().size(), 2u);
}

TEST_F(SiteTest, RowsRefuseUnknownParametersByName) {
  for (const Query& query :
       {Query{{"machine", "x"}}, Query{{"limit", "0"}}, Query{{"limit", "100001"}},
        Query{{"limit", "1x"}}, Query{{"limit", "-1"}}, Query{{"suite", "a"}, {"suite", "b"}},
        Query{{"evidence", "good"}}, Query{{"SUITE", "a"}}, Query{{"\xFF", "a"}}}) {
    const Answer answer = get("/api/rows", query);
    EXPECT_EQ(answer.status, 400) << query[0].first;
    const auto said = json::parse(body(answer));
    ASSERT_TRUE(said);
    EXPECT_EQ(said->find("refusal")->string(), "VIEW-HTTP-PARAMETER");
    if (query[0].first != "\xFF") {
      EXPECT_THAT(said->find("detail")->string(), HasSubstr(query[0].first));
    }
  }
}

}  // namespace
}  // namespace assay::view
