#include "scoring/digests.h"

#include <algorithm>

#include "base/text.h"
#include "scoring/refusals.h"

namespace assay::scoring {

std::string fold_harness(std::vector<std::string> paths, const FileReader& read) {
  std::sort(paths.begin(), paths.end());
  Sha256 digest;
  for (const std::string& path : paths) {
    const std::optional<std::string> bytes = read(path);
    if (!bytes) continue;
    digest.update(path);
    digest.update(*bytes);
  }
  return to_hex(digest.finish());
}

bool is_ignored_weights_key(std::string_view key) {
  return key == ".benchmark-source.sha256" || key == ".gitkeep";
}

WeightsDigest fold_weights(std::vector<WeightsFile> files) {
  std::erase_if(files, [](const WeightsFile& file) { return is_ignored_weights_key(file.key); });
  std::sort(files.begin(), files.end(),
            [](const WeightsFile& a, const WeightsFile& b) { return a.key < b.key; });
  constexpr std::string_view kZero("\0", 1);
  WeightsDigest out;
  Sha256 fold;
  for (const WeightsFile& file : files) {
    fold.update(file.key);
    fold.update(kZero);
    fold.update(
        std::string_view(reinterpret_cast<const char*>(file.digest.data()), file.digest.size()));
    fold.update(kZero);
    out.byte_count += file.size_bytes;
    ++out.file_count;
  }
  out.sha256 = to_hex(fold.finish());
  return out;
}

std::string to_text(const WeightsDigest& digest) {
  return cat(digest.sha256, ":", digest.byte_count, ":", digest.file_count);
}

Result<WeightsDigest> parse_weights_digest(std::string_view text) {
  const auto refuse = [text](std::string_view why) {
    return Refusal(kWeightsDigestTextInvalid, cat("\"", text, "\": ", why));
  };
  // Counts are plain digits: no sign, so that one digest has one spelling.
  const auto count = [](std::string_view part) -> std::optional<uint64_t> {
    if (part.empty() || part.find_first_not_of("0123456789") != std::string_view::npos) return {};
    return parse_uint64(part);
  };
  const std::vector<std::string_view> parts = split(text, ':');
  if (parts.size() != 3) return refuse("expected three parts, sha256:bytes:files");
  if (!is_lower_hex(parts[0], 64)) return refuse("the first part must be 64 lower-case hex digits");
  const auto bytes = count(parts[1]);
  const auto files = count(parts[2]);
  if (!bytes || !files) return refuse("the second and third part must be counts");
  return WeightsDigest{std::string(parts[0]), *bytes, *files};
}

Result<std::vector<std::string>> weights_file_set(std::string_view base_name) {
  // x-00002-of-00003.gguf: five digits each, as every writer of shards spells them.
  constexpr std::string_view kShape = "-00000-of-00000.gguf";
  const auto is_digits = [](std::string_view part) {
    return part.find_first_not_of("0123456789") == std::string_view::npos;
  };
  if (base_name.size() > kShape.size()) {
    const std::string_view stem = base_name.substr(0, base_name.size() - kShape.size());
    const std::string_view tail = base_name.substr(stem.size());
    const std::string_view number = tail.substr(1, 5);
    const std::string_view count = tail.substr(10, 5);
    if (tail[0] == '-' && is_digits(number) && tail.substr(6, 4) == "-of-" && is_digits(count) &&
        tail.ends_with(".gguf")) {
      const uint64_t shard = *parse_uint64(number);
      const uint64_t shards = *parse_uint64(count);
      if (shard == 0 || shard > shards) {
        return Refusal(kWeightsShardNameInvalid, cat("\"", base_name, "\" is shard ", shard, " of ",
                                                     shards, ", expected 1 to ", shards));
      }
      std::vector<std::string> names;
      for (uint64_t i = 1; i <= shards; ++i) {
        std::string digits = cat(i);
        digits.insert(0, 5 - digits.size(), '0');
        names.push_back(cat(stem, "-", digits, "-of-", count, ".gguf"));
      }
      return names;
    }
  }
  return std::vector<std::string>{std::string(base_name)};
}

}  // namespace assay::scoring
