// The HTTP client alone: deadlines, sizes, redirects, secrets, and when to try again.
#include "publish/http_client.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "publish/encoding.h"
#include "publish/s3_place.h"
#include "support/loopback_server.h"

namespace assay::publish {
namespace {

using testing_support::LoopbackServer;
using testing_support::WireReply;
using testing_support::WireRequest;

HttpRequest get(std::string url) {
  HttpRequest request;
  request.url = std::move(url);
  return request;
}

TEST(HttpClient, SendsAndReturnsWhatThereIs) {
  LoopbackServer server([](const WireRequest& request) {
    return WireReply{.status = 201,
                     .headers = {{"X-One", " a "}, {"x-one", "b"}, {"ETag", "\"e\""}},
                     .body = request.method + request.body};
  });
  const auto client = curl_client();
  HttpRequest request = get(server.url() + "/a%20b?x=1&y=%2F");
  request.method = "PUT";
  request.body = std::string_view("\0body", 5);
  request.headers = {{"content-type", "text/x"}};
  const auto reply = client->send(request);
  ASSERT_TRUE(reply) << reply.refusal().text();
  EXPECT_EQ(reply->status, 201);
  EXPECT_EQ(reply->body, std::string("PUT\0body", 8));
  EXPECT_EQ(reply->header("x-one"), "b");
  EXPECT_EQ(reply->header("etag"), "\"e\"");
  EXPECT_EQ(reply->header("none"), std::nullopt);
  const WireRequest seen = server.requests().front();
  EXPECT_EQ(seen.target, "/a%20b?x=1&y=%2F");
  EXPECT_EQ(seen.header("content-type"), "text/x");
  EXPECT_EQ(seen.header("expect"), std::nullopt);
  EXPECT_EQ(seen.header("authorization"), std::nullopt);
  EXPECT_TRUE(seen.header("user-agent")->starts_with("assay/"));
  HttpRequest untyped = request;
  untyped.headers.clear();
  ASSERT_TRUE(client->send(untyped));
  EXPECT_EQ(server.requests().back().header("content-type"), std::nullopt);
}

TEST(HttpClient, ARedirectIsAReply) {
  LoopbackServer server([](const WireRequest&) {
    return WireReply{.status = 302, .headers = {{"location", "http://127.0.0.1:1/x"}}};
  });
  const auto reply = curl_client()->send(get(server.url()));
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->status, 302);
  EXPECT_EQ(server.requests().size(), 1u);
}

TEST(HttpClient, LargeRepliesAndSilenceAreRefused) {
  WireReply reply{.body = std::string(1001, 'x')};
  LoopbackServer server([&](const WireRequest&) { return reply; });
  HttpRequest request = get(server.url() + "/path?signature=topsecret");
  request.reply_bytes_max = 1000;
  const auto client = curl_client();
  // Only silence runs into this deadline; whatever answers is asked by the patient client.
  const auto hasty = curl_client({.whole = std::chrono::milliseconds(200)});
  EXPECT_EQ(client->send(request).refusal().code, "STORE-REPLY");
  request.reply_bytes_max = 1001;
  EXPECT_TRUE(client->send(request));
  reply = {.headers = {{"x-long", std::string(300 << 10, 'h')}}};
  EXPECT_FALSE(client->send(request));
  for (const auto fault : {WireReply::silent, WireReply::lost, WireReply::cut_short}) {
    reply = {.body = "hello there", .fault = fault};
    const auto failed = (fault == WireReply::silent ? hasty : client)->send(request);
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.refusal().code, "STORE-UNREACHABLE");
    EXPECT_EQ(failed.refusal().detail.find("topsecret"), std::string::npos);
    EXPECT_NE(failed.refusal().detail.find("/path"), std::string::npos);
  }
}

TEST(HttpClient, OnlyHttp) {
  for (const char* url :
       {"file:///etc/passwd", "ftp://127.0.0.1/x", "gopher://127.0.0.1/", "", "x"})
    EXPECT_FALSE(curl_client()->send(get(url))) << url;
}

