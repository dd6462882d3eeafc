// tools/publish_viewer.sh, from a store to what a Pages workflow uploads and to a hub's space; and
// the workflow that calls it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/files.h"
#include "base/sha256.h"
#include "base/text.h"
#include "process.h"
#include "publish/hub_folder.h"
#include "support/fake_hub.h"

namespace assay::e2e {
namespace {

namespace fs = std::filesystem;
using publish::StoreOptions;
using testing_support::FakeHub;
using testing_support::HubRules;
using testing_support::WireReply;
using testing_support::WireRequest;

HubRules space_rules() {
  HubRules rules;
  rules.kind = "spaces";
  rules.dataset = "acme/page";
  return rules;
}

class ViewerPublish : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "assay-site-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    environment_ = {{"ASSAY_BIN", ASSAY_BIN_DIR},
                    {"HOME", folder_.string()},
                    {"XDG_STATE_HOME", (folder_ / "state").string()},
                    {"XDG_CACHE_HOME", (folder_ / "cache").string()}};
    std::ofstream(folder_ / "result.json")
        << R"({"date":"20260816-160853","endpoint_type":"vllm","backend":"vllm","model_id":"acme/tiny-1b",
"num_prompts":8,"completed":8,"failed":0,"duration":2.0,"total_input_tokens":256,"total_output_tokens":128,
"request_throughput":4.0,"output_throughput":64.0,"total_token_throughput":192.0})";
  }
  void TearDown() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  [[nodiscard]] std::string store() const { return "file://" + (folder_ / "results").string(); }
  ProcessResult run(std::vector<std::string> argv) {
    return run_process({.argv = std::move(argv),
                        .working_directory = folder_,
                        .environment = environment_,
                        .file_bytes_max = {}});
  }
  void fill_store() {
    const auto published = run({ASSAY_BIN_DIR "/assay-publish", "publish", "result.json", "--suite",
                                "throughput", "--kind", "vllm", "--tz", "UTC", "--legacy-regime",
                                "--git-sha", "abcdef1234", "--store", store()});
    ASSERT_EQ(published.exit_code, 0) << published.err;
  }
  ProcessResult script(std::vector<std::string> more) {
    std::vector<std::string> argv = {"/bin/bash", ASSAY_SOURCE_DIR "/tools/publish_viewer.sh",
                                     "--out", (folder_ / "site").string()};
    argv.insert(argv.end(), more.begin(), more.end());
    return run(argv);
  }
  fs::path folder_;
  std::map<std::string, std::string> environment_;
};

