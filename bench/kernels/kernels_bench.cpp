// The CPU backend's operations one by one, against what the machine can do at most.
//
//   gemv        one input row, weights larger than any cache: bytes a second, to be compared with
//               the read bandwidth of `bench/run bandwidth`
//   gemv_cached the same with weights that stay in the second-level cache: the kernel's own speed
//   gemm        512 input rows: multiply-adds a second, and the share of int8_peak
//   attention   one row (decode) and 512 rows (prefill) over 640 positions, SmolLM2's shape
//
// int8_peak is one core's rate of the inner loop's two instructions alone, multiply-add of byte
// pairs and 16-bit add, times the number of threads. Best of the timed passes everywhere.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "base/json.h"
#include "engine/backend/backend.h"
#include "engine/kernels/isa_region.h"
#include "engine/quant/half.h"
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#if defined(__x86_64__)
ISA_REGION_BEGIN("avx2")
namespace assay::bench {
namespace {

// 8 * 32 multiply-adds a round, all operands in registers.
void multiply_add_rounds(int64_t rounds) {
  __m256i w = _mm256_set1_epi8(3);
  __m256i acc[8];
  for (auto& a : acc) a = _mm256_setzero_si256();
  for (int64_t i = 0; i < rounds; ++i) {
    for (auto& a : acc) {
      __m256i product;
      __asm__ volatile("vpmaddubsw %2, %2, %0\n\tvpaddw %0, %1, %1"
                       : "=&x"(product), "+x"(a)
                       : "x"(w));
    }
  }
}

}  // namespace
}  // namespace assay::bench
ISA_REGION_END
#endif

