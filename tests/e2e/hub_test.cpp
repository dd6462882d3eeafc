// hf:// against a hub of our own, which fails as the real one and the network do.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "publish/remote_store.h"
#include "publish/run_index.h"
#include "publish/store.h"
#include "support/fake_hub.h"

namespace assay::publish {
namespace {

using testing_support::FakeHub;
using testing_support::HubRules;
using testing_support::WireReply;
using testing_support::WireRequest;
using Intervention = FakeHub::Intervention;

constexpr const char* kShard = "data/run-a.parquet";

struct Client {
  std::map<std::string, std::string> environment{};
  std::vector<int64_t> waits_s{};
  std::string said{};
  bool create_pr = false;

  explicit Client(FakeHub& hub)
      : environment{{"HF_ENDPOINT", hub.server().url() + "/"}, {"HF_TOKEN", hub.rules.token}} {}

  StoreOptions options() {
    StoreOptions out{.for_writing = true, .create_pr = create_pr};
    out.environment = [this](const std::string& name) -> std::optional<std::string> {
      const auto found = environment.find(name);
      return found == environment.end() ? std::nullopt : std::optional(found->second);
    };
    out.sleep = [this](std::chrono::milliseconds time) { waits_s.push_back(time.count() / 1000); };
    out.say = [this](std::string_view text) { said += std::string(text) + "\n"; };
    return out;
  }
  std::unique_ptr<Store> open(std::string_view url = "hf://datasets/acme/results") {
    auto store = open_store(url, options());
    EXPECT_TRUE(store) << (store ? "" : store.refusal().text());
    return store ? *std::move(store) : nullptr;
  }
};

IndexEntry entry(const std::string& path) {
  IndexEntry out;
  out.path = path;
  return out;
}

Result<Stored> publish(Store& store, const std::string& path, const std::string& bytes) {
  return publish_with_entry(store, {path, bytes}, entry(path), "feat: add throughput run for m");
}

// The n-th request (from 0) with this method and part of its target goes wrong.
auto fail(std::string method, std::string part, std::set<int> when, Intervention how) {
  auto count = std::make_shared<int>(0);
  return [=](const WireRequest& request) {
    const bool selected =
        request.method == method && request.target.find(part) != std::string::npos;
    return selected && when.contains((*count)++) ? how : Intervention{};
  };
}

TEST(Hub, ShardAndIndexGoInOneCommit) {
  FakeHub hub;
  Client client(hub);
  const auto store = client.open();
  const std::string bytes(3000, 'p');
  const auto stored = publish(*store, kShard, bytes);
  ASSERT_TRUE(stored) << stored.refusal().text();
  EXPECT_EQ(stored->outcome, PutOutcome::created);
  ASSERT_EQ(hub.commits().size(), 2u);
  const FakeHub::Commit& commit = hub.commits().back();
  EXPECT_EQ(commit.changed, (std::vector<std::string>{kShard, "metadata/run-index-v1.json"}));
  EXPECT_EQ(commit.summary, "feat: add throughput run for m");
  EXPECT_TRUE(hub.files().at(kShard).large);
  EXPECT_EQ(hub.files().at(kShard).bytes, bytes);
  EXPECT_NE(hub.server().requests().back().body.find("\"parentCommit\":\"" + std::string(40, '0')),
            std::string::npos);
  EXPECT_EQ(**store->get(kShard), bytes);
  EXPECT_EQ(read_run_index(*store)->runs.size(), 1u);
  // A second shard builds on the first commit.
  ASSERT_TRUE(publish(*store, "data/run-b.parquet", "b"));
  EXPECT_EQ(hub.commits().size(), 3u);
  EXPECT_EQ(read_run_index(*store)->runs.size(), 2u);
}

TEST(Hub, TheSameAgainUploadsAndCommitsNothing) {
  FakeHub hub;
  Client client(hub);
  ASSERT_TRUE(publish(*client.open(), kShard, "bytes"));
  const size_t puts = hub.storage().count("PUT"), commits = hub.commits().size();
  const size_t batches = hub.server().count("POST", "objects/batch");
  const auto again = publish(*client.open(), kShard, "bytes");
  ASSERT_TRUE(again) << again.refusal().text();
  EXPECT_EQ(again->outcome, PutOutcome::already_there);
  EXPECT_EQ(hub.storage().count("PUT"), puts);
  EXPECT_EQ(hub.commits().size(), commits);
  EXPECT_EQ(hub.server().count("POST", "objects/batch"), batches);
  EXPECT_EQ(hub.server().count("POST", "/commit/"), 1u);
  const auto other = publish(*client.open(), kShard, "other");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.refusal().code, "STORE-DIFFERENT-BYTES");
  EXPECT_EQ(hub.commits().size(), commits);
}

TEST(Hub, MendsAnIndexThatLacksTheEntry) {
  FakeHub hub;
  hub.commit_from_elsewhere(kShard, "bytes", true);
  Client client(hub);
  const auto stored = publish(*client.open(), kShard, "bytes");
  ASSERT_TRUE(stored) << stored.refusal().text();
  EXPECT_EQ(stored->outcome, PutOutcome::already_there);
  EXPECT_EQ(hub.commits().back().changed, std::vector<std::string>{"metadata/run-index-v1.json"});
}

TEST(Hub, UploadsInPartsWhenAskedTo) {
  for (const size_t size : {size_t{1}, size_t{999}, size_t{1000}, size_t{1001}, size_t{4500}}) {
    HubRules rules;
    rules.chunk_bytes = 1000;
    FakeHub hub(rules);
    Client client(hub);
    std::string bytes(size, '\0');
    for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 7);
    const auto stored = client.open()->put_once(kShard, bytes);
    ASSERT_TRUE(stored) << stored.refusal().text();
    EXPECT_EQ(hub.files().at(kShard).bytes, bytes);
    EXPECT_EQ(hub.storage().count("PUT"), (size + 999) / 1000);
  }
}

