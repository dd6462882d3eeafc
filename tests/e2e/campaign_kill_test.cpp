// assay-load campaign, killed and interrupted half way: what is left is true, nothing is left
// running, and the same command finishes the work.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <map>
#include <set>

#include "load/campaign_fixture.h"
#include "process.h"

namespace assay::load {
namespace {

class CampaignKill : public CampaignFixture {
 protected:
  void SetUp() override {
    CampaignFixture::SetUp();
    windows_ = 2;  // two cells
    marker_ = folder_ / "marker";
  }

  // With `hang` the server answers nothing at the first measured run: a campaign half way.
  void write_manifest(bool hang) {
    std::vector<std::string> more;
    if (hang) more = {"--hang", "--from", "4", "--marker", marker_.string()};
    std::ofstream(folder_ / "manifest.json") << manifest(server(more));
  }

  [[nodiscard]] e2e::ProcessRequest request(const std::vector<std::string>& more = {}) const {
    e2e::ProcessRequest out;
    out.argv = {std::string(ASSAY_BIN_DIR) + "/assay-load", "campaign",
                (folder_ / "manifest.json").string()};
    out.argv.insert(out.argv.end(), more.begin(), more.end());
    out.working_directory = folder_;
    out.environment["XDG_CACHE_HOME"] = (folder_ / "cache").string();
    return out;
  }

  template <class Condition>
  [[nodiscard]] static bool wait_for(Condition condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > end) return false;
      usleep(2000);
    }
    return true;
  }
  [[nodiscard]] static bool gone(int pid) { return kill(pid, 0) != 0; }

  [[nodiscard]] std::vector<json::Value> cells() const {
    std::vector<json::Value> out;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_ / "runs")) {
      if (entry.path().filename() == "cell.json") out.push_back(read_json(entry.path()));
    }
    return out;
  }
  [[nodiscard]] size_t count(std::string_view status) const {
    const auto all = cells();
    return static_cast<size_t>(std::count_if(all.begin(), all.end(), [&](const auto& cell) {
      return cell.find("status")->string() == status;
    }));
  }

  std::filesystem::path marker_;
};

TEST_F(CampaignKill, KilledOutrightLeavesTheTruthAndNoServer) {
  write_manifest(true);
  {
    e2e::Process campaign(request());
    ASSERT_TRUE(wait_for([&] { return std::filesystem::exists(marker_); }));
    campaign.signal(SIGKILL);
    EXPECT_EQ(campaign.wait().exit_code, 128 + SIGKILL);
  }
  for (const int pid : server_pids()) EXPECT_TRUE(wait_for([&] { return gone(pid); })) << pid;
  ASSERT_EQ(count("aborted"), 1u);
  const json::Value left = cells()[0];
  EXPECT_FALSE(left.find("finished")->boolean());
  EXPECT_EQ(left.find("phase")->string(), "sequential");

  write_manifest(false);
  const auto again = e2e::run_process(request());
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(count("success"), 2u);
  for (const int pid : server_pids()) EXPECT_TRUE(gone(pid)) << pid;
}

TEST_F(CampaignKill, InterruptedSaysSoAndGoesOnLater) {
  write_manifest(true);
  e2e::Process campaign(request());
  ASSERT_TRUE(wait_for([&] { return std::filesystem::exists(marker_); }));
  campaign.signal(SIGINT);
  const auto result = campaign.wait();
  EXPECT_EQ(result.exit_code, 130) << result.err;
  for (const int pid : server_pids()) EXPECT_TRUE(gone(pid)) << pid;
  ASSERT_EQ(cells().size(), 1u);
  const json::Value left = cells()[0];
  EXPECT_EQ(left.find("status")->string(), "aborted");
  EXPECT_TRUE(left.find("finished")->boolean());
  EXPECT_EQ(left.find("reason_code")->string(), "CAMPAIGN-INTERRUPTED");
  EXPECT_EQ(left.find("reason")->string(), "signal 2");

  write_manifest(false);
  EXPECT_EQ(e2e::run_process(request()).exit_code, 0);
  EXPECT_EQ(count("success"), 2u);
}

TEST_F(CampaignKill, AKilledServerAbortsItsCellAndNotTheCampaign) {
  write_manifest(true);
  e2e::Process campaign(request());
  // Both cells hang; each server is killed when it does.
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(wait_for([&] { return std::filesystem::exists(marker_); }));
    std::filesystem::remove(marker_);
    kill(server_pids().back(), SIGKILL);
  }
  EXPECT_EQ(campaign.wait().exit_code, 1);
  ASSERT_EQ(count("aborted"), 2u);
  for (const json::Value& cell : cells()) {
    EXPECT_EQ(cell.find("reason_code")->string(), "CAMPAIGN-SERVER-DIED");
    EXPECT_NE(cell.find("reason")->string().find("signal 9"), std::string::npos);
  }
}

// Killed at many moments, some before anything was written, some in a cell, some behind the end.
TEST_F(CampaignKill, KilledAgainAndAgainItStillEnds) {
  write_manifest(false);
  for (int round = 0; round < 12; ++round) {
    e2e::Process campaign(request());
    usleep(static_cast<useconds_t>(20'000 + round * 40'000));
    campaign.signal(SIGKILL);
    (void)campaign.wait();
    for (const int pid : server_pids()) EXPECT_TRUE(wait_for([&] { return gone(pid); })) << pid;
  }
  const auto last = e2e::run_process(request());
  EXPECT_EQ(last.exit_code, 0) << last.err;
  EXPECT_EQ(count("success"), 2u);
}

