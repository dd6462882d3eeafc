#include "worker/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "protocol/spec.h"
#include "worker/mock.h"
#include "worker/refusals.h"

namespace assay::worker {
namespace {

using protocol::TopLogit;
using ::testing::ElementsAre;

TEST(BestLogits, DescendingAndTheLowerIdFirstAmongEquals) {
  const float logits[] = {1.0f, 5.0f, 3.0f, 5.0f, -2.0f, 3.0f};
  EXPECT_THAT(*best_logits(logits, 4),
              ElementsAre(TopLogit{1, 5.0}, TopLogit{3, 5.0}, TopLogit{2, 3.0}, TopLogit{5, 3.0}));
  EXPECT_THAT(*best_logits(logits, 1), ElementsAre(TopLogit{1, 5.0}));
  EXPECT_EQ(best_logits(logits, 6)->back(), (TopLogit{4, -2.0}));
}

TEST(BestLogits, FloatsAreWidenedExactly) {
  const float logits[] = {0.1f};
  EXPECT_EQ(best_logits(logits, 1)->front().logit, static_cast<double>(0.1f));
}

TEST(BestLogits, NonFiniteLogitsAreRefusedWhereverTheyStand) {
  for (const float bad :
       {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
        std::numeric_limits<float>::quiet_NaN()}) {
    for (size_t place = 0; place < 5; ++place) {
      float logits[] = {1, 2, 3, 4, 5};
      logits[place] = bad;
      const auto best = best_logits(logits, 2);
      ASSERT_FALSE(best);
      EXPECT_EQ(best.refusal().code, kLogitNotFinite.code);
    }
  }
  const float largest[] = {std::numeric_limits<float>::max(), std::numeric_limits<float>::lowest()};
  EXPECT_TRUE(best_logits(largest, 2));
}

constexpr int64_t kVocabulary = 997;

// Whichever way the same tokens reach it, a context mock answers alike, as a model does.
TEST(ContextMock, EveryRouteGivesTheSameTokens) {
  const std::vector<int64_t> prompt = {5, 0, 996, 17};
  ContextMock engine(kVocabulary);
  const std::vector<int64_t> free = *engine.correctness_free(prompt, 20);
  ASSERT_EQ(free.size(), 20u);

  EXPECT_EQ(*engine.forward(prompt), free[0]);
  for (size_t i = 0; i + 1 < free.size(); ++i) EXPECT_EQ(*engine.step(free[i]), free[i + 1]);

  std::vector<int64_t> longer = prompt;
  for (size_t i = 0; i < free.size(); ++i) {
    EXPECT_EQ(*engine.forward(longer), free[i]);
    longer.push_back(free[i]);
  }
  for (const uint32_t depth : {0u, 1u, 3u}) {
    const auto spec = depth == 0 ? protocol::serial_spec() : protocol::mtp_spec(depth);
    engine.drop_session();
    EXPECT_EQ(*engine.free_begin(prompt, spec), free[0]);
    EXPECT_EQ(engine.free_run(19)->tokens, std::vector<int64_t>(free.begin() + 1, free.end()));
  }
}

TEST(ContextMock, AnyTokenOfThePastChangesTheChoice) {
  ContextMock engine(1 << 30);
  const int64_t original = *engine.forward(std::vector<int64_t>{1, 2, 3, 4});
  EXPECT_NE(*engine.forward(std::vector<int64_t>{2, 2, 3, 4}), original);
  EXPECT_NE(*engine.forward(std::vector<int64_t>{1, 2, 4, 3}), original);
  EXPECT_NE(*engine.forward(std::vector<int64_t>{0, 1, 2, 3, 4}), original);
}

TEST(ContextMock, LogitsAgreeWithTheChoiceAndStayInTheVocabulary) {
  for (const int64_t vocabulary : {int64_t{8}, kVocabulary}) {
    ContextMock engine(vocabulary);
    for (int64_t i = 0; i < 50; ++i) {
      const int64_t token = *engine.forward(std::vector<int64_t>{i % vocabulary});
      const auto logits = *engine.top_logits(8);
      ASSERT_EQ(logits.size(), 8u);
      EXPECT_EQ(logits[0].token, token);
      for (size_t k = 0; k < 8; ++k) {
        EXPECT_GE(logits[k].token, 0);
        EXPECT_LT(logits[k].token, vocabulary);
        for (size_t j = 0; j < k; ++j) {
          EXPECT_NE(logits[j].token, logits[k].token);
          EXPECT_GT(logits[j].logit, logits[k].logit);
        }
      }
    }
  }
}

TEST(ContextMock, TokensOutsideTheVocabularyAreRefused) {
  ContextMock engine(kVocabulary);
  for (const int64_t token : {int64_t{-1}, kVocabulary, std::numeric_limits<int64_t>::max()}) {
    const auto forward = engine.forward(std::vector<int64_t>{1, token});
    ASSERT_FALSE(forward);
    EXPECT_EQ(forward.refusal().code, kTokenOutOfVocabulary.code);
    EXPECT_FALSE(engine.step(token));
  }
}

// The defaults of the interface, on an engine that overrides nothing it need not.
class Counter final : public Engine {
 public:
  Facts facts() const override { return {.backend = "test", .device = "none"}; }
  void drop_session() override { sum_ = 0; }
  Result<uint64_t> drain() override { return uint64_t{0}; }
  Result<int64_t> forward(std::span<const int64_t> prompt) override {
    sum_ = 0;
    for (const int64_t token : prompt) sum_ += token;
    return sum_;
  }
  Result<int64_t> step(int64_t token) override { return sum_ += token; }
  Result<std::vector<TopLogit>> top_logits(size_t) override { return std::vector<TopLogit>(); }

 private:
  int64_t sum_ = 0;
};

TEST(EngineDefaults, AreBuiltOnForwardAndStep) {
  Counter engine;
  const std::vector<int64_t> prompt = {1, 2};
  EXPECT_EQ(*engine.decode_begin(prompt), 3);
  EXPECT_EQ(*engine.correctness_begin(prompt), 3);
  // Each choice is the sum so far: 3, then 3+3, 6+6, 12+12.
  EXPECT_THAT(*engine.correctness_free(prompt, 4), ElementsAre(3, 6, 12, 24));
  EXPECT_TRUE(engine.correctness_free(prompt, 0)->empty());
  EXPECT_EQ(*engine.free_begin(prompt, protocol::serial_spec()), 3);
  const FreeRun run = *engine.free_run(3);
  EXPECT_THAT(run.tokens, ElementsAre(6, 12, 24));
  EXPECT_THAT(run.acceptance_lengths, ElementsAre(1, 1, 1));
  EXPECT_EQ(run.drafted_total, 0u);
  EXPECT_THAT(engine.free_run(1)->tokens, ElementsAre(48));
  EXPECT_GT(engine.peak_ram_gb(), 0.0);
  EXPECT_LT(engine.peak_ram_gb(), 100.0);
  EXPECT_FALSE(engine.resolve_spec(protocol::SpecConfig{.mode = "dflash"}));
}

}  // namespace
}  // namespace assay::worker
