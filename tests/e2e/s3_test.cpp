// s3:// against an object store that checks every signature, digest and condition, and that fails
// as networks and servers do.
#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>

#include "publish/remote_store.h"
#include "publish/run_index.h"
#include "publish/store.h"
#include "support/fake_object_store.h"

namespace assay::publish {
namespace {

using testing_support::FakeObjectStore;
using testing_support::ObjectStoreRules;
using testing_support::WireReply;
using testing_support::WireRequest;
using Intervention = FakeObjectStore::Intervention;

constexpr const char* kSecret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";

struct Client {
  std::map<std::string, std::string> environment{};
  std::vector<int64_t> waits_s{};
  std::string said{};

  explicit Client(FakeObjectStore& server)
      : environment{{"AWS_ENDPOINT_URL_S3", server.server().url()},
                    {"AWS_ACCESS_KEY_ID", server.rules().access_key},
                    {"AWS_SECRET_ACCESS_KEY", server.rules().secret_key},
                    {"AWS_REGION", server.rules().region}} {}

  StoreOptions options() {
    StoreOptions out{.for_writing = true};
    out.environment = [this](const std::string& name) -> std::optional<std::string> {
      const auto found = environment.find(name);
      return found == environment.end() ? std::nullopt : std::optional(found->second);
    };
    out.sleep = [this](std::chrono::milliseconds time) { waits_s.push_back(time.count() / 1000); };
    out.say = [this](std::string_view text) { said += std::string(text) + "\n"; };
    return out;
  }
  std::unique_ptr<Store> open(std::string_view url = "s3://bench/results/2026") {
    auto store = open_store(url, options());
    EXPECT_TRUE(store) << (store ? "" : store.refusal().text());
    return store ? *std::move(store) : nullptr;
  }
};

// The n-th request (from 0) that `which` selects goes wrong.
auto fail(std::function<bool(const WireRequest&)> which, std::set<int> when, Intervention how) {
  auto count = std::make_shared<int>(0);
  return [=](const WireRequest& request) {
    return which(request) && when.contains((*count)++) ? how : Intervention{};
  };
}
bool is_put(const WireRequest& request) {
  return request.method == "PUT";
}

TEST(S3, PublishesOnceAndReadsBack) {
  FakeObjectStore server;
  Client client(server);
  const auto store = client.open();
  const std::string bytes("PAR1\0\xff bytes", 12);
  auto first = store->put_once("data/run-a.parquet", bytes);
  ASSERT_TRUE(first) << first.refusal().text();
  EXPECT_EQ(*first, PutOutcome::created);
  EXPECT_EQ(server.objects.at("results/2026/data/run-a.parquet").bytes, bytes);
  const size_t puts = server.server().count("PUT");
  EXPECT_EQ(*store->put_once("data/run-a.parquet", bytes), PutOutcome::already_there);
  EXPECT_EQ(server.server().count("PUT"), puts);  // nothing is uploaded again
  const auto other = store->put_once("data/run-a.parquet", "PAR1 other bytes");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.refusal().code, "STORE-DIFFERENT-BYTES");
  const std::string same_size(bytes.size(), 'x');
  EXPECT_EQ(store->put_once("data/run-a.parquet", same_size).refusal().code,
            "STORE-DIFFERENT-BYTES");
  EXPECT_EQ(server.objects.at("results/2026/data/run-a.parquet").bytes, bytes);
  EXPECT_EQ(**store->get("data/run-a.parquet"), bytes);
  EXPECT_EQ(*store->get("data/run-b.parquet"), std::nullopt);
  EXPECT_EQ(store->url(), "s3://bench/results/2026");
}

TEST(S3, SignsNamesThatNeedEncoding) {
  FakeObjectStore server;
  Client client(server);
  const auto store = client.open("s3://bench/team a+b/ü");
  for (const char* path :
       {"data/run a+b&c=d.parquet", "data/ü/100%.parquet", "data/(x)~'*!.parquet"}) {
    const auto stored = store->put_once(path, path);
    ASSERT_TRUE(stored) << stored.refusal().text();
    EXPECT_EQ(server.objects.count(std::string("team a+b/ü/") + path), 1u) << path;
    EXPECT_EQ(**store->get(path), path);
  }
  const auto files = store->list("data");
  ASSERT_TRUE(files) << files.refusal().text();
  EXPECT_EQ(files->size(), 3u);
  EXPECT_EQ(files->front().path, "data/(x)~'*!.parquet");
}

TEST(S3, AnEmptyFileIsAFile) {
  FakeObjectStore server;
  Client client(server);
  const auto store = client.open();
  EXPECT_EQ(*store->put_once("data/empty", ""), PutOutcome::created);
  EXPECT_EQ(*store->put_once("data/empty", ""), PutOutcome::already_there);
  EXPECT_EQ(**store->get("data/empty"), "");
}

TEST(S3, ListsAllPagesInOrderAndOnlyItsOwn) {
  ObjectStoreRules rules;
  rules.page_size = 3;
  FakeObjectStore server(rules);
  for (int i = 0; i < 10; ++i)
    server.objects["results/2026/data/run-" + std::to_string(i) + ".parquet"] = {"xy", {}};
  server.objects["results/2026/data/"] = {};            // a console's folder
  server.objects["results/2026/metadata/i.json"] = {};  // another folder
  server.objects["results/2026/data2/run-x.parquet"] = {};
  Client client(server);
  const auto files = client.open()->list("data");
  ASSERT_TRUE(files) << files.refusal().text();
  ASSERT_EQ(files->size(), 10u);
  EXPECT_EQ(files->front().path, "data/run-0.parquet");
  EXPECT_EQ(files->back().path, "data/run-9.parquet");
  EXPECT_EQ(files->back().size_bytes, 2u);
  EXPECT_EQ(server.server().count("GET", "list-type=2"), 4u);  // 11 keys, 3 a page
  EXPECT_TRUE(client.open("s3://bench/elsewhere")->list("data")->empty());
}

TEST(S3, AListingThatIsNoneIsRefused) {
  FakeObjectStore server;
  Client client(server);
  const auto store = client.open();
  for (const char* body :
       {"", "<html>", "<ListBucketResult><Contents><Key>a</Key></Contents></ListBucketResult>",
        "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>",
        "<ListBucketResult><IsTruncated>true</IsTruncated>"}) {
    server.intervene = [&](const WireRequest&) { return Intervention{WireReply{.body = body}}; };
    EXPECT_EQ(store->list("data").refusal().code, "STORE-REPLY") << body;
  }
  const std::string endless =
      "<ListBucketResult><IsTruncated>true</IsTruncated>"
      "<NextContinuationToken>t</NextContinuationToken></ListBucketResult>";
  server.intervene = [&](const WireRequest&) { return Intervention{WireReply{.body = endless}}; };
  EXPECT_EQ(store->list("data").refusal().code, "STORE-REPLY");
}

TEST(S3, ReplaceNeedsTheExpectedContent) {
  FakeObjectStore server;
  Client client(server);
  const auto store = client.open();
  EXPECT_TRUE(*store->replace("metadata/i.json", std::nullopt, "1"));
  EXPECT_FALSE(*store->replace("metadata/i.json", std::nullopt, "2"));
  EXPECT_FALSE(*store->replace("metadata/i.json", "0", "2"));
  EXPECT_TRUE(*store->replace("metadata/i.json", "1", "2"));
  EXPECT_EQ(**store->get("metadata/i.json"), "2");
  // Read, then changed by somebody else, then replaced: the tag of what was read decides.
  const auto other = client.open();
  EXPECT_TRUE(*other->replace("metadata/i.json", "2", "3"));
  EXPECT_FALSE(*store->replace("metadata/i.json", "2", "4"));
  server.objects.erase("results/2026/metadata/i.json");
  EXPECT_FALSE(*store->replace("metadata/i.json", "3", "4"));
}

TEST(S3, ALostReplyNeitherDuplicatesNorLies) {
  for (const auto fault : {WireReply::lost, WireReply::cut_short}) {
    FakeObjectStore server;
    Client client(server);
    const auto store = client.open();
    server.intervene = fail(is_put, {0}, {WireReply{.body = "half of this", .fault = fault}, true});
    const auto stored = store->put_once("data/run-a.parquet", "bytes");
    ASSERT_TRUE(stored) << stored.refusal().text();
    EXPECT_EQ(*stored, PutOutcome::created);  // by us, even if the second try found it there
    EXPECT_EQ(server.objects.size(), 1u);

    server.intervene = fail(is_put, {0}, {WireReply{.fault = WireReply::lost}, true});
    EXPECT_TRUE(*store->replace("metadata/i.json", std::nullopt, "1"));
    server.intervene = fail(is_put, {0}, {WireReply{.fault = WireReply::lost}, true});
    EXPECT_TRUE(*store->replace("metadata/i.json", "1", "2"));
    EXPECT_EQ(server.objects.at("results/2026/metadata/i.json").bytes, "2");
  }
}

TEST(S3, TriesAgainWhileTheServerIsBusy) {
  FakeObjectStore server;
  Client client(server);
  const auto store = client.open();
  const WireReply busy{.status = 503, .body = "<Error><Code>SlowDown</Code></Error>"};
  server.intervene = fail(is_put, {0, 1}, {busy, false});
  EXPECT_EQ(*store->put_once("data/run-a.parquet", "bytes"), PutOutcome::created);
  EXPECT_EQ(client.waits_s, (std::vector<int64_t>{1, 2}));
  client.waits_s.clear();
  server.intervene = [&](const WireRequest&) { return Intervention{busy}; };
  const auto refused = store->get("data/run-a.parquet");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.refusal().code, "STORE-BUSY");
  EXPECT_EQ(client.waits_s, (std::vector<int64_t>{1, 2, 4, 8, 8}));  // five retries
}