#ifdef ASSAY_HAVE_VIEW
TEST_F(ViewerPublish, AFolderForPages) {
  fill_store();
  const auto result = script({"--store", store(), "--title", "Our results"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(trim(result.out), (folder_ / "site").string());
  for (const char* file : {"index.html", "api/index.json", ".nojekyll"})
    EXPECT_TRUE(fs::exists(folder_ / "site" / file)) << file;
  EXPECT_EQ(script({"--store", store()}).exit_code, 0);  // again, over the first
}

TEST_F(ViewerPublish, ASpaceInOneCommit) {
  fill_store();
  FakeHub hub(space_rules());
  environment_["HF_ENDPOINT"] = hub.server().url();
  environment_["HF_TOKEN"] = hub.rules.token;
  const auto dry = script({"--store", store(), "--space", "acme/page", "--dry-run"});
  EXPECT_EQ(dry.exit_code, 0) << dry.err;
  EXPECT_TRUE(hub.server().requests().empty());
  const auto sent = script({"--store", store(), "--space", "acme/page", "--title", "Our: results"});
  ASSERT_EQ(sent.exit_code, 0) << sent.err;
  EXPECT_EQ(sent.err.find(hub.rules.token), std::string::npos);
  EXPECT_EQ(hub.commits().size(), 2u);
  EXPECT_EQ(hub.files().count("index.html"), 1u);
  EXPECT_TRUE(
      hub.files().at("README.md").bytes.starts_with("---\ntitle: Our results\nsdk: static\n"));
  const auto index = read_file(folder_ / "site/index.html");
  ASSERT_TRUE(index);
  EXPECT_EQ(hub.files().at("index.html").bytes, *index);
  const size_t shards = static_cast<size_t>(
      std::count_if(hub.files().begin(), hub.files().end(),
                    [](const auto& file) { return file.first.ends_with(".parquet"); }));
  EXPECT_EQ(shards, 1u);
  // The same page again: nothing to send.
  EXPECT_EQ(
      script({"--store", store(), "--space", "acme/page", "--title", "Our: results"}).exit_code, 0);
  EXPECT_EQ(hub.commits().size(), 2u);
  environment_["HF_TOKEN"] = "hf_wrong";
  EXPECT_EQ(script({"--store", store(), "--space", "acme/page"}).exit_code, 4);
}

TEST_F(ViewerPublish, SaysWhatIsWrong) {
  EXPECT_EQ(script({}).exit_code, 2);
  EXPECT_EQ(script({"--store"}).exit_code, 2);
  EXPECT_EQ(script({"--sotre", "x"}).exit_code, 2);
  EXPECT_NE(script({"--store", "ftp://x"}).exit_code, 0);
  environment_["ASSAY_BIN"] = "/nonexistent";
  EXPECT_EQ(script({"--store", store()}).exit_code, 2);
}
#endif

TEST_F(ViewerPublish, AFolderThatIsNoPage) {
  fs::create_directories(folder_ / "empty");
  const auto refused =
      run({ASSAY_BIN_DIR "/assay-publish", "site", "empty", "--space", "acme/page"});
  EXPECT_EQ(refused.exit_code, 2) << refused.err;
  std::ofstream(folder_ / "empty/index.html") << "x";
  EXPECT_EQ(
      run({ASSAY_BIN_DIR "/assay-publish", "site", "empty", "--space", "acme/page"}).exit_code,
      4);  // no token
}

// Uploads of folders to one space, without programs.
class SiteUpload : public ViewerPublish {
 protected:
  void write(const std::string& path, const std::string& bytes) {
    fs::create_directories((folder_ / "page" / path).parent_path());
    std::ofstream(folder_ / "page" / path) << bytes;
  }
  Result<publish::FolderUpload> upload() {
    StoreOptions options{.for_writing = true, .token = hub.rules.token};
    options.environment = [&](const std::string& name) {
      return name == "HF_ENDPOINT" ? std::optional(hub.server().url()) : std::nullopt;
    };
    options.sleep = [](std::chrono::milliseconds) {};
    options.say = [this](std::string_view text) { said += cat(text, "\n"); };
    return publish::upload_folder("hf://spaces/acme/page", folder_ / "page", "page", options);
  }
  std::vector<std::string> there() {
    std::vector<std::string> paths;
    for (const auto& [path, file] : hub.files()) paths.push_back(path);
    return paths;
  }

  FakeHub hub{space_rules()};
  std::string said;
};

TEST_F(SiteUpload, WhatAnEarlierSiteHadAndThisOneLacksIsRemovedInTheSameCommit) {
  hub.commit_from_elsewhere("notes.txt", "by hand", false);
  write("index.html", "one");
  write("old.js", "old");
  write("shards/a.parquet", "PAR1 a");
  write("README.md", "title: x");
  ASSERT_TRUE(upload());
  fs::remove_all(folder_ / "page");
  write("index.html", "two");
  write("shards/b.parquet", "PAR1 b");
  const auto done = upload();
  ASSERT_TRUE(done) << done.refusal().text();
  EXPECT_EQ(done->changed, 2u);
  EXPECT_EQ(done->removed, 2u);
  // The note is not ours; what a repository is configured by is never removed.
  EXPECT_EQ(there(), (std::vector<std::string>{"README.md", "assay-site.json", "index.html",
                                               "notes.txt", "shards/b.parquet"}));
  EXPECT_EQ(hub.commits().size(), 4u);  // the first, the note, two uploads
  const auto again = upload();
  ASSERT_TRUE(again);
  EXPECT_EQ(again->changed + again->removed, 0u);
  EXPECT_EQ(hub.commits().size(), 4u);
}

TEST_F(SiteUpload, ARemovalAloneIsACommit) {
  write("index.html", "one");
  write("old.js", "old");
  ASSERT_TRUE(upload());
  fs::remove(folder_ / "page/old.js");
  const auto done = upload();
  ASSERT_TRUE(done);
  EXPECT_EQ(done->changed, 0u);
  EXPECT_EQ(done->removed, 1u);
  EXPECT_EQ(there(), (std::vector<std::string>{"assay-site.json", "index.html"}));
}

TEST_F(SiteUpload, WhatSomebodyChangedSinceStays) {
  write("index.html", "one");
  write("old.js", "old");
  write("gone.js", "gone");
  ASSERT_TRUE(upload());
  hub.commit_from_elsewhere("old.js", "mended by hand", false);
  fs::remove(folder_ / "page/old.js");
  fs::remove(folder_ / "page/gone.js");
  const auto done = upload();
  ASSERT_TRUE(done);
  EXPECT_EQ(done->removed, 1u);
  EXPECT_EQ(there(), (std::vector<std::string>{"assay-site.json", "index.html", "old.js"}));
  EXPECT_NE(said.find("`old.js` stays: somebody changed it since"), std::string::npos) << said;
}

TEST_F(SiteUpload, AChangeBetweenTheLookAndTheCommitIsLookedAtFirst) {
  write("index.html", "one");
  write("old.js", "old");
  ASSERT_TRUE(upload());
  fs::remove(folder_ / "page/old.js");
  bool once = true;
  hub.intervene = [&](const WireRequest& request) {
    if (request.target.find("/commit/") != std::string::npos && once) {
      once = false;
      hub.commit_from_elsewhere("old.js", "mended by hand", false);
    }
    return FakeHub::Intervention{};
  };
  const auto done = upload();
  ASSERT_TRUE(done) << done.refusal().text();
  EXPECT_EQ(there(), (std::vector<std::string>{"assay-site.json", "index.html", "old.js"}));
}

TEST_F(SiteUpload, AListThatIsNotOursRemovesNothing) {
  write("index.html", "one");
  const std::string digest(64, 'a');
  for (const std::string& list : std::vector<std::string>{
           "", "[]", "{", R"({"format":"assay-site-2","files":[{"path":"mine.txt"}]})",
           R"({"format":"assay-site-1","files":{"path":"mine.txt"}})",
           R"({"format":"assay-site-1","files":["mine.txt"]})",
           // The right shape, but another file, a path outside, what a repository needs.
           cat(R"({"format":"assay-site-1","files":[{"path":"mine.txt","sha256":")", digest,
               R"("},{"path":"../mine.txt","sha256":")", sha256_hex("mine"),
               R"("},{"path":"README.md","sha256":")", sha256_hex("mine"), R"("}]})")}) {
    hub.commit_from_elsewhere("mine.txt", "mine", false);
    hub.commit_from_elsewhere("README.md", "mine", false);
    hub.commit_from_elsewhere("assay-site.json", list, false);
    const auto done = upload();
    ASSERT_TRUE(done) << list << done.refusal().text();
    EXPECT_EQ(done->removed, 0u) << list;
    EXPECT_EQ(there(),
              (std::vector<std::string>{"README.md", "assay-site.json", "index.html", "mine.txt"}))
        << list;
  }
  write("assay-site.json", "{}");
  const auto refused = upload();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.refusal().code, "STORE-WRITE");
}

