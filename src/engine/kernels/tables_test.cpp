// Every table that this machine can run gives the bits of the portable one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "engine/kernels/math.h"
#include "engine/kernels/select.h"
#include "engine/quant/half.h"

namespace assay::engine::kernels {
namespace {

#if defined(ASSAY_EMULATED_TABLE)
}  // namespace
extern const KernelTable ASSAY_EMULATED_TABLE;
namespace {
#endif

std::vector<const KernelTable*> fast_tables() {
  std::vector<const KernelTable*> out;
#if defined(ASSAY_EMULATED_TABLE)
  if (detect_cpu().avx2) out.push_back(&ASSAY_EMULATED_TABLE);
  return out;
#endif
  for (const KernelTable* table : built_tables()) {
    if (table != &kScalarTable && table->runs_on(detect_cpu())) out.push_back(table);
  }
  return out;
}

// Equal bits; a NaN equals any NaN.
testing::AssertionResult same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::memcmp(&a[i], &b[i], sizeof(float)) == 0) continue;
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    return testing::AssertionFailure() << "value " << i << ": " << a[i] << " against " << b[i];
  }
  return testing::AssertionSuccess();
}

using Rng = std::mt19937;

std::vector<float> random_floats(Rng& rng, int64_t n, float size = 1.0f) {
  std::normal_distribution<float> normal(0.0f, size);
  std::vector<float> out(static_cast<size_t>(n));
  for (float& value : out) value = normal(rng);
  return out;
}

// Rows of random blocks: random bytes, and scales of sane size, with a subnormal, a negative and a
// zero one among them.
std::vector<std::byte> random_weights(Rng& rng, quant::Type type, int64_t n_in, int64_t n_out) {
  const int64_t bytes = quant::row_bytes(type, n_in) * n_out;
  std::vector<std::byte> out(static_cast<size_t>(bytes));
  if (type == quant::Type::f32) {
    const auto values = random_floats(rng, n_in * n_out, 0.1f);
    std::memcpy(out.data(), values.data(), out.size());
    return out;
  }
  for (std::byte& byte : out) byte = static_cast<std::byte>(rng());
  const auto half = [&rng](std::byte* to) {
    static constexpr uint16_t kEdge[] = {0x0001, 0x83FF, 0x0000, 0x8000, 0xA000};
    std::uniform_real_distribution<float> scale(0.001f, 0.02f);
    const uint16_t value =
        rng() % 16 == 0 ? kEdge[rng() % std::size(kEdge)] : quant::float_to_half(scale(rng));
    std::memcpy(to, &value, 2);
  };
  if (type == quant::Type::f16 || type == quant::Type::bf16) {
    for (int64_t i = 0; i < bytes; i += 2) {
      if (type == quant::Type::f16) {
        half(out.data() + i);
      } else {
        out[static_cast<size_t>(i + 1)] =
            (out[static_cast<size_t>(i + 1)] & std::byte{0x80}) | std::byte{0x3D};
      }
    }
    return out;
  }
  const int64_t block = quant::info(type).block_bytes;
  for (int64_t i = 0; i < bytes; i += block) {
    std::byte* const at = out.data() + i;
    if (type == quant::Type::q6_k) {
      half(at + 208);
      continue;
    }
    half(at);
    if (type == quant::Type::q4_1 || type == quant::Type::q5_1 || type == quant::Type::q4_k ||
        type == quant::Type::q5_k) {
      half(at + 2);
    }
  }
  return out;
}

// Input rows with their quantised form, owned.
struct Input {
  std::vector<float> x;
  std::vector<int8_t> q;
  std::vector<float> d, sum;
  std::vector<int16_t> sum16;
  InputRows rows;

  Input(Rng& rng, const KernelTable& table, int64_t n_rows, int64_t n_in) {
    x = random_floats(rng, n_rows * n_in);
    // A group of zeros, one of equal extremes, one that is nearly subnormal.
    for (int64_t i = 0; i < n_in; ++i) {
      float& value = x[static_cast<size_t>(i)];
      if (i / 32 == 0) value = 0.0f;
      if (i / 32 == 1) value = i % 2 == 0 ? 3.0f : -3.0f;
      if (i / 32 == 2) value *= 1e-37f;
    }
    const int64_t groups = (n_in + 31) / 32;
    q.resize(static_cast<size_t>(n_rows * groups * 32));
    d.resize(static_cast<size_t>(n_rows * groups));
    sum.resize(d.size());
    sum16.resize(2 * d.size());
    rows = {n_rows,      n_in,     x.data(),   n_in,         q.data(),
            groups * 32, d.data(), sum.data(), sum16.data(), groups};
    if (n_in % 32 != 0) return;
    for (int64_t r = 0; r < n_rows; ++r) {
      table.quantise_row(x.data() + r * n_in, n_in,
                         {q.data() + r * groups * 32, d.data() + r * groups,
                          sum.data() + r * groups, sum16.data() + 2 * r * groups});
    }
  }
};

