#include "engine/gguf/metadata.h"

#include <cmath>
#include <cstring>

#include "base/text.h"
#include "engine/gguf/name_text.h"
#include "engine/gguf/refusals.h"

namespace assay::engine::gguf {
namespace {

constexpr std::string_view kNames[] = {"u8",   "i8",     "u16",   "i16", "u32", "i32", "f32",
                                       "bool", "string", "array", "u64", "i64", "f64"};
constexpr size_t kSizes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

template <class T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

// A stored integer: its magnitude and whether it is negative.
struct Integer {
  bool negative = false;
  uint64_t value = 0;  // two's complement bits when negative
};

template <class T>
Integer integer_of(const std::byte* at) {
  const T value = load<T>(at);
  return {value < 0, static_cast<uint64_t>(value)};
}

std::optional<Integer> read_integer(ValueType type, const std::byte* at) {
  switch (type) {
    case ValueType::u8: return integer_of<uint8_t>(at);
    case ValueType::i8: return integer_of<int8_t>(at);
    case ValueType::u16: return integer_of<uint16_t>(at);
    case ValueType::i16: return integer_of<int16_t>(at);
    case ValueType::u32: return integer_of<uint32_t>(at);
    case ValueType::i32: return integer_of<int32_t>(at);
    case ValueType::u64: return integer_of<uint64_t>(at);
    case ValueType::i64: return integer_of<int64_t>(at);
    default: return std::nullopt;
  }
}

bool is_real(ValueType type) {
  return type == ValueType::f32 || type == ValueType::f64;
}
double read_real(ValueType type, const std::byte* at) {
  return type == ValueType::f32 ? double{load<float>(at)} : load<double>(at);
}

std::string integer_text(Integer integer) {
  return integer.negative ? cat(static_cast<int64_t>(integer.value)) : cat(integer.value);
}

std::string range_text(Integer found, uint64_t min, uint64_t max) {
  return cat("is ", integer_text(found), ", expected ", min, " to ", max);
}

bool in_range(Integer found, uint64_t min, uint64_t max) {
  return !found.negative && found.value >= min && found.value <= max;
}

std::string item_place(uint64_t index) {
  return cat("item ", index, " ");
}

}  // namespace

std::string value_type_name(ValueType type) {
  const auto number = static_cast<uint32_t>(type);
  return number < std::size(kNames) ? std::string(kNames[number]) : cat("type ", number);
}

size_t value_size(ValueType type) noexcept {
  const auto number = static_cast<uint32_t>(type);
  return number < std::size(kSizes) ? kSizes[number] : 0;
}

std::string_view StringArray::Iterator::operator*() const {
  return {reinterpret_cast<const char*>(at_ + 8), load<uint64_t>(at_)};
}

StringArray::Iterator& StringArray::Iterator::operator++() {
  at_ += 8 + load<uint64_t>(at_);
  ++index_;
  return *this;
}

Result<Metadata> Metadata::make(std::string file_name, std::vector<Entry> entries) {
  Metadata metadata;
  metadata.file_name_ = std::move(file_name);
  metadata.entries_ = std::move(entries);
  const auto duplicate =
      metadata.index_.build(static_cast<uint32_t>(metadata.entries_.size()),
                            [&](uint32_t i) { return metadata.entries_[i].key; });
  if (duplicate) {
    return Refusal(kKeyDuplicate,
                   cat(metadata.file_name_, ": key ", name_text(metadata.entries_[*duplicate].key),
                       " stands twice"));
  }
  return metadata;
}

const Entry* Metadata::find(std::string_view key) const {
  const auto at = index_.find(key, [this](uint32_t i) { return entries_[i].key; });
  return at ? &entries_[*at] : nullptr;
}

Refusal Metadata::missing(std::string_view key) const {
  return {kKeyMissing, cat(file_name_, ": key ", name_text(key), " is not there")};
}

Refusal Metadata::out_of_range(std::string_view key, std::string_view what) const {
  return {kKeyRange, cat(file_name_, ": key ", name_text(key), " ", what)};
}

Refusal Metadata::wrong_type(const Entry& entry, std::string_view expected) const {
  std::string found = value_type_name(entry.type);
  if (entry.type == ValueType::array) found += cat(" of ", value_type_name(entry.item_type));
  return {kKeyType,
          cat(file_name_, ": key ", name_text(entry.key), " is ", found, ", expected ", expected)};
}

Result<const Entry*> Metadata::present(std::string_view key) const {
  const Entry* const entry = find(key);
  if (entry == nullptr) return missing(key);
  return entry;
}

Result<const Entry*> Metadata::present_array(std::string_view key) const {
  TRY(entry, present(key));
  if (entry->type != ValueType::array) return wrong_type(*entry, "an array");
  return entry;
}

Result<uint64_t> Metadata::get_uint(std::string_view key, uint64_t min, uint64_t max) const {
  TRY(entry, present(key));
  const auto integer = read_integer(entry->type, entry->bytes.data());
  if (!integer) return wrong_type(*entry, "an integer");
  if (!in_range(*integer, min, max)) return out_of_range(key, range_text(*integer, min, max));
  return integer->value;
}

Result<double> Metadata::get_real(std::string_view key) const {
  TRY(entry, present(key));
  if (!is_real(entry->type)) return wrong_type(*entry, "f32 or f64");
  const double value = read_real(entry->type, entry->bytes.data());
  if (!std::isfinite(value)) return out_of_range(key, "is not finite");
  return value;
}

Result<bool> Metadata::get_bool(std::string_view key) const {
  TRY(entry, present(key));
  if (entry->type != ValueType::boolean) return wrong_type(*entry, "bool");
  const auto byte = static_cast<uint8_t>(entry->bytes[0]);
  if (byte > 1) return out_of_range(key, cat("is the byte ", byte, ", expected 0 or 1"));
  return byte == 1;
}

Result<std::string_view> Metadata::get_string(std::string_view key) const {
  TRY(entry, present(key));
  if (entry->type != ValueType::string) return wrong_type(*entry, "string");
  return std::string_view(reinterpret_cast<const char*>(entry->bytes.data()), entry->bytes.size());
}

Result<uint64_t> Metadata::uint_or(std::string_view key, uint64_t absent, uint64_t min,
                                   uint64_t max) const {
  if (!has(key)) return absent;
  return get_uint(key, min, max);
}

Result<double> Metadata::real_or(std::string_view key, double absent) const {
  if (!has(key)) return absent;
  return get_real(key);
}

Result<bool> Metadata::bool_or(std::string_view key, bool absent) const {
  if (!has(key)) return absent;
  return get_bool(key);
}

Result<std::string_view> Metadata::string_or(std::string_view key, std::string_view absent) const {
  if (!has(key)) return absent;
  return get_string(key);
}

Result<std::vector<uint64_t>> Metadata::get_uints(std::string_view key, uint64_t min,
                                                  uint64_t max) const {
  TRY(entry, present_array(key));
  std::vector<uint64_t> values;
  const size_t size = value_size(entry->item_type);
  if (size != 0) values.reserve(entry->item_count);
  for (uint64_t i = 0; i < entry->item_count; ++i) {
    const auto integer = read_integer(entry->item_type, entry->bytes.data() + i * size);
    if (!integer) return wrong_type(*entry, "an array of integers");
    if (!in_range(*integer, min, max)) {
      return out_of_range(key, item_place(i) + range_text(*integer, min, max));
    }
    values.push_back(integer->value);
  }
  return values;
}

Result<std::vector<int64_t>> Metadata::get_ints(std::string_view key) const {
  TRY(entry, present_array(key));
  std::vector<int64_t> values;
  const size_t size = value_size(entry->item_type);
  if (size != 0) values.reserve(entry->item_count);
  for (uint64_t i = 0; i < entry->item_count; ++i) {
    const auto integer = read_integer(entry->item_type, entry->bytes.data() + i * size);
    if (!integer) return wrong_type(*entry, "an array of integers");
    if (!integer->negative && integer->value > INT64_MAX) {
      return out_of_range(
          key, cat(item_place(i), "is ", integer->value, ", expected at most ", INT64_MAX));
    }
    values.push_back(static_cast<int64_t>(integer->value));
  }
  return values;
}

Result<std::vector<double>> Metadata::get_reals(std::string_view key) const {
  TRY(entry, present_array(key));
  if (!is_real(entry->item_type)) return wrong_type(*entry, "an array of f32 or f64");
  const size_t size = value_size(entry->item_type);
  std::vector<double> values(entry->item_count);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = read_real(entry->item_type, entry->bytes.data() + i * size);
    if (!std::isfinite(values[i])) return out_of_range(key, item_place(i) + "is not finite");
  }
  return values;
}

