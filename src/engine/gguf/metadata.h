// Metadata: the key-value section of one GGUF file, read where it lies.
//
// In:      a checked section (every string and array lies inside the file, keys are unique)
// Out:     typed values. Strings and arrays are views into the mapping: they live as long as the
//          File that owns this object, moved or not.
// Errors   GGUF-KEY-MISSING, GGUF-KEY-TYPE, GGUF-KEY-RANGE; each names the file and the key.
// Cost     a lookup is one hash probe; nothing is copied or allocated except the returned vectors.
// Threads  immutable after open; any number of readers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/gguf/name_index.h"

namespace assay::engine::gguf {

/// Value types as stored.
enum class ValueType : uint32_t {
  u8 = 0,
  i8 = 1,
  u16 = 2,
  i16 = 3,
  u32 = 4,
  i32 = 5,
  f32 = 6,
  boolean = 7,
  string = 8,
  array = 9,
  u64 = 10,
  i64 = 11,
  f64 = 12,
};
/// "u32", "string" …; "type 99" for a number that is none.
[[nodiscard]] std::string value_type_name(ValueType type);
/// Bytes of one value of a fixed-size type; 0 for strings, arrays and unknown numbers.
[[nodiscard]] size_t value_size(ValueType type) noexcept;

/// One key with its value, still encoded.
struct Entry {
  std::string_view key;
  ValueType type = ValueType::u8;
  ValueType item_type = ValueType::u8;  // of an array; otherwise = type
  uint64_t item_count = 1;              // of an array; otherwise 1
  std::span<const std::byte> bytes;     // the value, or an array's items
};

/// Strings of an array, in order; forward iteration only, because each starts after the last.
class StringArray {
 public:
  class Iterator {
   public:
    using value_type = std::string_view;
    using difference_type = std::ptrdiff_t;
    Iterator() = default;
    Iterator(const std::byte* at, uint64_t index) : at_(at), index_(index) {}
    std::string_view operator*() const;
    Iterator& operator++();
    Iterator operator++(int) {
      const Iterator before = *this;
      ++*this;
      return before;
    }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.index_ == b.index_; }

   private:
    const std::byte* at_ = nullptr;
    uint64_t index_ = 0;
  };

  StringArray() = default;
  StringArray(const std::byte* first, uint64_t count) : first_(first), count_(count) {}
  [[nodiscard]] uint64_t size() const { return count_; }
  [[nodiscard]] Iterator begin() const { return {first_, 0}; }
  [[nodiscard]] Iterator end() const { return {nullptr, count_}; }

 private:
  const std::byte* first_ = nullptr;
  uint64_t count_ = 0;
};

class Metadata {
 public:
  Metadata() = default;
  /// Refuses GGUF-KEY-DUPLICATE. `file_name` stands in messages.
  [[nodiscard]] static Result<Metadata> make(std::string file_name, std::vector<Entry> entries);

  /// Entries in file order.
  [[nodiscard]] std::span<const Entry> entries() const { return entries_; }
  [[nodiscard]] const Entry* find(std::string_view key) const;
  [[nodiscard]] bool has(std::string_view key) const { return find(key) != nullptr; }

  // Scalars. Integers are accepted at any width and signedness; a value outside [min, max] is
  // refused, never clamped. Reals are accepted as f32 or f64 and must be finite.
  [[nodiscard]] Result<uint64_t> get_uint(std::string_view key, uint64_t min = 0,
                                          uint64_t max = UINT64_MAX) const;
  [[nodiscard]] Result<double> get_real(std::string_view key) const;
  [[nodiscard]] Result<bool> get_bool(std::string_view key) const;
  [[nodiscard]] Result<std::string_view> get_string(std::string_view key) const;

  // The same with a value for an absent key. A present key of a wrong type is still refused.
  [[nodiscard]] Result<uint64_t> uint_or(std::string_view key, uint64_t absent, uint64_t min = 0,
                                         uint64_t max = UINT64_MAX) const;
  [[nodiscard]] Result<double> real_or(std::string_view key, double absent) const;
  [[nodiscard]] Result<bool> bool_or(std::string_view key, bool absent) const;
  [[nodiscard]] Result<std::string_view> string_or(std::string_view key,
                                                   std::string_view absent) const;

  // Arrays.
  [[nodiscard]] Result<std::vector<uint64_t>> get_uints(std::string_view key, uint64_t min = 0,
                                                        uint64_t max = UINT64_MAX) const;
  [[nodiscard]] Result<std::vector<int64_t>> get_ints(std::string_view key) const;
  [[nodiscard]] Result<std::vector<double>> get_reals(std::string_view key) const;
  [[nodiscard]] Result<std::vector<bool>> get_bools(std::string_view key) const;
  [[nodiscard]] Result<StringArray> get_strings(std::string_view key) const;

  /// One value per layer from a scalar (repeated) or from an array of exactly `count` items.
  [[nodiscard]] Result<std::vector<uint64_t>> get_uint_per_layer(std::string_view key,
                                                                 uint64_t count, uint64_t min = 0,
                                                                 uint64_t max = UINT64_MAX) const;

  /// The refusal of a key, for checks of the caller: "FILE: key `K` …".
  [[nodiscard]] Refusal missing(std::string_view key) const;
  [[nodiscard]] Refusal out_of_range(std::string_view key, std::string_view what) const;

 private:
  [[nodiscard]] Result<const Entry*> present(std::string_view key) const;
  [[nodiscard]] Result<const Entry*> present_array(std::string_view key) const;
  [[nodiscard]] Refusal wrong_type(const Entry& entry, std::string_view expected) const;

  std::string file_name_;
  std::vector<Entry> entries_;
  NameIndex index_;
};

}  // namespace assay::engine::gguf
