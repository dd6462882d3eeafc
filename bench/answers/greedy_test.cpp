#include "bench/answers/greedy.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/files.h"
#include "base/text.h"

namespace assay::bench {
namespace {

GreedyCase reference() {
  return {.name = "two",
          .prompt = "p",
          .prompt_ids = {1},
          .tokens = {7, 8},
          .top5 = {{{7, 10.0}, {8, 9.7}, {9, 9.6}}, {{8, 5.0}, {7, 1.0}}}};
}

TEST(Judge, EqualTokensAreExact) {
  const std::vector<int32_t> tokens = {7, 8};
  EXPECT_EQ(judge(reference(), tokens).verdict, Verdict::exact);
}

TEST(Judge, WhatComesAfterTheReferenceIsNotLookedAt) {
  const std::vector<int32_t> tokens = {7, 8, 99};
  EXPECT_EQ(judge(reference(), tokens).verdict, Verdict::exact);
}

// 10.0 - 9.7 = 0.3 <= 0.35: a near tie, and the text after it is free.
TEST(Judge, LeavingAtANearTieIsAllowed) {
  const std::vector<int32_t> tokens = {8, 1};
  const Judgement judgement = judge(reference(), tokens);
  EXPECT_EQ(judgement.verdict, Verdict::near_tie);
  EXPECT_EQ(judgement.position, 0U);
  EXPECT_NEAR(judgement.gap, 0.3, 1e-12);
}

// 10.0 - 9.6 = 0.4 > 0.35.
TEST(Judge, AWiderGapIsWrong) {
  const std::vector<int32_t> tokens = {9, 8};
  EXPECT_EQ(judge(reference(), tokens).verdict, Verdict::wrong);
}

TEST(Judge, ATokenOutsideTheBestFiveIsWrong) {
  const std::vector<int32_t> tokens = {7, 4};
  const Judgement judgement = judge(reference(), tokens);
  EXPECT_EQ(judgement.verdict, Verdict::wrong);
  EXPECT_EQ(judgement.position, 1U);
}

TEST(Judge, EndingEarlyIsWrong) {
  const std::vector<int32_t> tokens = {7};
  EXPECT_EQ(judge(reference(), tokens).verdict, Verdict::wrong);
}

std::string read_refusal(std::string_view text) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / cat("assay_greedy_test_", getpid(), ".json");
  EXPECT_TRUE(write_file_atomic(path, text));
  const auto cases = read_greedy_cases(path);
  std::filesystem::remove(path);
  return cases ? "" : std::string(cases.refusal().code);
}

TEST(ReadGreedyCases, ReadsACase) {
  EXPECT_EQ(read_refusal(R"({"results":[{"name":"n","prompt":"p","prompt_ids":[1],"tokens":[2],)"
                         R"("top5":[[[2,1.5],[3,1]]]}]})"),
            "");
}

TEST(ReadGreedyCases, RefusesTokensWithoutTheirFive) {
  EXPECT_EQ(read_refusal(R"({"results":[{"name":"n","prompt":"p","prompt_ids":[1],"tokens":[2,3],)"
                         R"("top5":[[[2,1.5]]]}]})"),
            "JSON-TYPE");
}

TEST(ReadGreedyCases, RefusesAPairOfThree) {
  EXPECT_EQ(read_refusal(R"({"results":[{"name":"n","prompt":"p","prompt_ids":[1],"tokens":[2],)"
                         R"("top5":[[[2,1.5,0]]]}]})"),
            "JSON-TYPE");
}

TEST(ReadGreedyCases, RefusesAMissingKey) {
  EXPECT_EQ(read_refusal(R"({"results":[{"name":"n"}]})"), "JSON-MISSING-KEY");
}

TEST(ReadGreedyCases, RefusesAMissingFile) {
  const auto cases = read_greedy_cases("/no/such/file.json");
  ASSERT_FALSE(cases);
  EXPECT_EQ(cases.refusal().code, "FILE-UNREADABLE");
}

}  // namespace
}  // namespace assay::bench
