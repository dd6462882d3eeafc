// Is an envelope what it must be? Collects every problem; none hides another.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "publish/envelope.h"

namespace assay::publish {

struct Problem {
  std::string code;  // "E-SCHEMA", or the semantic rule: "E-TIME", "E-PR" … ("W-…" = warning)
  std::string path;  // "$.system.memory_gb"
  std::string message;  // what was found, what was expected
  [[nodiscard]] bool is_warning() const { return code.starts_with("W-"); }
};

struct ValidateOptions {
  bool legacy_regime = false;  // a missing regime is a warning (W-REGIME), not E-REGIME
  int64_t now_seconds = 0;     // UTC; 0 leaves out the "not in the future" check
};

/// Problems of a JSON document against schema/envelope-v1.json (built in). Thread-safe.
[[nodiscard]] std::vector<Problem> check_schema(const json::Value& document);

/// The semantic rules, for an envelope that the schema accepts:
///   E-TIME timestamp real, UTC, not more than 24 h in the future · E-PR trigger pr needs pr_number
///   · E-EMPTY no results · E-STATUS-RATE rates beside a status that is not success · E-STATUS-OK
///   success without a result, or a throughput suite without a positive rate · E-ADMIT prompt +
///   reservation over the window · E-TOTAL total is not prompt + completion · E-REGIME a cumulative
///   figure without its conditions · E-CACHED asserted but cached tokens seen · E-DUP two equal
///   results · W-PROV weights not proven.
[[nodiscard]] std::vector<Problem> check_semantics(const Envelope& envelope,
                                                   const ValidateOptions& options);

/// Schema, and where the document has the shape for it, the semantic rules too.
[[nodiscard]] std::vector<Problem> validate(const json::Value& document,
                                            const ValidateOptions& options);

/// "YYYY-MM-DDTHH:MM:SS[.f]Z" with a real date and time, as seconds since the epoch.
[[nodiscard]] std::optional<int64_t> parse_utc(std::string_view text);

/// True for metrics whose meaning depends on prompt size, concurrency and cache: rates over wall
/// time.
[[nodiscard]] bool is_cumulative(std::string_view metric);

}  // namespace assay::publish
