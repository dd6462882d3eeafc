#include "engine/backend/cpu/kv_cache.h"

#include <sys/mman.h>

#include "base/ensure.h"
#include "base/text.h"
#include "engine/backend/refusals.h"
#include "engine/kernels/kernel_table.h"
#include "engine/quant/half.h"

namespace assay::engine::backend {
namespace {

constexpr int64_t kBlock = kernels::kKeyBlock;

template <class Element>
Element stored(float value) {
  if constexpr (sizeof(Element) == 2) {
    return quant::float_to_half(value);
  } else {
    return value;
  }
}

// One head's rows: k and v point at its first value in row 0, rows are `stride` floats apart.
template <class Element>
void store_head(std::byte* keys, std::byte* values, int64_t v_stride, int64_t head_dim,
                int64_t pos0, int64_t n_rows, int64_t stride, const float* k, const float* v) {
  Element* const all_keys = reinterpret_cast<Element*>(keys);
  Element* const all_values = reinterpret_cast<Element*>(values);
  int64_t row = 0;
  while (row < n_rows) {  // a block of positions at a time: its lines are written once
    const int64_t pos = pos0 + row;
    const int64_t in_block = std::min(kBlock - pos % kBlock, n_rows - row);
    Element* const block = all_keys + pos / kBlock * head_dim * kBlock + pos % kBlock;
    for (int64_t d = 0; d < head_dim; ++d) {
      for (int64_t j = 0; j < in_block; ++j) {
        block[d * kBlock + j] = stored<Element>(k[(row + j) * stride + d]);
      }
    }
    for (int64_t j = 0; j < in_block; ++j) {
      Element* const to = all_values + (pos + j) * v_stride;
      for (int64_t d = 0; d < head_dim; ++d) to[d] = stored<Element>(v[(row + j) * stride + d]);
    }
    row += in_block;
  }
}

}  // namespace

Result<std::unique_ptr<KvCache>> CpuKvCache::create(const KvShape& shape) {
  ENSURE(shape.n_layers > 0 && shape.n_kv_heads > 0 && shape.head_dim > 0 && shape.n_positions > 0);
  std::unique_ptr<CpuKvCache> kv(new CpuKvCache);
  kv->shape_ = shape;
  kv->element_bytes_ = shape.type == KvType::f16 ? 2 : 4;
  kv->v_stride_ = kernels::round_up(shape.head_dim, 16);
  const int64_t positions = kernels::round_up(shape.n_positions, kBlock);
  const auto product = [](int64_t a, int64_t b, int64_t& out) {
    return !__builtin_mul_overflow(a, b, &out);
  };
  int64_t heads = 0;
  const bool fits = product(positions, shape.head_dim * kv->element_bytes_, kv->keys_bytes_) &&
                    product(positions, kv->v_stride_ * kv->element_bytes_, kv->values_bytes_) &&
                    product(shape.n_layers, shape.n_kv_heads, heads) &&
                    product(heads, kv->keys_bytes_ + kv->values_bytes_, kv->size_bytes_);
  // Anonymous pages read as zero (the padding of values relies on it) and cost memory when written.
  void* base = MAP_FAILED;
  if (fits) {
    base = mmap(nullptr, static_cast<size_t>(kv->size_bytes_), PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  }
  if (base == MAP_FAILED) {
    return Refusal(
        kBackendKvMemory,
        cat("keys and values of ", shape.n_positions, " positions in ", shape.n_layers,
            " layers need ", fits ? cat(kv->size_bytes_, " bytes") : "more than 2^63 bytes",
            " of address space"));
  }
  kv->base_ = static_cast<std::byte*>(base);
  return std::unique_ptr<KvCache>(std::move(kv));
}

CpuKvCache::~CpuKvCache() {
  if (base_ != nullptr) munmap(base_, static_cast<size_t>(size_bytes_));
}

std::byte* CpuKvCache::keys(int64_t layer, int64_t head) const {
  return base_ + (layer * shape_.n_kv_heads + head) * (keys_bytes_ + values_bytes_);
}

std::byte* CpuKvCache::values(int64_t layer, int64_t head) const {
  return keys(layer, head) + keys_bytes_;
}

void CpuKvCache::store(int64_t layer, int64_t pos0, int64_t n_rows, const float* k,
                       const float* v) {
  const int64_t dim = shape_.head_dim;
  const int64_t stride = shape_.n_kv_heads * dim;
  const auto store_one = shape_.type == KvType::f16 ? store_head<uint16_t> : store_head<float>;
  for (int64_t head = 0; head < shape_.n_kv_heads; ++head) {
    store_one(keys(layer, head), values(layer, head), v_stride_, dim, pos0, n_rows, stride,
              k + head * dim, v + head * dim);
  }
}

}  // namespace assay::engine::backend