TEST(HttpClient, SecretsStayOnSafeLines) {
  EXPECT_TRUE(check_secret_may_go("https://hub.example.org/x"));
  for (const char* url : {"http://127.0.0.1:80/x", "http://127.9.8.7", "http://localhost:1",
                          "http://[::1]:8080/", "http://LOCALHOST/"})
    EXPECT_TRUE(check_secret_may_go(url)) << url;
  for (const char* url : {"http://hub.example.org", "http://127.0.0.1.example.org/",
                          "http://128.0.0.1", "http://localhost.example.org",
                          "http://127.0.0.1@example.org/", "http://10.0.0.1", "http://127.0.0.300"})
    EXPECT_EQ(check_secret_may_go(url).refusal().code, "STORE-INSECURE") << url;
  for (const char* url : {"", "ftp://127.0.0.1", "//127.0.0.1", "http://"})
    EXPECT_EQ(check_secret_may_go(url).refusal().code, "STORE-URL") << url;
  HttpRequest request = get("http://10.0.0.1/x");
  request.bearer = "hf_secret";
  const auto refused = curl_client()->send(request);
  EXPECT_EQ(refused.refusal().code, "STORE-INSECURE");
  EXPECT_EQ(refused.refusal().detail.find("hf_secret"), std::string::npos);
  LoopbackServer server([](const WireRequest&) { return WireReply{}; });
  request.url = server.url();
  request.bearer = "a\r\nx-more: b";
  EXPECT_FALSE(curl_client()->send(request));
  request.bearer = "";
  request.headers = {{"x-a", "b\r\nx-more: c"}};
  EXPECT_FALSE(curl_client()->send(request));
  EXPECT_TRUE(server.requests().empty());
}

TEST(HttpRetry, PausesGrowAndTheServersOwnFigureWins) {
  const auto pause = [](int retry, int status, testing_support::Headers headers) {
    const HttpReply reply{.status = status, .headers = std::move(headers)};
    return pause_before(retry, &reply).count();
  };
  for (const auto& [retry, seconds] : {std::pair{0, 1}, {1, 2}, {2, 4}, {3, 8}, {4, 8}, {40, 8}})
    EXPECT_EQ(pause_before(retry, nullptr).count(), seconds);
  EXPECT_EQ(pause(0, 429, {{"ratelimit", "\"api\";r=0;t=55"}}), 56);
  EXPECT_EQ(pause(0, 429, {{"ratelimit", "\"api\"; r=0; t=55"}}), 56);
  EXPECT_EQ(pause(0, 429, {{"ratelimit", "\"api\";r=3;t=55"}}), 1);  // something is left
  EXPECT_EQ(pause(0, 429, {{"ratelimit", "\"api\";r=3;t=55"}, {"retry-after", "9"}}), 10);
  EXPECT_EQ(pause(0, 503, {{"retry-after", "9"}}), 10);
  EXPECT_EQ(pause(2, 503, {{"ratelimit", "\"api\";r=0;t=55"}}), 4);
  for (const char* odd : {"", "soon", "-1", "Wed, 21 Oct 2026 07:28:00 GMT", "1.5"})
    EXPECT_EQ(pause(1, 429, {{"retry-after", odd}, {"ratelimit", odd}}), 2) << odd;
}

TEST(HttpRetry, OnlyWhatPassesIsTriedAgain) {
  for (const int status : {408, 429, 500, 502, 503, 504}) EXPECT_TRUE(is_transient(status));
  for (const int status : {200, 301, 400, 401, 403, 404, 409, 412, 501, 505})
    EXPECT_FALSE(is_transient(status));
  int count = 0;
  LoopbackServer server([&](const WireRequest&) {
    ++count;
    return WireReply{.status = count < 3 ? 500 : 404};
  });
  const auto client = curl_client();
  Patience patience;
  std::vector<int64_t> waits;
  patience.sleep = [&](std::chrono::milliseconds time) { waits.push_back(time.count()); };
  patience.say = [](std::string_view) {};
  const auto answer = send_patiently(*client, get(server.url()), patience);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->reply.status, 404);
  EXPECT_TRUE(answer->repeated);
  EXPECT_EQ(waits, (std::vector<int64_t>{1000, 2000}));
}

