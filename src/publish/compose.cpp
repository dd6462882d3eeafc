// What every conversion has in common: typed looks into foreign documents, composing the envelope.
#include <algorithm>
#include <cmath>
#include <set>

#include "base/text.h"
#include "publish/convert.h"
#include "publish/refusals.h"

namespace assay::publish {

std::optional<double> number_of(json::Node value) {
  return value.as_double();
}
std::optional<int64_t> integer_of(json::Node value) {
  return value.is_integer() ? parse_int64(value.literal()) : std::nullopt;
}
std::optional<std::string_view> text_of(json::Node value) {
  if (value.is_string()) return value.string();
  if (value.is_number()) return value.literal();
  if (value.is_boolean()) return value.boolean() ? "true" : "false";
  return std::nullopt;
}

std::optional<double> number_of(const json::Value* value) {
  if (value == nullptr || !value->is_number()) return std::nullopt;
  const auto number = value->as_double("");
  if (!number) return std::nullopt;
  return *number;
}

std::optional<int64_t> integer_of(const json::Value* value) {
  if (value == nullptr || !value->is_integer()) return std::nullopt;
  return parse_int64(value->literal());
}

std::optional<std::string> text_of(const json::Value* value) {
  if (value == nullptr) return std::nullopt;
  switch (value->kind()) {
    case json::Kind::string: return value->string();
    case json::Kind::number: return value->literal();
    case json::Kind::boolean: return std::string(value->boolean() ? "true" : "false");
    default: return std::nullopt;
  }
}

const json::Value* dig(const json::Value& value, std::initializer_list<std::string_view> keys) {
  const json::Value* at = &value;
  for (const std::string_view key : keys) {
    if (!at->is_object()) return nullptr;
    at = at->find(key);
    if (at == nullptr) return nullptr;
  }
  return at;
}

namespace {

// The head, whose fields are put once each and in schema order.
class Head {
 public:
  Head() { members_.reserve(24); }
  void put(std::string_view key, json::Value value) {
    members_.emplace_back(std::string(key), std::move(value));
  }
  template <class T>
  void put_known(std::string_view key, const std::optional<T>& value) {
    if (value) put(key, *value);
  }
  void put_object(std::string_view key, json::Value value) {
    if (value.is_object() && !value.members().empty()) put(key, std::move(value));
  }
  [[nodiscard]] json::Value take() { return json::Value::object(std::move(members_)); }

 private:
  std::vector<json::Member> members_;
};

// Rates, times and counts: below zero they cannot be, whatever tool says so. Scores and ratios can.
constexpr std::string_view kNeverNegative[] = {"tok/s", "req/s",  "ms",    "s",    "seconds",
                                               "W",     "tokens", "bytes", "count"};

// A figure that a conversion drives out of range is no figure, and neither is one that cannot be;
// the file's own NaN never gets here.
std::vector<ResultRow> possible_rows(std::vector<ResultRow> rows,
                                     std::vector<std::string>& errors) {
  std::set<std::string> said;  // once for all rows of a run that share the figure
  const auto clean = [&](std::optional<double>& figure, std::string_view name) {
    if (!figure || (std::isfinite(*figure) && *figure >= 0)) return;
    if (std::isfinite(*figure) && said.insert(cat(name, *figure)).second)
      errors.push_back(cat("`", name, "` is ", *figure, ", which cannot be; left out"));
    figure.reset();
  };
  for (ResultRow& row : rows) {
    clean(row.duration_seconds, "duration_seconds");
    clean(row.peak_rss_mb, "peak_rss_mb");
  }
  std::erase_if(rows, [&](const ResultRow& row) {
    if (!std::isfinite(row.value)) {
      errors.push_back(cat(row.name, " ", row.metric, " is not a finite number, left out"));
      return true;
    }
    if (row.value >= 0 || std::ranges::find(kNeverNegative, row.unit) == std::end(kNeverNegative))
      return false;
    errors.push_back(cat(row.name, " ", row.metric, " is ", row.value, " ", row.unit,
                         ", which cannot be; left out"));
    return true;
  });
  return rows;
}

}  // namespace

Result<Envelope> compose(Draft draft, const RunContext& context, const ToolFile& file) {
  Envelope envelope;
  envelope.results = possible_rows(std::move(draft.results), draft.errors);
  envelope.control_of_next = draft.control_of_next;
  Head head;
  head.put("schema_version", "1");
  std::optional<std::string> time_source = draft.timestamp_source;
  if (context.timestamp) {
    head.put("timestamp", *context.timestamp);
    time_source.reset();
  } else if (draft.timestamp) {
    head.put("timestamp", *draft.timestamp);
  } else {
    head.put("timestamp", format_utc(file.mtime_seconds));
    time_source = "mtime";
  }
  head.put("git_sha", context.git_sha);
  head.put("trigger", context.trigger);
  head.put_known("pr_number", context.pr_number);
  head.put("suite", context.suite);
  const std::optional<std::string>& model = context.model ? context.model : draft.model;
  if (!model || model->empty()) {
    if (!context.allow_unknown_model) {
      return Refusal(kConvertModelUnknown, cat("`", file.path.string(), "` names no model"));
    }
    head.put("model", "unknown");
  } else {
    head.put("model", *model);
  }
  head.put_known("model_revision", draft.model_revision);
  head.put_known("quantization", draft.quantization);
  head.put_known("seed", draft.seed);
  head.put_object("gen_kwargs", std::move(draft.gen_kwargs));
  head.put_object("campaign",
                  context.campaign.is_object() ? context.campaign : std::move(draft.campaign));
  head.put_known("cell_status", draft.cell_status);
  head.put_object("context", std::move(draft.context));
  head.put_known("env_class", context.env_class ? context.env_class : draft.env_class);
  const std::optional<int64_t> concurrency =
      context.concurrency ? context.concurrency : draft.concurrency;
  head.put_known("concurrency", concurrency);
  head.put_known("reasoning_effort", context.reasoning_effort);
  head.put_object("serving",
                  context.serving.is_object() ? context.serving : std::move(draft.serving));
  json::Value system = context.system;
  if (draft.system.is_object()) {
    for (const auto& [key, value] : draft.system.members()) system.set(key, value);
  }
  head.put("system", std::move(system));
  head.put("errors", json::Value::array_of(draft.errors));
  if (draft.regime.is_object()) {
    if (context.max_tokens && draft.regime.find("max_tokens") == nullptr) {
      draft.regime.set("max_tokens", *context.max_tokens);
    }
    if (concurrency && draft.regime.find("concurrency") == nullptr) {
      draft.regime.set("concurrency", *concurrency);
    }
  }
  head.put_object("regime", std::move(draft.regime));
  head.put_object("cache", std::move(draft.cache));
  head.put_object("provenance", std::move(draft.provenance));
  head.put_object("control", std::move(draft.control));
  envelope.head = head.take();

  for (ResultRow& row : envelope.results) {
    if (time_source) row.tag("timestamp_source", *time_source);
    for (const auto& [key, text] : context.tags) {
      if (row.find_tag(key)) {
        return Refusal(kConvertTagClash, cat("tag `", key, "` of --tag stands in row ", row.name,
                                             " ", row.metric, " already"));
      }
      row.tag(key, text);
    }
  }
  return envelope;
}

}  // namespace assay::publish
