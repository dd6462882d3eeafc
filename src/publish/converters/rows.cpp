#include "publish/converters/rows.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "publish/refusals.h"
#include "publish/validate.h"

namespace assay::publish {

ResultRow* add_row(Draft& draft, std::string_view name, std::string_view metric,
                   std::string_view unit, std::optional<double> value) {
  if (!value) return nullptr;
  ResultRow row;
  row.name = name;
  row.metric = metric;
  row.unit = unit;
  row.value = *value;
  draft.results.push_back(std::move(row));
  return &draft.results.back();
}

void add_tags(ResultRow& row, json::Node object, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) {
    if (const auto text = text_of(object.find(key))) row.tag(key, *text);
  }
}

std::string count_text(double count) {
  const auto whole = whole_part(count);
  return whole && static_cast<double>(*whole) == count ? cat(*whole) : cat(count);
}

Status apply_failures(Draft& draft, const RunContext& context, double completed, double failed,
                      std::optional<double> asked) {
  if (completed < 0 || failed < 0) {
    return Refusal(kConvertAccounting, cat(count_text(completed), " requests completed and ",
                                           count_text(failed), " failed: a count is at least 0"));
  }
  if (asked && completed + failed > *asked) {
    return Refusal(kConvertAccounting,
                   cat(count_text(completed), " requests completed and ", count_text(failed),
                       " failed, of ", count_text(*asked), " in all"));
  }
  if (failed == 0 && completed > 0) return {};
  if (completed > 0 && context.allow_partial_failures) {
    draft.errors.push_back(cat(count_text(failed), " of ", count_text(completed + failed),
                               " requests failed; the figures are of the completed ones"));
    for (ResultRow& row : draft.results) row.tag("partial", "true");
    return {};
  }
  draft.cell_status = "failed";
  draft.errors.push_back(completed > 0 ? cat(count_text(failed), " of ",
                                             count_text(completed + failed), " requests failed")
                                       : std::string("no request completed"));
  draft.results.clear();
  return {};
}

void add_time_problem(Draft& draft, std::string_view key, std::string_view text) {
  draft.errors.push_back(cat("`", key, "` is \"", text, "\", no time that can be read; left out"));
}

json::Value key_values(json::Node value) {
  if (value.is_object()) return value.to_value();
  if (!value.is_string() || value.string().empty()) return {};
  json::Value out = json::Value::object();
  for (const std::string_view part : split(value.string(), ',')) {
    const size_t equals = part.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view key = trim(part.substr(0, equals));
    const std::string_view text = trim(part.substr(equals + 1));
    const bool numeric =
        parse_double(text) && text.find_first_not_of("-+.0123456789eE") == std::string_view::npos;
    out.set(key, numeric ? json::Value::number(std::string(text)) : json::Value(text));
  }
  return out;
}

std::optional<int64_t> whole_part(std::optional<double> value) {
  constexpr double kLimit = 9007199254740992;  // 2^53: beyond it a real number is no count
  if (!value || !(std::fabs(*value) <= kLimit)) return std::nullopt;
  return static_cast<int64_t>(*value);
}

std::optional<std::string> utc_text(double seconds_since_epoch) {
  if (!(seconds_since_epoch >= -62135596800.0 && seconds_since_epoch < 253402300799.0))
    return std::nullopt;
  const double whole = std::floor(seconds_since_epoch);
  const auto micros = static_cast<int64_t>(std::llround((seconds_since_epoch - whole) * 1e6));
  const int64_t seconds = static_cast<int64_t>(whole) + micros / 1000000;
  std::string text = format_utc(seconds);
  if (micros % 1000000 != 0) {
    std::string fraction = cat(micros % 1000000);
    fraction.insert(0, 6 - fraction.size(), '0');
    while (fraction.back() == '0') fraction.pop_back();
    text.insert(text.size() - 1, cat(".", fraction));
  }
  return text;
}

std::optional<std::string> local_to_utc(std::string_view local, std::string_view zone) {
  int64_t offset_seconds = 0;
  if (zone != "UTC" && zone != "Z" && zone != "utc") {
    if (zone.size() < 5 || (zone[0] != '+' && zone[0] != '-')) return std::nullopt;
    std::string digits(zone.substr(1));
    digits.erase(std::remove(digits.begin(), digits.end(), ':'), digits.end());
    const auto value = digits.size() == 4 ? parse_int64(digits) : std::nullopt;
    if (!value || *value < 0 || *value % 100 > 59 || *value > 1400) return std::nullopt;
    offset_seconds = (*value / 100 * 60 + *value % 100) * 60 * (zone[0] == '-' ? -1 : 1);
  }
  const auto seconds = parse_utc(cat(local, "Z"));
  if (!seconds) return std::nullopt;
  std::string text = format_utc(*seconds - offset_seconds);
  if (local.size() > 19) text.insert(text.size() - 1, local.substr(19));
  return text;
}

}  // namespace assay::publish