TEST(Hub, APartWithoutTagIsRefused) {
  HubRules rules;
  rules.chunk_bytes = 1000;
  rules.lose_etags = true;
  FakeHub hub(rules);
  Client client(hub);
  const auto stored = client.open()->put_once(kShard, std::string(1500, 'x'));
  ASSERT_FALSE(stored);
  EXPECT_EQ(stored.refusal().code, "STORE-REPLY");
  EXPECT_NE(stored.refusal().detail.find("ETag"), std::string::npos) << stored.refusal().detail;
  EXPECT_EQ(stored.refusal().detail.find("topsecret"), std::string::npos);
  EXPECT_EQ(hub.commits().size(), 1u);
}

TEST(Hub, DamagedBytesAreRefused) {
  HubRules rules;
  rules.damage = true;
  FakeHub hub(rules);
  Client client(hub);
  const auto stored = client.open()->put_once(kShard, std::string(1500, 'x'));
  ASSERT_FALSE(stored);
  EXPECT_EQ(stored.refusal().code, "STORE-DAMAGED");
  EXPECT_EQ(hub.commits().size(), 1u);

  FakeHub good;
  Client other(good);
  ASSERT_TRUE(other.open()->put_once(kShard, "bytes"));
  good.intervene = fail(
      "GET", "/resolve/", {0},
      {WireReply{.headers = {{"x-linked-etag", '"' + std::string(64, 'a') + '"'}}, .body = "bytes"},
       false});
  EXPECT_EQ(other.open()->get(kShard).refusal().code, "STORE-DAMAGED");
}

