#include "benchd/record.h"

#include <gtest/gtest.h>

namespace assay::benchd {
namespace {

scoring::Tokens ids(std::string_view text, uint32_t count) {
  auto parsed = parse_prompt_tokens(text, count, 100);
  return parsed ? *parsed : scoring::Tokens{};
}
std::string refusal(std::string_view text, uint32_t count) {
  const auto parsed = parse_prompt_tokens(text, count, 100);
  return parsed ? "" : std::string(parsed.refusal().code);
}

TEST(PromptTokens, ThreeSpellings) {
  const scoring::Tokens expected = {1, 0, 99};
  EXPECT_EQ(ids("[1,0,99]", 3), expected);
  EXPECT_EQ(ids(" [1, 0, 99]\n", 3), expected);
  EXPECT_EQ(ids("1\n0\n99\n", 3), expected);
  EXPECT_EQ(ids("1,0,99", 3), expected);
  EXPECT_EQ(ids("1,  0\t99 ", 3), expected);
}

TEST(PromptTokens, RefusesOtherCountsIdsAndWords) {
  EXPECT_EQ(refusal("1 2", 3), "RECORD-PROMPT-INVALID");
  EXPECT_EQ(refusal("1 2 3 4", 3), "RECORD-PROMPT-INVALID");
  EXPECT_EQ(refusal("1 2 100", 3), "RECORD-PROMPT-INVALID");
  EXPECT_EQ(refusal("1 2 -1", 3), "RECORD-PROMPT-INVALID");
  EXPECT_EQ(refusal("1 2 three", 3), "RECORD-PROMPT-INVALID");
  EXPECT_EQ(refusal("[1,2,3", 3), "RECORD-PROMPT-INVALID");
  EXPECT_EQ(refusal("[1,2,3.0]", 3), "RECORD-PROMPT-INVALID");
  EXPECT_EQ(refusal("", 3), "RECORD-PROMPT-INVALID");
}

}  // namespace
}  // namespace assay::benchd
