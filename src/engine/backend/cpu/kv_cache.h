// Keys and values of all layers in one lazily committed mapping, laid out for the kernels.
//
// Per layer and KV head: keys in blocks of 16 positions, [block][head_dim][16], so that sixteen
// scores are computed side by side; values as rows [position][v_stride], head_dim rounded up to 16.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/result.h"
#include "engine/backend/backend.h"

namespace assay::engine::backend {

class CpuKvCache final : public KvCache {
 public:
  [[nodiscard]] static Result<std::unique_ptr<KvCache>> create(const KvShape& shape);
  ~CpuKvCache() override;
  CpuKvCache(const CpuKvCache&) = delete;
  CpuKvCache& operator=(const CpuKvCache&) = delete;

  [[nodiscard]] const KvShape& shape() const override { return shape_; }
  [[nodiscard]] int64_t size_bytes() const override { return size_bytes_; }

  /// First block of keys, and first value row, of one layer and KV head.
  [[nodiscard]] std::byte* keys(int64_t layer, int64_t head) const;
  [[nodiscard]] std::byte* values(int64_t layer, int64_t head) const;
  [[nodiscard]] int64_t v_stride() const { return v_stride_; }

  /// Stores rows of one layer, every KV head.
  void store(int64_t layer, int64_t pos0, int64_t n_rows, const float* k, const float* v);

 private:
  CpuKvCache() = default;

  KvShape shape_;
  int64_t v_stride_ = 0;
  int64_t element_bytes_ = 4;
  int64_t keys_bytes_ = 0;    // of one layer and head
  int64_t values_bytes_ = 0;  // of one layer and head
  int64_t size_bytes_ = 0;
  std::byte* base_ = nullptr;
};

}  // namespace assay::engine::backend