std::vector<float> product(const KernelTable& table, quant::Type type, const InputRows& rows,
                           const std::vector<std::byte>& w, int64_t n_out, const float* bias,
                           bool add) {
  std::vector<float> y(static_cast<size_t>(rows.n_rows * n_out), 0.25f);
  const int64_t scratch_bytes = matmul_scratch_bytes(rows.n_in, n_out);
  std::vector<std::byte> scratch(static_cast<size_t>(scratch_bytes + 64));
  void* aligned = scratch.data();
  size_t space = scratch.size();
  std::align(64, static_cast<size_t>(scratch_bytes), aligned, space);
  table.matmul(type, rows,
               {w.data(), quant::row_bytes(type, rows.n_in), n_out, bias, add, y.data(), n_out,
                static_cast<std::byte*>(aligned)});
  return y;
}

TEST(Tables, ProductsOfEveryTypeEqualThePortableOnes) {
  for (const KernelTable* table : fast_tables()) {
    for (const quant::Type type : quant::kTypes) {
      Rng rng(static_cast<uint32_t>(type) + 1);
      for (const int64_t n_in : {256, 768}) {
        for (const int64_t n_out : {1, 7, 8, 16, 27, 48}) {
          const auto w = random_weights(rng, type, n_in, n_out);
          for (const int64_t n_rows : {1, 2, 3, 4, 5, 6, 7, 8, 9, 33}) {
            const Input input(rng, kScalarTable, n_rows, n_in);
            const auto bias = random_floats(rng, n_out);
            const bool add = n_rows % 2 == 0;
            const float* const with = n_rows % 3 == 0 ? bias.data() : nullptr;
            ASSERT_TRUE(same_bits(product(*table, type, input.rows, w, n_out, with, add),
                                  product(kScalarTable, type, input.rows, w, n_out, with, add)))
                << table->name << " " << quant::info(type).name << " n_in " << n_in << " n_out "
                << n_out << " rows " << n_rows;
          }
        }
      }
    }
  }
}

TEST(Tables, ProductsOfOddGroupCountsEqualThePortableOnes) {
  // 32-weight formats in rows of 1 to 9 groups; float ones in lengths of no multiple of anything.
  for (const KernelTable* table : fast_tables()) {
    for (const quant::Type type : quant::kTypes) {
      Rng rng(7);
      const int64_t step = quant::block_elements(type) == 1 ? 13 : quant::block_elements(type);
      for (int64_t n_in = step; n_in <= 9 * step; n_in += step) {
        const auto w = random_weights(rng, type, n_in, 19);
        for (const int64_t n_rows : {1, 12}) {
          const Input input(rng, kScalarTable, n_rows, n_in);
          ASSERT_TRUE(same_bits(product(*table, type, input.rows, w, 19, nullptr, false),
                                product(kScalarTable, type, input.rows, w, 19, nullptr, false)))
              << table->name << " " << quant::info(type).name << " n_in " << n_in;
        }
      }
    }
  }
}

TEST(Tables, ExtremeCodesDoNotOverflow) {
  // Every code at its largest magnitude against activations of +-127: sums are at their limits.
  for (const KernelTable* table : fast_tables()) {
    for (const quant::Type type : quant::kTypes) {
      if (quant::is_float(type)) continue;
      for (const int fill : {0x00, 0x80, 0x7F, 0xFF, 0x81}) {
        std::vector<std::byte> w(static_cast<size_t>(quant::row_bytes(type, 256) * 16),
                                 static_cast<std::byte>(fill));
        Rng rng(3);
        Input input(rng, kScalarTable, 9, 256);
        for (size_t i = 0; i < input.x.size(); ++i) {
          input.x[i] = (fill & 1) != 0 || i % 7 == 0 ? 2.0f : -2.0f;
        }
        const int64_t groups = 8;
        for (int64_t r = 0; r < 9; ++r) {
          kScalarTable.quantise_row(
              input.x.data() + r * 256, 256,
              {input.q.data() + r * 256, input.d.data() + r * groups, input.sum.data() + r * groups,
               input.sum16.data() + 2 * r * groups});
        }
        const int64_t block = quant::info(type).block_bytes;
        for (size_t i = 0; i < w.size(); i += static_cast<size_t>(block)) {
          const size_t at = type == quant::Type::q6_k ? i + 208 : i;
          w[at] = std::byte{0x00};
          w[at + 1] = std::byte{0x3C};
          if (type == quant::Type::q4_k || type == quant::Type::q5_k || type == quant::Type::q4_1 ||
              type == quant::Type::q5_1) {
            w[at + 2] = std::byte{0x00};
            w[at + 3] = std::byte{0xBC};
          }
        }
        for (int64_t n_rows : {1, 9}) {
          InputRows rows = input.rows;
          rows.n_rows = n_rows;
          ASSERT_TRUE(same_bits(product(*table, type, rows, w, 16, nullptr, false),
                                product(kScalarTable, type, rows, w, 16, nullptr, false)))
              << table->name << " " << quant::info(type).name << " fill " << fill;
        }
      }
    }
  }
}

