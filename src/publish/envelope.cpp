#include "publish/envelope.h"

#include <algorithm>
#include <array>

#include "base/ensure.h"
#include "base/sha256.h"
#include "base/text.h"
#include "publish/refusals.h"

namespace assay::publish {

namespace {

// Optional figures of a row, in the order they are written.
struct Figure {
  std::string_view key;
  std::optional<double> ResultRow::*member;
};
constexpr std::array<Figure, 6> kFigures = {{
    {"duration_seconds", &ResultRow::duration_seconds},
    {"prompt_tokens_per_second", &ResultRow::prompt_tokens_per_second},
    {"decode_tokens_per_second", &ResultRow::decode_tokens_per_second},
    {"total_tokens_per_second", &ResultRow::total_tokens_per_second},
    {"first_token_latency_ms", &ResultRow::first_token_latency_ms},
    {"peak_rss_mb", &ResultRow::peak_rss_mb},
}};

json::Value row_to_json(const ResultRow& row) {
  std::vector<json::Member> members = {
      {"name", row.name}, {"metric", row.metric}, {"value", row.value}, {"unit", row.unit}};
  for (const Figure& figure : kFigures) {
    if (const auto& value = row.*figure.member) members.emplace_back(figure.key, *value);
  }
  if (!row.tags.empty()) {
    std::vector<json::Member> tags;
    for (const auto& [key, text] : row.tags) tags.emplace_back(std::string(key), json::Value(text));
    members.emplace_back("tags", json::Value::object(std::move(tags)));
  }
  return json::Value::object(std::move(members));
}

// Canonical text of a row straight into `out`: keys in byte order, no tree in between. `value` is
// the last key and always there, so every other field can end in a comma.
void append_canonical(std::string& out, const ResultRow& row, std::vector<Tags::Tag>& order) {
  const auto figure = [&out](std::string_view key, const std::optional<double>& value) {
    if (!value) return;
    out.append(key).append(format_double(*value)).push_back(',');
  };
  const auto text = [&out](std::string_view key, std::string_view value) {
    out += key;
    json::append_quoted(out, value);
    out.push_back(',');
  };
  out.push_back('{');
  figure("\"decode_tokens_per_second\":", row.decode_tokens_per_second);
  figure("\"duration_seconds\":", row.duration_seconds);
  figure("\"first_token_latency_ms\":", row.first_token_latency_ms);
  text("\"metric\":", row.metric);
  text("\"name\":", row.name);
  figure("\"peak_rss_mb\":", row.peak_rss_mb);
  figure("\"prompt_tokens_per_second\":", row.prompt_tokens_per_second);
  if (!row.tags.empty()) {
    out += "\"tags\":";
    append_tags(out, row.tags, order);
    out.push_back(',');
  }
  figure("\"total_tokens_per_second\":", row.total_tokens_per_second);
  text("\"unit\":", row.unit);
  out.append("\"value\":").append(format_double(row.value)).push_back('}');
}

Refusal invalid(std::string detail) {
  return Refusal(kEnvelopeInvalid, std::move(detail));
}

Result<ResultRow> row_from_json(const json::Value& value, size_t index) {
  const std::string path = json::path_of("results", index);
  if (!value.is_object()) return invalid(cat("`", path, "` is no object"));
  ResultRow row;
  for (const auto& [key, member] : value.members()) {
    if (key == "name" || key == "metric" || key == "unit") {
      if (!member.is_string()) return invalid(cat("`", path, ".", key, "` is no string"));
      (key == "name" ? row.name : key == "metric" ? row.metric : row.unit) = member.string();
    } else if (key == "tags") {
      if (!member.is_object()) return invalid(cat("`", path, ".tags` is no object"));
      for (const auto& [tag, text] : member.members()) {
        if (!text.is_string()) return invalid(cat("`", path, ".tags.", tag, "` is no string"));
        row.tags.put(tag, text.string());
      }
    } else if (key != "raw") {
      const auto number = member.as_double(json::path_of(path, key));
      if (!number) return invalid(number.refusal().detail);
      if (key == "value") {
        row.value = *number;
        continue;
      }
      const auto figure = std::find_if(kFigures.begin(), kFigures.end(),
                                       [&](const Figure& f) { return f.key == key; });
      if (figure == kFigures.end())
        return invalid(cat("`", path, ".", key, "` is not a known key"));
      row.*figure->member = *number;
    }
  }
  return row;
}

}  // namespace

std::string Envelope::text(std::string_view key) const {
  const json::Value* value = head.find(key);
  return value != nullptr && value->is_string() ? value->string() : "";
}

json::Value to_json(const Envelope& envelope) {
  std::vector<json::Value> rows;
  rows.reserve(envelope.results.size());
  for (const ResultRow& row : envelope.results) rows.push_back(row_to_json(row));
  std::vector<json::Member> members;
  bool placed = false;
  for (const json::Member& member : envelope.head.members()) {
    members.push_back(member);
    if (member.first == "system") {
      members.emplace_back("results", json::Value::array(std::move(rows)));
      placed = true;
    }
  }
  if (!placed) members.emplace_back("results", json::Value::array(std::move(rows)));
  return json::Value::object(std::move(members));
}

void append_tags(std::string& out, const Tags& tags, std::vector<Tags::Tag>& order) {
  order.assign(tags.begin(), tags.end());
  if (!std::is_sorted(order.begin(), order.end())) std::sort(order.begin(), order.end());
  out.push_back('{');
  for (size_t i = 0; i < order.size(); ++i) {
    if (i != 0) out.push_back(',');
    json::append_quoted(out, order[i].first);
    out.push_back(':');
    json::append_quoted(out, order[i].second);
  }
  out.push_back('}');
}

CanonicalEnvelope canonical_envelope(const Envelope& envelope, size_t text_max) {
  constexpr size_t kPiece = size_t{256} << 10;
  Sha256 digest;
  std::string out = "{";
  size_t digested = 0;  // bytes of `out` that the digest has seen
  bool keep = true;
  const auto flush = [&](size_t at_least) {
    if (out.size() - digested < at_least) return;
    digest.update(std::string_view(out).substr(digested));
    digested = out.size();
    keep = keep && out.size() <= text_max;
    if (keep) return;
    out.clear();
    digested = 0;
  };
  std::vector<const json::Member*> members;
  for (const json::Member& member : envelope.head.members()) members.push_back(&member);
  std::sort(members.begin(), members.end(),
            [](const auto* a, const auto* b) { return a->first < b->first; });
  bool first = true, placed = false;
  const auto comma = [&] {
    if (!first) out.push_back(',');
    first = false;
  };
  const auto place_results = [&] {
    comma();
    out += "\"results\":[";
    std::vector<Tags::Tag> order;
    for (size_t i = 0; i < envelope.results.size(); ++i) {
      if (i != 0) out.push_back(',');
      append_canonical(out, envelope.results[i], order);
      flush(kPiece);
    }
    out.push_back(']');
    placed = true;
  };
  for (const json::Member* member : members) {
    if (!placed && member->first > "results") place_results();
    comma();
    json::append_quoted(out, member->first);
    out.push_back(':');
    out += json::write(member->second, {.sort_keys = true});
  }
  if (!placed) place_results();
  out.push_back('}');
  flush(0);
  return {.text = keep ? std::optional(std::move(out)) : std::nullopt,
          .sha256 = to_hex(digest.finish())};
}

std::string canonical_json(const Envelope& envelope) {
  return *canonical_envelope(envelope, SIZE_MAX).text;
}

std::string envelope_sha256(const Envelope& envelope) {
  return canonical_envelope(envelope, 0).sha256;
}

Result<Envelope> from_json(const json::Value& value) {
  if (!value.is_object()) return invalid("an envelope is a JSON object");
  Envelope envelope;
  for (const json::Member& member : value.members()) {
    if (member.first != "results") {
      envelope.head.members().push_back(member);
      continue;
    }
    if (!member.second.is_array()) return invalid("`results` is no array");
    const auto& items = member.second.items();
    envelope.results.reserve(items.size());
    for (size_t i = 0; i < items.size(); ++i) {
      TRY(row, row_from_json(items[i], i));
      envelope.results.push_back(std::move(row));
    }
  }
  return envelope;
}

void name_control(Envelope& envelope, std::string_view control_envelope_sha256) {
  json::Value* const control = envelope.head.find("control");
  ENSURE(control != nullptr && control->is_object());
  control->set("envelope_sha256", control_envelope_sha256);
}

}  // namespace assay::publish
