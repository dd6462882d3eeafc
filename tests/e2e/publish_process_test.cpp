// assay-publish as a process: stores behind servers, exit codes, what is said and what never is,
// full disks, and a dry run that opens no socket.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "process.h"
#include "support/fake_hub.h"
#include "support/fake_object_store.h"

namespace assay::e2e {
namespace {

namespace fs = std::filesystem;
using testing_support::FakeHub;
using testing_support::FakeObjectStore;
using testing_support::HubRules;
using testing_support::WireReply;
using testing_support::WireRequest;

constexpr const char* kResult =
    R"({"date":"20260816-160853","endpoint_type":"vllm","backend":"vllm",
"model_id":"acme/tiny-1b","num_prompts":8,"completed":8,"failed":0,"max_concurrency":2,"duration":2.0,
"total_input_tokens":256,"total_output_tokens":128,"request_throughput":4.0,"output_throughput":64.0,
"total_token_throughput":192.0,"median_ttft_ms":55.5})";

class PublishProcess : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "assay-publish-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    std::ofstream(folder_ / "result.json") << kResult;
    environment_ = {{"XDG_STATE_HOME", (folder_ / "state").string()},
                    {"HOME", folder_.string()},
                    {"http_proxy", "http://127.0.0.1:9"}};  // never asked for this machine itself
  }
  void TearDown() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  std::vector<std::string> command(std::vector<std::string> more) {
    std::vector<std::string> argv = {ASSAY_BIN_DIR "/assay-publish",
                                     "publish",
                                     (folder_ / "result.json").string(),
                                     "--suite",
                                     "throughput",
                                     "--kind",
                                     "vllm",
                                     "--tz",
                                     "UTC",
                                     "--max-tokens",
                                     "64",
                                     "--legacy-regime",
                                     "--git-sha",
                                     "abcdef1234"};
    argv.insert(argv.end(), more.begin(), more.end());
    return argv;
  }
  ProcessResult publish(std::vector<std::string> more) {
    ProcessResult result = run_process({.argv = command(std::move(more)),
                                        .working_directory = folder_,
                                        .environment = environment_,
                                        .file_bytes_max = {}});
    for (const std::string& secret : secrets_) {
      EXPECT_EQ(result.out.find(secret), std::string::npos) << result.out;
      EXPECT_EQ(result.err.find(secret), std::string::npos) << result.err;
    }
    return result;
  }
  void use(FakeHub& hub) {
    environment_["HF_ENDPOINT"] = hub.server().url();
    environment_["HF_TOKEN"] = hub.rules.token;
    secrets_ = {hub.rules.token, "topsecret"};
  }
  void use(FakeObjectStore& store) {
    environment_["R2_BUCKET_ENDPOINT"] = store.server().url();
    environment_["R2_ACCESS_KEY_ID"] = store.rules().access_key;
    environment_["R2_SECRET_ACCESS_KEY"] = store.rules().secret_key;
    environment_["AWS_REGION"] = store.rules().region;
    secrets_ = {store.rules().secret_key};
  }

  fs::path folder_;
  std::map<std::string, std::string> environment_;
  std::vector<std::string> secrets_;
};

TEST_F(PublishProcess, ToAHub) {
  FakeHub hub;
  use(hub);
  const auto first = publish({"--repo-id", "acme/results"});
  EXPECT_EQ(first.exit_code, 0) << first.err;
  const std::string path(trim(first.out));
  EXPECT_TRUE(path.starts_with("data/run-2026-08-16T16-08-53-abcdef1234-throughput-")) << path;
  EXPECT_EQ(std::count(first.out.begin(), first.out.end(), '\n'), 1);
  EXPECT_EQ(hub.files().count(path), 1u);
  EXPECT_EQ(hub.commits().back().summary, "feat: add throughput run for acme/tiny-1b");

  environment_["MLX_BENCH_REPO_ID"] = "acme/results";
  const auto again = publish({});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(again.out, first.out);
  EXPECT_NE(again.err.find("already published"), std::string::npos);
  EXPECT_EQ(hub.commits().size(), 2u);
  EXPECT_EQ(hub.storage().count("PUT"), 1u);

  const auto request = publish({"--create-pr", "--tag", "try=2", "--log-format", "json"});
  EXPECT_EQ(request.exit_code, 0) << request.err;
  EXPECT_NE(request.err.find("/discussions/1"), std::string::npos) << request.err;
  EXPECT_EQ(hub.commits("refs/pr/1").size(), 1u);
}

