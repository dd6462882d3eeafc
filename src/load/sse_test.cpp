#include "load/sse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "base/text.h"
#include "load/refusals.h"

namespace assay::load {
namespace {

struct Seen {
  std::vector<SseEvent> events{};
  int64_t comments = 0;
  std::optional<int64_t> retry_ms{};
  bool partial = false;
};

Seen read_pieces(const std::vector<std::string_view>& pieces) {
  Seen seen;
  SseReader reader([&](SseEvent&& event) {
    seen.events.push_back(std::move(event));
    return true;
  });
  for (const std::string_view piece : pieces) EXPECT_TRUE(reader.feed(piece));
  seen.comments = reader.comments();
  seen.retry_ms = reader.retry_ms();
  seen.partial = reader.has_partial();
  return seen;
}

// type "|" data, one text an event.
std::vector<std::string> texts(const Seen& seen) {
  std::vector<std::string> out;
  for (const SseEvent& event : seen.events) out.push_back(cat(event.type, "|", event.data));
  return out;
}

std::vector<std::string> read_all(std::string_view stream) {
  return texts(read_pieces({stream}));
}

using testing::ElementsAre;

TEST(Sse, AllThreeLineEndsEndLinesAndEvents) {
  EXPECT_THAT(read_all("data: a\n\ndata: b\n\n"), ElementsAre("|a", "|b"));
  EXPECT_THAT(read_all("data: a\r\rdata: b\r\r"), ElementsAre("|a", "|b"));
  EXPECT_THAT(read_all("data: a\r\n\r\ndata: b\r\n\r\n"), ElementsAre("|a", "|b"));
  EXPECT_THAT(read_all("data: a\r\n\ndata: b\n\r\n"), ElementsAre("|a", "|b"));
}

TEST(Sse, ACarriageReturnCompletesAnEventWithoutWaitingForALineFeed) {
  EXPECT_THAT(texts(read_pieces({"data: a\r\n\r"})), ElementsAre("|a"));
  EXPECT_THAT(texts(read_pieces({"data: a\r\n\r", "\ndata: b\r\n\r\n"})), ElementsAre("|a", "|b"));
}

TEST(Sse, OneSpaceAfterTheColonIsNoPartOfTheValue) {
  EXPECT_THAT(read_all("data:a\n\ndata: a\n\ndata:  a \n\ndata:\ta\n\n"),
              ElementsAre("|a", "|a", "| a ", "|\ta"));
}

TEST(Sse, SeveralDataLinesAreOneValue) {
  EXPECT_THAT(read_all("data: a\ndata: b\ndata\ndata: c\n\n"), ElementsAre("|a\nb\n\nc"));
}

TEST(Sse, AnEmptyDataLineIsAnEventAndNoDataLineIsNone) {
  EXPECT_THAT(read_all("data:\n\n\n\nevent: x\n\ndata\n\n"), ElementsAre("|", "|"));
}

TEST(Sse, NamesIdsAndRetryTimes) {
  const Seen seen =
      read_pieces({"event: error\nid: 7\nretry: 250\ndata: x\n\ndata: y\nretry: 1s\n\n"});
  EXPECT_THAT(texts(seen), ElementsAre("error|x", "|y"));
  EXPECT_EQ(seen.events[0].last_id, "7");
  EXPECT_EQ(seen.events[1].last_id, "7");  // an id stays until another one comes
  EXPECT_EQ(seen.retry_ms, 250);           // "1s" is not digits alone
}

TEST(Sse, AnIdWithANullByteIsIgnored) {
  using namespace std::string_view_literals;
  const Seen seen = read_pieces({"id: 1\ndata: x\n\nid: a\0b\ndata: y\n\n"sv});
  ASSERT_EQ(seen.events.size(), 2u);
  EXPECT_EQ(seen.events[1].last_id, "1");
}

TEST(Sse, CommentsAreCountedAndAreNoEvents) {
  const Seen seen = read_pieces({": keep-alive\n\n:\n\ndata: a\n: between\ndata: b\n\n"});
  EXPECT_THAT(texts(seen), ElementsAre("|a\nb"));
  EXPECT_EQ(seen.comments, 3);
}

TEST(Sse, AByteOrderMarkMayStandFirstAndNowhereElse) {
  EXPECT_THAT(read_all("\xef\xbb\xbf"
                       "data: a\n\n\xef\xbb\xbf"
                       "data: b\n\n"),
              ElementsAre("|a"));
  EXPECT_THAT(texts(read_pieces({"\xef", "\xbb", "\xbf", "data: a\n\n"})), ElementsAre("|a"));
}

TEST(Sse, UnknownFieldsAndLinesWithoutColonsAreIgnored) {
  EXPECT_THAT(read_all("colour: red\nnonsense\ndata: a\n\n"), ElementsAre("|a"));
}

TEST(Sse, WhatHasNoEmptyLineBehindItIsNoEvent) {
  const Seen seen = read_pieces({"data: a\n\ndata: half\n"});
  EXPECT_THAT(texts(seen), ElementsAre("|a"));
  EXPECT_TRUE(seen.partial);
}

// Spaces at both ends, a two-byte and a four-byte character, all line ends, a comment, an empty
// value.
constexpr std::string_view kSample =
    "\xef\xbb\xbf: hello\r\ndata:  s p a c e \r\n\r\nevent: e\rdata: "
    "{\"t\":\"z\xc3\xb6\xf0\x9f\x98\x80\"}\r\r"
    "data:\ndata: second\n\nretry: 10\nid: 1\ndata: [DONE]\r\n\r\n";

TEST(Sse, EverySplitIntoTwoAndThreePiecesGivesTheSameEvents) {
  const std::vector<std::string> whole = read_all(kSample);
  ASSERT_THAT(whole, ElementsAre("| s p a c e ", "e|{\"t\":\"z\xc3\xb6\xf0\x9f\x98\x80\"}",
                                 "|\nsecond", "|[DONE]"));
  for (size_t i = 0; i <= kSample.size(); ++i) {
    for (size_t j = i; j <= kSample.size(); ++j) {
      const Seen seen =
          read_pieces({kSample.substr(0, i), kSample.substr(i, j - i), kSample.substr(j)});
      ASSERT_EQ(texts(seen), whole) << "split at " << i << " and " << j;
      ASSERT_EQ(seen.comments, 1);
    }
  }
}

TEST(Sse, ByteByByteGivesTheSameEvents) {
  std::vector<std::string_view> bytes;
  for (size_t i = 0; i < kSample.size(); ++i) bytes.push_back(kSample.substr(i, 1));
  EXPECT_EQ(texts(read_pieces(bytes)), read_all(kSample));
}

TEST(Sse, StopsWhenNoMoreIsWanted) {
  int events = 0;
  SseReader reader([&](SseEvent&&) { return ++events < 2; });
  const auto first = reader.feed("data: a\n\n");
  ASSERT_TRUE(first);
  EXPECT_TRUE(*first);
  const auto second = reader.feed("data: b\n\ndata: c\n\n");
  ASSERT_TRUE(second);
  EXPECT_FALSE(*second);
  EXPECT_EQ(events, 2);
}

TEST(Sse, AnEventWithoutEndIsRefusedByName) {
  SseReader reader([](SseEvent&&) { return true; });
  const std::string line = "data: " + std::string(1 << 20, 'x') + "\n";
  Result<bool> last(true);
  for (int i = 0; i < 17 && last; ++i) last = reader.feed(line);
  ASSERT_FALSE(last);
  EXPECT_EQ(last.refusal().code, kReplyTooLarge.code);
}

}  // namespace
}  // namespace assay::load
