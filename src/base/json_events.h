// RapidJSON's reader as both kinds of JSON value are made with it, and what it lets pass although
// it is not JSON. For the files of this folder only: nothing else sees RapidJSON.
#pragma once

#if defined(__SSE2__)
// Strings are scanned sixteen bytes at a time where they are decoded in place. The library's
// classes then differ from those of other files, so that they have a namespace of their own here.
#define RAPIDJSON_SSE2
#define RAPIDJSON_NAMESPACE rapidjson_sse2
#define RAPIDJSON_NAMESPACE_BEGIN namespace rapidjson_sse2 {
#define RAPIDJSON_NAMESPACE_END }
#endif
#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

#include <optional>
#include <string_view>

#include "base/refusals.h"
#include "base/result.h"
#include "base/text.h"

#if defined(__SSE2__)
namespace rapidjson = rapidjson_sse2;
#endif

namespace assay::json {

// The iterative parser keeps its own stack, so depth costs memory and never the C++ stack.
inline constexpr unsigned kReaderFlags = rapidjson::kParseNumbersAsStringsFlag |
                                         rapidjson::kParseIterativeFlag |
                                         rapidjson::kParseStopWhenDoneFlag;

inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

/// RapidJSON 1.1 accepts an escaped low surrogate that stands alone and makes bytes of it that are
/// not UTF-8. Raw bytes are checked apart, so text that is not UTF-8 comes from such an escape.
[[nodiscard]] inline std::optional<Refusal> problem_of_string(std::string_view text) {
  if (text.find('\xED') == std::string_view::npos || is_utf8(text)) return std::nullopt;
  return Refusal(kJsonSyntax, "a \\u escape is half of a surrogate pair");
}

/// RapidJSON 1.1 takes "NInf" and "NaInf" for infinity.
[[nodiscard]] inline std::optional<Refusal> problem_of_number(std::string_view literal) {
  if (literal.starts_with('-')) literal.remove_prefix(1);
  if (!literal.starts_with('N') || literal == "NaN") return std::nullopt;
  return Refusal(kJsonSyntax, cat("`", literal, "` is no number"));
}

[[nodiscard]] inline Refusal too_deep(int depth_max) {
  return Refusal(kJsonTooDeep, cat("nested deeper than ", depth_max, " levels"));
}

/// Calls the handler with the events of every value of a text of `size` bytes that holds one or
/// more; before each of them its `begin_value()`. A handler that stops says why in its `problem`.
/// RapidJSON takes a NUL byte for the end of its input: the size tells.
template <unsigned kFlags, class Stream, class Handler>
[[nodiscard]] Status read_values(Stream& stream, uint64_t size, Handler& handler) {
  rapidjson::Reader reader;
  do {
    handler.begin_value();
    const rapidjson::ParseResult parsed =
        reader.template Parse<kReaderFlags | kFlags>(stream, handler);
    if (handler.problem) return *std::move(handler.problem);
    if (parsed.IsError()) {
      return Refusal(kJsonSyntax, cat("at byte ", parsed.Offset(), ": ",
                                      rapidjson::GetParseError_En(parsed.Code())));
    }
    while (stream.Peek() == ' ' || stream.Peek() == '\n' || stream.Peek() == '\r' ||
           stream.Peek() == '\t') {
      stream.Take();
    }
  } while (stream.Tell() < size && stream.Peek() != '\0');
  if (stream.Tell() < size)
    return Refusal(kJsonSyntax, cat("at byte ", stream.Tell(), ": a NUL byte"));
  return {};
}

}  // namespace assay::json
