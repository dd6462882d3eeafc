#include "view/index.h"

#include <algorithm>
#include <functional>

#include "base/text.h"
#include "view/facts.h"

namespace assay::view {

size_t Column::slot_of(std::string_view json, size_t hash) const {
  size_t slot = hash & (slots_.size() - 1);
  while (slots_[slot] >= 0) {
    const auto code = static_cast<size_t>(slots_[slot]);
    if (hashes_[code] == hash && values_[code] == json) break;
    slot = (slot + 1) & (slots_.size() - 1);
  }
  return slot;
}

void Column::grow() {
  slots_.assign(std::max<size_t>(slots_.size() * 2, 16), -1);
  for (size_t code = 0; code < values_.size(); ++code) {
    size_t slot = hashes_[code] & (slots_.size() - 1);
    while (slots_[slot] >= 0) slot = (slot + 1) & (slots_.size() - 1);
    slots_[slot] = static_cast<int32_t>(code);
  }
}

void Column::add(std::string_view json) {
  if (json.empty()) {
    codes_.push_back(-1);
    return;
  }
  // Neighbours are often equal, and comparing is cheaper than hashing.
  if (last_ < 0 || values_[static_cast<size_t>(last_)] != json) {
    if (values_.size() * 2 >= slots_.size()) grow();
    const size_t hash = std::hash<std::string_view>()(json);
    const size_t slot = slot_of(json, hash);
    if (slots_[slot] < 0) {
      slots_[slot] = static_cast<int32_t>(values_.size());
      values_.emplace_back(json);
      hashes_.push_back(hash);
    }
    last_ = slots_[slot];
  }
  codes_.push_back(last_);
}

std::string_view Column::at(size_t row) const {
  const int32_t code = codes_[row];
  return code < 0 ? std::string_view() : std::string_view(values_[static_cast<size_t>(code)]);
}

int32_t Column::find(std::string_view json) const {
  if (slots_.empty()) return -2;
  const int32_t code = slots_[slot_of(json, std::hash<std::string_view>()(json))];
  return code < 0 ? -2 : code;
}

void Column::append_json(std::string& out) const {
  constexpr size_t kNull = 4;                         // "null"
  std::vector<size_t> digits(values_.size() + 1, 2);  // of each code; the last one is -1's
  for (size_t i = 0; i < values_.size(); ++i) digits[i] = cat(i).size();
  size_t plain = 2, coded = 24;  // {"values":[],"codes":[]}
  for (const std::string& value : values_) coded += value.size() + 1;
  for (const int32_t code : codes_) {
    const bool null = code < 0;
    plain += (null ? kNull : values_[static_cast<size_t>(code)].size()) + 1;
    coded += (null ? digits.back() : digits[static_cast<size_t>(code)]) + 1;
  }
  if (plain <= coded) {
    out.push_back('[');
    for (size_t i = 0; i < codes_.size(); ++i) {
      if (i != 0) out.push_back(',');
      out += codes_[i] < 0 ? std::string_view("null") : at(i);
    }
    out.push_back(']');
    return;
  }
  out += "{\"values\":[";
  for (size_t i = 0; i < values_.size(); ++i) {
    if (i != 0) out.push_back(',');
    out += values_[i];
  }
  out += "],\"codes\":[";
  for (size_t i = 0; i < codes_.size(); ++i) {
    if (i != 0) out.push_back(',');
    char buffer[16];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, codes_[i]);
    out.append(buffer, end.ptr);
  }
  out += "]}";
}

namespace {

const Column* find_column(const std::vector<Column>& columns, std::string_view name) {
  for (const Column& column : columns) {
    if (column.name() == name) return &column;
  }
  return nullptr;
}

void append_columns(std::string& out, const std::vector<Column>& columns) {
  out += "\"columns\":{";
  bool first = true;
  for (const Column& column : columns) {
    if (column.all_null()) continue;
    if (!first) out.push_back(',');
    first = false;
    out += json_text(column.name());
    out.push_back(':');
    column.append_json(out);
  }
  out += "}}";
}

}  // namespace

const Column* Index::shard_column(std::string_view name) const {
  return find_column(shards, name);
}
const Column* Index::row_column(std::string_view name) const {
  return find_column(rows, name);
}

std::string index_json(const Index& index) {
  std::string out = "{\"format\":\"assay-view-1\"";
  const auto text = [&out](std::string_view key, std::string_view value) {
    if (!value.empty()) out += cat(",\"", key, "\":", json_text(value));
  };
  text("store", index.store);
  text("built_at", index.built_at);
  text("title", index.title);
  out += cat(",\n\"index\":{\"state\":", json_text(index.state));
  text("problem", index.state_problem);
  text("historical_scored_before", index.historical_scored_before);
  text("policy", index.policy);
  out += "},\n\"problems\":[";
  for (size_t i = 0; i < index.problems.size(); ++i) {
    const IndexProblem& problem = index.problems[i];
    out += cat(i == 0 ? "" : ",", "\n{\"path\":", json_text(problem.path),
               ",\"problem\":", json_text(problem.problem), ",\"shown\":", problem.shown, "}");
  }
  out += cat("],\n\"shards\":{\"count\":", index.files.size());
  if (index.left_out > 0) out += cat(",\"left_out\":", index.left_out);
  out.push_back(',');
  append_columns(out, index.shards);
  out += cat(",\n\"rows\":{\"count\":", index.rows.empty() ? 0 : index.rows[0].size(), ",");
  append_columns(out, index.rows);
  out += "}\n";
  return out;
}

}  // namespace assay::view
