// s3:// against object stores that others wrote: moto (does not check signatures) and a server that
// does. ASSAY_MOTO_SERVER and ASSAY_S3_SERVER name the programs; without one its test skips.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "base/sha256.h"
#include "base/text.h"
#include "process.h"
#include "publish/http_client.h"
#include "publish/run_index.h"
#include "publish/store.h"

namespace assay::publish {
namespace {

constexpr const char* kKey = "AKIDSERVERTEST";
constexpr const char* kSecret = "kZ8+secret/of=the~test";

int free_port() {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  EXPECT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
  ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
  ::close(listener);
  return ntohs(address.sin_port);
}

StoreOptions options_for(const std::string& endpoint,
                         std::map<std::string, std::string> change = {}) {
  std::map<std::string, std::string> environment = {{"AWS_ENDPOINT_URL", endpoint},
                                                    {"AWS_ACCESS_KEY_ID", kKey},
                                                    {"AWS_SECRET_ACCESS_KEY", kSecret}};
  for (auto& [name, value] : change) environment[name] = value;
  StoreOptions options{.for_writing = true};
  options.environment = [=](const std::string& name) -> std::optional<std::string> {
    const auto found = environment.find(name);
    return found == environment.end() ? std::nullopt : std::optional(found->second);
  };
  return options;
}

// Makes the bucket; tried until the server listens, for at most a minute.
void make_bucket(const std::string& endpoint) {
  const auto client = curl_client();
  const AwsSigner signer{
      .access_key = kKey, .secret_key = kSecret, .session_token = {}, .region = "us-east-1"};
  HttpRequest request;
  request.method = "PUT";
  request.url = endpoint + "/bench";
  request.headers = {{"x-amz-content-sha256", sha256_hex("")}};
  request.signer = &signer;
  Patience patience;
  patience.retries_max = 600;
  patience.sleep = [](std::chrono::milliseconds) { ::usleep(100'000); };
  patience.say = [](std::string_view) {};
  const auto reply = send_patiently(*client, request, patience);
  ASSERT_TRUE(reply) << reply.refusal().text();
  ASSERT_EQ(reply->reply.status, 200) << reply->reply.body;
}

void holds_as_a_store(const std::string& endpoint) {
  const auto store = *open_store("s3://bench/a/b", options_for(endpoint));
  std::string bytes(300'000, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 31 >> 3);
  const auto first = store->put_once("data/run-a+1 (x).parquet", bytes);
  ASSERT_TRUE(first) << first.refusal().text();
  EXPECT_EQ(*first, PutOutcome::created);
  EXPECT_EQ(*store->put_once("data/run-a+1 (x).parquet", bytes), PutOutcome::already_there);
  EXPECT_EQ(store->put_once("data/run-a+1 (x).parquet", "other").refusal().code,
            "STORE-DIFFERENT-BYTES");
  EXPECT_EQ(**store->get("data/run-a+1 (x).parquet"), bytes);
  EXPECT_EQ(*store->get("data/none"), std::nullopt);
  const auto files = store->list("data");
  ASSERT_TRUE(files) << files.refusal().text();
  ASSERT_EQ(files->size(), 1u);
  EXPECT_EQ(files->front().path, "data/run-a+1 (x).parquet");
  EXPECT_EQ(files->front().size_bytes, bytes.size());

  EXPECT_TRUE(*store->replace("metadata/i.json", std::nullopt, "1"));
  EXPECT_FALSE(*store->replace("metadata/i.json", std::nullopt, "2"));
  EXPECT_TRUE(*store->replace("metadata/i.json", "1", "2"));
  const auto other = *open_store("s3://bench/a/b", options_for(endpoint));
  EXPECT_EQ(**store->get("metadata/i.json"), "2");
  EXPECT_TRUE(*other->replace("metadata/i.json", "2", "3"));
  EXPECT_FALSE(*store->replace("metadata/i.json", "2", "4"));  // its tag is old
  EXPECT_EQ(**store->get("metadata/i.json"), "3");

  IndexEntry entry;
  entry.path = "data/run-z.parquet";
  const auto published = publish_with_entry(*store, {entry.path, "z"}, entry, "z");
  ASSERT_TRUE(published) << published.refusal().text();
  EXPECT_TRUE(check_paths_exist(*store, *read_run_index(*store))->empty());
  EXPECT_EQ((*open_store("s3://nosuchbucket/x", options_for(endpoint)))
                ->put_once("data/a", "b")
                .refusal()
                .code,
            "STORE-NOT-FOUND");
}

TEST(S3Servers, Moto) {
  const char* program = std::getenv("ASSAY_MOTO_SERVER");
  if (program == nullptr || *program == '\0')
    GTEST_SKIP() << "ASSAY_MOTO_SERVER names no moto_server (tools/fetch_s3_server.sh moto)";
  const int port = free_port();
  const e2e::Process server({.argv = {program, "-H", "127.0.0.1", "-p", std::to_string(port)},
                             .working_directory = {},
                             .environment = {},
                             .file_bytes_max = {}});
  const std::string endpoint = "http://127.0.0.1:" + std::to_string(port);
  make_bucket(endpoint);
  holds_as_a_store(endpoint);
}

TEST(S3Servers, OneThatChecksSignatures) {
  const char* program = std::getenv("ASSAY_S3_SERVER");
  if (program == nullptr || *program == '\0')
    GTEST_SKIP() << "ASSAY_S3_SERVER names no versitygw (tools/fetch_s3_server.sh versitygw)";
  std::string folder = (std::filesystem::temp_directory_path() / "assay-s3-XXXXXX").string();
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  {
    const int port = free_port();
    const e2e::Process server(
        {.argv = {program, "--port", "127.0.0.1:" + std::to_string(port), "posix", folder},
         .working_directory = {},
         .environment = {{"ROOT_ACCESS_KEY", kKey}, {"ROOT_SECRET_KEY", kSecret}},
         .file_bytes_max = {}});
    const std::string endpoint = "http://127.0.0.1:" + std::to_string(port);
    make_bucket(endpoint);
    holds_as_a_store(endpoint);
    struct Case {
      const char* variable;
      const char* value;
      const char* code;
    };
    for (const Case& c : {Case{"AWS_SECRET_ACCESS_KEY", "wrong", "STORE-CREDENTIALS-REFUSED"},
                          {"AWS_ACCESS_KEY_ID", "AKIDNOBODY", "STORE-CREDENTIALS-REFUSED"},
                          {"AWS_REGION", "eu-central-1", "STORE-REGION"}}) {
      const auto store =
          *open_store("s3://bench/a/b", options_for(endpoint, {{c.variable, c.value}}));
      const auto refused = store->put_once("data/run-c.parquet", "c");
      ASSERT_FALSE(refused) << c.variable;
      EXPECT_EQ(refused.refusal().code, c.code) << refused.refusal().text();
      EXPECT_EQ(store->list("data").refusal().code, c.code);
    }
    EXPECT_EQ(*(*open_store("s3://bench/a/b", options_for(endpoint)))->get("data/run-c.parquet"),
              std::nullopt);
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace assay::publish
