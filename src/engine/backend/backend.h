// Backend: everything a model asks of the machine. Models see this header and no kernel.
//
// In:      pointers to weights as they lie in the GGUF mapping, rows of F32 activations
// Out:     rows of F32
// Promise  the numeric contract of docs/kernels.md: the result bits depend on the values alone, not
//          on instruction set, thread count or the number of rows in a call. Row r of an n-row call
//          equals a 1-row call on that row.
// Shapes   all arrays are dense, row-major, without padding; [n_rows][n] means n contiguous values
//          per row. No alignment is needed. Outputs do not overlap inputs unless a function says
//          so. Wrong shapes are the caller's bug (ENSURE): they were settled when the model was
//          loaded.
// Threads  one caller at a time. A call returns when its work is done.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/quant/types.h"

namespace assay::engine::backend {

/// A weight matrix [n_out][n_in] where it lies: y[o] = sum_i W[o][i] x[i].
struct Matrix {
  quant::Type type = quant::Type::f32;
  const std::byte* rows = nullptr;  // n_out rows of quant::row_bytes(type, n_in)
  int64_t n_in = 0;                 // a multiple of quant::block_elements(type)
  int64_t n_out = 0;

  /// Rows [first, first + count) as a matrix: the parts of a fused tensor, one expert's slab.
  [[nodiscard]] Matrix slice(int64_t first, int64_t count) const {
    return {type, rows + first * quant::row_bytes(type, n_in), n_in, count};
  }
};

/// Input rows of a matrix product. With `norm`, each row is RMS-normalised on its way in, with the
/// same bits as rms_norm() would give: rms(x, norm, norm_eps) is what the matrices see.
struct Rows {
  const float* x = nullptr;  // [n_rows][n_in]
  int64_t n_rows = 0;
  const float* norm = nullptr;  // [n_in] or null
  float norm_eps = 0.0f;
};

/// One matrix of a product, and where its rows go.
struct MatmulJob {
  Matrix w;
  float* y = nullptr;           // [n_rows][w.n_out]
  const float* bias = nullptr;  // [w.n_out] or null: y = W x + bias
  bool add = false;             // y += W x (+ bias): the residual add, one rounding per add
};

/// Which two values of a head rope turns together.
enum class RopePairs {
  adjacent,    // (2i, 2i + 1)
  half_split,  // (i, i + n_rot / 2)
};

/// What decides the angles: theta(pos, i) = pos * scale * base^(-2 i / n_rot) / factors[i].
struct RopeSpec {
  RopePairs pairs = RopePairs::adjacent;
  int64_t n_rot = 0;                 // leading values of each head that turn; the others stay
  double base = 10000.0;             // rope.freq_base
  double scale = 1.0;                // linear scaling: 1 / rope.scaling.factor
  std::span<const float> factors{};  // [n_rot / 2] (rope_freqs.weight), or empty for ones
};

/// Cosines and sines for the rows of one forward call; every layer and head uses the same ones.
struct RopeAngles {
  RopePairs pairs = RopePairs::adjacent;
  int64_t n_rot = 0;
  int64_t n_rows = 0;
  std::vector<float> cos, sin;  // [n_rows][n_rot / 2]
};

/// How cached keys and values are stored. f16 halves the bytes that decoding reads and rounds each
/// cached value to nearest even; both obey the same numeric contract.
enum class KvType { f32, f16 };

struct KvShape {
  int64_t n_layers = 0;
  int64_t n_kv_heads = 0;
  int64_t head_dim = 0;  // of keys and of values
  int64_t n_positions = 0;
  KvType type = KvType::f32;
};

/// Keys and values of every layer. The layout is the backend's own. Rows are overwritten freely:
/// going back to an earlier position needs no call, the next store simply starts there.
class KvCache {
 public:
  virtual ~KvCache() = default;
  [[nodiscard]] virtual const KvShape& shape() const = 0;
  /// Bytes of address space; memory is taken as positions are first written.
  [[nodiscard]] virtual int64_t size_bytes() const = 0;
};

/// Kernel tables by their names, best first: avx512vnni, avx2, scalar. Empty means: the best that
/// the host can run.
struct CpuOptions {
  int threads = 0;        // 0: every CPU that the process may run on
  std::string force_isa;  // usually the value of ASSAY_FORCE_ISA
};

class Backend {
 public:
  virtual ~Backend() = default;