TEST_F(CampaignKill, DryRunWritesNothing) {
  write_manifest(false);
  std::set<std::filesystem::path> before, after;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_))
    before.insert(entry.path());
  const auto result = e2e::run_process(request({"--dry-run"}));
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_NE(result.out.find(" p window 1000 target 256 output 16 x2 concurrency 1: planned"),
            std::string::npos)
      << result.out;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_))
    after.insert(entry.path());
  EXPECT_EQ(before, after);
  EXPECT_TRUE(server_pids().empty());
}

TEST_F(CampaignKill, ADryRunAsJsonAndOneThatTheRunWouldRefuse) {
  write_manifest(false);
  const auto plan = e2e::run_process(request({"--dry-run", "--json"}));
  ASSERT_EQ(plan.exit_code, 0) << plan.err;
  const auto document = json::parse(plan.out);
  ASSERT_TRUE(document) << plan.out;
  const auto& list = document->find("cells")->items();
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0].find("status")->string(), "planned");
  EXPECT_EQ(list[1].find("cell")->find("configured_window")->literal(), "2000");
  std::ofstream(folder_ / "manifest.json") << manifest(server({"${NOSUCH}"}));
  const auto refused = e2e::run_process(request({"--dry-run"}));
  EXPECT_EQ(refused.exit_code, 3);
  EXPECT_EQ(refused.out, "");
  EXPECT_NE(refused.err.find("CAMPAIGN-VARIABLE-UNSET"), std::string::npos) << refused.err;
  EXPECT_FALSE(std::filesystem::exists(folder_ / "runs"));
}

TEST_F(CampaignKill, ABadManifestIsRefusedWithItsPlace) {
  std::ofstream(folder_ / "manifest.json") << R"({"campaign_id":"c","profiles":[{"model":"m"}]})";
  const auto result = e2e::run_process(request());
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_NE(result.err.find("profiles[0].window_limit_tokens"), std::string::npos) << result.err;
}

TEST_F(CampaignKill, CellsBecomeRowsOfTheRecord) {
  const std::string publisher = std::string(ASSAY_BIN_DIR) + "/assay-publish";
  if (!std::filesystem::exists(publisher)) GTEST_SKIP() << publisher << " was not built";
  windows_ = 1;
  std::string text = manifest(server(), R"(,"control":{"profile":"old"})");
  text.replace(text.find("}]"), 2,
               R"(},{"id":"old","model":"fake","window_limit_tokens":1000,"server":)" +
                   server({"--threads", "9"}) + "}]");
  text.replace(text.find("[256]"), 5, "[256,990]");  // 990 + 16 > 1000
  std::ofstream(folder_ / "manifest.json") << text;
  ASSERT_EQ(e2e::run_process(request()).exit_code, 0);
  e2e::ProcessRequest convert = request();
  convert.argv = {publisher, "convert"};
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_ / "runs")) {
    if (entry.path().filename() == "throughput.json") convert.argv.push_back(entry.path().string());
  }
  ASSERT_EQ(convert.argv.size(), 6u);  // two profiles, two targets
  for (const char* word : {"--suite", "throughput", "--git-sha", "0123456789", "--print-envelope"})
    convert.argv.emplace_back(word);
  const auto result = e2e::run_process(convert);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto envelopes = json::parse_many(result.out);
  ASSERT_TRUE(envelopes);
  ASSERT_EQ(envelopes->size(), 5u);  // the four, and what the candidate was measured beside
  std::map<std::string, int> seen;
  for (const json::Value& envelope : *envelopes) {
    const std::string status = envelope.find("cell_status")->string();
    const std::string profile = envelope.find("campaign")->find("profile")->string();
    EXPECT_EQ(envelope.find("env_class")->string(), "isolated");
    const auto& rows = envelope.find("results")->items();
    // Of the total rate; a made-up server may be too quick for a decode window.
    const bool ratio = std::any_of(rows.begin(), rows.end(), [](const json::Value& row) {
      return row.find("metric")->string() == "control_ratio" &&
             row.find("tags")->find("ratio_of")->string() == "throughput_total_toks_per_s";
    });
    ++seen[cat(profile, " ", status, rows.empty() ? ", no rows" : "", ratio ? ", ratio" : "")];
  }
  EXPECT_EQ(seen, (std::map<std::string, int>{{"old not_applicable, no rows", 1},
                                              {"old success", 2},
                                              {"p not_applicable, no rows", 1},
                                              {"p success, ratio", 1}}));
}

TEST_F(CampaignKill, VerdictOfACampaign) {
  windows_ = 1;
  std::string text = manifest(server(), R"(,"control":{"profile":"old"})");
  text.replace(text.find("}]"), 2,
               R"(},{"id":"old","model":"fake","window_limit_tokens":1000,"server":)" +
                   server({"--threads", "9"}) + "}]");
  std::ofstream(folder_ / "manifest.json") << text;
  ASSERT_EQ(e2e::run_process(request()).exit_code, 0);
  e2e::ProcessRequest verdict = request();
  verdict.argv = {std::string(ASSAY_BIN_DIR) + "/assay-load", "verdict", folder_.string()};
  const auto result = e2e::run_process(verdict);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("window 1000, prompt 256, output 16"), std::string::npos) << result.out;
  // Microseconds of a made-up server: the pair may or may not agree, but it is never final.
  EXPECT_NE(result.out.find("PROVISIONAL"), std::string::npos) << result.out;
  verdict.argv[2] = (folder_ / "cache").string();
  EXPECT_EQ(e2e::run_process(verdict).exit_code, 3);
}

}  // namespace
}  // namespace assay::load
