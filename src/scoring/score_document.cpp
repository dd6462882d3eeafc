// The visitors of score_fields.h that write, read, coarsen and list the document's fields.
#include "scoring/score_document.h"

#include <charconv>
#include <cmath>
#include <set>

#include "base/ensure.h"
#include "base/text.h"
#include "scoring/refusals.h"
#include "scoring/score_fields.h"

namespace assay::scoring {

namespace {

using json::Kind;
using json::path_of;
using json::Value;

template <class T>
concept Scalar = std::same_as<T, bool> || std::same_as<T, uint32_t> || std::same_as<T, uint64_t> ||
    std::same_as<T, int64_t> || std::same_as<T, double> || std::same_as<T, std::string>;

// --- writing

Value write_value(const Scalar auto& value) {
  return Value(value);
}
Value write_value(const GateRecord& record) {
  return to_json(record);
}
Value write_value(const std::vector<std::pair<std::string, std::string>>& texts) {
  Value out = Value::object();
  for (const auto& [key, text] : texts) out.set(key, text);
  return out;
}
template <class T>
Value write_value(const T& fields);
template <class T>
Value write_value(const std::vector<T>& list) {
  std::vector<Value> items;
  for (const T& item : list) items.push_back(write_value(item));
  return Value::array(std::move(items));
}

struct Writer {
  Value out = Value::object();

  template <class T>
  void required(std::string_view key, const T& value) {
    out.set(key, write_value(value));
  }
  void coarse(std::string_view key, double value) { required(key, value); }
  template <class T>
  void nullable(std::string_view key, const std::optional<T>& value) {
    out.set(key, value ? write_value(*value) : Value());
  }
  template <class T>
  void optional(std::string_view key, const std::optional<T>& value) {
    if (value) out.set(key, write_value(*value));
  }
};

template <class T>
Value write_value(const T& fields) {
  Writer writer;
  visit_fields(fields, writer);
  return std::move(writer.out);
}

// --- reading

template <class T>
Status assign(Result<T> read, T& out) {
  if (!read) return std::move(read).refusal();
  out = *std::move(read);
  return {};
}
Status read_value(const Value& value, std::string_view path, bool& out) {
  return assign(value.as_bool(path), out);
}
Status read_value(const Value& value, std::string_view path, uint32_t& out) {
  return assign(value.as_uint32(path), out);
}
Status read_value(const Value& value, std::string_view path, uint64_t& out) {
  return assign(value.as_uint64(path), out);
}
Status read_value(const Value& value, std::string_view path, int64_t& out) {
  return assign(value.as_int64(path), out);
}
Status read_value(const Value& value, std::string_view path, double& out) {
  return assign(value.as_double(path), out);
}
Status read_value(const Value& value, std::string_view path, std::string& out) {
  return assign(value.as_string(path), out);
}
Status read_value(const Value& value, std::string_view path, GateRecord& out) {
  return assign(read_gate_record(value, path, false), out);
}
Status read_value(const Value& value, std::string_view path,
                  std::vector<std::pair<std::string, std::string>>& out) {
  TRY_DO(value.expect(Kind::object, path));
  for (const auto& [key, member] : value.members()) {
    TRY(text, member.as_string(path_of(path, key)));
    out.emplace_back(key, text);
  }
  return {};
}
template <class T>
Status read_value(const Value& value, std::string_view path, T& fields);
template <class T>
Status read_value(const Value& value, std::string_view path, std::vector<T>& out) {
  TRY_DO(value.expect(Kind::array, path));
  for (size_t i = 0; i < value.items().size(); ++i) {
    TRY_DO(read_value(value.items()[i], path_of(path, i), out.emplace_back()));
  }
  return {};
}

// Reads the members of one object; the first problem stays, and unknown keys are one.
struct Reader {
  const Value& object;
  std::string path;
  Status status;
  std::set<std::string_view> known;

