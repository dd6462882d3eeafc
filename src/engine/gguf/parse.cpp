#include "engine/gguf/parse.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "base/text.h"
#include "engine/gguf/look.h"
#include "engine/gguf/name_text.h"
#include "engine/gguf/refusals.h"

namespace assay::engine::gguf {
namespace {

static_assert(std::endian::native == std::endian::little, "GGUF is read where it lies");

constexpr uint64_t kEntryBytesMin = 8 + 4 + 1;       // an empty key, type, a u8
constexpr uint64_t kTensorBytesMin = 8 + 4 + 4 + 8;  // an empty name, rank 0, type, offset
constexpr uint64_t kNameBytesMax = 65535;
constexpr uint64_t kAlignmentMax = 1u << 20;
constexpr int kNestingMax = 8;
constexpr uint64_t kDimMax = std::numeric_limits<int64_t>::max();

std::optional<uint64_t> multiply(uint64_t a, uint64_t b) {
  uint64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

// Reads the header from front to back. Every reader either moves past what it read or refuses.
class HeaderReader {
 public:
  explicit HeaderReader(const Mapping& mapping)
      : bytes_(mapping.bytes()), name_(mapping.path().string()) {}

  Status read(ParsedFile& file) {
    TRY_DO(read_start(file));
    TRY(n_tensors, read_number<uint64_t>("the tensor count"));
    TRY(n_entries, read_number<uint64_t>("the key count"));
    TRY_DO(check_count("metadata keys", n_entries, kEntryBytesMin));
    TRY_DO(check_count("tensors", n_tensors, kTensorBytesMin));
    TRY_DO(read_metadata(n_entries, file));
    TRY_DO(read_alignment(file));
    file.tensors.reserve(n_tensors);
    for (uint64_t i = 0; i < n_tensors; ++i) TRY_DO(read_tensor(i, file));
    return place_data(file);
  }

 private:
  [[nodiscard]] size_t left() const { return bytes_.size() - at_; }

  Refusal refuse(const RefusalInfo& info, std::string_view what) const {
    return {info, cat(name_, ": ", what)};
  }

  Refusal truncated(std::string_view what, uint64_t needed) const {
    return refuse(kTruncated, cat("ends inside ", what, " at byte ", at_, ": ", needed,
                                  " bytes needed, ", left(), " left of ", bytes_.size()));
  }

  template <class T>
  Result<T> read_number(std::string_view what) {
    if (sizeof(T) > left()) return truncated(what, sizeof(T));
    T value;
    std::memcpy(&value, bytes_.data() + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }

  Result<std::string_view> read_string(std::string_view what) {
    TRY(size, read_number<uint64_t>(what));
    if (size > left()) return truncated(what, size);
    const std::string_view text(reinterpret_cast<const char*>(bytes_.data() + at_), size);
    at_ += size;
    return text;
  }

  // A count may not promise more entries than the rest of the file can hold.
  Status check_count(std::string_view what, uint64_t count, uint64_t bytes_min) const {
    if (count > left() / bytes_min || count > NameIndex::kCountMax) {
      return refuse(kCount, cat("announces ", count, " ", what, " at byte ", at_, ", but only ",
                                left(), " bytes are left"));
    }
    return {};
  }

  Status read_start(ParsedFile& file) {
    if (bytes_.size() < 4 || std::memcmp(bytes_.data(), "GGUF", 4) != 0) {
      return refuse(kNotGguf, cat("does not start with GGUF; it looks like ", looks_like(bytes_),
                                  ", size ", bytes_.size(), " bytes"));
    }
    at_ = 4;
    TRY(version, read_number<uint32_t>("the version"));
    if (version != 2 && version != 3) {
      const uint32_t swapped = __builtin_bswap32(version);
      return refuse(kVersion, swapped == 2 || swapped == 3
                                  ? cat("is a big-endian GGUF file, version ", swapped,
                                        "; expected a "
                                        "little-endian one")
                                  : cat("has GGUF version ", version, ", expected 2 or 3"));
    }
    file.version = version;
    return {};
  }

  Status read_metadata(uint64_t count, ParsedFile& file) {
    std::vector<Entry> entries;
    entries.reserve(count);
    for (uint64_t i = 0; i < count; ++i) {
      Entry entry;
      const size_t start = at_;
      TRY(key, read_string(cat("key ", i)));
      if (key.empty() || key.size() > kNameBytesMax || !is_utf8(key)) {
        return refuse(kKeyName, cat("key ", i, " at byte ", start, " is ",
                                    key.empty() ? "empty" : cat("not a name: ", name_text(key))));
      }
      entry.key = key;
      TRY_DO(read_value(entry));
      entries.push_back(entry);
    }
    TRY(metadata, Metadata::make(name_, std::move(entries)));
    file.metadata = std::move(metadata);
    return {};
  }

  Status read_value(Entry& entry) {
    const std::string what = cat("the value of ", name_text(entry.key));
    TRY(type, read_number<uint32_t>(what));
    entry.type = entry.item_type = static_cast<ValueType>(type);
    if (const size_t size = value_size(entry.type); size != 0) {
      if (size > left()) return truncated(what, size);
      entry.bytes = bytes_.subspan(at_, size);
      at_ += size;
      return {};
    }
    if (entry.type == ValueType::string) {
      TRY(text, read_string(what));
      entry.bytes = std::as_bytes(std::span(text));
      return {};
    }
    if (entry.type != ValueType::array) {
      return refuse(kValueType, cat("key ", name_text(entry.key), " has value type ", type,
                                    " at byte ", at_ - 4, "; known are 0 to 12"));
    }
    return read_array(what, 1, entry);
  }

  // Reads the item type, the count and the items of an array; `entry` describes the array.
  Status read_array(const std::string& what, int depth, Entry& entry) {
    if (depth > kNestingMax) {
      return refuse(kNesting, cat(what, " nests arrays deeper than ", kNestingMax));
    }
    TRY(type, read_number<uint32_t>(what));
    TRY(count, read_number<uint64_t>(what));
    entry.item_type = static_cast<ValueType>(type);
    entry.item_count = count;
    const size_t start = at_;
    if (const size_t size = value_size(entry.item_type); size != 0) {
      if (count > left() / size) {
        return refuse(kTruncated, cat("ends inside ", what, " at byte ", at_, ": an array of ",
                                      count, " ", value_type_name(entry.item_type), ", ", left(),
                                      " bytes left of ", bytes_.size()));
      }
      at_ += count * size;
    } else if (entry.item_type == ValueType::string) {
      if (count > left() / 8) return truncated(what, sizeof(uint64_t));
      TRY_DO(skip_strings(what, count));
    } else if (entry.item_type == ValueType::array) {
      if (count > left() / 12) return truncated(what, 12);
      for (uint64_t i = 0; i < count; ++i) {
        Entry inner;
        TRY_DO(read_array(what, depth + 1, inner));
      }
    } else {
      return refuse(kValueType, cat(what, " has items of type ", type, " at byte ", at_ - 12,
                                    "; known are 0 to 12"));
    }
    entry.bytes = bytes_.subspan(start, at_ - start);
    return {};
  }

  // The hot loop of a vocabulary: no allocation and no message unless it fails.
  Status skip_strings(const std::string& what, uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) {
      uint64_t size = 0;
      if (left() < sizeof size) return truncated(cat(what, ", item ", i, ","), sizeof size);
      std::memcpy(&size, bytes_.data() + at_, sizeof size);
      if (size > left() - sizeof size) return truncated(cat(what, ", item ", i, ","), size);
      at_ += sizeof size + size;
    }
    return {};
  }

  // An alignment of another integer type, of zero or of a huge value is damage, not a hint.
  Status read_alignment(ParsedFile& file) const {
    const Entry* const entry = file.metadata.find("general.alignment");
    if (entry == nullptr) return {};
    if (entry->type != ValueType::u32) {
      return refuse(kAlignment, cat("key `general.alignment` is ", value_type_name(entry->type),
                                    ", expected u32"));
    }
    TRY(value, file.metadata.get_uint("general.alignment"));
    if (!std::has_single_bit(value) || value < 8 || value > kAlignmentMax) {
      return refuse(kAlignment, cat("key `general.alignment` is ", value,
                                    ", expected a power of two from 8 to ", kAlignmentMax));
    }
    file.alignment = value;
    return {};
  }

  Status read_tensor(uint64_t index, ParsedFile& file) {
    Tensor tensor;
    const size_t start = at_;
    const std::string place = cat("the entry of tensor ", index);
    TRY(name, read_string(place));
    if (name.empty() || name.size() > kNameBytesMax || !is_utf8(name)) {
      return refuse(kTensorName,
                    cat("tensor ", index, " at byte ", start, " has ",
                        name.empty() ? "no name" : cat("no valid name: ", name_text(name))));
    }
    tensor.name = name;
    TRY(n_dims, read_number<uint32_t>(place));
    if (n_dims > tensor.dims.size()) {
      return refuse(kTensorShape, cat("tensor ", name_text(name), " has ", n_dims,
                                      " dimensions, expected at most ", tensor.dims.size()));
    }
    tensor.n_dims = n_dims;
    uint64_t elements = 1;
    for (uint32_t d = 0; d < n_dims; ++d) {
      TRY(dim, read_number<uint64_t>(place));
      const auto product = multiply(elements, dim);
      if (dim == 0 || dim > kDimMax || !product || *product > kDimMax) {
        return refuse(kTensorShape,
                      cat("tensor ", name_text(name), " at byte ", start, " has dim[", d,
                          "] = ", static_cast<int64_t>(dim),
                          dim == 0 || dim > kDimMax ? ", expected at least 1"
                                                    : ", more elements than can be counted"));
      }
      tensor.dims[d] = dim;
      elements = *product;
    }
    TRY(type_id, read_number<uint32_t>(place));
    TRY(offset, read_number<uint64_t>(place));
    tensor.type_id = type_id;
    tensor.type = find_type(type_id);
    tensor.file_offset = offset;  // relative until place_data
    if (offset % file.alignment != 0) {
      return refuse(kTensorOffset, cat("tensor ", name_text(name), " has offset ", offset,
                                       ", expected a multiple of ", file.alignment));
    }
    if (tensor.type != nullptr && tensor.dims[0] % tensor.type->block_elements != 0) {
      return refuse(kTensorShape, cat("tensor ", name_text(name), " has rows of ", tensor.dims[0],
                                      " weights, but ", type_label(type_id),
                                      " needs a multiple of ", tensor.type->block_elements));
    }
    file.tensors.push_back(tensor);
    return {};
  }

  // Finds the data section and gives every tensor its bytes.
  Status place_data(ParsedFile& file) const {
    const uint64_t pad = (file.alignment - at_ % file.alignment) % file.alignment;
    file.data_start = file.data_end = at_ + pad;  // at_ <= size and pad < 2^20: no overflow
    const uint64_t size = bytes_.size();
    const uint64_t data_size = size - std::min(size, file.data_start);
    std::string_view first_outside;
    uint64_t missing = 0;
    for (Tensor& tensor : file.tensors) {
      uint64_t needed = 0;
      if (tensor.type != nullptr) {
        const auto bytes = multiply(tensor.element_count() / tensor.type->block_elements,
                                    tensor.type->block_bytes);
        if (!bytes) {
          return refuse(kTensorShape, cat("tensor ", name_text(tensor.name), " ", dims_text(tensor),
                                          " has more bytes than can be counted"));
        }
        needed = *bytes;
      }
      const uint64_t offset = tensor.file_offset;
      if (offset > data_size || needed > data_size - offset) {
        if (first_outside.empty()) first_outside = tensor.name;
        uint64_t end = 0;
        if (__builtin_add_overflow(offset, needed, &end)) end = UINT64_MAX;
        // Counted from the start of the file: the padding before the data may be missing too.
        missing = std::max(missing,
                           end - data_size + (file.data_start - std::min(size, file.data_start)));
        continue;
      }
      tensor.file_offset = file.data_start + offset;
      if (tensor.type != nullptr) tensor.data = bytes_.subspan(tensor.file_offset, needed);
      file.data_end = std::max(file.data_end, tensor.file_offset + needed);
    }
    if (!first_outside.empty()) {
      return refuse(kTruncated,
                    cat("is ", missing, " bytes short: tensor ", name_text(first_outside),
                        " is the first that ends past the file's ", size, " bytes"));
    }
    return {};
  }

  std::span<const std::byte> bytes_;
  std::string name_;
  size_t at_ = 0;
};

}  // namespace

Result<ParsedFile> parse_file(Mapping mapping) {
  ParsedFile file{std::move(mapping), 0, 32, 0, 0, {}, {}};
  TRY_DO(HeaderReader(file.mapping).read(file));
  return file;
}

}  // namespace assay::engine::gguf
