// The CPU backend: cuts each operation into chunks for the pool and hands them to the kernel table.
//
// A chunk is a run of output rows (products), of input rows (norms, quantising) or a tile of
// queries (attention). Chunk sizes follow the number of threads and rows; no result depends on
// them. Few rows of small operations run on the calling thread: a region costs about a microsecond.
#include <sched.h>

#include <algorithm>
#include <cstring>
#include <system_error>

#include "base/ensure.h"
#include "base/text.h"
#include "engine/backend/backend.h"
#include "engine/backend/cpu/aligned.h"
#include "engine/backend/cpu/kv_cache.h"
#include "engine/backend/cpu/thread_pool.h"
#include "engine/backend/refusals.h"
#include "engine/kernels/math.h"
#include "engine/kernels/select.h"
#include "engine/quant/dequantise.h"

namespace assay::engine::backend {
namespace {

using kernels::InputRows;
using kernels::KernelTable;
using kernels::Product;
using kernels::round_up;

constexpr int kThreadsMax = 1024;
// Values below which an elementwise operation is not worth a parallel region.
constexpr int64_t kSerialValues = 16 * 1024;
// Output rows of a prefill chunk: their unpacked panel stays in the second-level cache.
constexpr int64_t kPrefillOutputs = 32;
// Input rows from which a product counts as prefill.
constexpr int64_t kPrefillRows = 16;

int64_t ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

// The quantised (or just normalised) input of one product.
struct Prepared {
  AlignedBuffer x, q, d, sum, sum16;

  InputRows reserve(int64_t n_rows, int64_t n_in, bool quantised) {
    InputRows in;
    in.n_rows = n_rows;
    in.n_in = n_in;
    // An odd number of cache lines a row: rows do not fall on the same cache sets.
    in.x_stride = n_in;
    in.q_stride = round_up(n_in, 64) | 64;
    in.group_stride = ceil_div(n_in, 32);
    if (quantised) {
      in.q = reinterpret_cast<int8_t*>(q.reserve(n_rows * in.q_stride));
      in.d = d.floats(n_rows * in.group_stride);
      in.sum = sum.floats(n_rows * in.group_stride);
      in.sum16 = reinterpret_cast<int16_t*>(sum16.reserve(n_rows * in.group_stride * 4));
    }
    return in;
  }
};

class CpuBackend final : public Backend {
 public:
  CpuBackend(const KernelTable& table, int n_threads)
      : table_(table), pool_(n_threads), scratch_(static_cast<size_t>(n_threads)) {}

  std::string_view name() const override { return "cpu"; }
  std::string_view isa() const override { return table_.name; }
  int threads() const override { return pool_.size(); }

  void embed(const Matrix& table, std::span<const int32_t> tokens, float* y) override {
    const int64_t stride = quant::row_bytes(table.type, table.n_in);
    for (size_t i = 0; i < tokens.size(); ++i) {
      ENSURE(tokens[i] >= 0 && tokens[i] < table.n_out);
      quant::dequantise_row(table.type, table.rows + tokens[i] * stride, table.n_in,
                            y + static_cast<int64_t>(i) * table.n_in);
    }
  }

  void rms_norm(const float* x, const float* weight, float eps, int64_t n_rows, int64_t n,
                float* y) override {
    over_rows(n_rows, n,
              [&](int64_t row, int) { table_.rms_norm(x + row * n, weight, eps, n, y + row * n); });
  }

  void matmul(const Rows& in, std::span<const MatmulJob> jobs) override {
    if (jobs.empty() || in.n_rows == 0) return;
    const InputRows rows = prepare(in, jobs);
    int64_t total = 0;
    for (const MatmulJob& job : jobs) total += job.w.n_out;
    const int64_t step = outputs_per_chunk(total, in.n_rows);
    int64_t n_chunks = 0;
    for (const MatmulJob& job : jobs) n_chunks += ceil_div(job.w.n_out, step);
    reserve_scratch(kernels::matmul_scratch_bytes(rows.n_in, step));

    pool_.run(n_chunks, [&](int64_t chunk, int thread) {
      const MatmulJob* job = jobs.data();
      for (; chunk >= ceil_div(job->w.n_out, step); ++job) chunk -= ceil_div(job->w.n_out, step);
      const int64_t first = chunk * step;
      Product product = part(job->w, first, step, thread);
      product.bias = job->bias == nullptr ? nullptr : job->bias + first;
      product.add = job->add;
      product.y = job->y + first;
      product.y_stride = job->w.n_out;
      table_.matmul(job->w.type, rows, product);
    });
  }

