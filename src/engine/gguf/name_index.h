// NameIndex: from a name to its place in a list, without owning or copying one name.
//
// In:      a list of views (metadata keys, tensor names, 150k tokens), reached through a callable
// Out:     the index of an equal name; the first duplicate at build time
// Cost     4 bytes a slot, at most three quarters of the slots used, so that the table of 50k
// tokens
//          stays in a core's own cache; one probe and one compare a lookup. The hash is seeded per
//          process: a file made to collide cannot make loading quadratic.
// Threads  immutable after build.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace assay::engine::gguf {

/// Seeded hash of bytes: multiply-and-fold over 8-byte words.
[[nodiscard]] uint64_t hash_name(std::string_view name) noexcept;
/// Seeded hash of a number.
[[nodiscard]] uint64_t hash_number(uint64_t number) noexcept;

class NameIndex {
 public:
  static constexpr uint32_t kCountMax = (1u << 24) - 1;

  /// Indexes names 0..count-1, count <= kCountMax. Returns the index of the first name that equals
  /// an earlier one.
  template <class NameOf>
  std::optional<uint32_t> build(uint32_t count, const NameOf& name_of) {
    slots_.assign(std::bit_ceil(size_t{count} + count / 3 + 2), 0);
    mask_ = slots_.size() - 1;
    for (uint32_t i = 0; i < count; ++i) {
      const std::string_view name = name_of(i);
      const uint64_t hash = hash_name(name);
      const uint32_t tag = tag_of(hash);
      size_t at = hash & mask_;
      for (; slots_[at] != 0; at = (at + 1) & mask_) {
        if (((slots_[at] ^ tag) & kTagMask) == 0 &&
            name_of((slots_[at] & kIndexMask) - 1) == name) {
          return i;
        }
      }
      slots_[at] = tag | (i + 1);
    }
    return std::nullopt;
  }

  template <class NameOf>
  [[nodiscard]] std::optional<uint32_t> find(std::string_view name, const NameOf& name_of) const {
    return find_hashed(hash_name(name), name, name_of);
  }

  // The two halves of find, for callers that look up many names and can hide the wait for memory.
  void prefetch(uint64_t hash) const {
    if (!slots_.empty()) __builtin_prefetch(&slots_[hash & mask_]);
  }
  template <class NameOf>
  [[nodiscard]] std::optional<uint32_t> find_hashed(uint64_t hash, std::string_view name,
                                                    const NameOf& name_of) const {
    if (slots_.empty()) return std::nullopt;
    const uint32_t tag = tag_of(hash);
    for (size_t at = hash & mask_; slots_[at] != 0; at = (at + 1) & mask_) {
      const uint32_t index = (slots_[at] & kIndexMask) - 1;
      if (((slots_[at] ^ tag) & kTagMask) == 0 && name_of(index) == name) return index;
    }
    return std::nullopt;
  }

 private:
  // A slot is 8 bits of the hash above index + 1; 0 is free.
  static constexpr uint32_t kIndexMask = kCountMax;
  static constexpr uint32_t kTagMask = ~kIndexMask;
  static uint32_t tag_of(uint64_t hash) { return static_cast<uint32_t>(hash >> 32) & kTagMask; }

  std::vector<uint32_t> slots_;
  size_t mask_ = 0;
};

}  // namespace assay::engine::gguf
