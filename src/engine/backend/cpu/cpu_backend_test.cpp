// The CPU backend: the same bits for every thread count and batch width, and its refusals.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "engine/backend/backend.h"
#include "engine/backend/cpu/thread_pool.h"
#include "engine/backend/refusals.h"
#include "engine/kernels/refusals.h"
#include "engine/quant/half.h"

namespace assay::engine::backend {
namespace {

using testing::HasSubstr;

std::unique_ptr<Backend> cpu(int threads, const char* isa = "") {
  auto backend = create_cpu({.threads = threads, .force_isa = isa});
  EXPECT_TRUE(backend);
  return *std::move(backend);
}

std::vector<float> random_floats(uint32_t seed, int64_t n) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal;
  std::vector<float> out(static_cast<size_t>(n));
  for (float& value : out) value = normal(rng);
  return out;
}

// Q4_1 rows with sane scales.
struct Weights {
  std::vector<std::byte> bytes;
  Matrix matrix;

  Weights(uint32_t seed, int64_t n_in, int64_t n_out) {
    std::mt19937 rng(seed);
    bytes.resize(static_cast<size_t>(quant::row_bytes(quant::Type::q4_1, n_in) * n_out));
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(rng());
    for (size_t i = 0; i < bytes.size(); i += 20) {
      const uint16_t d = quant::float_to_half(0.01f);
      const uint16_t m = quant::float_to_half(-0.07f);
      std::memcpy(&bytes[i], &d, 2);
      std::memcpy(&bytes[i + 2], &m, 2);
    }
    matrix = {quant::Type::q4_1, bytes.data(), n_in, n_out};
  }
};

// One layer of a small model, n_rows at once: everything that the backend offers.
std::vector<float> layer(Backend& backend, int64_t n_rows, int64_t pos0, KvCache& kv,
                         const std::vector<float>& x) {
  const int64_t n = 96, n_heads = 3, dim = 32;
  static const Weights q_w(1, n, n), k_w(2, n, dim), v_w(3, n, dim), o_w(4, n, n),
      gate_w(5, n, 160), up_w(6, n, 160), down_w(7, 160, n);
  const auto norm = random_floats(8, n);
  const auto size = [&](int64_t width) { return static_cast<size_t>(n_rows * width); };
  std::vector<float> h = x, q(size(n)), k(size(dim)), v(size(dim)), o(size(n)), ff(size(160));
  backend.matmul({h.data(), n_rows, norm.data(), 1e-5f},
                 {{q_w.matrix, q.data()}, {k_w.matrix, k.data()}, {v_w.matrix, v.data()}});
  RopeAngles angles;
  backend.rope_angles({RopePairs::adjacent, dim, 10000.0}, pos0, n_rows, angles);
  backend.rope(angles, n_heads, dim, q.data());
  backend.rope(angles, 1, dim, k.data());
  backend.store_kv(kv, 0, pos0, n_rows, k.data(), v.data());
  backend.attention(kv, 0, pos0, n_rows, n_heads, q.data(), 0.17f, o.data());
  backend.matmul({o.data(), n_rows}, {{o_w.matrix, h.data(), nullptr, true}});
  backend.matmul_gated({h.data(), n_rows, norm.data(), 1e-5f}, gate_w.matrix, up_w.matrix,
                       ff.data());
  backend.matmul({ff.data(), n_rows}, {{down_w.matrix, h.data(), nullptr, true}});
  return h;
}

const KvShape kShape{1, 1, 32, 300, KvType::f32};

TEST(CpuBackend, ThreadsDoNotChangeABit) {
  const auto x = random_floats(9, 200 * 96);
  for (const KvType type : {KvType::f32, KvType::f16}) {
    KvShape shape = kShape;
    shape.type = type;
    const auto one = cpu(1);
    auto kv = one->create_kv(shape);
    ASSERT_TRUE(kv);
    const auto expected = layer(*one, 200, 0, **kv, x);
    for (const float value : expected) ASSERT_TRUE(std::isfinite(value));
    for (const int threads : {2, 3, 5}) {
      const auto many = cpu(threads);
      EXPECT_EQ(many->threads(), threads);
      auto other = many->create_kv(shape);
      ASSERT_TRUE(other);
      const auto got = layer(*many, 200, 0, **other, x);
      EXPECT_EQ(std::memcmp(got.data(), expected.data(), got.size() * sizeof(float)), 0) << threads;
    }
  }
}

TEST(CpuBackend, TheInstructionSetDoesNotChangeABit) {
  const auto x = random_floats(10, 40 * 96);
  const auto best = cpu(2);
  const auto plain = cpu(2, "scalar");
  EXPECT_EQ(plain->isa(), "scalar");
  auto kv = best->create_kv(kShape);
  auto other = plain->create_kv(kShape);
  ASSERT_TRUE(kv && other);
  const auto a = layer(*best, 40, 0, **kv, x);
  const auto b = layer(*plain, 40, 0, **other, x);
  EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(float)), 0);
}