TEST_F(SiteUpload, ALostReplyToTheCommitIsLookedInto) {
  write("index.html", "x");
  write("sub/a.parquet", "PAR1");
  bool once = true;
  hub.intervene = [&](const WireRequest& request) {
    if (request.target.find("/commit/") == std::string::npos || !once)
      return FakeHub::Intervention{};
    once = false;
    return FakeHub::Intervention{WireReply{.fault = WireReply::lost}, true};
  };
  const auto done = upload();
  ASSERT_TRUE(done) << done.refusal().text();
  EXPECT_EQ(done->files, 2u);
  EXPECT_EQ(done->changed, 2u);
  EXPECT_EQ(hub.commits().size(), 2u);
  fs::create_symlink("/etc/passwd", folder_ / "page/link");
  EXPECT_EQ(upload().refusal().code, "STORE-WRITE");
}

TEST_F(ViewerPublish, TheWorkflowCallsWhatIsHere) {
  const auto text = read_file(ASSAY_SOURCE_DIR "/.github/workflows/viewer.yml");
  ASSERT_TRUE(text);
  int calls = 0;
  for (const std::string_view line : split(*text, '\n')) {
    const size_t at = line.find("tools/");
    if (at == std::string_view::npos) continue;
    const std::string path(line.substr(at, line.find_first_of(" \"", at) - at));
    EXPECT_EQ(::access((fs::path(ASSAY_SOURCE_DIR) / path).c_str(), X_OK), 0) << path;
    ++calls;
  }
  EXPECT_GE(calls, 5);
  EXPECT_EQ(text->find('\t'), std::string::npos);
}

}  // namespace
}  // namespace assay::e2e
