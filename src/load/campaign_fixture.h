// What the tests of campaigns share: a folder, a weight file, a manifest on made-up servers.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "base/sha256.h"
#include "base/text.h"

namespace assay::load {

inline std::string fake_server() {
  return (std::filesystem::path(ASSAY_BIN_DIR).parent_path() / "tests" / "fake_chat_server")
      .string();
}

class CampaignFixture : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/assay-campaign-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = name;
    weights_ = folder_ / "tiny.gguf";
    std::ofstream(weights_) << "GGUF" << std::string(5000, 'w');
    weights_sha_ = sha256_hex("GGUF" + std::string(5000, 'w'));
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  /// A server object of the manifest; `more` are further words of the command line.
  [[nodiscard]] std::string server(const std::vector<std::string>& more = {}) const {
    std::string argv =
        cat("\"", fake_server(), "\",\"--port\",\"${port}\",\"--weights\",\"", weights_.string(),
            "\",\"--model\",\"${model}\",\"--pid-file\",\"", (folder_ / "pids").string(), "\"");
    for (const std::string& word : more) argv += cat(",\"", word, "\"");
    return cat("{\"argv\":[", argv, "],\"ready_url\":\"http://127.0.0.1:${port}/v1/models\"}");
  }

  /// Windows 1000 and 2000, target 256, 16 new tokens, two repeats; `more` are further members.
  [[nodiscard]] std::string manifest(const std::string& server_json, const std::string& more = "",
                                     const std::string& profile_more = "") const {
    return cat(R"({"campaign_id":"c1","output_root":")", (folder_ / "runs").string(),
               R"(","base_url":"http://127.0.0.1:${port}/v1","defaults":{"targets":[256],)",
               R"("configured_windows":[1000,2000],"output_tokens":16,"repeats":2},"server":)",
               server_json, R"(,"profiles":[{"id":"p","model":"fake","window_limit_tokens":)",
               windows_ == 1 ? "1000" : "2000", profile_more, "}]", more, "}");
  }

  [[nodiscard]] json::Value read_json(const std::filesystem::path& path) const {
    const auto bytes = read_file(path);
    EXPECT_TRUE(bytes) << path;
    if (!bytes) return {};
    const auto value = json::parse(*bytes);
    EXPECT_TRUE(value) << path;
    return value ? *value : json::Value();
  }

  /// Process ids of the servers that were started, in order.
  [[nodiscard]] std::vector<int> server_pids() const {
    std::vector<int> pids;
    std::ifstream file(folder_ / "pids");
    for (int pid = 0; file >> pid;) pids.push_back(pid);
    return pids;
  }

  std::filesystem::path folder_, weights_;
  std::string weights_sha_;
  int windows_ = 1;
};

}  // namespace assay::load