TEST(S3, AConflictIsTriedAgain) {
  FakeObjectStore server;
  Client client(server);
  const WireReply conflict{.status = 409,
                           .body = "<Error><Code>ConditionalRequestConflict</Code></Error>"};
  server.intervene = fail(is_put, {0}, {conflict, false});
  EXPECT_EQ(*client.open()->put_once("data/run-a.parquet", "bytes"), PutOutcome::created);
  server.intervene = fail(is_put, {0}, {conflict, false});
  EXPECT_FALSE(*client.open()->replace("metadata/i.json", std::nullopt, "1"));
}

TEST(S3, SomebodyElseWasFaster) {
  FakeObjectStore server;
  Client client(server);
  const auto store = client.open();
  // After our look, before our write.
  server.intervene = [&](const WireRequest& request) {
    if (is_put(request)) server.objects["results/2026/data/run-a.parquet"] = {"bytes", {}};
    return Intervention{};
  };
  EXPECT_EQ(*store->put_once("data/run-a.parquet", "bytes"), PutOutcome::already_there);
  server.objects.clear();
  EXPECT_EQ(store->put_once("data/run-a.parquet", "other").refusal().code, "STORE-DIFFERENT-BYTES");
  EXPECT_EQ(server.objects.at("results/2026/data/run-a.parquet").bytes, "bytes");
}

