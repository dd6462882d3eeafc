// The portable table: the numeric contract written down in plain C++, one output at a time.
//
// Every other table is tested against this one, bit for bit. Speed matters only so far as a machine
// without vector kernels should still answer.
#include <cmath>
#include <cstring>

#include "engine/kernels/kernel_table.h"
#include "engine/kernels/math.h"
#include "engine/quant/dot.h"
#include "engine/quant/half.h"

namespace assay::engine::kernels {
namespace {

void matmul(quant::Type type, const InputRows& in, const Product& product) noexcept {
  for (int64_t o = 0; o < product.n_out; ++o) {
    const std::byte* row = product.w + o * product.row_bytes;
    for (int64_t r = 0; r < in.n_rows; ++r) {
      float value = 0.0f;
      if (quant::is_float(type)) {
        value = quant::dot_float(type, row, in.x + r * in.x_stride, in.n_in);
      } else {
        // dot_quantised only reads; the row type is shared with the quantiser, which writes.
        const quant::ActivationRow x{const_cast<int8_t*>(in.q + r * in.q_stride),
                                     const_cast<float*>(in.d + r * in.group_stride),
                                     const_cast<float*>(in.sum + r * in.group_stride),
                                     const_cast<int16_t*>(in.sum16 + r * 2 * in.group_stride)};
        value = quant::dot_quantised(type, row, x, in.n_in);
      }
      float& y = product.y[r * product.y_stride + o];
      if (product.bias != nullptr) value += product.bias[o];
      y = product.add ? y + value : value;
    }
  }
}

void rms_norm(const float* x, const float* w, float eps, int64_t n, float* y) noexcept {
  float p[16] = {};
  for (int64_t i = 0; i < n; ++i) p[i % 16] = std::fma(x[i], x[i], p[i % 16]);
  const float scale = 1.0f / std::sqrt(quant::sum16(p) / static_cast<float>(n) + eps);
  for (int64_t i = 0; i < n; ++i) y[i] = (x[i] * scale) * w[i];
}

void silu_mul(const float* g, const float* u, int64_t n, float* y) noexcept {
  for (int64_t i = 0; i < n; ++i) y[i] = silu_f32(g[i]) * u[i];
}

void add(const float* x, int64_t n, float* y) noexcept {
  for (int64_t i = 0; i < n; ++i) y[i] = y[i] + x[i];
}

void rope(const float* cos, const float* sin, int64_t n_pairs, bool half_split, float* x) noexcept {
  for (int64_t i = 0; i < n_pairs; ++i) {
    float& first = half_split ? x[i] : x[2 * i];
    float& second = half_split ? x[i + n_pairs] : x[2 * i + 1];
    const float a = first;
    const float b = second;
    first = std::fma(a, cos[i], -(b * sin[i]));
    second = std::fma(a, sin[i], b * cos[i]);
  }
}

float element(const std::byte* base, bool half, int64_t i) {
  if (half) return quant::half_to_float(reinterpret_cast<const uint16_t*>(base)[i]);
  return reinterpret_cast<const float*>(base)[i];
}

void attend_one(const Attention& a, int query) {
  const float* q = a.q[query];
  const int64_t n_keys = a.n_keys[query];
  float* p = reinterpret_cast<float*>(a.scratch);
  float max = 0.0f;
  for (int64_t j = 0; j < n_keys; ++j) {
    const int64_t block = j / kKeyBlock * a.head_dim * kKeyBlock + j % kKeyBlock;
    float sum = 0.0f;
    for (int64_t d = 0; d < a.head_dim; ++d) {
      sum = std::fma(q[d], element(a.k, a.half, block + d * kKeyBlock), sum);
    }
    p[j] = sum * a.scale;
    max = j == 0 || p[j] > max ? p[j] : max;
  }
  float partial[16] = {};
  for (int64_t j = 0; j < n_keys; ++j) {
    p[j] = exp_f32(p[j] - max);
    partial[j % 16] += p[j];
  }
  const float inverse = 1.0f / quant::sum16(partial);
  for (int64_t d = 0; d < a.head_dim; ++d) {
    float total = 0.0f;
    for (int64_t begin = 0; begin < n_keys; begin += kValueChunk) {
      float sum = 0.0f;
      for (int64_t j = begin; j < n_keys && j < begin + kValueChunk; ++j) {
        sum = std::fma(p[j], element(a.v, a.half, j * a.v_stride + d), sum);
      }
      total += sum;
    }
    a.out[query][d] = total * inverse;
  }
}

void attention(const Attention& a) noexcept {
  for (int i = 0; i < a.n_queries; ++i) attend_one(a, i);
}

int64_t argmax(const float* x, int64_t n) noexcept {
  int64_t best = -1;
  for (int64_t i = 0; i < n; ++i) {
    if (!(x[i] == x[i])) continue;  // NaN
    if (best < 0 || x[i] > x[best]) best = i;
  }
  return best < 0 ? 0 : best;
}

void exp_all(const float* x, int64_t n, float* y) noexcept {
  for (int64_t i = 0; i < n; ++i) y[i] = exp_f32(x[i]);
}

bool runs_on(const CpuFeatures&) noexcept {
  return true;
}

}  // namespace

const KernelTable kScalarTable = {
    .name = "scalar",
    .needs = "nothing",
    .runs_on = runs_on,
    .quantise_row = quant::quantise_row,
    .matmul = matmul,
    .rms_norm = rms_norm,
    .silu_mul = silu_mul,
    .add = add,
    .rope = rope,
    .attention = attention,
    .argmax = argmax,
    .exp = exp_all,
};

}  // namespace assay::engine::kernels
