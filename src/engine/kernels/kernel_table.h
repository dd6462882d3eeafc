// KernelTable: the inner loops of the CPU backend, once per instruction set.
//
// In:      raw pointers and sizes; kernels know nothing of models, threads or files
// Promise  every table gives the same bits as `scalar`, which follows docs/kernels.md to the letter
// Users:   backend/cpu only. Which table runs: select.h.
// Threads  functions are pure: they write what their arguments say and keep no state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/kernels/cpu_features.h"
#include "engine/quant/activations.h"
#include "engine/quant/types.h"

namespace assay::engine::kernels {

/// Input rows of a matrix product. Float weights read `x`, quantised ones the rest.
struct InputRows {
  int64_t n_rows = 0;
  int64_t n_in = 0;
  const float* x = nullptr;  // [n_rows][x_stride]
  int64_t x_stride = 0;
  const int8_t* q = nullptr;  // [n_rows][q_stride], readable up to n_in only
  int64_t q_stride = 0;
  const float* d = nullptr;        // [n_rows][group_stride]
  const float* sum = nullptr;      // [n_rows][group_stride]
  const int16_t* sum16 = nullptr;  // [n_rows][2 * group_stride]
  int64_t group_stride = 0;
};

/// A run of output rows of one matrix, over all input rows:
/// v = W x; v = v + bias when there is one; y = add ? y + v : v.
struct Product {
  const std::byte* w = nullptr;  // first weight row
  int64_t row_bytes = 0;
  int64_t n_out = 0;
  const float* bias = nullptr;  // [n_out] or null
  bool add = false;
  float* y = nullptr;  // [n_rows][y_stride], first of the n_out columns
  int64_t y_stride = 0;
  std::byte* scratch = nullptr;  // matmul_scratch_bytes, aligned to 64
};

/// Up to kQueriesMax query vectors against the keys and values of one KV head.
///
/// Keys lie in blocks of kKeyBlock positions, [block][head_dim][kKeyBlock]; values as rows
/// [position][v_stride], padded with zeros from head_dim to v_stride (a multiple of 16). Elements
/// are F32, or F16 when `half` is set. Block tails beyond n_keys are readable, their values unused.
struct Attention {
  const std::byte* k = nullptr;
  const std::byte* v = nullptr;
  bool half = false;
  int64_t head_dim = 0;
  int64_t v_stride = 0;
  float scale = 1.0f;
  int n_queries = 0;
  const float* q[4] = {};        // each [head_dim]
  int64_t n_keys[4] = {};        // > 0
  float* out[4] = {};            // each [head_dim]
  std::byte* scratch = nullptr;  // attention_scratch_bytes(max n_keys, v_stride), aligned to 64
};

inline constexpr int kQueriesMax = 4;
inline constexpr int64_t kKeyBlock = 16;
/// Values are summed over chunks of this many keys, then the chunks in order.
inline constexpr int64_t kValueChunk = 256;

[[nodiscard]] constexpr int64_t round_up(int64_t n, int64_t multiple) noexcept {
  return (n + multiple - 1) / multiple * multiple;
}

/// Output rows that a table unpacks at once; runs of output rows start at multiples of it.
inline constexpr int64_t kPanelRows = 16;

/// Scratch of one matmul call, for any table: the unpacked codes and scales of a panel of outputs.
[[nodiscard]] constexpr int64_t matmul_scratch_bytes(int64_t n_in, int64_t n_out) noexcept {
  // Per panel and group: 16 * 32 codes as two nibble planes at most, 8 rows of floats; once, the
  // accumulators of a block of 64 rows.
  return round_up(n_out, kPanelRows) / kPanelRows * (round_up(n_in, 32) / 32) * (1024 + 512) + 4096;
}

/// Scratch of one attention call: scores, and output sums.
[[nodiscard]] constexpr int64_t attention_scratch_bytes(int64_t n_keys, int64_t v_stride) noexcept {
  return kQueriesMax * (round_up(n_keys, kKeyBlock) + 2 * v_stride + 64) *
         static_cast<int64_t>(sizeof(float));
}

struct KernelTable {
  std::string_view name;   // the value of ASSAY_FORCE_ISA that asks for it
  std::string_view needs;  // CPU features, for messages: "AVX2, FMA, F16C"
  bool (*runs_on)(const CpuFeatures& cpu) noexcept;

  /// quant::quantise_row.
  void (*quantise_row)(const float* x, int64_t n, const quant::ActivationRow& out) noexcept;

  /// quant::dot_quantised or quant::dot_float of every output and input row.
  void (*matmul)(quant::Type type, const InputRows& in, const Product& product) noexcept;

  /// y = (x * s) * w, s = 1 / sqrt(ss / n + eps), ss summed as sixteen strided partial sums (fma)
  /// and the tree of quant::sum16. y may be x.
  void (*rms_norm)(const float* x, const float* w, float eps, int64_t n, float* y) noexcept;

  /// y = (g / (1 + exp(-g))) * u. y may be g or u.
  void (*silu_mul)(const float* g, const float* u, int64_t n, float* y) noexcept;

  /// y = y + x.
  void (*add)(const float* x, int64_t n, float* y) noexcept;

  /// Turns the first 2 * n_pairs values of x: (a, b) -> (fma(a, c, -(b * s)), fma(a, s, b * c)),
  /// with a, b = x[2i], x[2i + 1], or x[i], x[i + n_pairs] when `half_split`.
  void (*rope)(const float* cos, const float* sin, int64_t n_pairs, bool half_split,
               float* x) noexcept;

  /// Per query: s_j = scale * sum_d fma(q_d, k_jd) (d ascending, one sum); m = max s; p_j =
  /// exp(s_j - m); l = sum of p in sixteen strided partial sums and the tree of quant::sum16;
  /// o = sum over chunks of kValueChunk keys of sum_j fma(p_j, v_j) (j ascending); out = o * (1/l).
  void (*attention)(const Attention& a) noexcept;

  /// Index of the largest value, the lowest on a tie; NaN never wins, 0 when all are NaN.
  int64_t (*argmax)(const float* x, int64_t n) noexcept;

  /// y = exp(x), as math.h: for tests.
  void (*exp)(const float* x, int64_t n, float* y) noexcept;
};

extern const KernelTable kScalarTable;

}  // namespace assay::engine::kernels
