// Each claim that cannot be beside the nearest one that can.
#include "load/claims.h"

#include <gtest/gtest.h>

namespace assay::load {
namespace {

// `chunks` content chunks, 10 ms apart, and 100 prompt tokens; max_tokens is 8 throughout.
StreamRecord answer(int chunks, std::optional<int64_t> completion,
                    std::optional<int64_t> tokens_each = std::nullopt) {
  StreamRecord record;
  record.sent = Stamp(std::chrono::seconds(1));
  record.http_status = 200;
  record.streamed = record.done_seen = true;
  for (int i = 0; i < chunks; ++i) {
    record.ended = *record.sent + std::chrono::milliseconds(10 * (i + 1));
    record.deltas.push_back(
        {.at = record.ended, .kind = DeltaKind::content, .tokens = tokens_each});
  }
  record.usage = {.prompt_tokens = 100, .completion_tokens = completion};
  return record;
}

std::string why(const StreamRecord& record) {
  return impossible_claim(record, account(record), 8).value_or("");
}

TEST(Claims, AsManyTokensAsWereAskedForAndOneMore) {
  EXPECT_EQ(why(answer(4, 8)), "");
  EXPECT_EQ(why(answer(4, 9)), "the server claims 9 completion tokens, at most 8 were asked for");
  StreamRecord record = answer(4, 8);
  record.timings = ServerTimings{.predicted_n = 8};
  EXPECT_EQ(why(record), "");
  record.timings->predicted_n = 9;
  EXPECT_EQ(why(record), "the server claims 9 completion tokens, at most 8 were asked for");
}

TEST(Claims, ChunksThatStandForTokensCannotBeMoreEither) {
  EXPECT_EQ(why(answer(8, std::nullopt)), "");
  EXPECT_EQ(why(answer(9, std::nullopt)),
            "9 chunks stand for tokens, at most 8 were asked for: a chunk is no token here");
  // With a count of the server's own they may be: one token's text may come in parts.
  EXPECT_EQ(why(answer(9, 8)), "");
}

TEST(Claims, TextOfNoToken) {
  EXPECT_EQ(why(answer(0, 0)), "");  // no answer at all is another fault
  EXPECT_EQ(why(answer(1, 0)),
            "the server claims 0 completion tokens, and 1 chunk of the answer came");
}

TEST(Claims, ChunksThatStateMoreThanTheWhole) {
  EXPECT_EQ(why(answer(2, 8, 4)), "");
  EXPECT_EQ(why(answer(2, 8, 3)), "");  // a stop token, or others without text
  EXPECT_EQ(why(answer(2, 7, 4)), "the server claims 7 completion tokens, its chunks state 8");
}

TEST(Claims, APartLargerThanTheWhole) {
  StreamRecord record = answer(4, 8);
  record.usage.reasoning_tokens = 8;
  record.usage.cached_tokens = 100;
  EXPECT_EQ(why(record), "");
  record.usage.cached_tokens = 101;
  EXPECT_EQ(why(record), "the server claims 101 cached tokens of a prompt of 100");
  record.usage.reasoning_tokens = 9;
  EXPECT_EQ(why(record), "the server claims 9 reasoning tokens among 8 completion tokens");
}

TEST(Claims, ASumIsItsParts) {
  StreamRecord record = answer(4, 8);
  record.usage.total_tokens = 108;
  EXPECT_EQ(why(record), "");
  for (const int64_t total : {107, 109}) {
    record.usage.total_tokens = total;
    EXPECT_NE(why(record).find("tokens in all, and 100 + 8"), std::string::npos) << why(record);
  }
}

TEST(Claims, WhatWasNoCountIsSaidFirst) {
  StreamRecord record = answer(4, 9);
  record.impossible = "`usage.prompt_tokens` is -3, which is no count";
  EXPECT_EQ(why(record), *record.impossible);
}

}  // namespace
}  // namespace assay::load