TEST_F(PublishProcess, WithoutTokenNothingIsAsked) {
  FakeHub hub;
  use(hub);
  environment_.erase("HF_TOKEN");
  const auto refused = publish({"--store", "hf://datasets/acme/results"});
  EXPECT_EQ(refused.exit_code, 4);
  EXPECT_NE(refused.err.find("STORE-CREDENTIALS-MISSING"), std::string::npos) << refused.err;
  EXPECT_EQ(refused.out, "");
  std::ofstream(folder_ / "token") << hub.rules.token << "\n";
  const auto given = publish(
      {"--store", "hf://datasets/acme/results", "--token-file", (folder_ / "token").string()});
  EXPECT_EQ(given.exit_code, 0) << given.err;
  EXPECT_GT(hub.server().requests().size(), 0u);
}

TEST_F(PublishProcess, ToAnObjectStore) {
  FakeObjectStore store;
  use(store);
  const auto first = publish({"--store", "s3://bench/team/a"});
  EXPECT_EQ(first.exit_code, 0) << first.err;
  const std::string path(trim(first.out));
  EXPECT_EQ(store.objects.count("team/a/" + path), 1u);
  EXPECT_EQ(store.objects.count("team/a/metadata/run-index-v1.json"), 1u);
  const size_t puts = store.server().count("PUT");
  const auto again = publish({"--store", "s3://bench/team/a"});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(store.server().count("PUT"), puts);
  const auto index = run_process(
      {.argv = {ASSAY_BIN_DIR "/assay-publish", "index", "--store", "s3://bench/team/a"},
       .working_directory = folder_,
       .environment = environment_,
       .file_bytes_max = {}});
  EXPECT_EQ(index.exit_code, 0) << index.err;
  EXPECT_NE(index.out.find(path), std::string::npos);

  environment_["R2_SECRET_ACCESS_KEY"] = "not the secret";
  const auto refused = publish({"--store", "s3://bench/team/a", "--tag", "b=c"});
  EXPECT_EQ(refused.exit_code, 4);
  EXPECT_NE(refused.err.find("STORE-CREDENTIALS-REFUSED"), std::string::npos) << refused.err;
  EXPECT_EQ(refused.out, "");
}

TEST_F(PublishProcess, LogLinesHaveTimeAndLevel) {
  FakeHub hub;
  use(hub);
  const auto text = publish({"--repo-id", "acme/results", "--log-format", "text"});
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_TRUE(text.err.find("Z INFO assay-publish publish: published data/") != std::string::npos)
      << text.err;
  const auto last_line = [](const std::string& text_) {
    const std::string_view all = trim(text_);
    return std::string(all.substr(all.rfind('\n') + 1));
  };
  hub.rules.role = "read";
  const auto refused =
      publish({"--repo-id", "acme/results", "--tag", "a=b", "--log-format", "json"});
  EXPECT_EQ(refused.exit_code, 4);
  const auto line = json::parse(last_line(refused.err));
  ASSERT_TRUE(line) << refused.err;
  EXPECT_EQ(line->find("level")->string(), "ERROR");
  EXPECT_EQ(line->find("refusal")->string(), "STORE-CREDENTIALS-REFUSED");
  EXPECT_TRUE(line->find("time")->string().ends_with("Z"));
  hub.rules.role = "write";
  const auto quiet = publish({"--repo-id", "acme/results", "--tag", "a=c", "--log-format", "json",
                              "--log-level", "WARNING"});
  EXPECT_EQ(quiet.exit_code, 0);
  EXPECT_EQ(quiet.err.find("INFO"), std::string::npos) << quiet.err;
}

