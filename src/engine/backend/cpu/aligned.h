// A growing buffer aligned to 64 bytes. Contents are lost when it grows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace assay::engine::backend {

class AlignedBuffer {
 public:
  /// At least size_bytes bytes; keeps what it has when that is enough.
  std::byte* reserve(int64_t size_bytes) {
    if (size_bytes > size_bytes_) {
      data_.reset(static_cast<std::byte*>(
          ::operator new (static_cast<size_t>(size_bytes), std::align_val_t{64})));
      size_bytes_ = size_bytes;
    }
    return data_.get();
  }
  float* floats(int64_t count) {
    return reinterpret_cast<float*>(reserve(count * static_cast<int64_t>(sizeof(float))));
  }
  [[nodiscard]] std::byte* data() const { return data_.get(); }

 private:
  struct Free {
    void operator()(std::byte* p) const { ::operator delete (p, std::align_val_t{64}); }
  };
  std::unique_ptr<std::byte, Free> data_;
  int64_t size_bytes_ = 0;
};

}  // namespace assay::engine::backend
