// The result envelope: one run of one suite on one model, whatever tool measured it.
//
// Fields     schema/envelope-v1.json; one name from here to the shard's columns and the viewer.
// Shape      everything but the results is a JSON object (`head`); the results are typed rows,
// because one
//            envelope may hold a million of them.
// Threads    plain data.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "publish/tags.h"

namespace assay::publish {

/// One item of results[]. `value` is finite. An optional figure that is absent was not reported.
struct ResultRow {
  std::string name{};
  std::string metric{};
  double value = 0;
  std::string unit{};
  std::optional<double> duration_seconds{};
  std::optional<double> prompt_tokens_per_second{};
  std::optional<double> decode_tokens_per_second{};
  std::optional<double> total_tokens_per_second{};
  std::optional<double> first_token_latency_ms{};
  std::optional<double> peak_rss_mb{};
  Tags tags{};

  void tag(std::string_view key, std::string_view text) { tags.put(key, text); }
  [[nodiscard]] std::optional<std::string_view> find_tag(std::string_view key) const {
    return tags.find(key);
  }
};

struct Envelope {
  json::Value head = json::Value::object();  // all top-level fields but `results`, in schema order
  std::vector<ResultRow> results{};
  /// Not part of the record: the envelope that follows in its file has this run as its `control`.
  bool control_of_next = false;

  [[nodiscard]] const json::Value* find(std::string_view key) const { return head.find(key); }
  /// The string under `key`, or "" when there is none.
  [[nodiscard]] std::string text(std::string_view key) const;
};

/// The whole envelope as JSON, fields in schema order, results after `system`.
[[nodiscard]] json::Value to_json(const Envelope& envelope);

/// Canonical text: compact, keys sorted at every level, without `raw`. What envelope_sha256 is made
/// of.
[[nodiscard]] std::string canonical_json(const Envelope& envelope);
/// The same text where it has at most `text_max` bytes, and always its digest; a longer text is
/// digested in pieces and never held whole.
struct CanonicalEnvelope {
  std::optional<std::string> text{};
  std::string sha256{};
};
[[nodiscard]] CanonicalEnvelope canonical_envelope(const Envelope& envelope, size_t text_max);
/// Appends tags as a JSON object, keys in byte order. `order` is working space.
void append_tags(std::string& out, const Tags& tags, std::vector<Tags::Tag>& order);
[[nodiscard]] std::string envelope_sha256(const Envelope& envelope);

/// The typed form of a JSON envelope that the schema accepts. Refuses ENVELOPE-INVALID otherwise.
[[nodiscard]] Result<Envelope> from_json(const json::Value& value);

/// Names the control's run in `control.envelope_sha256`. The envelope must have a `control`.
void name_control(Envelope& envelope, std::string_view control_envelope_sha256);

}  // namespace assay::publish
