// From the files of campaigns to runs that can be counted.
#include "load/verdict_files.h"

#include "load/campaign_fixture.h"

namespace assay::load {
namespace {

class VerdictFiles : public CampaignFixture {
 protected:
  void write(const std::string& name, const std::string& bytes) {
    ASSERT_TRUE(write_file_atomic(folder_ / "runs" / name / "throughput.json", bytes));
  }
  [[nodiscard]] static std::string runs(const std::vector<double>& rates) {
    std::string out;
    for (const double rate : rates)
      out += cat(out.empty() ? "" : ",", "{\"cumulative_tok_s\":", rate, "}");
    return "[" + out + "]";
  }
  [[nodiscard]] static std::string file(const std::string& status, const std::string& control) {
    return cat(R"({"cell_status":")", status,
               R"(","started_utc":"1970-01-11T00:00:05.250Z","env_class":"isolated",)",
               R"("max_tokens":64,"campaign":{"profile":"new"},"context":)",
               R"({"configured_window_tokens":2048,"requested_prompt_tokens":256},"cache":)",
               R"({"prefix_policy":"unique_full_prompt"},"regime":{"thinking":"unstated"},)",
               R"("legs":{"candidate_first":2,"control":4},"sequential_runs":)",
               runs({10, 12, 13, 15}), control, "}");
  }
};

TEST_F(VerdictFiles, TheHalvesOfBothSides) {
  write("a",
        file("success", cat(R"(,"control_run":{"cell_status":"success","campaign":)",
                            R"({"profile":"old"},"sequential_runs":)", runs({5, 7, 6, 6}), "}")));
  const auto found = find_runs({folder_ / "runs"}, "cumulative_tok_s");
  ASSERT_TRUE(found) << found.refusal().text();
  ASSERT_EQ(found->runs.size(), 1u) << found->left_out.at(0);
  const ComparedRun& run = found->runs[0];
  EXPECT_EQ(run.time_seconds, 10 * 86400 + 5);
  EXPECT_EQ(run.candidate, "new");
  EXPECT_EQ(run.control, "old");
  EXPECT_EQ(run.candidate_pair.first, 11);   // median of 10 and 12
  EXPECT_EQ(run.candidate_pair.second, 14);  // of 13 and 15
  EXPECT_EQ(run.control_pair.first, 6);
  EXPECT_EQ(run.control_pair.second, 6);
  EXPECT_EQ(run.config,
            "window 2048, prompt 256, output 64, prefix unique_full_prompt, thinking unstated");
}

TEST_F(VerdictFiles, WhatIsNoRunIsNamed) {
  write("aborted", file("aborted", ""));
  write("alone", file("success", ""));
  write("failed_control", file("success", R"(,"control_run":{"cell_status":"failed"})"));
  write("short", file("success", cat(R"(,"control_run":{"cell_status":"success",)",
                                     R"("sequential_runs":)", runs({5}), "}")));
  write("torn", R"({"cell_status":"suc)");
  const auto found = find_runs({folder_ / "runs"}, "cumulative_tok_s");
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->runs.empty());
  ASSERT_EQ(found->left_out.size(), 5u);
  EXPECT_NE(found->left_out[0].find("its status is aborted"), std::string::npos);
  EXPECT_NE(found->left_out[1].find("no control was measured"), std::string::npos);
  EXPECT_NE(found->left_out[2].find("no control was measured"), std::string::npos);
  EXPECT_NE(found->left_out[3].find("no two halves"), std::string::npos);
  EXPECT_NE(found->left_out[4].find("JSON-SYNTAX"), std::string::npos);
}

TEST_F(VerdictFiles, WhatNoRunCanBeIsNamed) {
  const std::string control =
      cat(R"(,"control_run":{"cell_status":"success","campaign":{"profile":"old"},)",
          R"("sequential_runs":)", runs({5, 7, 6, 6}), "}");
  const auto with = [&](std::string_view from, std::string_view to) {
    std::string text = file("success", control);
    return text.replace(text.find(from), from.size(), to);
  };
  // In the middle of a half's two values a rate below zero would leave a median that looks sound.
  write("a", with("\"cumulative_tok_s\":12", "\"cumulative_tok_s\":-12"));
  write("b", with("\"cumulative_tok_s\":15", "\"cumulative_tok_s\":0"));
  write("c", with("isolated", "quiet"));
  write("d", file("success", control));
  const auto found = find_runs({folder_ / "runs"}, "cumulative_tok_s");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->runs.size(), 1u);
  ASSERT_EQ(found->left_out.size(), 3u);
  EXPECT_NE(found->left_out[0].find("no two halves"), std::string::npos);
  EXPECT_NE(found->left_out[1].find("no two halves"), std::string::npos);
  EXPECT_NE(found->left_out[2].find("its env_class is quiet"), std::string::npos);
}

TEST_F(VerdictFiles, AFolderThatCannotBeReadIsNamedAndTheOthersCount) {
  if (geteuid() == 0) GTEST_SKIP() << "for this user every folder can be read";
  write("a/locked", "{}");
  write("b", file("aborted", ""));
  std::filesystem::permissions(folder_ / "runs/a", std::filesystem::perms::none);
  const auto found = find_runs({folder_ / "runs"}, "cumulative_tok_s");
  std::filesystem::permissions(folder_ / "runs/a", std::filesystem::perms::owner_all);
  ASSERT_TRUE(found);
  ASSERT_EQ(found->left_out.size(), 2u);
  EXPECT_NE(found->left_out[0].find("ermission denied"), std::string::npos);
}

TEST_F(VerdictFiles, NothingToJudgeIsRefused) {
  std::filesystem::create_directories(folder_ / "empty");
  EXPECT_EQ(find_runs({folder_ / "empty"}, "x").refusal().code, "VERDICT-NO-RUNS");
  EXPECT_EQ(find_runs({folder_ / "nowhere"}, "x").refusal().code, "VERDICT-NO-RUNS");
}

}  // namespace
}  // namespace assay::load