TEST_F(PublishProcess, TheOtherNameNeedsNoVerb) {
  std::vector<std::string> argv = command({"--dry-run"});
  argv[0] = ASSAY_BIN_DIR "/mlx-bench-publish";
  argv.erase(argv.begin() + 1);
  const auto run = [&] {
    return run_process({.argv = argv,
                        .working_directory = folder_,
                        .environment = environment_,
                        .file_bytes_max = {}});
  };
  const auto dry = run();
  EXPECT_EQ(dry.exit_code, 0) << dry.err;
  EXPECT_TRUE(dry.out.starts_with("data/run-")) << dry.out;
  EXPECT_TRUE(dry.err.starts_with("mlx-bench-publish publish: ")) << dry.err;
  argv.push_back("--print-envelope");
  const auto printed = run();
  EXPECT_EQ(printed.exit_code, 0) << printed.err;
  EXPECT_TRUE(json::parse(trim(printed.out))) << printed.out;
  argv = {argv[0], "--version"};
  EXPECT_EQ(run().exit_code, 0);
}

TEST_F(PublishProcess, AProofOfTheWeightsFromAFile) {
  const std::string url = "file://" + (folder_ / "out").string();
  std::ofstream(folder_ / "proof.json") << R"({"method":"open_files","verified":true,"pid":7})";
  const std::string proof = (folder_ / "proof.json").string();
  const auto proven = publish({"--store", url, "--provenance-file", proof});
  EXPECT_EQ(proven.exit_code, 0) << proven.err;
  const auto index = read_file(folder_ / "out/metadata/run-index-v1.json");
  ASSERT_TRUE(index);
  EXPECT_NE(index->find("\"weights\": \"verified\""), std::string::npos) << *index;
  std::ofstream(folder_ / "proof.json") << R"({"method":"guessed"})";
  EXPECT_EQ(publish({"--store", url, "--provenance-file", proof}).exit_code, 3);
  std::ofstream(folder_ / "proof.json") << "[]";
  EXPECT_EQ(publish({"--store", url, "--provenance-file", proof}).exit_code, 2);
  EXPECT_EQ(publish({"--store", url, "--provenance-file", "/nonexistent"}).exit_code, 2);
}

TEST_F(PublishProcess, WrongCommandLines) {
  const std::string url = "file://" + (folder_ / "out").string();
  EXPECT_EQ(publish({}).exit_code, 2);
  EXPECT_EQ(publish({"--store", "ftp://x"}).exit_code, 2);
  EXPECT_EQ(publish({"--repo-id", "no-owner"}).exit_code, 2);
  EXPECT_EQ(publish({"--store", url, "--repo-id", "a/b"}).exit_code, 2);
  EXPECT_EQ(publish({"--store", url, "--create-pr"}).exit_code, 2);
  EXPECT_EQ(publish({"--repo-id", "a/b", "--token-file", "/nonexistent"}).exit_code, 2);
  EXPECT_EQ(publish({"--store", url, "--log-level", "LOUD"}).exit_code, 2);
  for (const char* zone : {"Mars", "+99:99", "25", "", "Europe/Berlin"})
    EXPECT_EQ(publish({"--store", url, "--tz", zone}).exit_code, 2) << zone;
  for (const auto& [flag, number, range] : {std::tuple{"--serving-port", "99999999", "1 to 65535"},
                                            {"--serving-port", "0", "1 to 65535"},
                                            {"--concurrency", "0", "1 to 1048576"},
                                            {"--max-tokens", "0", "1 to 1073741824"},
                                            {"--pr-number", "-1", "1 to 2147483647"}}) {
    const ProcessResult result = publish({"--store", url, flag, number});
    EXPECT_EQ(result.exit_code, 2) << flag;
    EXPECT_NE(result.err.find(cat(flag, " takes ", range, ", not ", number)), std::string::npos)
        << result.err;
  }
  EXPECT_EQ(publish({"--store", url, "--model", "x\xff"}).exit_code, 2);
  EXPECT_EQ(publish({"--store", url, "--tag", "x=\xfe"}).exit_code, 2);
  EXPECT_FALSE(fs::exists(folder_ / "out"));
}

