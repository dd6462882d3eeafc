#include "publish/strict_upstream.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "publish/convert.h"

namespace assay::publish {

namespace {

constexpr std::array<std::string_view, 4> kOurObjects = {"regime", "cache", "provenance",
                                                         "control"};
constexpr std::array<std::string_view, 3> kOurContext = {
    "configured_window_tokens", "actual_completion_tokens", "actual_total_tokens"};

template <size_t N>
bool contains(const std::array<std::string_view, N>& list, std::string_view key) {
  return std::find(list.begin(), list.end(), key) != list.end();
}

// Leaves with their paths. An explicit null is a statement too ("not observed").
void collect(Tags& leaves, const std::string& path, const json::Value& value) {
  if (value.is_object()) {
    for (const auto& [key, member] : value.members()) collect(leaves, cat(path, ".", key), member);
  } else if (value.is_array()) {
    for (size_t i = 0; i < value.items().size(); ++i)
      collect(leaves, cat(path, ".", i), value.items()[i]);
  } else {
    leaves.put(path, text_of(&value).value_or("null"));
  }
}

}  // namespace

Envelope strict_upstream(const Envelope& envelope) {
  Envelope out;
  out.results = envelope.results;
  Tags leaves;
  for (const auto& [key, value] : envelope.head.members()) {
    if (contains(kOurObjects, key)) {
      collect(leaves, key, value);
    } else if (key == "context" && value.is_object()) {
      json::Value kept = json::Value::object();
      for (const auto& [name, figure] : value.members()) {
        if (contains(kOurContext, name)) {
          collect(leaves, cat("context.", name), figure);
        } else {
          kept.set(name, figure);
        }
      }
      if (!kept.members().empty()) out.head.set(key, std::move(kept));
    } else {
      out.head.set(key, value);
    }
  }
  for (ResultRow& row : out.results) {
    for (const auto& [path, text] : leaves) {
      if (!row.find_tag(path)) row.tag(path, text);
    }
  }
  if (out.results.empty() && !leaves.empty()) {
    std::vector<json::Value> errors;
    if (const json::Value* said = envelope.find("errors"); said != nullptr && said->is_array())
      errors = said->items();
    for (const auto& [path, text] : leaves) errors.emplace_back(cat(path, "=", text));
    out.head.set("errors", json::Value::array(std::move(errors)));
  }
  return out;
}

}  // namespace assay::publish