TEST(Hub, ServerFaultsPassAndTheRateLimitIsHeeded) {
  FakeHub hub;
  Client client(hub);
  hub.intervene = fail("POST", "/preupload/", {0, 1}, {WireReply{.status = 500}, false});
  ASSERT_TRUE(client.open()->put_once(kShard, "bytes"));
  EXPECT_EQ(client.waits_s, (std::vector<int64_t>{1, 2}));

  client.waits_s.clear();
  const WireReply limited{.status = 429, .headers = {{"ratelimit", "\"api\";r=0;t=1"}}};
  hub.intervene = fail("POST", "/preupload/", {0}, {limited, false});
  ASSERT_TRUE(client.open()->put_once("data/run-b.parquet", "bytes"));
  EXPECT_EQ(client.waits_s, std::vector<int64_t>{2});  // t and one second

  client.waits_s.clear();
  const WireReply later{.status = 429, .headers = {{"Retry-After", "7"}}};
  hub.intervene = fail("POST", "/commit/", {0}, {later, false});
  ASSERT_TRUE(client.open()->put_once("data/run-c.parquet", "bytes"));
  EXPECT_EQ(client.waits_s, std::vector<int64_t>{8});

  const WireReply tomorrow{.status = 429, .headers = {{"ratelimit", "\"api\";r=0;t=86400"}}};
  hub.intervene = fail("POST", "/preupload/", {0}, {tomorrow, false});
  client.waits_s.clear();
  const auto refused = client.open()->put_once("data/run-d.parquet", "bytes");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.refusal().code, "STORE-BUSY");
  EXPECT_TRUE(client.waits_s.empty());
}

TEST(Hub, ALostCommitReplyDoesNotCommitTwice) {
  for (const WireReply& reply : {WireReply{.fault = WireReply::lost}, WireReply{.status = 502}}) {
    FakeHub hub;
    Client client(hub);
    hub.intervene = fail("POST", "/commit/", {0}, {reply, true});
    const auto stored = publish(*client.open(), kShard, "bytes");
    ASSERT_TRUE(stored) << stored.refusal().text();
    EXPECT_EQ(stored->outcome, PutOutcome::created);
    EXPECT_EQ(hub.commits().size(), 2u);
    EXPECT_EQ(hub.server().count("POST", "/commit/"), 1u);
    EXPECT_EQ(read_run_index(*client.open())->runs.size(), 1u);
  }
}

TEST(Hub, ACommitThatNeverArrivedIsMadeAgain) {
  FakeHub hub;
  Client client(hub);
  hub.intervene = fail("POST", "/commit/", {0, 1}, {WireReply{.status = 500}, false});
  const auto stored = publish(*client.open(), kShard, "bytes");
  ASSERT_TRUE(stored) << stored.refusal().text();
  EXPECT_EQ(hub.commits().size(), 2u);
  EXPECT_EQ(hub.server().count("POST", "/commit/"), 3u);
}

TEST(Hub, AnotherPublisherInBetween) {
  FakeHub hub;
  Client client(hub);
  ASSERT_TRUE(publish(*client.open(), kShard, "bytes"));
  int left = 2;
  hub.intervene = [&](const WireRequest& request) {
    if (request.target.find("/commit/") != std::string::npos && left > 0) {
      auto index = *parse_run_index(hub.files().at("metadata/run-index-v1.json").bytes);
      index.runs.push_back(entry("data/run-other" + std::to_string(left--) + ".parquet"));
      hub.commit_from_elsewhere("metadata/run-index-v1.json", write_run_index(index));
    }
    return Intervention{};
  };
  const auto stored = publish(*client.open(), "data/run-b.parquet", "b");
  ASSERT_TRUE(stored) << stored.refusal().text();
  const auto index = read_run_index(*client.open());
  ASSERT_TRUE(index);
  ASSERT_EQ(index->runs.size(), 4u);
  EXPECT_EQ(index->runs[1].path, "data/run-other2.parquet");
  EXPECT_EQ(index->runs[2].path, "data/run-other1.parquet");
  EXPECT_EQ(index->runs[3].path, "data/run-b.parquet");

  // A dataset that never stands still is given up after five tries, and nothing is half there.
  left = 1000;
  const auto refused = publish(*client.open(), "data/run-c.parquet", "c");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.refusal().code, "STORE-WRITE");
  EXPECT_EQ(hub.files().count("data/run-c.parquet"), 0u);
}