Result<std::vector<bool>> Metadata::get_bools(std::string_view key) const {
  TRY(entry, present_array(key));
  if (entry->item_type != ValueType::boolean) return wrong_type(*entry, "an array of bool");
  std::vector<bool> values(entry->item_count);
  for (size_t i = 0; i < values.size(); ++i) {
    const auto byte = static_cast<uint8_t>(entry->bytes[i]);
    if (byte > 1) {
      return out_of_range(key, cat(item_place(i), "is the byte ", byte, ", expected 0 or 1"));
    }
    values[i] = byte == 1;
  }
  return values;
}

Result<StringArray> Metadata::get_strings(std::string_view key) const {
  TRY(entry, present_array(key));
  if (entry->item_type != ValueType::string) return wrong_type(*entry, "an array of strings");
  return StringArray(entry->bytes.data(), entry->item_count);
}

Result<std::vector<uint64_t>> Metadata::get_uint_per_layer(std::string_view key, uint64_t count,
                                                           uint64_t min, uint64_t max) const {
  TRY(entry, present(key));
  if (entry->type != ValueType::array) {
    TRY(value, get_uint(key, min, max));
    return std::vector<uint64_t>(count, value);
  }
  if (entry->item_count != count) {
    return out_of_range(key, cat("has ", entry->item_count, " items, expected ", count));
  }
  return get_uints(key, min, max);
}

}  // namespace assay::engine::gguf