  /// "cpu".
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// The kernel table in use: "avx2".
  [[nodiscard]] virtual std::string_view isa() const = 0;
  [[nodiscard]] virtual int threads() const = 0;

  /// y[r] = row tokens[r] of `table`, as F32. Needs 0 <= tokens[r] < table.n_out.
  virtual void embed(const Matrix& table, std::span<const int32_t> tokens, float* y) = 0;

  /// y = x / sqrt(mean(x^2) + eps) * weight, for each of n_rows rows of n values; y may be x.
  /// Per-head norms: pass n_rows * n_heads rows of head_dim.
  virtual void rms_norm(const float* x, const float* weight, float eps, int64_t n_rows, int64_t n,
                        float* y) = 0;

  /// Every job's product over the same input, which is normalised and quantised once.
  /// All jobs have the same n_in; no output overlaps the input.
  virtual void matmul(const Rows& in, std::span<const MatmulJob> jobs) = 0;
  void matmul(const Rows& in, std::initializer_list<MatmulJob> jobs) {
    matmul(in, std::span<const MatmulJob>(jobs.begin(), jobs.size()));
  }

  /// y = silu(gate x) * (up x), [n_rows][gate.n_out]. Same bits as two products and silu_mul().
  virtual void matmul_gated(const Rows& in, const Matrix& gate, const Matrix& up, float* y) = 0;

  /// y = silu(gate) * up, n values; y may be gate or up.
  virtual void silu_mul(const float* gate, const float* up, int64_t n, float* y) = 0;

  /// y += x, n values.
  virtual void add(const float* x, int64_t n, float* y) = 0;

  /// Angles of positions pos0, pos0 + 1, … for one forward call.
  virtual void rope_angles(const RopeSpec& spec, int64_t pos0, int64_t n_rows, RopeAngles& out) = 0;

  /// Turns x [n_rows][n_heads][head_dim] in place.
  virtual void rope(const RopeAngles& angles, int64_t n_heads, int64_t head_dim, float* x) = 0;

  /// Refuses BACKEND-KV-MEMORY when the address space cannot be had.
  [[nodiscard]] virtual Result<std::unique_ptr<KvCache>> create_kv(const KvShape& shape) = 0;

  /// Stores rows k, v [n_rows][n_kv_heads * head_dim] at positions pos0, pos0 + 1, …
  virtual void store_kv(KvCache& kv, int64_t layer, int64_t pos0, int64_t n_rows, const float* k,
                        const float* v) = 0;

  /// Causal attention: row r of q [n_rows][n_heads * head_dim] stands at position pos0 + r and sees
  /// keys 0 .. pos0 + r of `layer`, which are stored. Head h reads KV head h / (n_heads /
  /// n_kv_heads). out [n_rows][n_heads * head_dim] = softmax(scale * q.k) v, all in F32.
  virtual void attention(const KvCache& kv, int64_t layer, int64_t pos0, int64_t n_rows,
                         int64_t n_heads, const float* q, float scale, float* out) = 0;

  /// Index of the largest of n values, the lowest one on a tie. Needs n > 0.
  [[nodiscard]] virtual int64_t argmax(const float* x, int64_t n) = 0;
};

/// The CPU backend. Refuses KERNEL-ISA-* for a table that is not known, not built or not runnable
/// here, and BACKEND-THREADS for a thread count outside 1..1024 (0 asks the system).
[[nodiscard]] Result<std::unique_ptr<Backend>> create_cpu(const CpuOptions& options);

}  // namespace assay::engine::backend