namespace assay::bench {
namespace {

namespace backend = engine::backend;
namespace quant = engine::quant;
using Clock = std::chrono::steady_clock;
using backend::Backend;

// Shortest of repeated calls of `work` within about `budget` seconds (at least three).
template <class Work>
double best_seconds(double budget, Work&& work) {
  double best = 1e30, spent = 0.0;
  for (int i = 0; i < 3 || (spent < budget && i < 10'000); ++i) {
    const auto start = Clock::now();
    work();
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    best = std::min(best, seconds);
    spent += seconds;
  }
  return best;
}

void print_line(const json::Value& line) {
  std::printf("%s\n", json::write(line).c_str());
}

// Random blocks with small scales: finite weights of any type.
std::vector<std::byte> weights(quant::Type type, int64_t n_in, int64_t n_out) {
  std::mt19937_64 rng(1);
  std::vector<std::byte> out(static_cast<size_t>(quant::row_bytes(type, n_in) * n_out + 8));
  for (size_t i = 0; i + 8 <= out.size(); i += 8) {
    const uint64_t bits = rng() & 0x3FFF'3FFF'3FFF'3FFF;  // no infinities as halves or floats
    std::memcpy(out.data() + i, &bits, 8);
  }
  return out;
}

struct Bench {
  Backend& backend;
  double budget;
  double peak;  // multiply-adds a second of all threads; 0 when not measured

  json::Value line(const char* what) const {
    json::Value out = json::Value::object();
    out.set("what", what);
    out.set("isa", std::string(backend.isa()));
    out.set("threads", backend.threads());
    return out;
  }

  void product(const char* what, quant::Type type, int64_t n_in, int64_t n_out, int64_t n_rows) {
    const auto w = weights(type, n_in, n_out);
    const std::vector<float> x(static_cast<size_t>(n_in * n_rows), 0.5f);
    std::vector<float> y(static_cast<size_t>(n_out * n_rows));
    const double seconds = best_seconds(budget, [&] {
      backend.matmul({x.data(), n_rows}, {{{type, w.data(), n_in, n_out}, y.data()}});
    });
    const double products =
        static_cast<double>(n_in) * static_cast<double>(n_out) * static_cast<double>(n_rows);
    json::Value out = line(what);
    out.set("type", std::string(quant::info(type).name));
    out.set("n_in", n_in);
    out.set("n_out", n_out);
    out.set("rows", n_rows);
    out.set("weight_bytes_per_s",
            static_cast<double>(quant::row_bytes(type, n_in) * n_out) / seconds);
    out.set("multiply_adds_per_s", products / seconds);
    if (n_rows > 1 && peak > 0.0) out.set("int8_peak_share", products / seconds / peak);
    print_line(out);
  }

  void attention(int64_t n_rows, int64_t pos0, backend::KvType type) {
    const int64_t n_heads = 9, n_kv = 3, dim = 64;
    auto kv = backend.create_kv({1, n_kv, dim, pos0 + n_rows, type});
    if (!kv) return;
    const std::vector<float> k(static_cast<size_t>((pos0 + n_rows) * n_kv * dim), 0.1f);
    backend.store_kv(**kv, 0, 0, pos0 + n_rows, k.data(), k.data());
    const std::vector<float> q(static_cast<size_t>(n_rows * n_heads * dim), 0.1f);
    std::vector<float> o(q.size());
    const double seconds = best_seconds(budget, [&] {
      backend.attention(**kv, 0, pos0, n_rows, n_heads, q.data(), 0.125f, o.data());
    });
    const double keys = static_cast<double>(n_rows) *
                        (static_cast<double>(pos0) + static_cast<double>(n_rows + 1) / 2.0);
    json::Value out = line("attention");
    out.set("type", type == backend::KvType::f16 ? "F16" : "F32");
    out.set("rows", n_rows);
    out.set("pos0", pos0);
    out.set("seconds", seconds);
    out.set("multiply_adds_per_s", keys * static_cast<double>(n_heads * dim * 2) / seconds);
    print_line(out);
  }
};

int run(int argc, char** argv) {
  std::vector<int> threads{1, 2};
  std::vector<std::string> types;
  std::string isa;
  double budget = 0.3;
  CLI::App app("Kernels alone. bench/run kernels starts this program.");
  app.add_option("--threads", threads, "thread counts")->delimiter(',');
  app.add_option("--types", types, "weight types, Q4_1 …; all when absent")->delimiter(',');
  app.add_option("--isa", isa, "kernel table");
  app.add_option("--seconds", budget, "time for each figure")->check(CLI::Range(0.01, 60.0));
  CLI11_PARSE(app, argc, argv);

  double core_peak = 0.0;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) {
    constexpr int64_t kRounds = 1'000'000;
    const double seconds = best_seconds(budget, [] { multiply_add_rounds(kRounds); });
    core_peak = 256.0 * static_cast<double>(kRounds) / seconds;
    json::Value out = json::Value::object();
    out.set("what", "int8_peak");
    out.set("multiply_adds_per_s", core_peak);
    print_line(out);
  }
#endif
  for (const int count : threads) {
    auto created = backend::create_cpu({.threads = count, .force_isa = isa});
    if (!created) {
      std::fprintf(stderr, "kernels_bench: %s\n", created.refusal().text().c_str());
      return 1;
    }
    Bench bench{**created, budget, core_peak * count};
    for (const quant::Type type : quant::kTypes) {
      const std::string name(quant::info(type).name);
      if (!types.empty() && std::find(types.begin(), types.end(), name) == types.end()) continue;
      const int64_t n_in = quant::block_elements(type) == 256 ? 768 : 576;
      const int64_t row = quant::row_bytes(type, n_in);
      bench.product("gemv", type, n_in, (96 << 20) / row / 16 * 16, 1);
      bench.product("gemv_cached", type, n_in, (192 << 10) / row / 16 * 16, 1);
      bench.product("gemm", type, n_in, 1536, 512);
      bench.product("gemm", type, 1536, 576, 512);
    }
    for (const auto type : {backend::KvType::f32, backend::KvType::f16}) {
      bench.attention(1, 640, type);
      bench.attention(512, 0, type);
    }
  }
  return 0;
}

}  // namespace
}  // namespace assay::bench

int main(int argc, char** argv) {
  return assay::bench::run(argc, argv);
}