TEST(S3, DamagedBytesAreRefused) {
  FakeObjectStore server;
  Client client(server);
  const auto store = client.open();
  for (const char* code : {"BadDigest", "XAmzContentSHA256Mismatch"}) {
    const WireReply damaged{.status = 400,
                            .body = std::string("<Error><Code>") + code + "</Code></Error>"};
    server.intervene = fail(is_put, {0}, {damaged, false});
    EXPECT_EQ(store->put_once("data/run-a.parquet", "bytes").refusal().code, "STORE-DAMAGED");
  }
  server.intervene = {};
  ASSERT_TRUE(store->put_once("data/run-a.parquet", "bytes"));
  server.objects.at("results/2026/data/run-a.parquet").bytes = "bytEs";
  EXPECT_EQ(store->get("data/run-a.parquet").refusal().code, "STORE-DAMAGED");
}

TEST(S3, WrongCredentialsAreRefusedByName) {
  FakeObjectStore server;
  struct Case {
    const char* variable;
    const char* value;
    const char* code;
    const char* says;
  };
  for (const Case& c :
       {Case{"AWS_ACCESS_KEY_ID", "AKIDNOBODY", "STORE-CREDENTIALS-REFUSED", "access key id"},
        {"AWS_SECRET_ACCESS_KEY", "wrongwrongwrong", "STORE-CREDENTIALS-REFUSED", "secret key"},
        {"AWS_REGION", "us-west-2", "STORE-REGION", "AWS_REGION=eu-central-1"}}) {
    Client client(server);
    client.environment[c.variable] = c.value;
    const auto store = client.open();
    for (const std::string& code :
         {std::string(store->put_once("data/run-a.parquet", "b").refusal().code),
          std::string(store->get("data/run-a.parquet").refusal().code),
          std::string(store->list("data").refusal().code)}) {
      EXPECT_EQ(code, c.code) << c.variable;
    }
    const std::string text = store->list("data").refusal().text();
    EXPECT_NE(text.find(c.says), std::string::npos) << text;
    EXPECT_EQ(text.find("wrongwrongwrong"), std::string::npos) << text;
    EXPECT_EQ(text.find(kSecret), std::string::npos) << text;
  }
  EXPECT_TRUE(server.objects.empty());
}