  void matmul_gated(const Rows& in, const Matrix& gate, const Matrix& up, float* y) override {
    ENSURE(gate.n_in == up.n_in && gate.n_out == up.n_out);
    if (in.n_rows == 0) return;
    const MatmulJob jobs[2] = {{gate, y}, {up, y}};
    const InputRows rows = prepare(in, jobs);
    const int64_t step = outputs_per_chunk(2 * gate.n_out, in.n_rows);
    const int64_t kernel_bytes = round_up(kernels::matmul_scratch_bytes(rows.n_in, step), 64);
    reserve_scratch(kernel_bytes + in.n_rows * step * static_cast<int64_t>(sizeof(float)));

    pool_.run(ceil_div(gate.n_out, step), [&](int64_t chunk, int thread) {
      const int64_t first = chunk * step;
      Product product = part(gate, first, step, thread);
      product.y = y + first;
      product.y_stride = gate.n_out;
      table_.matmul(gate.type, rows, product);
      float* const up_rows = reinterpret_cast<float*>(product.scratch + kernel_bytes);
      product = part(up, first, step, thread);
      product.y = up_rows;
      product.y_stride = step;
      table_.matmul(up.type, rows, product);
      for (int64_t r = 0; r < in.n_rows; ++r) {
        float* const out = y + r * gate.n_out + first;
        table_.silu_mul(out, up_rows + r * step, product.n_out, out);
      }
    });
  }

  void silu_mul(const float* gate, const float* up, int64_t n, float* y) override {
    over_values(n, [&](int64_t begin, int64_t count) {
      table_.silu_mul(gate + begin, up + begin, count, y + begin);
    });
  }

  void add(const float* x, int64_t n, float* y) override {
    over_values(n, [&](int64_t begin, int64_t count) { table_.add(x + begin, count, y + begin); });
  }

  void rope_angles(const RopeSpec& spec, int64_t pos0, int64_t n_rows, RopeAngles& out) override {
    const int64_t n_pairs = spec.n_rot / 2;
    ENSURE(spec.n_rot % 2 == 0);
    ENSURE(spec.factors.empty() || static_cast<int64_t>(spec.factors.size()) == n_pairs);
    out.pairs = spec.pairs;
    out.n_rot = spec.n_rot;
    out.n_rows = n_rows;
    out.cos.resize(static_cast<size_t>(n_rows * n_pairs));
    out.sin.resize(static_cast<size_t>(n_rows * n_pairs));
    for (int64_t i = 0; i < n_pairs; ++i) {
      double frequency =
          spec.scale * kernels::power(spec.base, -2.0 * static_cast<double>(i) /
                                                     static_cast<double>(spec.n_rot));
      if (!spec.factors.empty())
        frequency /= static_cast<double>(spec.factors[static_cast<size_t>(i)]);
      for (int64_t r = 0; r < n_rows; ++r) {
        const auto angle = kernels::cos_sin(static_cast<double>(pos0 + r) * frequency);
        out.cos[static_cast<size_t>(r * n_pairs + i)] = static_cast<float>(angle.cos);
        out.sin[static_cast<size_t>(r * n_pairs + i)] = static_cast<float>(angle.sin);
      }
    }
  }

