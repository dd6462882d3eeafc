// One timeline: what is evaluated, what is kept, what is refused; the same bits for every way of
// getting there.
#include "engine/decode/session.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "engine/decode/sampling.h"
#include "support/tiny_model.h"

namespace assay::engine::decode {
namespace {

using backend::Backend;
using test::TinyModel;
using test::TinySizes;

// The CPU backend with a count of evaluated tokens, and logits that can be spoiled.
class SpyBackend final : public Backend {
 public:
  explicit SpyBackend(std::unique_ptr<Backend> inner) : inner_(std::move(inner)) {}

  int64_t embedded = 0;       // tokens evaluated so far
  int64_t widest = 0;         // rows of the widest call
  bool spoil_logits = false;  // the next products hold a NaN

  std::string_view name() const override { return inner_->name(); }
  std::string_view isa() const override { return inner_->isa(); }
  int threads() const override { return inner_->threads(); }
  void embed(const backend::Matrix& table, std::span<const int32_t> tokens, float* y) override {
    embedded += static_cast<int64_t>(tokens.size());
    widest = std::max(widest, static_cast<int64_t>(tokens.size()));
    inner_->embed(table, tokens, y);
  }
  void rms_norm(const float* x, const float* w, float eps, int64_t n_rows, int64_t n,
                float* y) override {
    inner_->rms_norm(x, w, eps, n_rows, n, y);
  }
  using Backend::matmul;
  void matmul(const backend::Rows& in, std::span<const backend::MatmulJob> jobs) override {
    inner_->matmul(in, jobs);
    if (spoil_logits) jobs[0].y[0] = NAN;
  }
  void matmul_gated(const backend::Rows& in, const backend::Matrix& gate, const backend::Matrix& up,
                    float* y) override {
    inner_->matmul_gated(in, gate, up, y);
  }
  void silu_mul(const float* gate, const float* up, int64_t n, float* y) override {
    inner_->silu_mul(gate, up, n, y);
  }
  void add(const float* x, int64_t n, float* y) override { inner_->add(x, n, y); }
  void rope_angles(const backend::RopeSpec& spec, int64_t pos0, int64_t n_rows,
                   backend::RopeAngles& out) override {
    inner_->rope_angles(spec, pos0, n_rows, out);
  }
  void rope(const backend::RopeAngles& angles, int64_t n_heads, int64_t head_dim,
            float* x) override {
    inner_->rope(angles, n_heads, head_dim, x);
  }
  Result<std::unique_ptr<backend::KvCache>> create_kv(const backend::KvShape& shape) override {
    return inner_->create_kv(shape);
  }
  void store_kv(backend::KvCache& kv, int64_t layer, int64_t pos0, int64_t n_rows, const float* k,
                const float* v) override {
    inner_->store_kv(kv, layer, pos0, n_rows, k, v);
  }
  void attention(const backend::KvCache& kv, int64_t layer, int64_t pos0, int64_t n_rows,
                 int64_t n_heads, const float* q, float scale, float* out) override {
    inner_->attention(kv, layer, pos0, n_rows, n_heads, q, scale, out);
  }
  int64_t argmax(const float* x, int64_t n) override { return inner_->argmax(x, n); }

 private:
  std::unique_ptr<Backend> inner_;
};

class SessionTest : public testing::Test {
 protected:
  static constexpr TinySizes kSizes{.context_length = 1024};

  SessionTest() : model_(load()), backend_(cpu(0, "")) {}

  static model::Model load(uint32_t type = 8) {
    TinyModel tiny("llama", kSizes);
    tiny.quantise(type);
    auto model = model::Model::load(tiny.file());
    EXPECT_TRUE(model);
    return std::move(*model);
  }
  static std::unique_ptr<Backend> cpu(int threads, const std::string& isa) {
    auto backend = backend::create_cpu({threads, isa});
    EXPECT_TRUE(backend) << backend.refusal().text();
    return std::move(*backend);
  }
  Session open(const SessionOptions& options = {}) {
    auto session = Session::open(model_, backend_, options);
    EXPECT_TRUE(session) << session.refusal().text();
    return std::move(*session);
  }
  static std::vector<int32_t> tokens(size_t n, int32_t step = 37) {
    std::vector<int32_t> out;
    for (size_t i = 0; i < n; ++i) {
      out.push_back(static_cast<int32_t>((static_cast<int32_t>(i) * step + 5) % 96));
    }
    return out;
  }
  static std::vector<float> copy(std::span<const float> logits) {
    return {logits.begin(), logits.end()};
  }
  static bool same_bits(std::span<const float> a, std::span<const float> b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
  }

