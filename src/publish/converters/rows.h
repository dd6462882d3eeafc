// Small pieces that several converters share: latency families, parsed "k=v" lists, failed-request
// rules.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "publish/convert.h"

namespace assay::publish {

/// Appends a row when the value is a finite number. Returns it, or null pointer.
ResultRow* add_row(Draft& draft, std::string_view name, std::string_view metric,
                   std::string_view unit, std::optional<double> value);

/// Tags of `keys` as source text, where the object has them: strings, numbers, booleans; null is
/// left out.
void add_tags(ResultRow& row, json::Node object, std::initializer_list<std::string_view> keys);

/// A count as people write it: "37", not "37.0".
[[nodiscard]] std::string count_text(double count);

/// A run with failed requests is no success: sets cell_status failed and removes its rates, unless
/// the context allows partial failures and some requests completed; then an errors[] entry and the
/// tag partial=true say so. Refuses CONVERT-ACCOUNTING: a count below zero, or more requests than
/// were `asked`, where the file says how many.
[[nodiscard]] Status apply_failures(Draft& draft, const RunContext& context, double completed,
                                    double failed, std::optional<double> asked = std::nullopt);

/// Says in errors[] that the file's own time cannot be read; another then stands in for it.
void add_time_problem(Draft& draft, std::string_view key, std::string_view text);

/// "a=1,b=x" as an object of numbers and strings; an object as it is; null otherwise.
[[nodiscard]] json::Value key_values(json::Node value);

/// Seconds since the epoch (a fraction is kept to the microsecond) as UTC text; nothing outside the
/// years 1 to 9999.
[[nodiscard]] std::optional<std::string> utc_text(double seconds_since_epoch);

/// The whole part of a count that a tool wrote as a real number, when it fits.
[[nodiscard]] std::optional<int64_t> whole_part(std::optional<double> value);

/// A local "YYYY-MM-DDTHH:MM:SS[.f]" in the zone "UTC", "Z", "+02:00", "-0700" as UTC text; nothing
/// when either is malformed.
[[nodiscard]] std::optional<std::string> local_to_utc(std::string_view local,
                                                      std::string_view zone);

}  // namespace assay::publish
