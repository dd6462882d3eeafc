// RawGguf: GGUF bytes field by field, right or wrong, for tests of the reader.
//
// Nothing is checked and nothing is filled in: a test says every number that the file holds.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace assay::engine::gguf {

class RawGguf {
 public:
  /// Magic, version and the two counts.
  RawGguf& start(uint64_t n_tensors, uint64_t n_entries, uint32_t version = 3) {
    return bytes("GGUF").number(version).number(n_tensors).number(n_entries);
  }
  RawGguf& bytes(std::string_view text) {
    out_ += text;
    return *this;
  }
  template <class T>
  RawGguf& number(T value) {
    char raw[sizeof value];
    std::memcpy(raw, &value, sizeof value);
    out_.append(raw, sizeof value);
    return *this;
  }
  RawGguf& u32(uint32_t value) { return number(value); }
  RawGguf& u64(uint64_t value) { return number(value); }
  RawGguf& string(std::string_view text) { return u64(text.size()).bytes(text); }

  /// Key and value type; the value follows.
  RawGguf& key(std::string_view name, uint32_t type) { return string(name).u32(type); }
  RawGguf& key_u32(std::string_view name, uint32_t value) { return key(name, 4).u32(value); }
  RawGguf& key_string(std::string_view name, std::string_view value) {
    return key(name, 8).string(value);
  }
  RawGguf& key_array(std::string_view name, uint32_t item_type, uint64_t count) {
    return key(name, 9).u32(item_type).u64(count);
  }

  RawGguf& tensor(std::string_view name, std::span<const uint64_t> dims, uint32_t type,
                  uint64_t offset) {
    string(name).u32(static_cast<uint32_t>(dims.size()));
    for (const uint64_t dim : dims) u64(dim);
    return u32(type).u64(offset);
  }
  RawGguf& pad(size_t alignment = 32) {
    out_.append((alignment - out_.size() % alignment) % alignment, '\0');
    return *this;
  }
  RawGguf& zeros(size_t n) {
    out_.append(n, '\0');
    return *this;
  }

  [[nodiscard]] const std::string& text() const { return out_; }
  [[nodiscard]] std::span<const std::byte> data() const {
    return std::as_bytes(std::span(out_.data(), out_.size()));
  }

 private:
  std::string out_;
};

}  // namespace assay::engine::gguf