TEST_F(PublishProcess, ADryRunOpensNoSocket) {
  FakeHub hub;
  FakeObjectStore store;
  for (const std::string url : {"hf://datasets/acme/results", "s3://bench/x"}) {
    use(hub);
    use(store);
    const auto run = [&](std::vector<std::string> more) {
      std::vector<std::string> argv = command({"--store", url});
      argv.insert(argv.begin(), ASSAY_TESTS_DIR "/no_sockets");
      argv.insert(argv.end(), more.begin(), more.end());
      return run_process({.argv = argv,
                          .working_directory = folder_,
                          .environment = environment_,
                          .file_bytes_max = {}});
    };
    const auto dry = run({"--dry-run"});
    if (dry.exit_code == 77) GTEST_SKIP() << "this kernel has no seccomp filters";
    EXPECT_EQ(dry.exit_code, 0) << dry.err;
    EXPECT_TRUE(dry.out.starts_with("data/run-")) << dry.out;
    // The same command without --dry-run dies of its first socket: the filter does see it.
    EXPECT_EQ(run({}).exit_code, 128 + SIGSYS);
  }
  EXPECT_TRUE(hub.server().requests().empty());
  EXPECT_TRUE(store.server().requests().empty());
}

TEST_F(PublishProcess, AFullDiskLeavesTheStoreWhole) {
  const std::string url = "file://" + (folder_ / "out").string();
  const auto full = run_process({.argv = command({"--store", url}),
                                 .working_directory = folder_,
                                 .environment = environment_,
                                 .file_bytes_max = 4096});
  EXPECT_EQ(full.exit_code, 4) << full.err;
  EXPECT_NE(full.err.find("STORE-WRITE"), std::string::npos) << full.err;
  for (const auto& entry : fs::recursive_directory_iterator(folder_ / "out"))
    EXPECT_FALSE(entry.is_regular_file()) << entry.path();
  EXPECT_EQ(publish({"--store", url}).exit_code, 0);
  // Room for the entry is gone later: the shard stays, and the next try mends the index.
  const auto index = folder_ / "out/metadata/run-index-v1.json";
  const auto before = read_file(index);
  ASSERT_TRUE(before);
  std::string padded = *before;
  padded.insert(padded.find("A shard"), std::string(120'000, 'p'));
  ASSERT_TRUE(write_file_atomic(index, padded));
  const auto tight = run_process({.argv = command({"--store", url, "--tag", "n=2"}),
                                  .working_directory = folder_,
                                  .environment = environment_,
                                  .file_bytes_max = 110'000});
  EXPECT_EQ(tight.exit_code, 4) << tight.err;
  EXPECT_EQ(*read_file(index), padded);
  const auto mended = publish({"--store", url, "--tag", "n=2"});
  EXPECT_EQ(mended.exit_code, 0) << mended.err;
  const auto after = json::parse(*read_file(index));
  ASSERT_TRUE(after);
  EXPECT_EQ(after->find("runs")->items().size(), 2u);
}

TEST_F(PublishProcess, ASmallDiskThatFillsUp) {
  // A file system of 64 KiB in a mount namespace of its own.
  const fs::path disk = folder_ / "disk";
  fs::create_directory(disk);
  std::string script = "mount -t tmpfs -o size=64k none " + disk.string() +
                       " || exit 77; head -c 40000 /dev/zero >" + disk.string() + "/other; ";
  for (const std::string& word : command({"--store", "file://" + (disk / "out").string()}))
    script += "'" + word + "' ";
  script += "; code=$?; find " + disk.string() + " -name '*.parquet' -o -name '*.tmp'; exit $code";
  const auto result = run_process({.argv = {"/usr/bin/unshare", "-rm", "/bin/sh", "-c", script},
                                   .working_directory = folder_,
                                   .environment = environment_,
                                   .file_bytes_max = {}});
  if (result.exit_code != 4) GTEST_SKIP() << "no mount namespaces here: " << result.err;
  EXPECT_NE(result.err.find("STORE-WRITE"), std::string::npos) << result.err;
  EXPECT_EQ(result.out, "");  // nothing half-written stays
}

TEST_F(PublishProcess, SymbolicLinksInAFolderAreNotFollowed) {
  fs::create_directories(folder_ / "out");
  fs::create_directories(folder_ / "elsewhere");
  fs::create_directory_symlink(folder_ / "elsewhere", folder_ / "out/metadata");
  const auto result = publish({"--store", "file://" + (folder_ / "out").string()});
  EXPECT_EQ(result.exit_code, 4) << result.err;
  EXPECT_TRUE(fs::is_empty(folder_ / "elsewhere"));
}

}  // namespace
}  // namespace assay::e2e