TEST(HttpRetry, AddressesAsText) {
  EXPECT_EQ(shown_url("https://user:pw@h.example:8443/a/b?X-Amz-Signature=s#f"),
            "https://h.example:8443/a/b");
  EXPECT_EQ(host_of("HTTPS://Hub.Example/x"), "hub.example:443");
  EXPECT_EQ(host_of("http://[::1]:80/x"), "[::1]:80");
  EXPECT_EQ(host_of("http://h"), "h:80");
  EXPECT_EQ(absolute_url("https://h/a/b?c", "https://o/x"), "https://o/x");
  EXPECT_EQ(absolute_url("https://h/a/b?c", "//o/x"), "https://o/x");
  EXPECT_EQ(absolute_url("https://h/a/b?c=/d/", "/x?y"), "https://h/x?y");
  EXPECT_EQ(absolute_url("https://h/a/b?c=/d/", "x"), "https://h/a/x");
}

TEST(Encoding, KnownValues) {
  // RFC 4648, RFC 1321, and what `git hash-object` says of "hello\n".
  const std::pair<const char*, const char*> vectors[] = {
      {"", ""},        {"f", "Zg=="},        {"fo", "Zm8="},
      {"foo", "Zm9v"}, {"foob", "Zm9vYg=="}, {"foobar", "Zm9vYmFy"}};
  for (const auto& [text, encoded] : vectors) EXPECT_EQ(base64(text), encoded);
  EXPECT_EQ(base64("\xff\xfe\xfd"), "//79");
  EXPECT_EQ(to_hex(md5("abc")), "900150983cd24fb0d6963f7d28e17f72");
  EXPECT_EQ(git_blob_sha1("hello\n"), "ce013625030ba8dba906f756967f9e9ca394464a");
  EXPECT_EQ(percent_encode("a/b c~é", true), "a/b%20c~%C3%A9");
  EXPECT_EQ(percent_encode("refs/pr/1", false), "refs%2Fpr%2F1");
  EXPECT_EQ(percent_decode("a%2Fb%zz%4"), "a/b%zz%4");
}

TEST(S3Place, AddressesAndRegions) {
  std::map<std::string, std::string> environment = {{"AWS_ACCESS_KEY_ID", "a"},
                                                    {"AWS_SECRET_ACCESS_KEY", "b"}};
  StoreOptions options{.for_writing = true};
  options.environment = [&](const std::string& name) -> std::optional<std::string> {
    const auto found = environment.find(name);
    return found == environment.end() ? std::nullopt : std::optional(found->second);
  };
  const auto place = [&](std::string_view url) { return s3_place(url, outside_of(options)); };
  EXPECT_EQ(place("s3://bench/x")->base_url, "https://bench.s3.us-east-1.amazonaws.com");
  environment["AWS_DEFAULT_REGION"] = "eu-west-1";
  EXPECT_EQ(place("s3://bench/x/")->base_url, "https://bench.s3.eu-west-1.amazonaws.com");
  EXPECT_EQ(place("s3://bench.data")->base_url, "https://s3.eu-west-1.amazonaws.com/bench.data");
  environment["AWS_REGION"] = "eu-north-1";
  EXPECT_EQ(place("s3://bench/x")->signer.region, "eu-north-1");
  environment["AWS_REGION"] = "EU north";
  EXPECT_EQ(place("s3://bench/x").refusal().code, "STORE-URL");
  environment["AWS_REGION"] = "eu-north-1";
  environment["R2_BUCKET_ENDPOINT"] = "https://account.r2.cloudflarestorage.com/";
  EXPECT_EQ(place("s3://bench/x")->base_url, "https://account.r2.cloudflarestorage.com/bench");
  EXPECT_EQ(place("s3://bench/x")->signer.region, "auto");
  EXPECT_EQ(place("s3://bench/x")->signer.access_key, "a");
  environment["R2_ACCESS_KEY_ID"] = "r";
  EXPECT_EQ(place("s3://bench/x").refusal().code, "STORE-CREDENTIALS-MISSING");
  environment["R2_SECRET_ACCESS_KEY"] = "s";
  EXPECT_EQ(place("s3://bench/x")->signer.access_key, "r");
  EXPECT_EQ(place("s3://bench/x")->object_url("data/a b"),
            "https://account.r2.cloudflarestorage.com/bench/x/data/a%20b");
}

}  // namespace
}  // namespace assay::publish
