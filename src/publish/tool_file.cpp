// Reading another tool's file: leniently, within limits, and without keeping what no converter
// reads.
#include <sys/stat.h>

#include "base/ascii.h"
#include "base/files.h"
#include "base/text.h"
#include "publish/convert.h"
#include "publish/refusals.h"

namespace assay::publish {

namespace {

// What grows with the number of requests or tasks and is not used: read over, so that memory does
// not grow with it. A number says how many objects and arrays stand around the member.
std::vector<std::string> unused_members(std::string_view kind) {
  if (kind == "guidellm" || kind == "auto") return {"requests@3"};
  if (kind == "lm-eval") return {"configs@1", "pretty_env_info@1"};
  if (kind == "genai-perf") return {"sessions@1"};
  if (kind == "aiperf") return {"sessions@1", "server_metrics@1"};
  // Of a probe's runs the counts and figures are read; its events and their times are not.
  if (kind == "throughput-probe")
    return {"deltas@3", "deltas@4", "attempts@3", "attempts@4", "tool_calls@3", "tool_calls@4"};
  if (kind == "vllm") {
    std::vector<std::string> out;
    for (const char* list : {"input_lens", "output_lens", "ttfts", "itls", "start_times",
                             "latencies", "generated_texts", "errors"}) {
      out.push_back(cat(list, "@1"));  // one run
      out.push_back(cat(list, "@2"));  // a sweep's array of runs
    }
    return out;
  }
  return {};
}

json::ReadOptions options_of(std::string_view kind) {
  return {.read_over = unused_members(kind)};
}

// Tables (llama-bench csv and md, genai-perf csv) and printed logs are text.
bool may_be_text(std::string_view kind) {
  return kind == "llama-bench" || kind == "genai-perf" || kind == "aiperf" ||
         kind == "framework-eval" || kind == "auto";
}

// A number larger than a double can be is refused by the reader, with its whole file. It is read as
// the infinity that other programs make of it, so that this figure alone is left out. Nothing where
// there is no such number.
std::optional<std::string> with_infinities(std::string_view bytes,
                                           std::vector<std::string>& remarks) {
  constexpr size_t kNamed = 20, kShown = 40;
  std::optional<std::string> out;
  size_t copied = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] == '"') {  // over a string
      for (++i; i < bytes.size() && bytes[i] != '"'; ++i) {
        if (bytes[i] == '\\') ++i;
      }
      continue;
    }
    if (!is_digit(bytes[i]) && bytes[i] != '-') continue;
    const size_t end = std::min(bytes.size(), bytes.find_first_not_of("0123456789.eE+-", i));
    const std::string_view number = bytes.substr(i, end - i);
    if (number.size() > 1 && !json::finite_number(number)) {
      if (!out) out.emplace();
      out->append(bytes, copied, i - copied);
      *out += number[0] == '-' ? "-Infinity" : "Infinity";
      copied = end;
      if (remarks.size() < kNamed)
        remarks.push_back(cat(number.substr(0, kShown), number.size() > kShown ? "…" : "",
                              " is too large for a number: read as Infinity"));
    }
    i = end - 1;
  }
  if (out) out->append(bytes, copied);
  return out;
}

// A file that is no JSON as it stands: JSON but for its large numbers, text where the kind has text
// forms, else what is wrong with the JSON.
Result<ToolFile> as_text(ToolFile file, std::string bytes, std::string_view kind, Refusal syntax) {
  if (const auto tamed = with_infinities(bytes, file.remarks)) {
    auto document = json::Document::parse(*tamed, options_of(kind));
    if (document) {
      file.document = *std::move(document);
      return file;
    }
    file.remarks.clear();
  }
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (bytes.starts_with(kByteOrderMark)) bytes.erase(0, kByteOrderMark.size());
  if (trim(bytes).empty())
    return Refusal(kConvertInput, cat("`", file.path.string(), "` is empty"));
  if (!may_be_text(kind)) return Refusal(kConvertInput, std::move(syntax.detail));
  // A broken JSON document is no table.
  const char first = trim(bytes)[0];
  if (kind != "framework-eval" && (first == '{' || first == '['))
    return Refusal(kConvertInput, std::move(syntax.detail));
  if (!is_utf8(bytes))
    return Refusal(kConvertInput, cat("`", file.path.string(), "` is neither JSON nor UTF-8 text"));
  file.text = std::move(bytes);
  return file;
}

}  // namespace

Result<ToolFile> parse_tool_file(std::string bytes, std::filesystem::path path,
                                 std::string_view kind) {
  ToolFile file;
  file.path = std::move(path);
  auto document = json::Document::parse(bytes, options_of(kind));
  if (!document) return as_text(std::move(file), std::move(bytes), kind, document.refusal());
  file.document = *std::move(document);
  return file;
}

Result<ToolFile> read_tool_file(const std::filesystem::path& path, std::string_view kind,
                                uint64_t size_max) {
  ToolFile file;
  file.path = path;
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0) file.mtime_seconds = info.st_mtime;
  auto document = json::Document::read(path, size_max, options_of(kind));
  if (document) {
    file.document = *std::move(document);
    return file;
  }
  if (!document.refusal().code.starts_with("JSON-")) return std::move(document).refusal();
  TRY(bytes, read_file(path, size_max));
  return as_text(std::move(file), std::move(bytes), kind, document.refusal());
}

}  // namespace assay::publish