TEST(CpuBackend, WideCallsEqualRowByRowCalls) {
  const int64_t n_rows = 45;
  const auto x = random_floats(11, n_rows * 96);
  const auto backend = cpu(2);
  auto kv = backend->create_kv(kShape);
  ASSERT_TRUE(kv);
  const auto wide = layer(*backend, n_rows, 0, **kv, x);
  for (const int64_t width : {1, 2, 7, 16}) {
    auto narrow_kv = backend->create_kv(kShape);
    ASSERT_TRUE(narrow_kv);
    std::vector<float> narrow;
    for (int64_t row = 0; row < n_rows; row += width) {
      const int64_t count = std::min(width, n_rows - row);
      const std::vector<float> part(x.begin() + row * 96, x.begin() + (row + count) * 96);
      const auto h = layer(*backend, count, row, **narrow_kv, part);
      narrow.insert(narrow.end(), h.begin(), h.end());
    }
    EXPECT_EQ(std::memcmp(wide.data(), narrow.data(), wide.size() * sizeof(float)), 0) << width;
  }
}

TEST(CpuBackend, RowsStoredAgainReplaceTheOldOnes) {
  const auto backend = cpu(1);
  auto kv = backend->create_kv(kShape);
  ASSERT_TRUE(kv);
  const auto x = random_floats(12, 96);
  layer(*backend, 1, 0, **kv, random_floats(13, 96));
  layer(*backend, 1, 1, **kv, random_floats(14, 96));  // a draft that is taken back
  const auto again = layer(*backend, 1, 1, **kv, x);
  auto fresh = backend->create_kv(kShape);
  ASSERT_TRUE(fresh);
  layer(*backend, 1, 0, **fresh, random_floats(13, 96));
  EXPECT_EQ(layer(*backend, 1, 1, **fresh, x), again);
}

TEST(CpuBackend, FusedFormsEqualTheirParts) {
  const auto backend = cpu(2);
  const Weights gate(1, 64, 40), up(2, 64, 40);
  const int64_t n_rows = 20;
  const auto x = random_floats(3, n_rows * 64);
  const auto norm = random_floats(4, 64);
  const auto bias = random_floats(5, 40);
  std::vector<float> normed(x.size()), a(800), b(800), fused(800), sum = random_floats(6, 800);
  backend->rms_norm(x.data(), norm.data(), 1e-6f, n_rows, 64, normed.data());
  backend->matmul({normed.data(), n_rows}, {{gate.matrix, a.data()}, {up.matrix, b.data()}});
  const auto gate_alone = a;
  backend->silu_mul(a.data(), b.data(), 800, a.data());
  backend->matmul_gated({x.data(), n_rows, norm.data(), 1e-6f}, gate.matrix, up.matrix,
                        fused.data());
  EXPECT_EQ(a, fused);
  auto expected = sum;
  auto with_bias = gate_alone;
  for (size_t i = 0; i < 800; ++i) with_bias[i] += bias[i % 40];
  backend->add(with_bias.data(), 800, expected.data());
  backend->matmul({normed.data(), n_rows}, {{gate.matrix, sum.data(), bias.data(), true}});
  EXPECT_EQ(sum, expected);
}

TEST(CpuBackend, SlicesOfAMatrixAreItsRows) {
  const auto backend = cpu(1);
  const Weights fused(1, 64, 48);
  const auto x = random_floats(2, 64);
  std::vector<float> whole(48), part(16);
  backend->matmul({x.data(), 1}, {{fused.matrix, whole.data()}});
  backend->matmul({x.data(), 1}, {{fused.matrix.slice(24, 16), part.data()}});
  EXPECT_EQ(part, std::vector<float>(whole.begin() + 24, whole.begin() + 40));
}

