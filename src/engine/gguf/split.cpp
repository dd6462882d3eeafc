#include "engine/gguf/split.h"

#include <cstring>
#include <utility>

#include "base/text.h"
#include "engine/gguf/name_text.h"
#include "engine/gguf/refusals.h"

namespace assay::engine::gguf {
namespace {

constexpr uint64_t kShardsMax = 65535;  // split.count is a u16
constexpr size_t kMissingListed = 20;

std::string five_digits(uint64_t number) {
  std::string digits = cat(number);
  return digits.size() < 5 ? std::string(5 - digits.size(), '0') + digits : digits;
}

std::optional<uint64_t> parse_five_digits(std::string_view text) {
  if (text.size() != 5 || text.find_first_not_of("0123456789") != std::string_view::npos) {
    return std::nullopt;
  }
  return parse_uint64(text);
}

bool is_gguf_at(std::span<const std::byte> bytes, uint64_t offset) {
  return offset <= bytes.size() && bytes.size() - offset >= 4 &&
         std::memcmp(bytes.data() + offset, "GGUF", 4) == 0;
}

// A shard that goes on with another GGUF header where its data ends was joined with `cat`.
Status refuse_joined(const ParsedFile& file, uint64_t count) {
  const uint64_t padded = (file.data_end + file.alignment - 1) / file.alignment * file.alignment;
  for (const uint64_t end : {file.data_end, padded}) {
    if (!is_gguf_at(file.mapping.bytes(), end)) continue;
    return Refusal(kSplitJoined, cat(file.mapping.path().string(), ": is shard 1 of ", count,
                                     " with another GGUF file behind it (at byte ", end,
                                     "): the shards were joined with `cat`, which is not how they "
                                     "are merged"));
  }
  return {};
}

Refusal mismatch(const ParsedFile& file, std::string_view what) {
  return {kSplitMismatch, cat(file.mapping.path().string(), ": ", what)};
}

Status check_tensor_count(const ParsedFile& file, uint64_t total) {
  const Metadata& metadata = file.metadata;
  if (!metadata.has("split.tensors.count")) return {};
  TRY(stated, metadata.get_uint("split.tensors.count"));
  if (stated == total) return {};
  return mismatch(file, cat("key `split.tensors.count` is ", stated, ", but the shards hold ",
                            total, " tensors"));
}

}  // namespace

Result<SplitPlace> split_place(const ParsedFile& file) {
  SplitPlace place;
  TRY(count, file.metadata.uint_or("split.count", 1, 0, kShardsMax));
  if (count <= 1) return place;
  TRY(index, file.metadata.uint_or("split.no", 0, 0, count - 1));
  place.count = count;
  place.index = index;
  return place;
}

std::optional<SplitName> parse_split_name(const std::string& file_name) {
  constexpr std::string_view kEnd = ".gguf";
  constexpr size_t kTail = std::string_view("-00001-of-00001").size();
  std::string_view name = file_name;
  if (!name.ends_with(kEnd)) return std::nullopt;
  name.remove_suffix(kEnd.size());
  if (name.size() < kTail) return std::nullopt;
  const std::string_view tail = name.substr(name.size() - kTail);
  const auto number = parse_five_digits(tail.substr(1, 5));
  const auto count = parse_five_digits(tail.substr(10, 5));
  if (tail[0] != '-' || tail.substr(6, 4) != "-of-" || !number || !count || *number == 0 ||
      *number > *count) {
    return std::nullopt;
  }
  return SplitName{std::string(name.substr(0, name.size() - kTail)), *number, *count};
}

std::string split_file_name(const std::string& stem, uint64_t number, uint64_t count) {
  return cat(stem, "-", five_digits(number), "-of-", five_digits(count), ".gguf");
}

Result<std::vector<ParsedFile>> complete_set(ParsedFile first) {
  TRY(place, split_place(first));
  std::vector<ParsedFile> files;
  if (place.count == 1) {
    files.push_back(std::move(first));
    return files;
  }
  const std::filesystem::path path = first.mapping.path();
  const auto name = parse_split_name(path.filename().string());
  if (place.index != 0) {
    std::string detail = cat(path.string(), ": is shard ", place.index + 1, " of ", place.count);
    if (name)
      detail += cat("; the first is ", name_text(split_file_name(name->stem, 1, name->count)));
    return Refusal(kSplitNotFirst, detail);
  }
  TRY_DO(refuse_joined(first, place.count));
  if (!name || name->number != 1 || name->count != place.count) {
    return Refusal(kSplitName,
                   cat(path.string(), ": is the first of ", place.count,
                       " shards, expected a name that ends in -00001-of-", five_digits(place.count),
                       ".gguf, which says where the others are"));
  }

  std::vector<std::filesystem::path> siblings;
  std::vector<std::string> missing;
  for (uint64_t k = 2; k <= place.count; ++k) {
    siblings.push_back(path.parent_path() / split_file_name(name->stem, k, place.count));
    std::error_code error;
    if (!std::filesystem::exists(siblings.back(), error)) {
      missing.push_back(siblings.back().filename().string());
    }
  }
  if (!missing.empty()) {
    const size_t n_missing = missing.size();
    if (n_missing > kMissingListed) {
      missing.resize(kMissingListed);
      missing.push_back(cat("and ", n_missing - kMissingListed, " more"));
    }
    return Refusal(kSplitMissing, cat(path.string(), ": ", n_missing, " of ", place.count,
                                      " shards are missing: ", join(missing, ", ")));
  }

  uint64_t n_tensors = first.tensors.size();
  files.push_back(std::move(first));
  for (uint64_t k = 1; k < place.count; ++k) {
    TRY(mapping, Mapping::open(siblings[k - 1]));
    TRY(shard, parse_file(std::move(mapping)));
    TRY(found, split_place(shard));
    if (found.index != k || found.count != place.count) {
      return mismatch(shard, cat("is shard ", found.index + 1, " of ", found.count,
                                 " by its metadata, expected ", k + 1, " of ", place.count));
    }
    n_tensors += shard.tensors.size();
    files.push_back(std::move(shard));
  }
  for (const ParsedFile& file : files) TRY_DO(check_tensor_count(file, n_tensors));
  return files;
}

}  // namespace assay::engine::gguf