TEST(Tables, RowsOfAWideCallEqualTheRowsAlone) {
  for (const KernelTable* table : built_tables()) {
    if (!table->runs_on(detect_cpu())) continue;
    const bool slow = table == &kScalarTable;
    for (const quant::Type type : quant::kTypes) {
      Rng rng(11);
      const int64_t n_out = slow ? 3 : 40;
      const auto w = random_weights(rng, type, 512, n_out);
      for (const int64_t n_rows : {2, 5, 8, 9, 33, 512}) {
        if (slow && n_rows > 33) continue;
        const Input input(rng, *table, n_rows, 512);
        const auto wide = product(*table, type, input.rows, w, n_out, nullptr, false);
        for (int64_t r = 0; r < n_rows; ++r) {
          InputRows one = input.rows;
          one.n_rows = 1;
          one.x += r * one.x_stride;
          one.q += r * one.q_stride;
          one.d += r * one.group_stride;
          one.sum += r * one.group_stride;
          one.sum16 += r * 2 * one.group_stride;
          const auto alone = product(*table, type, one, w, n_out, nullptr, false);
          ASSERT_EQ(
              std::memcmp(alone.data(), wide.data() + r * n_out, sizeof(float) * alone.size()), 0)
              << table->name << " " << quant::info(type).name << " row " << r << " of " << n_rows;
        }
      }
    }
  }
}

TEST(Tables, AFlippedWeightBitChangesTheProduct) {
  for (const KernelTable* table : built_tables()) {
    if (!table->runs_on(detect_cpu())) continue;
    for (const quant::Type type : quant::kTypes) {
      Rng rng(5);
      auto w = random_weights(rng, type, 256, 8);
      const Input input(rng, *table, 1, 256);
      const auto before = product(*table, type, input.rows, w, 8, nullptr, false);
      // A high bit of a code in the middle of the row: its activation is not zero.
      const int64_t middle = type == quant::Type::q6_k ? 70 : quant::row_bytes(type, 256) * 5 / 8;
      w[static_cast<size_t>(middle)] ^= std::byte{0x20};
      EXPECT_FALSE(same_bits(product(*table, type, input.rows, w, 8, nullptr, false), before))
          << table->name << " " << quant::info(type).name;
    }
  }
}

TEST(Tables, QuantisedActivationsAreEqual) {
  for (const KernelTable* table : fast_tables()) {
    Rng rng(13);
    for (const float size : {1.0f, 1e-38f, 1e-44f, 1e37f}) {
      auto x = random_floats(rng, 32 * 64, size);
      x[40] = 0.0f;
      x[77] = std::nanf("");
      x[100] = INFINITY;
      std::vector<int8_t> q[2];
      std::vector<float> d[2], sum[2];
      std::vector<int16_t> sum16[2];
      for (int i = 0; i < 2; ++i) {
        q[i].resize(x.size());
        d[i].resize(64);
        sum[i].resize(64);
        sum16[i].resize(128);
        (i == 0 ? kScalarTable : *table)
            .quantise_row(x.data(), 32 * 64,
                          {q[i].data(), d[i].data(), sum[i].data(), sum16[i].data()});
      }
      EXPECT_EQ(q[0], q[1]) << table->name << " " << size;
      EXPECT_TRUE(same_bits(d[0], d[1])) << table->name << " " << size;
      EXPECT_EQ(sum[0], sum[1]);
      EXPECT_EQ(sum16[0], sum16[1]);
      for (const int8_t value : q[0]) ASSERT_NE(value, -128);
    }
  }
}

