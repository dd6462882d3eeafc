// From a tool's result file to envelopes: what every converter gets, what it gives, and how the
// rest is filled in the same way for all of them.
//
// A converter (converters/, one file per tool) reads the tool's document and returns Drafts: what
// the tool itself states. compose() adds the run's context, applies the orders of precedence and
// puts the fields in schema order. Nothing is invented: a fact that neither states is absent. What
// must not be published is still in it (privacy.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/json_document.h"
#include "base/result.h"
#include "publish/envelope.h"

namespace assay::publish {

/// What the publisher knows about the run beside the tool's file.
struct RunContext {
  std::string suite{};
  std::string git_sha{};
  std::string trigger = "local";
  std::optional<int64_t> pr_number{};
  std::optional<std::string> model{};
  std::optional<std::string> timestamp{};
  std::optional<std::string> time_zone{};  // of local times in tool files: "UTC", "+02:00", "-0700"
  std::optional<std::string> env_class{};
  std::optional<int64_t> concurrency{};
  std::optional<std::string> reasoning_effort{};
  std::optional<int64_t> max_tokens{};
  json::Value serving{};   // object or null
  json::Value campaign{};  // object or null
  json::Value system =
      json::Value::object({{"os", "unknown"}, {"chip", "unknown"}, {"memory_gb", 0}});
  Tags tags{};  // added to every row; a key that a row has already is refused (CONVERT-TAG-CLASH)
  bool allow_partial_failures = false;
  bool legacy_regime = false;
  bool allow_unknown_model = false;
};

/// A tool's file as it was read.
struct ToolFile {
  std::filesystem::path path{};
  int64_t mtime_seconds = 0;           // UTC
  std::string text{};                  // set for tools that write text (llama-bench csv, md)
  json::Document document{};           // one value or, for JSON lines, more; none for text
  std::vector<std::string> remarks{};  // of the reading, for errors[] of every run

  [[nodiscard]] json::Items values() const { return document.values(); }
  /// The value when there is just one; else none.
  [[nodiscard]] json::Node only_value() const {
    return values().size() == 1 ? values().front() : json::Node();
  }
};

/// What one run states about itself. Absent means not stated.
struct Draft {
  std::optional<std::string> model{};
  std::optional<std::string> model_revision{};
  std::optional<std::string> quantization{};
  std::optional<std::string> timestamp{};  // already UTC text
  std::optional<std::string>
      timestamp_source{};  // tag timestamp_source=… when it is not the tool's own UTC
  std::optional<int64_t> seed{};
  std::optional<int64_t> concurrency{};
  std::optional<std::string> cell_status{};
  std::optional<std::string> env_class{};
  json::Value gen_kwargs{}, campaign{}, context{}, serving{};  // object or null
  json::Value regime{}, cache{}, provenance{}, control{};      // object or null
  json::Value
      system{};  // members that the file states about its machine; they win over the context's
  std::vector<ResultRow> results{};
  std::vector<std::string> errors{};
  bool control_of_next = false;  // the next draft's `control` is a figure of this run
};

/// A finite number as it is, or nothing. Strings, NaN and Infinity are nothing.
[[nodiscard]] std::optional<double> number_of(json::Node value);
[[nodiscard]] std::optional<double> number_of(const json::Value* value);
/// The integer, when the number is written as one.
[[nodiscard]] std::optional<int64_t> integer_of(json::Node value);
[[nodiscard]] std::optional<int64_t> integer_of(const json::Value* value);
/// A string as it is; a number or boolean as its source text ("200.0", "true"); nothing otherwise.
[[nodiscard]] std::optional<std::string_view> text_of(json::Node value);
[[nodiscard]] std::optional<std::string> text_of(const json::Value* value);
/// Walks members: dig(v, {"config", "backend", "model"}); null pointer when one is missing.
[[nodiscard]] const json::Value* dig(const json::Value& value,
                                     std::initializer_list<std::string_view> keys);

/// Reads `path` for conversion. Refuses FILE-…, CONVERT-INPUT (not JSON where JSON is meant).
/// `kind` decides whether text formats are kept as text; at most `size_max` bytes.
[[nodiscard]] Result<ToolFile> read_tool_file(const std::filesystem::path& path,
                                              std::string_view kind,
                                              uint64_t size_max = uint64_t{256} << 20);

/// The same for bytes in memory; `path` is what refusals call them.
[[nodiscard]] Result<ToolFile> parse_tool_file(std::string bytes, std::filesystem::path path,
                                               std::string_view kind);

/// One Draft to one envelope. Order of the model: context, draft; of the time: context, draft, file
/// time with tag timestamp_source=mtime. Refuses CONVERT-MODEL-UNKNOWN, CONVERT-TAG-CLASH.
[[nodiscard]] Result<Envelope> compose(Draft draft, const RunContext& context,
                                       const ToolFile& file);

using Converter = Result<std::vector<Draft>> (*)(const ToolFile& file, const RunContext& context);

/// One row of the table of kinds (converters/registry.cpp).
struct Kind {
  std::string_view name;  // "lm-eval"
  Converter convert;
  bool (*looks_like)(const ToolFile& file);
  std::string_view signature;  // what is looked for, for the refusal of --kind auto
};
[[nodiscard]] const std::vector<Kind>& kinds();

/// Converts with the named kind, or with the one that alone recognises the file ("auto").
/// Refuses CONVERT-KIND-UNKNOWN, CONVERT-INPUT and what compose refuses.
[[nodiscard]] Result<std::vector<Envelope>> convert_file(const ToolFile& file,
                                                         std::string_view kind,
                                                         const RunContext& context);

}  // namespace assay::publish