TEST(S3, OtherRefusalsSayWhatToDo) {
  FakeObjectStore server;
  Client client(server);
  EXPECT_EQ(client.open("s3://nobucket/x")->put_once("data/a", "b").refusal().code,
            "STORE-NOT-FOUND");
  const auto store = client.open();
  const auto answer = [&](int status, const std::string& code, const std::string& message) {
    const WireReply reply{
        .status = status,
        .body = "<Error><Code>" + code + "</Code><Message>" + message + "</Message></Error>"};
    server.intervene = fail(is_put, {0}, {reply, false});
    return store->put_once("data/a", "b").refusal();
  };
  EXPECT_EQ(answer(501, "NotImplemented", "x").code, "STORE-NOT-CONDITIONAL");
  EXPECT_EQ(answer(403, "RequestTimeTooSkewed", "x").code, "STORE-CREDENTIALS-REFUSED");
  EXPECT_EQ(answer(301, "PermanentRedirect", "x").code, "STORE-REGION");
  EXPECT_EQ(answer(400, "EntityTooLarge", "x").code, "STORE-WRITE");
  const Refusal denied = answer(403, "AccessDenied", std::string("you sent ") + kSecret);
  EXPECT_EQ(denied.code, "STORE-CREDENTIALS-REFUSED");
  EXPECT_NE(denied.detail.find("s3:PutObject"), std::string::npos) << denied.detail;
  EXPECT_EQ(denied.detail.find(kSecret), std::string::npos) << denied.detail;
  EXPECT_NE(denied.detail.find("***"), std::string::npos) << denied.detail;
}

TEST(S3, SessionTokensAreSignedAndSent) {
  ObjectStoreRules rules;
  rules.session_token = "FwoGZXIvYXdzEBY//token==";
  FakeObjectStore server(rules);
  Client client(server);
  EXPECT_EQ(client.open()->put_once("data/a", "b").refusal().code, "STORE-CREDENTIALS-REFUSED");
  client.environment["AWS_SESSION_TOKEN"] = rules.session_token;
  const auto stored = client.open()->put_once("data/a", "b");
  EXPECT_TRUE(stored) << stored.refusal().text();
}

TEST(S3, NamesOfR2AndBucketEndpoints) {
  ObjectStoreRules rules;
  rules.region = "auto";
  FakeObjectStore server(rules);
  Client client(server);
  client.environment = {{"R2_BUCKET_ENDPOINT", server.server().url() + "/bench/"},
                        {"R2_ACCESS_KEY_ID", rules.access_key},
                        {"R2_SECRET_ACCESS_KEY", rules.secret_key},
                        {"AWS_ACCESS_KEY_ID", "another family's"},
                        {"AWS_SECRET_ACCESS_KEY", "which must not be mixed in"}};
  const auto stored = client.open("s3://bench/x")->put_once("data/a", "b");
  EXPECT_TRUE(stored) << stored.refusal().text();
  EXPECT_EQ(server.objects.count("x/data/a"), 1u);
  EXPECT_EQ(open_store("s3://other/x", client.options()).refusal().code, "STORE-URL");
}

TEST(S3, IsRefusedBeforeAnyRequest) {
  FakeObjectStore server;
  Client client(server);
  for (const char* url : {"s3://", "s3://a", "s3://bench//x", "s3://bench/../x", "s3://be nch/x",
                          "s3://-bench", "s3://bench/a/./b"}) {
    EXPECT_EQ(open_store(url, client.options()).refusal().code, "STORE-URL") << url;
  }
  client.environment.erase("AWS_SECRET_ACCESS_KEY");
  const auto half = open_store("s3://bench/x", client.options());
  ASSERT_FALSE(half);
  EXPECT_EQ(half.refusal().code, "STORE-CREDENTIALS-MISSING");
  EXPECT_NE(half.refusal().detail.find("AWS_SECRET_ACCESS_KEY"), std::string::npos);
  client.environment.erase("AWS_ACCESS_KEY_ID");
  EXPECT_EQ(open_store("s3://bench/x", client.options()).refusal().code,
            "STORE-CREDENTIALS-MISSING");
  StoreOptions reading = client.options();
  reading.for_writing = false;
  EXPECT_TRUE(open_store("s3://bench/x", reading));  // a public bucket can be read
  for (const char* endpoint : {"ftp://x", "127.0.0.1:1", "http://user:pw@x", "http://x?y"}) {
    client.environment["AWS_ENDPOINT_URL_S3"] = endpoint;
    EXPECT_EQ(open_store("s3://bench/x", reading).refusal().code, "STORE-URL") << endpoint;
  }
  const auto store = Client(server).open();
  for (const char* path : {"../x", "/x", "", "a//b", "a\nb"})
    EXPECT_EQ(store->put_once(path, "b").refusal().code, "STORE-URL") << path;
  EXPECT_TRUE(server.server().requests().empty());
}