  void rope(const RopeAngles& angles, int64_t n_heads, int64_t head_dim, float* x) override {
    ENSURE(angles.n_rot <= head_dim);
    const int64_t n_pairs = angles.n_rot / 2;
    over_rows(angles.n_rows, n_heads * head_dim, [&](int64_t row, int) {
      for (int64_t head = 0; head < n_heads; ++head) {
        table_.rope(angles.cos.data() + row * n_pairs, angles.sin.data() + row * n_pairs, n_pairs,
                    angles.pairs == RopePairs::half_split, x + (row * n_heads + head) * head_dim);
      }
    });
  }

  Result<std::unique_ptr<KvCache>> create_kv(const KvShape& shape) override {
    return CpuKvCache::create(shape);
  }

  void store_kv(KvCache& kv, int64_t layer, int64_t pos0, int64_t n_rows, const float* k,
                const float* v) override {
    ENSURE(layer >= 0 && layer < kv.shape().n_layers);
    ENSURE(pos0 >= 0 && n_rows >= 0 && n_rows <= kv.shape().n_positions - pos0);
    static_cast<CpuKvCache&>(kv).store(layer, pos0, n_rows, k, v);
  }

  void attention(const KvCache& cache, int64_t layer, int64_t pos0, int64_t n_rows, int64_t n_heads,
                 const float* q, float scale, float* out) override {
    const auto& kv = static_cast<const CpuKvCache&>(cache);
    const KvShape& shape = kv.shape();
    ENSURE(layer >= 0 && layer < shape.n_layers && n_heads % shape.n_kv_heads == 0);
    ENSURE(pos0 >= 0 && n_rows <= shape.n_positions - pos0);
    if (n_rows == 0) return;
    const int64_t group = n_heads / shape.n_kv_heads;  // query heads of one KV head
    const int64_t queries = group * n_rows;  // row-major: the heads of a row are neighbours
    // Four queries share each key that is loaded; with too few tiles for the threads, one each.
    const bool few = shape.n_kv_heads * ceil_div(queries, kernels::kQueriesMax) < 4 * pool_.size();
    const int64_t tile = few && pool_.size() > 1 ? 1 : kernels::kQueriesMax;
    const int64_t tiles = ceil_div(queries, tile);
    reserve_scratch(kernels::attention_scratch_bytes(pos0 + n_rows, kv.v_stride()));

    pool_.run(tiles * shape.n_kv_heads, [&](int64_t chunk, int thread) {
      // One KV head after the other, so that its keys and values stay in the cache; the longest
      // rows of each first.
      const int64_t kv_head = chunk / tiles;
      const int64_t first = (tiles - 1 - chunk % tiles) * tile;
      kernels::Attention a;
      a.k = kv.keys(layer, kv_head);
      a.v = kv.values(layer, kv_head);
      a.half = shape.type == KvType::f16;
      a.head_dim = shape.head_dim;
      a.v_stride = kv.v_stride();
      a.scale = scale;
      a.n_queries = static_cast<int>(std::min(tile, queries - first));
      a.scratch = scratch_[static_cast<size_t>(thread)].data();
      for (int i = 0; i < a.n_queries; ++i) {
        const int64_t row = (first + i) / group;
        const int64_t head = kv_head * group + (first + i) % group;
        a.q[i] = q + (row * n_heads + head) * shape.head_dim;
        a.out[i] = out + (row * n_heads + head) * shape.head_dim;
        a.n_keys[i] = pos0 + row + 1;
      }
      table_.attention(a);
    });
  }

  int64_t argmax(const float* x, int64_t n) override {
    ENSURE(n > 0);
    return table_.argmax(x, n);
  }