TEST(Tables, ElementwiseOperationsAreEqual) {
  for (const KernelTable* table : fast_tables()) {
    Rng rng(17);
    for (const int64_t n : {1, 7, 8, 15, 16, 31, 64, 172, 576, 1000}) {
      const auto x = random_floats(rng, n, 3.0f);
      const auto w = random_floats(rng, n);
      std::vector<float> a(x.size()), b(x.size());
      kScalarTable.rms_norm(x.data(), w.data(), 1e-5f, n, a.data());
      table->rms_norm(x.data(), w.data(), 1e-5f, n, b.data());
      EXPECT_TRUE(same_bits(a, b)) << table->name << " rms_norm " << n;
      kScalarTable.silu_mul(x.data(), w.data(), n, a.data());
      table->silu_mul(x.data(), w.data(), n, b.data());
      EXPECT_TRUE(same_bits(a, b)) << table->name << " silu_mul " << n;
      a = b = w;
      kScalarTable.add(x.data(), n, a.data());
      table->add(x.data(), n, b.data());
      EXPECT_TRUE(same_bits(a, b)) << table->name << " add " << n;
      const int64_t n_pairs = n / 2;
      const auto cos = random_floats(rng, n);
      const auto sin = random_floats(rng, n);
      for (const bool half_split : {false, true}) {
        a = b = x;
        kScalarTable.rope(cos.data(), sin.data(), n_pairs, half_split, a.data());
        table->rope(cos.data(), sin.data(), n_pairs, half_split, b.data());
        EXPECT_TRUE(same_bits(a, b)) << table->name << " rope " << n << " " << half_split;
      }
      EXPECT_EQ(kScalarTable.argmax(x.data(), n), table->argmax(x.data(), n)) << n;
    }
  }
}

TEST(Tables, ArgmaxTakesTheLowestOfEquals) {
  for (const KernelTable* table : built_tables()) {
    if (!table->runs_on(detect_cpu())) continue;
    std::vector<float> x(40, -1.0f);
    EXPECT_EQ(table->argmax(x.data(), 40), 0);
    x[37] = x[21] = x[11] = 2.0f;
    EXPECT_EQ(table->argmax(x.data(), 40), 11);
    x[3] = std::nanf("");
    EXPECT_EQ(table->argmax(x.data(), 40), 11);
    x[39] = 3.0f;
    EXPECT_EQ(table->argmax(x.data(), 40), 39);
    EXPECT_EQ(table->argmax(x.data(), 1), 0);
    const std::vector<float> none(9, std::nanf(""));
    EXPECT_EQ(table->argmax(none.data(), 9), 0);
  }
}

TEST(Tables, ExpIsEqualOverAllExponentsAndNearExact) {
  std::vector<float> x;
  for (float value = -110.0f; value < 95.0f; value += 0.00137f) x.push_back(value);
  for (const float value : {0.0f, -0.0f, INFINITY, -INFINITY, std::nanf(""), 88.72283f, 88.72284f,
                            -103.97208f, -103.98f, -87.33655f, 1e-30f}) {
    x.push_back(value);
  }
  std::vector<float> expected(x.size()), actual(x.size());
  const auto n = static_cast<int64_t>(x.size());
  kScalarTable.exp(x.data(), n, expected.data());
  for (const KernelTable* table : fast_tables()) {
    table->exp(x.data(), n, actual.data());
    EXPECT_TRUE(same_bits(expected, actual)) << table->name;
  }
  double worst = 0.0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double exact = std::exp(static_cast<double>(x[i]));
    if (!(exact < 3.4e38)) continue;
    const float rounded = static_cast<float>(exact);
    const double ulp = std::max(
        static_cast<double>(std::nextafter(rounded, INFINITY)) - static_cast<double>(rounded),
        0x1p-149);
    worst = std::max(worst, std::fabs(static_cast<double>(expected[i]) - exact) / ulp);
  }
  RecordProperty("worst_ulp_thousandths", static_cast<int>(1000 * worst));
  EXPECT_LT(worst, 1.01);
  EXPECT_EQ(exp_f32(0.0f), 1.0f);
  EXPECT_EQ(exp_f32(-INFINITY), 0.0f);
  EXPECT_EQ(exp_f32(INFINITY), INFINITY);
  EXPECT_TRUE(std::isnan(exp_f32(std::nanf(""))));
}