  template <class T>
  void required(std::string_view key, T& out) {
    known.insert(key);
    if (!status) return;
    const auto value = object.at(key, path);
    status = value ? read_value(**value, path_of(path, key), out) : Status(value.refusal());
  }
  void coarse(std::string_view key, double& out) { required(key, out); }
  template <class T>
  void nullable(std::string_view key, std::optional<T>& out) {
    known.insert(key);
    if (!status) return;
    const auto value = object.at(key, path);
    if (!value) {
      status = value.refusal();
    } else if (!(*value)->is_null()) {
      status = read_value(**value, path_of(path, key), out.emplace());
    }
  }
  template <class T>
  void optional(std::string_view key, std::optional<T>& out) {
    known.insert(key);
    if (!status) return;
    if (const Value* value = object.find(key)) {
      status = read_value(*value, path_of(path, key), out.emplace());
    }
  }
};

template <class T>
Status read_value(const Value& value, std::string_view path, T& fields) {
  TRY_DO(value.expect(Kind::object, path));
  Reader reader{value, std::string(path), {}, {}};
  visit_fields(fields, reader);
  TRY_DO(std::move(reader.status));
  for (const auto& member : value.members()) {
    if (reader.known.contains(member.first)) continue;
    return Refusal(kScoreDocumentInvalid,
                   cat("`", path_of(path, member.first), "` is not a key of a score document"));
  }
  return {};
}

// --- coarsening and listing

struct Coarsener {
  template <class T>
  void required(std::string_view, T&) {}
  void coarse(std::string_view, double& value) { value = coarsen(value); }
  template <class T>
  void nullable(std::string_view, T&) {}
};

struct Lister {
  std::vector<std::string_view> keys;
  template <class T>
  void required(std::string_view key, const T&) {
    keys.push_back(key);
  }
  void coarse(std::string_view key, double) { keys.push_back(key); }
  template <class T>
  void nullable(std::string_view key, const T&) {
    keys.push_back(key);
  }
  template <class T>
  void optional(std::string_view key, const T&) {
    keys.push_back(key);
  }
};

Status check_sources(const SealedSources& sources) {
  for (const auto& [key, unused] : contract_sources(nullptr)) {
    bool found = false;
    for (const auto& [name, value] : sources) {
      if (name != key) continue;
      found = true;
      // "table" is readable history and never written.
      if (value != "contract" && value != "device" && value != "table") {
        return Refusal(kScoreDocumentInvalid, cat("`metrics.contract_sources.", key, "` is \"",
                                                  value, "\", expected contract or device"));
      }
    }
    if (!found) {
      return Refusal(kScoreDocumentInvalid, cat("`metrics.contract_sources.", key, "` is missing"));
    }
  }
  if (sources.size() != contract_sources(nullptr).size()) {
    return Refusal(kScoreDocumentInvalid,
                   "`metrics.contract_sources` has a key that is not one of its eight");
  }
  return {};
}

}  // namespace

double finite_nonneg(double v) {
  return std::isfinite(v) && v >= 0.0 ? v : 0.0;
}

double coarsen(double v) {
  if (!std::isfinite(v) || v == 0.0) return v;
  char buffer[32];
  // One digit before and one after the point; to_chars rounds correctly and knows no locale.
  const auto end =
      std::to_chars(buffer, buffer + sizeof buffer, v, std::chars_format::scientific, 1);
  ENSURE(end.ec == std::errc());
  const auto rounded =
      parse_double(std::string_view(buffer, static_cast<size_t>(end.ptr - buffer)));
  // Rounding up the largest double overflows; such a figure keeps its value.
  return rounded && std::isfinite(*rounded) ? *rounded : v;
}

ScoreDocument coarsened(ScoreDocument document) {
  Coarsener coarsener;
  Metrics& m = document.metrics;
  visit_always_present(m, coarsener);
  m.benchmark_wall_seconds = std::max(m.benchmark_wall_seconds, m.timed_benchmark_seconds);
  m.gpqa_ttft_max_seconds = std::max(m.gpqa_ttft_max_seconds, m.gpqa_ttft_p50_seconds);
  return document;
}

Value to_json(const ScoreDocument& document) {
  return Value::object({{"metrics", write_value(document.metrics)},
                        {"passed", document.passed},
                        {"score", document.score ? Value(*document.score) : Value()}});
}

Result<ScoreDocument> read_score_document(const Value& value) {
  TRY_DO(value.expect(Kind::object, "score document"));
  TRY_DO(value.expect_only({"metrics", "passed", "score"}, ""));
  ScoreDocument out;
  TRY(metrics, value.at("metrics", ""));
  TRY_DO(read_value(*metrics, "metrics", out.metrics));
  if (out.metrics.contract_sources) TRY_DO(check_sources(*out.metrics.contract_sources));
  TRY(passed, value.at("passed", ""));
  TRY_DO(read_value(*passed, "passed", out.passed));
  TRY(score, value.at("score", ""));
  if (!score->is_null()) TRY_DO(read_value(*score, "score", out.score.emplace()));
  return out;
}

std::vector<std::string_view> always_present_metrics() {
  const Metrics none;
  Lister lister;
  visit_always_present(none, lister);
  return lister.keys;
}
std::vector<std::string_view> optional_metrics() {
  const Metrics none;
  Lister lister;
  visit_omitted_when_unset(none, lister);
  return lister.keys;
}

}  // namespace assay::scoring
