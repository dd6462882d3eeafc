// Each test gives stamps and counts and compares with arithmetic that stands beside it.
#include "load/accounting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "load/refusals.h"

namespace assay::load {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using testing::Contains;
using testing::HasSubstr;

constexpr Stamp kSent = std::chrono::seconds(1000);

// A whole stream, sent at kSent. Times are milliseconds after it.
struct Stream {
  StreamRecord record{};

  Stream() {
    record.started = kSent - milliseconds(1);
    record.connected = kSent;
    record.sent = kSent;
    record.http_status = 200;
    record.streamed = true;
    record.done_seen = true;
  }
  Stream& at(double ms, DeltaKind kind, std::optional<int64_t> tokens = std::nullopt) {
    const Stamp stamp = kSent + microseconds(static_cast<int64_t>(ms * 1000));
    record.deltas.push_back({.at = stamp, .kind = kind, .tokens = tokens});
    record.ended = stamp;
    return *this;
  }
  Stream& content(double ms, std::optional<int64_t> tokens = std::nullopt) {
    return at(ms, DeltaKind::content, tokens);
  }
  Stream& usage(std::optional<int64_t> prompt, std::optional<int64_t> completion,
                std::optional<int64_t> cached = std::nullopt) {
    record.usage = {
        .prompt_tokens = prompt, .completion_tokens = completion, .cached_tokens = cached};
    return *this;
  }
  Stream& end(double ms, std::string finish = "length") {
    record.ended = kSent + microseconds(static_cast<int64_t>(ms * 1000));
    record.finish_reason = std::move(finish);
    return *this;
  }
  [[nodiscard]] RunFigures figures() const { return account(record); }
};

// `chunks` content chunks, the first at `first_ms`, one every `gap_ms`.
Stream steady(int chunks, double first_ms, double gap_ms,
              std::optional<int64_t> tokens = std::nullopt) {
  Stream stream;
  for (int i = 0; i < chunks; ++i) stream.content(first_ms + i * gap_ms, tokens);
  return stream;
}

TEST(Accounting, RatesFromAStreamWithKnownTimes) {
  // 100 prompt tokens, 11 answer tokens: the first after 500 ms, then one every 50 ms.
  const RunFigures f = steady(11, 500, 50).usage(100, 11).end(1000).figures();
  EXPECT_DOUBLE_EQ(*f.ttft_s, 0.5);
  EXPECT_DOUBLE_EQ(*f.total_s, 1.0);
  EXPECT_DOUBLE_EQ(*f.cumulative_tok_s, 111.0);  // (100 + 11) / 1.0
  EXPECT_DOUBLE_EQ(*f.prefill_tok_s, 200.0);     // 100 / 0.5
  EXPECT_DOUBLE_EQ(*f.decode_tok_s, 20.0);       // (11 - 1) / (1.0 - 0.5)
  EXPECT_DOUBLE_EQ(*f.tpot_s, 0.05);
  EXPECT_DOUBLE_EQ(*f.decode_window_share, 0.5);
  EXPECT_EQ(f.completion_source, TokenSource::usage);
  EXPECT_THAT(f.remarks, testing::IsEmpty());
}

// 25 chunks of 4 tokens, one every 20 ms: 5 ms a token.
TEST(Accounting, ChunksOfSeveralTokensAreNotTokens) {
  const RunFigures f = steady(25, 500, 20, 4).usage(10, 100).end(980).figures();
  EXPECT_NEAR(*token_weighted_mean(f.token_gaps), 0.005, 1e-12);
  EXPECT_NEAR(spread_of(f.chunk_gaps_s)->median, 0.020, 1e-12);
  EXPECT_NEAR(*token_weighted_quantile(f.token_gaps, 0.99), 0.005, 1e-12);
}

TEST(Accounting, WithoutCountsPerChunkOnlyChunkGapsStandAndAreSaid) {
  const RunFigures f = steady(25, 500, 20).usage(10, 100).end(980).figures();
  EXPECT_THAT(f.token_gaps, testing::IsEmpty());
  EXPECT_FALSE(f.peak_output_tok_s);
  EXPECT_EQ(f.chunk_gaps_s.size(), 24u);
  EXPECT_THAT(f.remarks, Contains(HasSubstr("only chunk gaps stand")));
}

TEST(Accounting, TheFirstGapDoesNotHoldTheTimeToTheFirstToken) {
  const RunFigures f = steady(10, 500, 10).usage(10, 10).end(590).figures();
  EXPECT_EQ(f.chunk_gaps_s.size(), 9u);
  EXPECT_NEAR(spread_of(f.chunk_gaps_s)->max, 0.010, 1e-12);
  EXPECT_NEAR(*token_weighted_quantile(f.token_gaps, 1), 0.010, 1e-12);
}

// Chunks of 1, 4, 2, 5 tokens; the gaps before the last three are 8, 10 and 30 ms.
TEST(Accounting, EachGapIsSharedByTheTokensOfItsOwnChunk) {
  const RunFigures f = Stream()
                           .content(100, 1)
                           .content(108, 4)
                           .content(118, 2)
                           .content(148, 5)
                           .usage(10, 12)
                           .end(148)
                           .figures();
  ASSERT_EQ(f.token_gaps.size(), 3u);
  EXPECT_NEAR(f.token_gaps[0].seconds, 0.002, 1e-12);  // 8 / 4
  EXPECT_NEAR(f.token_gaps[1].seconds, 0.005, 1e-12);  // 10 / 2
  EXPECT_NEAR(f.token_gaps[2].seconds, 0.006, 1e-12);  // 30 / 5
  EXPECT_NEAR(*token_weighted_mean(f.token_gaps), 0.048 / 11, 1e-12);
  // 11 tokens: 4 at 2 ms, 2 at 5 ms, 5 at 6 ms. The 6th is at 5 ms, the 7th at 6 ms.
  EXPECT_NEAR(*token_weighted_quantile(f.token_gaps, 6.0 / 11), 0.005, 1e-12);
  EXPECT_NEAR(*token_weighted_quantile(f.token_gaps, 0.6), 0.006, 1e-12);
}

TEST(Accounting, ThePeakCountsTheSameTokensAsTheMean) {
  // 3 s of decode: 4 tokens every 20 ms in the first second, every 40 ms after it.
  Stream stream;
  double at = 500;
  int64_t tokens = 0;
  for (int i = 0; i < 101; ++i) {
    stream.content(at, 4);
    tokens += 4;
    at += i < 50 ? 20 : 40;
  }
  const RunFigures f = stream.usage(10, tokens).end(at).figures();
  // Second chunk to the 51st come within the first second: 50 chunks of 4 tokens.
  EXPECT_NEAR(*f.peak_output_tok_s, 200, 1e-6);
  EXPECT_NEAR(*f.mean_output_tok_s, 400 / 3.0, 1e-6);  // 100 chunks of 4 in 50 * 20 + 50 * 40 ms
}

TEST(Accounting, ThePeakIsNeverBelowTheMeanWhateverTheShape) {
  // Bursts at both ends of a stretch that a second does not divide.
  for (const double length_ms : {300.0, 999.0, 1001.0, 1500.0, 2750.0}) {
    Stream stream;
    for (int i = 0; i < 20; ++i) stream.content(100 + i * 0.5, 1);
    for (int i = 0; i < 20; ++i) stream.content(100 + length_ms + i * 0.5, 1);
    const RunFigures f = stream.usage(10, 40).end(100 + length_ms + 10).figures();
    ASSERT_TRUE(f.peak_output_tok_s) << length_ms;
    EXPECT_GE(*f.peak_output_tok_s, *f.mean_output_tok_s * (1 - 1e-9)) << length_ms;
  }
}

TEST(Accounting, APeakBelowTheMeanIsRefused) {
  // Chunks state one token each where the server counts 100 for the 25 of them.
  const RunFigures f = steady(25, 500, 20, 1).usage(10, 100).end(980).figures();
  EXPECT_FALSE(f.peak_output_tok_s);
  EXPECT_FALSE(f.mean_output_tok_s);
  EXPECT_THAT(f.remarks, Contains(HasSubstr(std::string(kPeakBelowMean.code))));
}

TEST(Accounting, TheServersCountBeatsTheNumberOfChunks) {
  // 5 chunks for 20 tokens: the rate is 4 times what chunks would say.
  const RunFigures f = steady(5, 1000, 250).usage(80, 20).end(2000).figures();
  EXPECT_EQ(f.completion_tokens, 20);
  EXPECT_DOUBLE_EQ(*f.cumulative_tok_s, 50.0);  // (80 + 20) / 2.0
  EXPECT_DOUBLE_EQ(*f.decode_tok_s, 19.0);      // 19 / 1.0
  EXPECT_THAT(f.remarks, Contains(HasSubstr("5 chunks for 20 tokens")));
}

TEST(Accounting, AnAnswerThatStopsEarlyIsCountedAsItCame) {
  // 200 were allowed, 57 came: nothing here knows the 200.
  const RunFigures f = steady(57, 100, 10).usage(10, 57).end(660, "stop").figures();
  EXPECT_NEAR(*f.tpot_s, 0.010, 1e-12);  // 560 ms / 56
}

TEST(Accounting, AStopTokenWithoutTextNeedsNoChunk) {
  const RunFigures f = steady(10, 100, 10).usage(10, 11).end(195, "stop").figures();
  EXPECT_EQ(f.token_gaps.size(), 9u);
  const RunFigures cut = steady(10, 100, 10).usage(10, 11).end(195, "length").figures();
  EXPECT_THAT(cut.token_gaps, testing::IsEmpty());
}

TEST(Accounting, ChunksOfNoTokenHaveNoGapAndStartNoClock) {
  const RunFigures f = Stream()
                           .content(5, 0)
                           .content(100, 1)
                           .content(103, 0)
                           .content(110, 1)
                           .usage(10, 2)
                           .end(110)
                           .figures();
  EXPECT_DOUBLE_EQ(*f.ttft_s, 0.1);
  EXPECT_EQ(f.token_chunks, 2);
  ASSERT_EQ(f.chunk_gaps_s.size(), 1u);
  EXPECT_NEAR(f.chunk_gaps_s[0], 0.010, 1e-12);
}

TEST(Accounting, NothingIsCountedByReadingTheTextAgain) {
  // 100 tokens of one space each; as text they are a few tokens of many spaces.
  Stream stream = steady(100, 100, 1).usage(10, 100).end(199);
  stream.record.answer = std::string(100, ' ');
  EXPECT_EQ(stream.figures().completion_tokens, 100);
  stream.usage(10, std::nullopt);
  const RunFigures without = stream.figures();
  EXPECT_EQ(without.completion_tokens, 100);
  EXPECT_EQ(without.completion_source, TokenSource::chunks);
  EXPECT_THAT(without.remarks, Contains(HasSubstr("counted from chunks")));
}

TEST(Accounting, TheWindowEndsWithTheLastTokenNotWithTheStream) {
  // The last token after 500 ms; usage, [DONE] and the close come 400 ms later.
  const RunFigures f = steady(5, 100, 100).usage(50, 5).end(900).figures();
  EXPECT_DOUBLE_EQ(*f.total_s, 0.5);
  EXPECT_DOUBLE_EQ(*f.stream_end_s, 0.9);
  EXPECT_DOUBLE_EQ(*f.decode_tok_s, 10.0);
}

TEST(Accounting, ReasoningTokensAreNotCountedTwice) {
  Stream stream = steady(20, 100, 10).usage(10, 20).end(290);
  stream.record.usage.reasoning_tokens = 15;  // already among the 20
  const RunFigures f = stream.figures();
  EXPECT_EQ(f.completion_tokens, 20);
  EXPECT_EQ(f.reasoning_tokens, 15);
}

TEST(Accounting, FirstTokenOfAnyKindAndFirstTokenOfTheAnswerAreTwoFigures) {
  Stream stream;
  for (int i = 0; i < 30; ++i) stream.at(200 + i * 10, DeltaKind::reasoning);
  for (int i = 0; i < 10; ++i) stream.content(500 + i * 10);
  const RunFigures f = stream.usage(100, 40).end(590).figures();
  EXPECT_DOUBLE_EQ(*f.ttft_s, 0.2);
  EXPECT_DOUBLE_EQ(*f.ttft_answer_s, 0.5);
  EXPECT_DOUBLE_EQ(*f.prefill_tok_s, 500);  // reasoning is decoded, not prefilled
  EXPECT_NEAR(*f.decode_tok_s, 100, 1e-9);  // 39 / 0.39
  EXPECT_NEAR(*f.decode_window_share, 0.39 / 0.59, 1e-12);
}

TEST(Accounting, AnAnswerOfReasoningAloneHasFiguresAndNoZero) {
  Stream stream;
  for (int i = 0; i < 10; ++i) stream.at(200 + i * 10, DeltaKind::reasoning);
  const RunFigures f = stream.usage(100, 10).end(290).figures();
  EXPECT_DOUBLE_EQ(*f.ttft_s, 0.2);
  EXPECT_FALSE(f.ttft_answer_s);
  EXPECT_NEAR(*f.decode_tok_s, 100, 1e-9);
  EXPECT_THAT(f.remarks, Contains(HasSubstr("only reasoning")));
}

TEST(Accounting, AToolCallIsAnAnswer) {
  const RunFigures f = Stream()
                           .at(50, DeltaKind::role)
                           .at(300, DeltaKind::tool)
                           .at(310, DeltaKind::tool)
                           .usage(10, 2)
                           .end(310)
                           .figures();
  EXPECT_DOUBLE_EQ(*f.ttft_s, 0.3);
  EXPECT_DOUBLE_EQ(*f.ttft_answer_s, 0.3);
}

TEST(Accounting, RolesAndEmptyDeltasStartNoClock) {
  const RunFigures f = Stream()
                           .at(1, DeltaKind::role)
                           .at(50, DeltaKind::empty)
                           .content(200)
                           .content(210)
                           .at(260, DeltaKind::empty)
                           .usage(10, 2)
                           .end(300)
                           .figures();
  EXPECT_DOUBLE_EQ(*f.ttft_s, 0.2);
  EXPECT_DOUBLE_EQ(*f.total_s, 0.21);
  ASSERT_EQ(f.chunk_gaps_s.size(), 1u);
  EXPECT_NEAR(f.chunk_gaps_s[0], 0.010, 1e-12);
}

TEST(Accounting, AReplyWithoutAnyTokenHasNoTimeToTheFirst) {
  const RunFigures f = Stream().at(5, DeltaKind::role).usage(10, 0).end(20).figures();
  EXPECT_FALSE(f.ttft_s);
  EXPECT_FALSE(f.decode_tok_s);
  EXPECT_FALSE(f.prefill_tok_s);
  EXPECT_THAT(f.remarks, Contains(HasSubstr("no token came")));
}

TEST(Accounting, AnAnswerInOnePieceHasATotalAndNoTimeToTheFirst) {
  Stream stream;
  stream.record.streamed = false;
  const RunFigures f = stream.usage(90, 10).end(2000).figures();
  EXPECT_FALSE(f.ttft_s);
  EXPECT_FALSE(f.prefill_tok_s);
  EXPECT_FALSE(f.decode_tok_s);
  EXPECT_DOUBLE_EQ(*f.cumulative_tok_s, 50.0);  // 100 / 2.0
  EXPECT_THAT(f.remarks, Contains(HasSubstr("one piece")));
}

TEST(Accounting, TokensThatCameAtOnceHaveNoDecodeRate) {
  const RunFigures f =
      Stream().content(500).content(500).content(500).usage(10, 30).end(500).figures();
  EXPECT_DOUBLE_EQ(*f.ttft_s, 0.5);
  EXPECT_FALSE(f.decode_tok_s);
  EXPECT_FALSE(f.tpot_s);
  EXPECT_THAT(f.remarks, Contains(HasSubstr("came at once")));
}

TEST(Accounting, OneTokenHasNoDecodeRate) {
  const RunFigures f = steady(1, 500, 0).usage(10, 1).end(500).figures();
  EXPECT_FALSE(f.decode_tok_s);
  EXPECT_DOUBLE_EQ(*f.cumulative_tok_s, 22.0);
}

TEST(Accounting, WithoutAPromptCountThereIsNoCumulativeRate) {
  const RunFigures f = steady(10, 100, 10).usage(std::nullopt, 10).end(190).figures();
  EXPECT_FALSE(f.prompt_tokens);
  EXPECT_FALSE(f.cumulative_tok_s);
  EXPECT_FALSE(f.prefill_tok_s);
  EXPECT_TRUE(f.decode_tok_s);
  EXPECT_THAT(f.remarks, Contains(HasSubstr("states no count")));
}

TEST(Accounting, NoRequestNoFigures) {
  StreamRecord record;
  record.ended = record.started = kSent;
  record.problem = Refusal(kConnect, "refused");
  const RunFigures f = account(record);
  EXPECT_FALSE(f.ttft_s);
  EXPECT_FALSE(f.total_s);
  EXPECT_FALSE(f.connect_s);
  EXPECT_FALSE(f.stream_end_s);
}

TEST(Accounting, PromptTokensAreWhatWasEvaluatedAndWhatWasCached) {
  Stream stream = steady(4, 100, 10).end(130);
  stream.record.timings = ServerTimings{.prompt_n = 30, .cache_n = 70, .predicted_n = 4};
  const RunFigures f = stream.figures();
  EXPECT_EQ(f.prompt_tokens, 100);
  EXPECT_EQ(f.prompt_source, TokenSource::timings);
  EXPECT_EQ(f.cached_tokens, 70);
  EXPECT_NEAR(*f.prefill_tok_s, 300, 1e-9);  // 30 evaluated in 0.1 s
  stream.record.timings->cache_n.reset();
  EXPECT_FALSE(stream.figures().prompt_tokens);  // evaluated tokens alone are not the prompt
}

TEST(Accounting, PrefillIsARateOverTokensThatWereNotCached) {
  const RunFigures f = steady(4, 100, 10).usage(8112, 4, 8111).end(130).figures();
  EXPECT_NEAR(*f.prefill_tok_s, 10, 1e-9);  // one token in 0.1 s, not 81,120
  const RunFigures all = steady(4, 100, 10).usage(8112, 4, 8112).end(130).figures();
  EXPECT_FALSE(all.prefill_tok_s);
}

TEST(Accounting, ServerTimingsThatContradictTheClientAreSaid) {
  Stream stream = steady(8, 430'000, 100).usage(8000, 8, 0).end(430'700);
  stream.record.timings =
      ServerTimings{.prompt_n = 1, .cache_n = 0, .predicted_n = 8, .prompt_ms = 430'000};
  EXPECT_THAT(stream.figures().remarks, Contains(HasSubstr("prompt_n 1 for a prompt of 8000")));

  Stream slow = steady(8, 100, 10).usage(80, 8).end(170);
  slow.record.timings = ServerTimings{.prompt_n = 80, .prompt_ms = 500, .predicted_ms = 9000};
  EXPECT_THAT(slow.figures().remarks, Contains(HasSubstr("prompt_ms 500")));
  EXPECT_THAT(slow.figures().remarks, Contains(HasSubstr("predicted_ms 9000")));

  Stream fine = steady(8, 100, 10).usage(80, 8, 0).end(170);
  fine.record.timings = ServerTimings{
      .prompt_n = 80, .cache_n = 0, .predicted_n = 8, .prompt_ms = 99, .predicted_ms = 70};
  EXPECT_THAT(fine.figures().remarks, testing::IsEmpty());
}

TEST(Accounting, TheLargerOfTwoCacheCountsIsTaken) {
  Stream stream = steady(4, 100, 10).usage(100, 4, 0).end(130);
  stream.record.timings = ServerTimings{.prompt_n = 60, .cache_n = 40};
  const RunFigures f = stream.figures();
  EXPECT_EQ(f.cached_tokens, 40);
  EXPECT_THAT(f.remarks, Contains(HasSubstr("cached tokens")));
}

TEST(Accounting, SpreadsAreMedianMinimumMaximum) {
  EXPECT_FALSE(spread_of({}));
  const auto odd = spread_of({3, 1, 2});
  EXPECT_EQ(odd->median, 2);
  EXPECT_EQ(odd->min, 1);
  EXPECT_EQ(odd->max, 3);
  EXPECT_EQ(spread_of({4, 1, 2, 3})->median, 2.5);
  EXPECT_EQ(spread_of({7})->count, 1);
}

// Requests of 4 tokens at 10 ms a token and of 40 at 30 ms: as a mean of requests 20 ms, as a mean
// of tokens (3 * 10 + 39 * 30) / 42 ms.
TEST(Accounting, RequestWeightedAndTokenWeightedMeansAreTwoFigures) {
  const RunFigures small = steady(4, 100, 10).usage(10, 4).end(130).figures();
  const RunFigures large = steady(40, 100, 30).usage(10, 40).end(1270).figures();
  EXPECT_NEAR((*small.tpot_s + *large.tpot_s) / 2, 0.020, 1e-12);
  std::vector<RunFigures::TokenGap> gaps = small.token_gaps;
  gaps.insert(gaps.end(), large.token_gaps.begin(), large.token_gaps.end());
  EXPECT_NEAR(*token_weighted_mean(gaps), (3 * 0.010 + 39 * 0.030) / 42, 1e-12);
}

TEST(Accounting, ABatchIsItsTokensOverItsWallTime) {
  // Two requests, the second sent 100 ms later; the last token of both at 1000 ms.
  Stream first = steady(11, 500, 50).usage(100, 11).end(1000);
  Stream second = steady(9, 500, 50).usage(100, 9).end(900);
  for (Stamp* stamp : {&second.record.started, &*second.record.sent, &second.record.ended}) {
    *stamp += milliseconds(100);
  }
  for (Delta& delta : second.record.deltas) delta.at += milliseconds(100);
  const std::vector<StreamRecord> records{first.record, second.record};
  const std::vector<RunFigures> figures{first.figures(), second.figures()};
  const BatchFigures batch = account_batch(records, figures);
  EXPECT_EQ(batch.ok, 2);
  EXPECT_NEAR(*batch.wall_s, 1.0, 1e-9);
  EXPECT_NEAR(*batch.aggregate_cumulative_tok_s, 220, 1e-6);  // 111 + 109 tokens
  EXPECT_NEAR(*batch.aggregate_decode_tok_s, 20, 1e-6);
}

TEST(Accounting, FailedRequestsOfABatchAddTimeAndNoTokens) {
  Stream good = steady(11, 500, 50).usage(100, 11).end(1000);
  Stream bad = steady(11, 500, 50).usage(100, 11).end(2000);
  bad.record.problem = Refusal(kClosed, "cut");
  const std::vector<StreamRecord> records{good.record, bad.record};
  const std::vector<RunFigures> figures{good.figures(), bad.figures()};
  const BatchFigures batch = account_batch(records, figures);
  EXPECT_EQ(batch.ok, 1);
  EXPECT_EQ(batch.failed, 1);
  EXPECT_NEAR(*batch.aggregate_cumulative_tok_s, 111 / 2.0, 1e-6);
}

TEST(Accounting, EveryFigureNamesItsFormulaItsUnitAndItsWindow) {
  const json::Value table = formulas();
  for (const auto& [key, row] : table.members()) {
    EXPECT_EQ(row.find("id")->string(), key + "/1");
    for (const char* part : {"formula", "unit", "basis"}) {
      EXPECT_NE(row.find(part)->string(), "") << key;
    }
    // The unit that a key ends with is the unit that it states: a second is never a millisecond.
    const std::string& unit = row.find("unit")->string();
    EXPECT_EQ(key.ends_with("_tok_s"), unit == "tok/s") << key;
    EXPECT_EQ(key.find("_ms"), std::string::npos) << key;
  }
}

}  // namespace
}  // namespace assay::load