  model::Model model_;
  SpyBackend backend_;
};

TEST_F(SessionTest, SyncEvaluatesOnlyWhatIsNew) {
  Session session = open();
  const auto all = tokens(20);
  ASSERT_TRUE(session.sync(std::span(all).first(12)));
  EXPECT_EQ(backend_.embedded, 12);
  ASSERT_TRUE(session.sync(all));
  EXPECT_EQ(backend_.embedded, 20);
  ASSERT_TRUE(session.sync(all));  // equal: no work
  EXPECT_EQ(backend_.embedded, 20);
  EXPECT_EQ(session.position(), 20);
  // A shorter prefix: its last token is evaluated again for its logits.
  ASSERT_TRUE(session.sync(std::span(all).first(10)));
  EXPECT_EQ(backend_.embedded, 21);
  EXPECT_EQ(session.position(), 10);
  // Another branch after 6 common tokens.
  auto branch = all;
  branch[6] = (branch[6] + 1) % 96;
  ASSERT_TRUE(session.sync(std::span(branch).first(10)));
  EXPECT_EQ(backend_.embedded, 25);
}

TEST_F(SessionTest, InvalidateForgetsEverything) {
  Session session = open();
  const auto all = tokens(9);
  ASSERT_TRUE(session.sync(all));
  const auto before = copy(session.logits());
  session.invalidate();
  EXPECT_EQ(session.position(), 0);
  EXPECT_FALSE(session.has_logits());
  ASSERT_TRUE(session.sync(all));
  EXPECT_EQ(backend_.embedded, 18);
  EXPECT_TRUE(same_bits(before, session.logits()));
}

// 512 tokens in one go = 500 + 12 = 8 x 64 = chunks of other widths = one by one, bit for bit.
TEST_F(SessionTest, BitsDoNotDependOnChunks) {
  const auto all = tokens(512);
  Session whole = open({.n_chunk = 512});
  ASSERT_TRUE(whole.sync(all));
  EXPECT_EQ(backend_.widest, 512);
  const auto expected = copy(whole.logits());

  Session two = open({.n_chunk = 512});
  ASSERT_TRUE(two.sync(std::span(all).first(500)));
  ASSERT_TRUE(two.sync(all));
  EXPECT_TRUE(same_bits(expected, two.logits()));
  for (const int64_t n_chunk : {1, 7, 64, 100, 256}) {
    Session chunked = open({.n_chunk = n_chunk});
    ASSERT_TRUE(chunked.sync(all));
    EXPECT_TRUE(same_bits(expected, chunked.logits())) << n_chunk;
  }
  Session single = open();
  for (const int32_t token : all) ASSERT_TRUE(single.eval(token));
  EXPECT_TRUE(same_bits(expected, single.logits()));
}

TEST_F(SessionTest, BitsDoNotDependOnThreadsOrInstructionSet) {
  const auto all = tokens(70);
  for (const uint32_t type : {0u, 3u, 8u}) {
    const model::Model model = load(type);
    std::vector<float> expected;
    for (const char* isa : {"scalar", "avx2", "avx512vnni"}) {
      for (const int threads : {1, 2, 3}) {
        auto backend = backend::create_cpu({threads, isa});
        if (!backend) continue;  // this machine cannot run that table
        auto session = Session::open(model, **backend, {.n_chunk = 64});
        ASSERT_TRUE(session);
        ASSERT_TRUE(session->sync(all));
        ASSERT_TRUE(session->eval(3));
        if (expected.empty()) expected = copy(session->logits());
        EXPECT_TRUE(same_bits(expected, session->logits())) << isa << ", " << threads;
      }
    }
    EXPECT_FALSE(expected.empty());
  }
}

TEST_F(SessionTest, TruncateGoesBack) {
  Session session = open();
  const auto all = tokens(30);
  ASSERT_TRUE(session.sync(std::span(all).first(20)));
  const auto at20 = copy(session.logits());
  ASSERT_TRUE(session.sync(all));
  session.truncate(19);
  EXPECT_FALSE(session.has_logits());
  ASSERT_TRUE(session.eval(all[19]));
  EXPECT_TRUE(same_bits(at20, session.logits()));
  session.truncate(20);  // nothing changes
  EXPECT_TRUE(session.has_logits());
}

TEST_F(SessionTest, ScoreGivesEveryRow) {
  const auto all = tokens(50);
  Session one_by_one = open();
  std::vector<std::vector<float>> expected;
  for (const int32_t token : all) {
    ASSERT_TRUE(one_by_one.eval(token));
    expected.push_back(copy(one_by_one.logits()));
  }
  Session session = open({.n_chunk = 16});
  int64_t next = 21;
  ASSERT_TRUE(session.score(all, 21, [&](int64_t row, int64_t n, std::span<const float> logits) {
    EXPECT_EQ(row, next);
    for (int64_t r = 0; r < n; ++r) {
      EXPECT_TRUE(same_bits(expected[static_cast<size_t>(row + r)],
                            logits.subspan(static_cast<size_t>(r * 96), 96)));
    }
    next += n;
  }));
  EXPECT_EQ(next, 50);
}

TEST_F(SessionTest, GreedyIsTheLowestOfTheLargest) {
  Session session = open();
  ASSERT_TRUE(session.sync(tokens(5)));
  EXPECT_EQ(session.greedy(), argmax(session.logits()));
}

TEST_F(SessionTest, RefusalsBeforeWorkChangeNothing) {
  Session session = open({.n_ctx = 16});
  const auto all = tokens(40);
  ASSERT_TRUE(session.sync(std::span(all).first(16)));
  const auto before = copy(session.logits());
  EXPECT_EQ(session.sync({}).refusal().code, "DECODE-EMPTY");
  EXPECT_EQ(session.sync(std::span(all).first(17)).refusal().code, "DECODE-CONTEXT");
  EXPECT_EQ(session.eval(3).refusal().code, "DECODE-CONTEXT");
  EXPECT_EQ(session.eval(96).refusal().code, "DECODE-TOKEN-RANGE");
  EXPECT_EQ(session.sync(std::vector<int32_t>{4, -1}).refusal().code, "DECODE-TOKEN-RANGE");
  EXPECT_EQ(session.score({}, 0, [](int64_t, int64_t, std::span<const float>) {}).refusal().code,
            "DECODE-EMPTY");
  session.invalidate();
  ASSERT_TRUE(session.sync(std::span(all).first(16)));
  EXPECT_TRUE(same_bits(before, session.logits()));
}

TEST_F(SessionTest, ContextSizes) {
  EXPECT_EQ(open().n_ctx(), 1024);
  for (const int64_t n_ctx : {int64_t{1025}, int64_t{-1}}) {
    const auto session = Session::open(model_, backend_, {.n_ctx = n_ctx});
    ASSERT_FALSE(session);
    EXPECT_EQ(session.refusal().code, "DECODE-CONTEXT-SIZE");
  }
}

TEST_F(SessionTest, AfterAFailureOnlyAResetHelps) {
  Session session = open();
  ASSERT_TRUE(session.sync(tokens(5)));
  const auto good = copy(session.logits());
  backend_.spoil_logits = true;
  EXPECT_EQ(session.eval(3).refusal().code, "DECODE-LOGITS-NOT-FINITE");
  EXPECT_EQ(session.position(), 5);
  EXPECT_FALSE(session.has_logits());
  backend_.spoil_logits = false;
  EXPECT_EQ(session.eval(3).refusal().code, "DECODE-STATE-UNDEFINED");
  EXPECT_EQ(session.sync(tokens(5)).refusal().code, "DECODE-STATE-UNDEFINED");
  session.invalidate();
  ASSERT_TRUE(session.sync(tokens(5)));
  EXPECT_TRUE(same_bits(good, session.logits()));
}

TEST_F(SessionTest, DrainGivesScratchBack) {
  Session session = open();
  ASSERT_TRUE(session.sync(tokens(20)));
  ASSERT_TRUE(session.eval(1));
  const auto before = copy(session.logits());
  EXPECT_GT(session.scratch_bytes(), 0);
  EXPECT_EQ(session.drain(), 0);
  EXPECT_EQ(session.scratch_bytes(), 0);
  EXPECT_TRUE(same_bits(before, session.logits()));  // the timeline is not scratch
  ASSERT_TRUE(session.eval(2));
  EXPECT_EQ(session.position(), 22);
}

}  // namespace
}  // namespace assay::engine::decode