TEST(S3, NobodyListens) {
  Client* client = nullptr;
  FakeObjectStore server;
  Client real(server);
  client = &real;
  {
    FakeObjectStore gone;  // its port is free again afterwards
    client->environment["AWS_ENDPOINT_URL_S3"] = gone.server().url();
  }
  const auto refused = client->open()->put_once("data/a", "b");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.refusal().code, "STORE-UNREACHABLE");
  EXPECT_EQ(client->waits_s.size(), 5u);
}

TEST(S3, ShardAndEntryBothOrTheEntryLater) {
  FakeObjectStore server;
  Client client(server);
  const auto store = client.open();
  const auto entry = [](const char* path) {
    IndexEntry out;
    out.path = path;
    return out;
  };
  const auto first =
      publish_with_entry(*store, {"data/run-a.parquet", "a"}, entry("data/run-a.parquet"), "first");
  ASSERT_TRUE(first) << first.refusal().text();
  EXPECT_EQ(first->outcome, PutOutcome::created);
  // Another publisher appends between our reading of the index and our writing.
  bool once = false;
  server.intervene = [&](const WireRequest& request) {
    if (!once && is_put(request) && request.target.find("metadata") != std::string::npos) {
      once = true;
      auto index =
          *parse_run_index(server.objects.at("results/2026/metadata/run-index-v1.json").bytes);
      index.runs.push_back(entry("data/run-other.parquet"));
      server.objects["results/2026/metadata/run-index-v1.json"].bytes = write_run_index(index);
      server.objects["results/2026/metadata/run-index-v1.json"].metadata.clear();
    }
    return Intervention{};
  };
  const auto second = publish_with_entry(*store, {"data/run-b.parquet", "b"},
                                         entry("data/run-b.parquet"), "second");
  ASSERT_TRUE(second) << second.refusal().text();
  EXPECT_EQ(second->outcome, PutOutcome::created);
  const auto index = read_run_index(*store);
  ASSERT_TRUE(index);
  ASSERT_EQ(index->runs.size(), 3u);
  EXPECT_EQ(index->runs[1].path, "data/run-other.parquet");
  EXPECT_EQ(index->runs[2].path, "data/run-b.parquet");
}

TEST(S3, TwoPublishersAtOnceLoseNothing) {
  FakeObjectStore server;
  std::vector<std::thread> threads;
  std::atomic<int> failures{0};
  for (int writer = 0; writer < 2; ++writer) {
    threads.emplace_back([&, writer] {
      Client client(server);
      const auto store = client.open();
      for (int i = 0; i < 4; ++i) {
        IndexEntry entry;
        entry.path = "data/run-" + std::to_string(writer) + "-" + std::to_string(i) + ".parquet";
        for (int tries = 0; tries < 20; ++tries) {
          const auto stored = publish_with_entry(*store, {entry.path, entry.path}, entry, "x");
          if (stored) break;
          if (stored.refusal().code != "STORE-WRITE") ++failures;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
  Client client(server);
  const auto index = read_run_index(*client.open());
  ASSERT_TRUE(index);
  EXPECT_EQ(index->runs.size(), 8u);
  EXPECT_EQ(server.objects.size(), 9u);
}

TEST(S3, WorksAgainstAStoreWithoutConditionsOnlyToSayNo) {
  ObjectStoreRules rules;
  rules.conditional = false;
  FakeObjectStore server(rules);
  Client client(server);
  const auto refused = client.open()->put_once("data/a", "b");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.refusal().code, "STORE-NOT-CONDITIONAL");
  EXPECT_TRUE(server.objects.empty());
}

}  // namespace
}  // namespace assay::publish