TEST(Hub, TwoPublishersAtOnceLoseNothing) {
  FakeHub hub;
  std::vector<std::thread> threads;
  std::atomic<int> failures{0};
  for (int writer = 0; writer < 2; ++writer) {
    threads.emplace_back([&, writer] {
      Client client(hub);
      const auto store = client.open();
      for (int i = 0; i < 4; ++i) {
        const std::string path =
            "data/run-" + std::to_string(writer) + "-" + std::to_string(i) + ".parquet";
        // Giving up after five lost races is allowed; trying again then must work.
        for (int tries = 0; tries < 20; ++tries) {
          const auto stored = publish(*store, path, path);
          if (stored) break;
          if (stored.refusal().code != "STORE-WRITE") ++failures;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
  Client client(hub);
  const auto store = client.open();
  const auto index = read_run_index(*store);
  ASSERT_TRUE(index);
  EXPECT_EQ(index->runs.size(), 8u);
  EXPECT_EQ(hub.commits().size(), 9u);
  EXPECT_TRUE(check_paths_exist(*store, *index)->empty());
}

TEST(Hub, ReplaceNeedsTheExpectedContent) {
  FakeHub hub;
  Client client(hub);
  const auto store = client.open();
  EXPECT_TRUE(*store->replace("metadata/i.json", std::nullopt, "1"));
  EXPECT_FALSE(*store->replace("metadata/i.json", std::nullopt, "2"));
  EXPECT_FALSE(*store->replace("metadata/i.json", "0", "2"));
  EXPECT_TRUE(*store->replace("metadata/i.json", "1", "2"));
  EXPECT_EQ(**store->get("metadata/i.json"), "2");
  EXPECT_EQ(*store->get("metadata/none"), std::nullopt);
}

TEST(Hub, PullRequestsTakeAllThatFollows) {
  FakeHub hub;
  Client client(hub);
  client.create_pr = true;
  const auto store = client.open();
  const auto first = publish(*store, kShard, "bytes");
  ASSERT_TRUE(first) << first.refusal().text();
  EXPECT_NE(first->remark.find("/discussions/1"), std::string::npos) << first->remark;
  ASSERT_TRUE(publish(*store, "data/run-b.parquet", "b"));
  EXPECT_EQ(hub.commits("main").size(), 1u);
  EXPECT_EQ(hub.commits("refs/pr/1").size(), 2u);
  EXPECT_EQ(hub.commits("refs/pr/2").size(), 0u);
  EXPECT_EQ(read_run_index(*store)->runs.size(), 2u);

  hub.intervene = fail("POST", "/commit/", {0}, {WireReply{.fault = WireReply::lost}, true});
  const auto lost = publish(*client.open(), "data/run-c.parquet", "c");
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.refusal().code, "STORE-UNREACHABLE");
  EXPECT_NE(lost.refusal().detail.find("discussions"), std::string::npos);
  EXPECT_EQ(hub.server().count("POST", "/commit/main?create_pr=1"), 2u);
}

TEST(Hub, ListsAllPages) {
  HubRules rules;
  rules.tree_page = 4;
  FakeHub hub(rules);
  for (int i = 0; i < 10; ++i)
    hub.commit_from_elsewhere("data/run-" + std::to_string(i) + ".parquet", "xyz", true);
  hub.commit_from_elsewhere("README.md", "x");
  Client client(hub);
  const auto files = client.open()->list("data");
  ASSERT_TRUE(files) << files.refusal().text();
  ASSERT_EQ(files->size(), 10u);
  EXPECT_EQ(files->front().path, "data/run-0.parquet");
  EXPECT_EQ(files->front().size_bytes, 3u);
  EXPECT_EQ(hub.server().count("GET", "/tree/main/data"), 3u);
  EXPECT_TRUE(client.open()->list("nothing")->empty());
  // The token does not follow a page to another host.
  const WireReply astray{.headers = {{"link", "<http://127.0.0.2:1/x>; rel=\"next\""}},
                         .body = "[]"};
  hub.intervene = fail("GET", "/tree/", {0}, {astray, false});
  EXPECT_EQ(client.open()->list("data").refusal().code, "STORE-REPLY");
}

TEST(Hub, TheTokenGoesToTheHubOnly) {
  HubRules rules;
  rules.chunk_bytes = 600;
  FakeHub hub(rules);
  Client client(hub);
  const auto store = client.open();
  ASSERT_TRUE(publish(*store, kShard, std::string(1500, 'x')));
  ASSERT_TRUE(store->get(kShard));  // is sent on to the storage
  EXPECT_GE(hub.storage().requests().size(), 5u);
  for (const WireRequest& request : hub.storage().requests())
    EXPECT_EQ(request.header("authorization"), std::nullopt) << request.target;
  for (const WireRequest& request : hub.server().requests())
    EXPECT_EQ(request.header("authorization"), "Bearer " + rules.token) << request.target;
}

TEST(Hub, TokensComeInOrder) {
  FakeHub hub;
  std::string folder = (std::filesystem::temp_directory_path() / "assay-hub-XXXXXX").string();
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  std::filesystem::create_directories(folder + "/.cache/huggingface");
  const auto write = [](const std::string& path, const std::string& text) {
    std::ofstream(path) << text;
  };
  write(folder + "/.cache/huggingface/token", "from_home\n");
  write(folder + "/token", "from_hf_home\n");
  write(folder + "/other", " from_token_path \n");
  Client client(hub);
  client.environment.erase("HF_TOKEN");
  const auto sent = [&](std::optional<std::string> given = std::nullopt) {
    StoreOptions options = client.options();
    options.token = std::move(given);
    const auto store = open_store("hf://datasets/acme/results", options);
    if (!store) return std::string(store.refusal().code);
    const auto refused = (*store)->get("x");
    EXPECT_FALSE(refused);
    EXPECT_EQ(refused.refusal().code, "STORE-CREDENTIALS-REFUSED");
    return hub.server().requests().back().header("authorization").value_or("");
  };
  EXPECT_EQ(sent(), "STORE-CREDENTIALS-MISSING");
  client.environment["HOME"] = folder;
  EXPECT_EQ(sent(), "Bearer from_home");
  client.environment["HF_HOME"] = folder;
  EXPECT_EQ(sent(), "Bearer from_hf_home");
  client.environment["HF_TOKEN_PATH"] = folder + "/other";
  EXPECT_EQ(sent(), "Bearer from_token_path");
  client.environment["HUGGING_FACE_HUB_TOKEN"] = "second";
  EXPECT_EQ(sent(), "Bearer second");
  client.environment["HF_TOKEN"] = " first\n";
  EXPECT_EQ(sent(), "Bearer first");
  EXPECT_EQ(sent("explicit"), "Bearer explicit");
  EXPECT_EQ(sent("two words"), "STORE-CREDENTIALS-MISSING");
  std::filesystem::remove_all(folder);
}

TEST(Hub, IsRefusedBeforeAnyRequest) {
  FakeHub hub;
  Client client(hub);
  for (const char* url :
       {"hf://", "hf://datasets/", "hf://datasets/acme", "hf://models/acme/results",
        "hf://datasets/acme/re sults", "hf://datasets/acme/../x", "hf://datasets/a/b/c",
        "hf://datasets/acme/results@", "hf://datasets/acme/results@../x"}) {
    EXPECT_EQ(open_store(url, client.options()).refusal().code, "STORE-URL") << url;
  }
  client.environment.erase("HF_TOKEN");
  EXPECT_EQ(open_store("hf://datasets/acme/results", client.options()).refusal().code,
            "STORE-CREDENTIALS-MISSING");
  client.environment["HF_TOKEN"] = "hf_x";
  client.environment["HF_ENDPOINT"] = "http://hub.example.org";
  EXPECT_EQ(open_store("hf://datasets/acme/results", client.options()).refusal().code,
            "STORE-INSECURE");
  EXPECT_TRUE(hub.server().requests().empty());
}

TEST(Hub, APublicDatasetIsReadWithoutToken) {
  FakeHub hub;
  hub.commit_from_elsewhere(kShard, "bytes", true);
  Client client(hub);
  client.environment.erase("HF_TOKEN");
  StoreOptions options = client.options();
  options.for_writing = false;
  const auto store = open_store("hf://datasets/acme/results", options);
  ASSERT_TRUE(store);
  EXPECT_EQ(**(*store)->get(kShard), "bytes");
  for (const WireRequest& request : hub.server().requests())
    EXPECT_EQ(request.header("authorization"), std::nullopt);
}

TEST(Hub, RefusalsSayWhatIsMissing) {
  HubRules rules;
  rules.role = "read";
  FakeHub hub(rules);
  Client client(hub);
  const auto denied = publish(*client.open(), kShard, "bytes");
  ASSERT_FALSE(denied);
  EXPECT_EQ(denied.refusal().code, "STORE-CREDENTIALS-REFUSED");
  for (const char* part : {"scope", "repo.write", "role `read`", "acme/results"})
    EXPECT_NE(denied.refusal().detail.find(part), std::string::npos) << denied.refusal().detail;
  EXPECT_EQ(denied.refusal().detail.find(rules.token), std::string::npos);

  FakeHub good;
  Client other(good);
  EXPECT_EQ(publish(*other.open("hf://datasets/acme/nothing"), kShard, "b").refusal().code,
            "STORE-NOT-FOUND");
  const auto revision = publish(*other.open("hf://datasets/acme/results@v9"), kShard, "b");
  EXPECT_EQ(revision.refusal().code, "STORE-NOT-FOUND");
  EXPECT_NE(revision.refusal().detail.find("v9"), std::string::npos);
  other.environment["HF_TOKEN"] = "hf_wrong";
  const auto wrong = publish(*other.open(), kShard, "b");
  EXPECT_EQ(wrong.refusal().code, "STORE-CREDENTIALS-REFUSED");
  EXPECT_EQ(wrong.refusal().detail.find("hf_wrong"), std::string::npos);
  good.rules.ignores_data = true;
  other.environment["HF_TOKEN"] = good.rules.token;
  EXPECT_EQ(publish(*other.open(), kShard, "b").refusal().code, "STORE-WRITE");
}

TEST(Hub, RepliesThatAreNoneAreRefused) {
  FakeHub hub;
  Client client(hub);
  const auto with = [&](const char* part, const char* body) {
    hub.intervene = fail("POST", part, {0}, {WireReply{.body = body}, false});
    const auto stored = client.open()->put_once(kShard, "bytes");
    return stored ? std::string("stored") : std::string(stored.refusal().code);
  };
  for (const char* body : {"", "<html>", "[]", "{}", "{\"files\":3}", "{\"files\":[]}",
                           "{\"files\":[{\"path\":\"data/run-a.parquet\"}]}"})
    EXPECT_EQ(with("/preupload/", body), "STORE-REPLY") << body;
  for (const char* body : {"", "{}", "{\"objects\":[]}", "{\"objects\":[{\"oid\":\"x\"}]}"})
    EXPECT_EQ(with("/objects/batch", body), "STORE-REPLY") << body;
  EXPECT_EQ(with("/commit/", "no json"), "STORE-REPLY");
}

TEST(Hub, SaysWhenTheHubDoesNotTellItsCommit) {
  HubRules rules;
  rules.tells_commit = false;
  FakeHub hub(rules);
  Client client(hub);
  const auto stored = publish(*client.open(), kShard, "bytes");
  ASSERT_TRUE(stored) << stored.refusal().text();
  EXPECT_NE(client.said.find("does not say which commit"), std::string::npos) << client.said;
}

}  // namespace
}  // namespace assay::publish