std::vector<float> attend(const KernelTable& table, const std::vector<std::byte>& k,
                          const std::vector<std::byte>& v, bool half, int64_t head_dim,
                          const std::vector<float>& q, const std::vector<int64_t>& n_keys) {
  Attention a;
  a.k = k.data();
  a.v = v.data();
  a.half = half;
  a.head_dim = head_dim;
  a.v_stride = round_up(head_dim, 16);
  a.scale = 1.0f / std::sqrt(static_cast<float>(head_dim));
  a.n_queries = static_cast<int>(n_keys.size());
  std::vector<float> out(static_cast<size_t>(head_dim) * n_keys.size(), -1.0f);
  int64_t most = 0;
  for (size_t i = 0; i < n_keys.size(); ++i) {
    a.q[i] = q.data() + static_cast<int64_t>(i) * head_dim;
    a.out[i] = out.data() + static_cast<int64_t>(i) * head_dim;
    a.n_keys[i] = n_keys[i];
    most = std::max(most, n_keys[i]);
  }
  const auto bytes = static_cast<size_t>(attention_scratch_bytes(most, a.v_stride));
  std::vector<std::byte> scratch(bytes + 64);
  void* aligned = scratch.data();
  size_t space = scratch.size();
  a.scratch = static_cast<std::byte*>(std::align(64, bytes, aligned, space));
  table.attention(a);
  return out;
}

// Elements of a cache as stored.
std::vector<std::byte> cache_bytes(const std::vector<float>& values, bool half) {
  std::vector<std::byte> out(values.size() * (half ? 2 : 4));
  for (size_t i = 0; i < values.size(); ++i) {
    const uint16_t small = quant::float_to_half(values[i]);
    std::memcpy(out.data() + i * (half ? 2 : 4),
                half ? static_cast<const void*>(&small) : &values[i], half ? 2 : 4);
  }
  return out;
}

TEST(Tables, AttentionIsEqualAndIndependentOfItsTile) {
  for (const KernelTable* table : fast_tables()) {
    for (const bool half : {false, true}) {
      for (const int64_t head_dim : {8, 20, 64, 80, 128}) {
        Rng rng(19);
        const int64_t positions = 600;
        const int64_t padded = round_up(positions, kKeyBlock);
        const auto k = cache_bytes(random_floats(rng, padded * head_dim), half);
        auto v_values = random_floats(rng, padded * round_up(head_dim, 16));
        const auto v = cache_bytes(v_values, half);
        for (const std::vector<int64_t>& n_keys : {std::vector<int64_t>{1},
                                                   {15, 16, 17},
                                                   {255, 256, 257, 258},
                                                   {600, 600, 600},
                                                   {511, 513},
                                                   {33, 33, 34, 34}}) {
          const auto q = random_floats(rng, head_dim * static_cast<int64_t>(n_keys.size()));
          const auto together = attend(*table, k, v, half, head_dim, q, n_keys);
          ASSERT_TRUE(same_bits(together, attend(kScalarTable, k, v, half, head_dim, q, n_keys)))
              << table->name << " head_dim " << head_dim << " half " << half << " keys "
              << n_keys.back();
          for (size_t i = 0; i < n_keys.size(); ++i) {
            const auto first = q.begin() + static_cast<int64_t>(i) * head_dim;
            const auto alone =
                attend(*table, k, v, half, head_dim, {first, first + head_dim}, {n_keys[i]});
            ASSERT_EQ(std::memcmp(alone.data(), together.data() + i * static_cast<size_t>(head_dim),
                                  alone.size() * sizeof(float)),
                      0);
          }
        }
      }
    }
  }
}

TEST(Tables, AttentionAgreesWithDoubleArithmetic) {
  // softmax(q k / 8) v in double. Rounding: 64 products a score, exp amplifies by |score| <= 5.
  Rng rng(23);
  const int64_t n = 300, dim = 64;
  const auto k = random_floats(rng, round_up(n, kKeyBlock) * dim);
  const auto v = random_floats(rng, round_up(n, kKeyBlock) * dim);
  const auto q = random_floats(rng, dim);
  std::vector<double> weight(static_cast<size_t>(n));
  double sum = 0.0;
  for (int64_t j = 0; j < n; ++j) {
    double score = 0.0;
    for (int64_t d = 0; d < dim; ++d) {
      const int64_t at = j / 16 * dim * 16 + d * 16 + j % 16;
      score += static_cast<double>(q[static_cast<size_t>(d)]) *
               static_cast<double>(k[static_cast<size_t>(at)]);
    }
    sum += weight[static_cast<size_t>(j)] = std::exp(score / 8.0);
  }
  const auto out =
      attend(kScalarTable, cache_bytes(k, false), cache_bytes(v, false), false, dim, q, {n});
  for (int64_t d = 0; d < dim; ++d) {
    double expected = 0.0;
    for (int64_t j = 0; j < n; ++j) {
      expected += weight[static_cast<size_t>(j)] / sum *
                  static_cast<double>(v[static_cast<size_t>(j * dim + d)]);
    }
    EXPECT_NEAR(static_cast<double>(out[static_cast<size_t>(d)]), expected, 2e-6);
  }
}

}  // namespace
}  // namespace assay::engine::kernels