TEST(CpuBackend, EmbeddingRowsAreDequantised) {
  const auto backend = cpu(1);
  const Weights table(1, 32, 4);
  std::vector<float> y(64);
  const int32_t tokens[2] = {3, 0};
  backend->embed(table.matrix, tokens, y.data());
  const float d = quant::half_to_float(quant::float_to_half(0.01f));
  const float m = quant::half_to_float(quant::float_to_half(-0.07f));
  const auto code = static_cast<int>(table.bytes[3 * 20 + 4] & std::byte{15});
  EXPECT_EQ(y[0], d * static_cast<float>(code) + m);
}

TEST(CpuBackend, RopeTurnsByPositionTimesFrequency) {
  // n_rot 4 of 6, base 100: frequencies 1 and 0.1; position 3.
  const auto backend = cpu(1);
  for (const RopePairs pairs : {RopePairs::adjacent, RopePairs::half_split}) {
    RopeAngles angles;
    backend->rope_angles({pairs, 4, 100.0}, 3, 1, angles);
    std::vector<float> x{1.0f, 0.0f, 1.0f, 0.0f, 5.0f, 6.0f};
    if (pairs == RopePairs::half_split) x = {1.0f, 1.0f, 0.0f, 0.0f, 5.0f, 6.0f};
    backend->rope(angles, 1, 6, x.data());
    const size_t second = pairs == RopePairs::adjacent ? 1 : 2;
    EXPECT_NEAR(x[0], std::cos(3.0), 1e-7);
    EXPECT_NEAR(x[second], std::sin(3.0), 1e-7);
    EXPECT_NEAR(x[3 - second], std::cos(0.3), 1e-7);
    EXPECT_NEAR(x[3], std::sin(0.3), 1e-7);
    EXPECT_EQ(x[4], 5.0f);
    EXPECT_EQ(x[5], 6.0f);
  }
  // Factors divide, a linear scale multiplies: 3 * 0.5 / 2 = 0.75.
  const std::vector<float> factors{2.0f, 1.0f};
  RopeAngles angles;
  backend->rope_angles({RopePairs::adjacent, 4, 100.0, 0.5, factors}, 3, 1, angles);
  EXPECT_NEAR(angles.cos[0], std::cos(0.75), 1e-7);
  EXPECT_NEAR(angles.sin[1], std::sin(0.15), 1e-7);
}

TEST(CpuBackend, RefusesThreadCountsOutOfRange) {
  for (const int threads : {-1, 1025}) {
    const auto backend = create_cpu({.threads = threads, .force_isa = ""});
    ASSERT_FALSE(backend);
    EXPECT_EQ(backend.refusal().code, kBackendThreads.code);
    EXPECT_THAT(backend.refusal().detail, HasSubstr(std::to_string(threads)));
  }
}

TEST(CpuBackend, RefusesATableThatDoesNotExist) {
  const auto backend = create_cpu({.threads = 1, .force_isa = "sse9"});
  ASSERT_FALSE(backend);
  EXPECT_EQ(backend.refusal().code, kernels::kIsaUnknown.code);
  EXPECT_FALSE(create_cpu({.threads = 1, .force_isa = "amx"}));
}

TEST(CpuBackend, RefusesAContextWithoutRoom) {
  const auto backend = cpu(1);
  for (const int64_t positions : {int64_t{1} << 44, int64_t{1} << 60}) {
    const auto kv = backend->create_kv({64, 64, 128, positions, KvType::f32});
    ASSERT_FALSE(kv);
    EXPECT_EQ(kv.refusal().code, kBackendKvMemory.code);
  }
}

TEST(ThreadPool, EveryChunkOnceAlsoAfterSleeping) {
  for (const int threads : {1, 2, 4}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.size(), threads);
    for (const int64_t n : {0, 1, 2, 7, 1000}) {
      std::vector<std::atomic<int>> calls(static_cast<size_t>(n));
      std::atomic<bool> known{true};
      pool.run(n, [&](int64_t chunk, int thread) {
        ++calls[static_cast<size_t>(chunk)];
        if (thread < 0 || thread >= threads) known = false;
      });
      for (const auto& count : calls) ASSERT_EQ(count.load(), 1);
      EXPECT_TRUE(known);
    }
    for (int region = 0; region < 3000; ++region) {
      std::atomic<int64_t> sum{0};
      pool.run(5, [&](int64_t chunk, int) { sum += chunk; });
      ASSERT_EQ(sum.load(), 10);
    }
  }
}

}  // namespace
}  // namespace assay::engine::backend
