// The judged engine: openers really compute, tokens and logits agree, nothing stays behind.
#include "engine/worker/session_engine.h"

#include <gtest/gtest.h>

#include "engine/worker/host.h"
#include "support/tiny_model.h"

namespace assay::engine::worker {
namespace {

class SessionEngineTest : public testing::Test {
 protected:
  SessionEngineTest()
      : model_(*model::Model::load(test::TinyModel("llama", {.context_length = 64}).file())),
        backend_(std::move(*backend::create_cpu({1, "scalar"}))),
        session_(std::move(*decode::Session::open(model_, *backend_, {}))),
        engine_(model_, *backend_, session_) {}

  model::Model model_;
  std::unique_ptr<backend::Backend> backend_;
  decode::Session session_;
  SessionEngine engine_;
};

const std::vector<int64_t> kPrompt = {5, 17, 3, 90, 41};

TEST_F(SessionEngineTest, SaysWhatItIs) {
  const auto facts = engine_.facts();
  EXPECT_EQ(facts.backend, "cpu");
  EXPECT_EQ(facts.device, cpu_name() + ", scalar, 1 thread");
  EXPECT_EQ(facts.spec_modes, std::vector<std::string>{"serial"});
}

TEST_F(SessionEngineTest, StepsContinueTheForward) {
  const auto first = engine_.forward(kPrompt);
  ASSERT_TRUE(first);
  const auto second = engine_.step(*first);
  ASSERT_TRUE(second);
  auto longer = kPrompt;
  longer.push_back(*first);
  EXPECT_EQ(*engine_.forward(longer), *second);
}

TEST_F(SessionEngineTest, TopLogitsAreOrderedAndStartWithTheToken) {
  const auto token = engine_.forward(kPrompt);
  ASSERT_TRUE(token);
  const auto top = engine_.top_logits(8);
  ASSERT_TRUE(top);
  ASSERT_EQ(top->size(), 8u);
  EXPECT_EQ(top->front().token, *token);
  for (size_t i = 1; i < 8; ++i) EXPECT_GE((*top)[i - 1].logit, (*top)[i].logit);
  // A float widened to double is that float again.
  for (const auto& entry : *top) {
    EXPECT_EQ(entry.logit, session_.logits()[static_cast<size_t>(entry.token)]);
  }
}

TEST_F(SessionEngineTest, DropAndDrainLeaveNothing) {
  ASSERT_TRUE(engine_.forward(kPrompt));
  engine_.drop_session();
  EXPECT_EQ(session_.position(), 0);
  const auto left = engine_.drain();
  ASSERT_TRUE(left);
  EXPECT_EQ(*left, 0u);
  const auto memory = engine_.memory_bytes();
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->cache, 0u);
  EXPECT_GE(memory->peak, memory->active);
  EXPECT_GT(memory->active, 0u);
}

TEST_F(SessionEngineTest, RefusesTokensThatAreNotOnes) {
  for (const int64_t bad : {int64_t{-1}, int64_t{96}, int64_t{1} << 32}) {
    EXPECT_EQ(engine_.forward(std::vector<int64_t>{1, bad}).refusal().code,
              "WORKER-TOKEN-OUT-OF-VOCABULARY");
    EXPECT_EQ(engine_.step(bad).refusal().code, "WORKER-TOKEN-OUT-OF-VOCABULARY");
  }
}

TEST_F(SessionEngineTest, RefusesWhatDoesNotFit) {
  const std::vector<int64_t> prompt(65, 1);
  EXPECT_EQ(engine_.forward(prompt).refusal().code, "DECODE-CONTEXT");
}

}  // namespace
}  // namespace assay::engine::worker
