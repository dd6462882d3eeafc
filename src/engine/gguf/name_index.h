// NameIndex: from a name to its place in a list, without owning or copying one name.
//
// In:      a list of views (metadata keys, tensor names, 150k tokens), reached through a callable
// Out:     the index of an equal name; the first duplicate at build time
// Cost     8 bytes a slot, at most half of the slots used; one probe and one compare a lookup. The
//          hash is seeded per process: a file made to collide cannot make loading quadratic.
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
  /// Indexes names 0..count-1. Returns the index of the first name that equals an earlier one.
  template <class NameOf>
  std::optional<uint32_t> build(uint32_t count, const NameOf& name_of) {
    slots_.assign(std::bit_ceil(size_t{count} * 2 + 1), Slot{});
    mask_ = slots_.size() - 1;
    for (uint32_t i = 0; i < count; ++i) {
      const std::string_view name = name_of(i);
      const uint64_t hash = hash_name(name);
      size_t at = hash & mask_;
      for (; slots_[at].index_plus_one != 0; at = (at + 1) & mask_) {
        const Slot& slot = slots_[at];
        if (slot.tag == tag_of(hash) && name_of(slot.index_plus_one - 1) == name) return i;
      }
      slots_[at] = {tag_of(hash), i + 1};
    }
    return std::nullopt;
  }

  template <class NameOf>
  [[nodiscard]] std::optional<uint32_t> find(std::string_view name, const NameOf& name_of) const {
    if (slots_.empty()) return std::nullopt;
    const uint64_t hash = hash_name(name);
    for (size_t at = hash & mask_; slots_[at].index_plus_one != 0; at = (at + 1) & mask_) {
      const Slot& slot = slots_[at];
      if (slot.tag == tag_of(hash) && name_of(slot.index_plus_one - 1) == name) {
        return slot.index_plus_one - 1;
      }
    }
    return std::nullopt;
  }

 private:
  struct Slot {
    uint32_t tag = 0;
    uint32_t index_plus_one = 0;  // 0 = free
  };
  static uint32_t tag_of(uint64_t hash) { return static_cast<uint32_t>(hash >> 32); }

  std::vector<Slot> slots_;
  size_t mask_ = 0;
};

}  // namespace assay::engine::gguf