 private:
  // Normalises and quantises the input once for all jobs.
  InputRows prepare(const Rows& in, std::span<const MatmulJob> jobs) {
    const int64_t n_in = jobs[0].w.n_in;
    bool quantised = false;
    bool floats = false;
    for (const MatmulJob& job : jobs) {
      ENSURE(job.w.n_in == n_in && n_in % quant::block_elements(job.w.type) == 0);
      (quant::is_float(job.w.type) ? floats : quantised) = true;
    }
    InputRows rows = prepared_.reserve(in.n_rows, n_in, quantised);
    rows.x = in.x;
    const bool keep_normed = in.norm != nullptr;
    if (keep_normed) rows.x = prepared_.x.floats(in.n_rows * n_in);
    if (!keep_normed && !quantised) return rows;
    over_rows(in.n_rows, n_in, [&](int64_t row, int) {
      const float* x = in.x + row * n_in;
      if (keep_normed) {
        float* const normed = const_cast<float*>(rows.x) + row * n_in;
        table_.rms_norm(x, in.norm, in.norm_eps, n_in, normed);
        x = normed;
      }
      if (!quantised) return;
      table_.quantise_row(x, n_in,
                          {const_cast<int8_t*>(rows.q) + row * rows.q_stride,
                           const_cast<float*>(rows.d) + row * rows.group_stride,
                           const_cast<float*>(rows.sum) + row * rows.group_stride,
                           const_cast<int16_t*>(rows.sum16) + row * 2 * rows.group_stride});
    });
    return rows;
  }

  // Outputs [first, first + step) of a matrix, cut at its end.
  Product part(const Matrix& w, int64_t first, int64_t step, int thread) const {
    Product product;
    product.row_bytes = quant::row_bytes(w.type, w.n_in);
    product.w = w.rows + first * product.row_bytes;
    product.n_out = std::min(step, w.n_out - first);
    product.scratch = scratch_[static_cast<size_t>(thread)].data();
    return product;
  }

  int64_t outputs_per_chunk(int64_t n_out, int64_t n_rows) const {
    if (n_rows >= kPrefillRows) return kPrefillOutputs;
    // Some eight chunks a thread even out what the threads are given.
    const int64_t chunks = pool_.size() == 1 ? 1 : 8 * pool_.size();
    return std::clamp<int64_t>(round_up(n_out / chunks, kernels::kPanelRows), kernels::kPanelRows,
                               512);
  }

  void reserve_scratch(int64_t size_bytes) {
    for (AlignedBuffer& buffer : scratch_) buffer.reserve(size_bytes);
  }

  template <class Work>
  void over_rows(int64_t n_rows, int64_t n, Work&& work) {
    if (n_rows * n <= kSerialValues) {
      for (int64_t row = 0; row < n_rows; ++row) work(row, 0);
      return;
    }
    const int64_t rows_per_chunk = ceil_div(kSerialValues / 4, n);
    pool_.run(ceil_div(n_rows, rows_per_chunk), [&](int64_t chunk, int thread) {
      const int64_t end = std::min(n_rows, (chunk + 1) * rows_per_chunk);
      for (int64_t row = chunk * rows_per_chunk; row < end; ++row) work(row, thread);
    });
  }

  template <class Work>
  void over_values(int64_t n, Work&& work) {
    if (n <= kSerialValues) return work(0, n);
    pool_.run(ceil_div(n, kSerialValues), [&](int64_t chunk, int) {
      const int64_t begin = chunk * kSerialValues;
      work(begin, std::min(kSerialValues, n - begin));
    });
  }

  const KernelTable& table_;
  ThreadPool pool_;
  std::vector<AlignedBuffer> scratch_;  // one per thread
  Prepared prepared_;
};

// CPUs that this process may run on.
int cpus_allowed() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace

Result<std::unique_ptr<Backend>> create_cpu(const CpuOptions& options) {
  if (options.threads < 0 || options.threads > kThreadsMax) {
    return Refusal(kBackendThreads, cat(options.threads, " threads; expected 0 to ", kThreadsMax));
  }
  TRY(table, kernels::select_table(kernels::detect_cpu(), options.force_isa));
  const int threads = options.threads > 0 ? options.threads : std::min(cpus_allowed(), kThreadsMax);
  try {
    return std::unique_ptr<Backend>(std::make_unique<CpuBackend>(*table, threads));
  } catch (const std::system_error& error) {
    return Refusal(kBackendThreads,
                   cat("the system could not start ", threads, " threads: ", error.what()));
  }
}

}  // namespace assay::engine::backend
